// The words of the interface, and what a life is made of.
// SPDX-License-Identifier: MIT
#include "process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"

static const char *const state_names[] = {
    [STATE_DETECTED] = "detected",
    [STATE_READY] = "ready",
    [STATE_UNREACHABLE] = "unreachable",
    [STATE_GONE] = "gone",
};
_Static_assert(ELEMENTS_OF(state_names) == STATE_COUNT_, "a state has no name");

static const char *const reason_names[] = {
    [REASON_NONE] = NULL,
    [REASON_NO_SOCKET] = "no_socket",
    [REASON_REFUSED] = "refused",
    [REASON_PERMISSION_DENIED] = "permission_denied",
    [REASON_TIMEOUT] = "timeout",
    [REASON_NOT_OWNER] = "not_owner",
    [REASON_PROTOCOL_ERROR] = "protocol_error",
};
_Static_assert(ELEMENTS_OF(reason_names) == REASON_COUNT_, "a reason has no name");

static const char *const signal_kind_names[] = {
    [SIGNAL_MAPPING] = "mapping",
    [SIGNAL_LISTEN] = "listen",
    [SIGNAL_SCAN] = "scan",
};
_Static_assert(ELEMENTS_OF(signal_kind_names) == SIGNAL_KIND_COUNT_, "a signal has no name");

const char *state_to_string(State state) {
    return state_names[state];
}

const char *reason_to_string(Reason reason) {
    return reason_names[reason];
}

const char *signal_kind_to_string(SignalKind kind) {
    return signal_kind_names[kind];
}

int state_from_string(const char *name, State *ret) {
    for (size_t i = 0; i < ELEMENTS_OF(state_names); i++) {
        if (strcmp(state_names[i], name) == 0) {
            *ret = (State)i;
            return 0;
        }
    }
    return -EINVAL;
}

Facts *facts_new(void) {
    Facts *facts = malloc(sizeof *facts);
    if (facts)
        *facts = (Facts){.uid = UID_UNKNOWN, .gid = GID_UNKNOWN, .protection = PROTECTION_UNKNOWN};
    return facts;
}

void facts_free(Facts *facts) {
    if (!facts)
        return;
    free(facts->executable);
    free(facts->cgroup);
    free(facts->unit);
    free(facts->user_unit);
    free(facts->container_id);
    free(facts->arguments);
    free(facts->socket_path);
    free(facts->taken_path);
    free(facts->runtime_version);
    free(facts->entry_assembly);
    free(facts->operating_system);
    free(facts->architecture);
    free(facts->portable_rid);
    free(facts);
}
