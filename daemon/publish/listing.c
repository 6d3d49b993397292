// The processes that there were when the call came, each as it is when its turn comes; who has
// ended by then is left out, who began since is not in it. The sequence is that of the call: what
// changed since may be in the reply or not.
//
// They are kept as the text of the reply, which many clients can have at once: jansson's objects
// would take several times as much.
// SPDX-License-Identifier: MIT
#include "listing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "buffer.h"
#include "page.h"
#include "varlink.h"

static const char head[] = "{\"parameters\":{\"processes\":[";

struct Listing {
    const Context *context;
    Viewer viewer;
    Filter filter;   // owned
    uint64_t cursor; // serial of the last life looked at
    uint64_t end;    // serial of the last life there was
    uint64_t sequence;
    bool begun; // there is a process in it
    Buffer reply;
};

int listing_new(const Context *context, const Viewer *viewer, Filter *filter, Listing **ret) {
    Listing *listing = malloc(sizeof *listing);
    if (!listing) {
        filter_done(filter);
        return -ENOMEM;
    }
    *listing = (Listing){
        .context = context,
        .viewer = *viewer,
        .filter = *filter,
        .end = registry_last_serial(context->registry),
        .sequence = registry_sequence(context->registry),
    };
    *filter = (Filter){0};
    buffer_init(&listing->reply, BOUND_REPLY);
    int r = buffer_append(&listing->reply, head, strlen(head));
    if (r < 0) {
        listing_free(listing);
        return r;
    }
    *ret = listing;
    return 0;
}

void listing_free(Listing *listing) {
    if (!listing)
        return;
    filter_done(&listing->filter);
    buffer_done(&listing->reply);
    free(listing);
}

static int append_processes(Listing *listing, const json_t *processes) {
    if (json_array_size(processes) == 0)
        return 0;
    _cleanup_free_ char *text = json_dumps(processes, JSON_COMPACT);
    if (!text)
        return -ENOMEM;
    // In place of its own bracket, the comma behind those before.
    text[0] = ',';
    size_t skipped = listing->begun ? 0 : 1;
    listing->begun = true;
    return buffer_append(&listing->reply, text + skipped, strlen(text) - 1 - skipped);
}

static int append_end(Listing *listing) {
    char end[64];
    int size = snprintf(end, sizeof end, "],\"sequence\":%" PRIu64 "}}", listing->sequence);
    return buffer_append(&listing->reply, end, (size_t)size + 1);
}

int listing_step(Listing *listing, const char **ret, size_t *ret_size) {
    _cleanup_json_ json_t *processes = json_array();
    if (!processes)
        return -ENOMEM;
    Page page = {
        .context = listing->context,
        .viewer = &listing->viewer,
        .filter = &listing->filter,
        .cursor = listing->cursor,
        .end = listing->end,
        .lives = BOUND_LIVES_PER_TURN,
    };
    int result = page_collect(&page, BOUND_PAGE, processes);
    if (result < 0)
        return result;
    listing->cursor = page.cursor;

    int r = append_processes(listing, processes);
    if (r == 0 && result == PAGE_END)
        r = append_end(listing);
    if (r < 0)
        return r == -ENOBUFS ? LISTING_TOO_LARGE : r;
    if (result != PAGE_END)
        return LISTING_MORE;
    *ret = buffer_bytes(&listing->reply);
    *ret_size = buffer_size(&listing->reply);
    return LISTING_DONE;
}
