// What comes from the daemon is shown on terminals, and the daemon need not be the one expected.
// SPDX-License-Identifier: MIT
#pragma once

#include <jansson.h>

// Makes every string in `value` safe to show; one that is already is left as it is, escapes and
// all. -EBADMSG where the name of a member is not safe, -ENOMEM.
int scrub(json_t *value);
