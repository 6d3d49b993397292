// Checks wait in a short list for their attempts, whose serials no life has.
// SPDX-License-Identifier: MIT
#include "checks.h"

#include <errno.h>
#include <stdlib.h>
#include <systemd/sd-event.h>

#include "cleanup.h"
#include "discovery_names.h"
#include "log.h"

// Lives count up from 1; checks have the upper half.
#define CHECK_SERIAL (UINT64_C(1) << 63)

typedef struct Check {
    struct Check *next;
    uint64_t serial; // of the attempt or life it waits for; 0: about to be answered
    pid_t pid;
    uint64_t token;
    CheckItems items;
} Check;

struct Checks {
    ProbePool *probes;
    const Registry *registry;
    const Source *source;
    ChecksDone done;
    void *userdata;
    Check *list; // owned
    uint64_t last_serial;
};

static void check_free(Check *check) {
    check_items_done(&check->items);
    free(check);
}
DEFINE_CLEANUP(Check *, check_free);

int checks_new(ProbePool *probes, const Registry *registry, const Source *source, ChecksDone done,
               void *userdata, Checks **ret) {
    Checks *checks = malloc(sizeof *checks);
    if (!checks)
        return -ENOMEM;
    *checks = (Checks){.probes = probes,
                       .registry = registry,
                       .source = source,
                       .done = done,
                       .userdata = userdata,
                       .last_serial = CHECK_SERIAL};
    *ret = checks;
    return 0;
}

// A life's is the registry's to cancel.
static void cancel_attempt(Checks *checks, const Check *check) {
    if (check->serial >= CHECK_SERIAL)
        probe_cancel(checks->probes, check->serial);
}

void checks_free(Checks *checks) {
    if (!checks)
        return;
    for (Check *check; (check = checks->list);) {
        checks->list = check->next;
        cancel_attempt(checks, check);
        check_free(check);
    }
    free(checks);
}

static int ask(Checks *checks, Check *check, uid_t uid) {
    if (checks->registry)
        check_add(&check->items, "signal", false,
                  "none was seen, so it is not listed; it will be where it answers this check at a "
                  "socket of the runtime's name");
    check->serial = ++checks->last_serial;
    ProbeTarget target = {
        .key = {.pid = check->pid,
                .start_ticks = START_TICKS_UNKNOWN,
                .exec_count = EXEC_COUNT_UNKNOWN},
        .uid = uid,
        .socket_hint = "",
        .wants_protection = true,
        .named_only = true,
    };
    return probe_start(checks->probes, check->serial, &target);
}

static int check_process(Checks *checks, pid_t pid, uint64_t token) {
    _cleanup_(check_freep) Check *check = calloc(1, sizeof *check);
    if (!check)
        return -ENOMEM;
    check->token = token;
    check->pid = pid;
    uid_t uid;
    int r = check_process_begin(pid, &check->items, &uid);
    if (r < 0)
        return r;

    const Process *known = checks->registry ? registry_find_pid(checks->registry, pid) : NULL;
    if (known && registry_is_probing(checks->registry, known->serial)) {
        check->serial = known->serial;
    } else if (known || r == CHECK_ENDED) {
        if (known)
            check_process_known(known, &check->items);
        checks->done(checks->userdata, token, &check->items);
        return 0;
    } else {
        r = ask(checks, check, uid);
        if (r < 0)
            return r;
    }
    check->next = checks->list;
    checks->list = TAKE_PTR(check);
    return 0;
}

int checks_start(Checks *checks, pid_t pid, uint64_t token) {
    if (pid != 0)
        return check_process(checks, pid, token);
    CheckItems items = {0};
    check_machine(checks->source, &items);
    checks->done(checks->userdata, token, &items);
    check_items_done(&items);
    return 0;
}

void checks_cancel(Checks *checks, uint64_t token) {
    for (Check **link = &checks->list; *link; link = &(*link)->next) {
        if ((*link)->token != token)
            continue;
        _cleanup_(check_freep) Check *check = *link;
        *link = check->next;
        cancel_attempt(checks, check);
        return;
    }
}

