// The Varlink object of a process: a sink that fills a JSON object, which keeps the order of visit.
// SPDX-License-Identifier: MIT
#include <errno.h>

#include "varlink.h"
#include "view.h"

// Takes the value, also where it fails.
static int put(void *userdata, const char *name, json_t *value) {
    return json_object_set_new(userdata, name, value) < 0 ? -ENOMEM : 0;
}

static int put_text(void *userdata, const char *name, const char *value) {
    return put(userdata, name, json_string(value));
}

static int put_texts(void *userdata, const char *name, char *const *values, size_t count) {
    _cleanup_json_ json_t *array = json_array();
    if (!array)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(array, json_string(values[i])) < 0)
            return -ENOMEM;
    return put(userdata, name, TAKE_PTR(array));
}

static int put_number(void *userdata, const char *name, uint64_t value,
                      ViewWidth width __attribute__((unused))) {
    return put(userdata, name, json_integer((json_int_t)value));
}

static int put_boolean(void *userdata, const char *name, bool value) {
    return put(userdata, name, json_boolean(value));
}

int view_process_json(const Process *process, sd_id128_t boot_id, json_t **ret) {
    static const ViewSink sink = {
        .text = put_text,
        .texts = put_texts,
        .number = put_number,
        .boolean = put_boolean,
    };
    _cleanup_json_ json_t *object = json_object();
    if (!object)
        return -ENOMEM;
    int r = view_process(process, boot_id, &sink, object);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(object);
    return 0;
}
