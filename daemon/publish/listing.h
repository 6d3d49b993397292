// A running List without "more": one reply, collected a part at a time, so that a long one delays
// nobody.
// SPDX-License-Identifier: MIT
#pragma once

#include "filter.h"
#include "status.h"

typedef struct Listing Listing;

// Takes what *filter owns, also on failure. -ENOMEM. The caller owns *ret.
int listing_new(const Context *context, const Viewer *viewer, Filter *filter, Listing **ret);
void listing_free(Listing *listing);

typedef enum ListingResult {
    LISTING_MORE, // call again
    LISTING_DONE, // *ret is the frame of the reply, borrowed
    LISTING_TOO_LARGE,
} ListingResult;
// Collects the next part. -ENOMEM.
int listing_step(Listing *listing, const char **ret, size_t *ret_size);
