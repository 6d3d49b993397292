// Typed access to members.
// SPDX-License-Identifier: MIT
#include "field.h"

const char *field_text(json_t *object, const char *name) {
    return json_string_value(json_object_get(object, name));
}

json_t *field_array(json_t *object, const char *name) {
    json_t *value = json_object_get(object, name);
    return json_is_array(value) ? value : NULL;
}

json_t *field_object(json_t *object, const char *name) {
    json_t *value = json_object_get(object, name);
    return json_is_object(value) ? value : NULL;
}

bool field_number(json_t *object, const char *name, uint64_t *ret) {
    json_t *value = json_object_get(object, name);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *ret = (uint64_t)json_integer_value(value);
    return true;
}

bool field_true(json_t *object, const char *name) {
    return json_is_true(json_object_get(object, name));
}
