// Collecting processes in the order their lives began.
// SPDX-License-Identifier: MIT
#include "page.h"

#include <errno.h>

#include "bounds.h"
#include "varlink.h"
#include "view.h"

static bool is_wanted(const Page *page, const Traits *traits) {
    return viewer_sees(page->viewer, traits) && filter_match(page->filter, traits);
}

int page_walk(Page *page, PageTake take, void *userdata) {
    size_t weight = filter_has_globs(page->filter) ? BOUND_GLOB_LIVES : 1;
    for (size_t looked_at = 0;; looked_at += weight) {
        const Process *process = registry_next(page->context->registry, page->cursor);
        if (!process || process->serial > page->end)
            return PAGE_END;
        if (looked_at >= page->lives)
            return PAGE_FULL;
        if (is_wanted(page, &process->traits)) {
            int r = take(userdata, process);
            if (r != 0)
                return r;
        }
        page->cursor = process->serial;
    }
}

typedef struct Collection {
    const Page *page;
    json_t *array; // borrowed
    size_t bytes;
    size_t used;
} Collection;

static int collect(void *userdata, const Process *process) {
    Collection *collection = userdata;
    _cleanup_json_ json_t *object = NULL;
    int r = view_process_json(process, collection->page->context->boot_id, &object);
    if (r < 0)
        return r;
    size_t size = json_dumpb(object, NULL, 0, JSON_COMPACT) + 1; // and a comma
    if (collection->used > 0 && collection->used + size > collection->bytes)
        return PAGE_FULL;
    collection->used += size;
    return json_array_append_new(collection->array, TAKE_PTR(object)) < 0 ? -ENOMEM : 0;
}

int page_collect(Page *page, size_t bytes, json_t *array) {
    Collection collection = {.page = page, .array = array, .bytes = bytes};
    return page_walk(page, collect, &collection);
}
