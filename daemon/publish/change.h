// A change of a process as frames. Subscribers differ in what they knew of the process before and
// in how they asked; each form is made once, when the first subscriber needs it, and copied to the
// rest.
// SPDX-License-Identifier: MIT
#pragma once

#include <systemd/sd-id128.h>

#include "action.h"

typedef enum ChangeForm {
    CHANGE_KNOWN,       // Subscribe: with the state before
    CHANGE_NEW,         // Subscribe: new to this subscriber
    CHANGE_HIDDEN,      // Subscribe: out of this subscriber's sight
    CHANGE_LIST,        // List: a page with the process as it is now
    CHANGE_LIST_HIDDEN, // List: out of this caller's sight
    CHANGE_FORM_COUNT_,
} ChangeForm;

typedef struct Change {
    const Action *action; // borrowed, an ACTION_PUBLISH
    sd_id128_t boot_id;
    struct {
        char *bytes; // owned, NULL until asked for
        size_t size;
    } frames[CHANGE_FORM_COUNT_];
} Change;

void change_done(Change *change);

// The frame of this form, its NUL included; borrowed. -ENOMEM.
int change_frame(Change *change, ChangeForm form, const char **ret, size_t *ret_size);
