// The list of actions and what it keeps alive.
// SPDX-License-Identifier: MIT
#include "action.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "life.h"

void actions_clear(Actions *actions) {
    for (size_t i = 0; i < actions->ended_count; i++)
        life_free(actions->ended[i]);
    for (size_t i = 0; i < actions->replaced_count; i++)
        facts_free(actions->replaced[i]);
    actions->count = actions->ended_count = actions->replaced_count = 0;
}

void actions_done(Actions *actions) {
    if (!actions)
        return;
    actions_clear(actions);
    free(actions->items);
    free(actions->ended);
    free(actions->replaced);
    *actions = (Actions){0};
}

// The array itself or its grown successor in *ret.
static int reserve(void *array, size_t element, size_t count, size_t more, size_t *capacity,
                   void **ret) {
    *ret = array;
    if (count + more <= *capacity)
        return 0;
    size_t wanted = count + more > 2 * *capacity ? count + more : 2 * *capacity;
    void *grown = reallocarray(array, wanted, element);
    if (!grown)
        return -ENOMEM;
    *ret = grown;
    *capacity = wanted;
    return 0;
}

int actions_reserve(Actions *actions, size_t items, size_t ended, size_t replaced) {
    void *array;
    int r = reserve(actions->items, sizeof *actions->items, actions->count, items,
                    &actions->capacity, &array);
    if (r < 0)
        return r;
    actions->items = array;

    r = reserve(actions->ended, sizeof *actions->ended, actions->ended_count, ended,
                &actions->ended_capacity, &array);
    if (r < 0)
        return r;
    actions->ended = array;

    r = reserve(actions->replaced, sizeof *actions->replaced, actions->replaced_count, replaced,
                &actions->replaced_capacity, &array);
    if (r < 0)
        return r;
    actions->replaced = array;
    return 0;
}

Action *actions_add(Actions *actions, ActionKind kind, uint64_t serial, const ProcessKey *key) {
    assert(actions->count < actions->capacity);
    Action *action = &actions->items[actions->count++];
    *action = (Action){.kind = kind, .serial = serial, .key = *key};
    return action;
}
