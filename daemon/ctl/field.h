// Members of a reply, of the type they should have; anything else counts as absent.
// SPDX-License-Identifier: MIT
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

// Borrowed from `object`, which may be NULL; NULL where absent.
const char *field_text(json_t *object, const char *name);
json_t *field_array(json_t *object, const char *name);
json_t *field_object(json_t *object, const char *name);

// False where absent or negative.
bool field_number(json_t *object, const char *name, uint64_t *ret);
bool field_true(json_t *object, const char *name);