// Takes the check out of the list.
static void answer(Checks *checks, Check **link) {
    _cleanup_(check_freep) Check *check = *link;
    *link = check->next;
    checks->done(checks->userdata, check->token, &check->items);
}

int checks_take(Checks *checks, Input *input) {
    if (input->kind != INPUT_PROBED || input->probed.serial < CHECK_SERIAL)
        return CHECKS_NOT_THEIRS;
    bool found = false;
    for (Check **link = &checks->list; *link; link = &(*link)->next) {
        Check *check = *link;
        if (check->serial != input->probed.serial)
            continue;
        found = input->probed.outcome == OUTCOME_ANSWERED && checks->registry &&
                !registry_find_pid(checks->registry, check->pid);
        check_process_probed(check->pid, input->probed.outcome, input->probed.detail,
                             input->probed.facts, &check->items);
        answer(checks, link);
        break;
    }
    input_done(input);
    return found ? CHECKS_FOUND : CHECKS_TAKEN;
}

// The next that is to be answered; NULL: none.
static Check **next_settled(Checks *checks) {
    for (Check **link = &checks->list; *link; link = &(*link)->next) {
        if ((*link)->serial == 0)
            return link;
    }
    return NULL;
}

void checks_settle(Checks *checks, uint64_t serial) {
    const Process *known = registry_find(checks->registry, serial);
    for (Check *check = checks->list; check; check = check->next) {
        if (check->serial != serial)
            continue;
        if (known)
            check_process_known(known, &check->items);
        else
            check_add(&check->items, "process", false, "it ended meanwhile");
        check->serial = 0;
    }
    // Whoever is answered may begin or cancel others.
    for (Check **link; (link = next_settled(checks));)
        answer(checks, link);
}

typedef struct Alone {
    sd_event *event;
    Checks *checks;
    bool all_ok;
} Alone;

static void print_and_end(void *userdata, uint64_t token, const CheckItems *items) {
    Alone *alone = userdata;
    (void)token;
    alone->all_ok = true;
    for (size_t i = 0; i < items->count; i++)
        alone->all_ok &= items->items[i].ok;
    int r = check_print(items);
    if (r < 0)
        log_error("Cannot write the result: %s", strerrorname_np(-r));
    sd_event_exit(alone->event, r);
}

static void take_alone(void *userdata, Input *input) {
    Alone *alone = userdata;
    checks_take(alone->checks, input);
}

static void ignore_input(void *userdata, Input *input) {
    (void)userdata;
    input_done(input);
}

DEFINE_CLEANUP(Checks *, checks_free);
DEFINE_CLEANUP(ProbePool *, probe_pool_free);
DEFINE_CLEANUP(Source *, source_free);

int checks_run_alone(pid_t pid, const SourceOptions *options) {
    _cleanup_(sd_event_unrefp) sd_event *event = NULL;
    _cleanup_(source_freep) Source *source = NULL;
    _cleanup_(probe_pool_freep) ProbePool *probes = NULL;
    _cleanup_(checks_freep) Checks *checks = NULL;
    Alone alone = {0};

    int r = sd_event_new(&event);
    // A look at one process needs no kernel program.
    if (r >= 0 && pid == 0)
        r = source_new(event, options, ignore_input, NULL, &source);
    if (r >= 0 && source)
        r = source_attach(source);
    if (r >= 0)
        r = probe_pool_new(event, 1, take_alone, &alone, &probes);
    if (r >= 0)
        r = checks_new(probes, NULL, source, print_and_end, &alone, &checks);
    if (r >= 0) {
        alone.event = event;
        alone.checks = checks;
        r = checks_start(checks, pid, 0);
    }
    if (r == -ESRCH) {
        log_error("There is no process %d.", pid);
        return CHECKS_NO_PROCESS;
    }
    if (r >= 0)
        r = sd_event_loop(event);
    if (r < 0) {
        log_error("The check failed: %s", strerrorname_np(-r));
        return EXIT_FAILURE;
    }
    return alone.all_ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
