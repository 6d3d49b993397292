// As listing.c has it for Varlink, with the message itself in place of text.
// SPDX-License-Identifier: MIT
#include "bus_listing.h"

#include "bounds.h"
#include "bus_view.h"
#include "page.h"

void bus_listing_done(BusListing *listing) {
    sd_bus_message_unref(listing->reply);
    *listing = (BusListing){0};
}

int bus_listing_begin(BusListing *listing, sd_bus_message *call) {
    const Registry *registry = listing->context->registry;
    listing->end = registry_last_serial(registry);
    int r = sd_bus_message_new_method_return(call, &listing->reply);
    if (r >= 0)
        r = sd_bus_message_append(listing->reply, "t", registry_sequence(registry));
    if (r >= 0)
        r = sd_bus_message_open_container(listing->reply, SD_BUS_TYPE_ARRAY, "a{sv}");
    return r;
}

static int take(void *userdata, const Process *process) {
    BusListing *listing = userdata;
    if (listing->size >= listing->turn_end)
        return PAGE_FULL;
    return bus_view_process(listing->reply, process, listing->context->boot_id, &listing->size);
}

int bus_listing_step(BusListing *listing) {
    Page page = {
        .context = listing->context,
        .viewer = &listing->viewer,
        .filter = listing->filter,
        .cursor = listing->cursor,
        .end = listing->end,
        .lives = BOUND_LIVES_PER_TURN,
    };
    listing->turn_end = listing->size + BOUND_PAGE;
    int result = page_walk(&page, take, listing);
    if (result < 0)
        return result;
    listing->cursor = page.cursor;
    if (listing->size > (listing->viewer.sees_all ? BOUND_BUS_LIST_OF_ALL : BOUND_BUS_LIST))
        return BUS_LISTING_TOO_LARGE;
    if (result != PAGE_END)
        return BUS_LISTING_MORE;
    int r = sd_bus_message_close_container(listing->reply);
    return r < 0 ? r : BUS_LISTING_DONE;
}
