// The reply of a ListProcesses call, collected a part at a time, so that a long one delays nobody.
// SPDX-License-Identifier: MIT
#pragma once

#include <systemd/sd-bus.h>

#include "filter.h"
#include "status.h"

typedef struct BusListing {
    const Context *context; // borrowed
    Viewer viewer;
    const Filter *filter;  // borrowed
    sd_bus_message *reply; // owned, NULL until begun
    uint64_t cursor;       // serial of the last life looked at
    uint64_t end;          // serial of the last life there was
    size_t size;           // bytes of the reply, about
    size_t turn_end;       // its size at which this turn ends
} BusListing;
void bus_listing_done(BusListing *listing);

// The processes are those of now, each as it is when its turn comes.
int bus_listing_begin(BusListing *listing, sd_bus_message *call);

typedef enum BusListingResult {
    BUS_LISTING_MORE, // call again
    BUS_LISTING_DONE, // listing->reply can be sent
    BUS_LISTING_TOO_LARGE,
} BusListingResult;
// Collects the next part. A negative errno of sd-bus.
int bus_listing_step(BusListing *listing);
