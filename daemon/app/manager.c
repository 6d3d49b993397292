// The wiring. Order of a start: claim the status socket (clients that connect meanwhile wait in its
// backlog), attach, scan, merge, ask every process that the scan found, serve. Whoever calls again
// after a restart so finds the processes in the states that it knew them in.
// SPDX-License-Identifier: MIT
#include "manager.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "announce.h"
#include "bounds.h"
#include "bus.h"
#include "checks.h"
#include "cleanup.h"
#include "log.h"
#include "overview.h"
#include "peer.h"
#include "probe.h"
#include "registry.h"
#include "status_socket.h"
#include "watching.h"

// At the latest then clients are served, whatever the processes found at the start do.
#define SETTLE_US (2 * USEC_PER_SEC)
// What fewer lives than this took is not worth giving back.
#define LIVES_WORTH_TRIMMING 256

struct Manager {
    sd_event *event; // owned reference
    Registry *registry;
    Actions actions;
    uint64_t ended;        // serial of the life just begun that could not be followed, else 0
    bool ended_unfollowed; // for lack of something of the daemon's own
    Source *source;
    ProbePool *probes;
    Checks *checks;
    int fd; // listening, owned until it is served
    VarlinkLimits limits;
    VarlinkServer *varlink; // NULL until settled, and so is the bus
    Bus *bus;
    Overview overview;
    Throttle throttle;
    sd_event_source *deadline;
    sd_event_source *settle; // NULL once settled
    sd_event_source *turn;
    uint64_t started_realtime_us;
    size_t lives_most;       // since the heap was trimmed last
    uint64_t settle_last;    // serial of the last life that the first scan found
    uint64_t settled;        // serial up to which each has had an answer
    bool rescan_refused;     // told already
    const char *socket_made; // path to remove at the end, NULL where systemd passed the socket
};

static void take_input(Manager *manager, Input *input);
static void take_probe_input(void *userdata, Input *input);

static void rescan(Manager *manager) {
    int r = source_rescan(manager->source);
    if (r >= 0 || manager->rescan_refused)
        return;
    log_warning("Cannot ask for another scan, some processes may be missing: %s",
                strerrorname_np(-r));
    manager->rescan_refused = true;
}

static void route(Manager *manager, const Action *action) {
    switch (action->kind) {
    case ACTION_FOLLOW: {
        int r = source_follow(manager->source, action->serial, &action->key);
        if (r < 0) {
            log_debug("Cannot follow process %d, it is told as gone: %s", action->key.pid,
                      strerrorname_np(-r));
            manager->overview.not_followed++;
        }
        if (r != FOLLOW_OK) {
            manager->ended = action->serial;
            manager->ended_unfollowed = r < 0;
        }
        break;
    }
    case ACTION_UNFOLLOW:
        source_unfollow(manager->source, action->serial, &action->key);
        break;
    case ACTION_DISREGARD:
        source_disregard(manager->source, action->key.pid);
        break;
    case ACTION_PROBE: {
        // Not there any more: an action in between ended it.
        const Process *process = registry_find(manager->registry, action->serial);
        if (!process || action->serial == manager->ended)
            break;
        ProbeTarget target = {
            .key = action->key,
            .uid = process->traits.uid,
            .socket_hint = process->socket_hint,
            // Where it is about to listen its mapping is yet to come, and to be told of.
            .wants_protection =
                process->signal == SIGNAL_SCAN && process->protection == PROTECTION_UNKNOWN,
        };
        int r = probe_start(manager->probes, action->serial, &target);
        if (r < 0) {
            Input input = {.kind = INPUT_PROBED,
                           .probed = {.serial = action->serial, .outcome = OUTCOME_NOT_TRIED}};
            take_probe_input(manager, &input);
        }
        break;
    }
    case ACTION_CANCEL:
        probe_cancel(manager->probes, action->serial);
        checks_settle(manager->checks, action->serial);
        break;
    case ACTION_RESCAN:
        rescan(manager);
        break;
    case ACTION_PUBLISH:
        // Subscribers first: a log may be slow.
        if (manager->varlink)
            varlink_server_publish(manager->varlink, action);
        if (manager->bus)
            bus_publish(manager->bus, action);
        announce_change(action, &manager->throttle, instant_now().boottime_us);
        break;
    }
}

// A life that could not be followed ends behind all that was to be told of it; one input begins one
// life at most.
static void end_unfollowed(Manager *manager) {
    Input input = {.kind = INPUT_EXIT,
                   .exit = {.serial = manager->ended, .not_followed = manager->ended_unfollowed}};
    manager->ended = 0;
    take_input(manager, &input);
}

// Feeds the registry and carries out what it asks for. Carrying out can yield a further input: its
// actions then stand behind those not yet carried out.
static void take_input(Manager *manager, Input *input) {
    bool outermost = manager->actions.count == 0;
    int r = registry_feed(manager->registry, input, instant_now(), &manager->actions);
    if (r < 0) {
        log_error("Out of memory: an event was lost, scanning again.");
        rescan(manager);
    }
    if (!outermost)
        return;
    for (size_t i = 0; i < manager->actions.count; i++) {
        Action action = manager->actions.items[i]; // the array may move meanwhile
        route(manager, &action);
        if (manager->ended && i + 1 == manager->actions.count)
            end_unfollowed(manager);
    }
    actions_clear(&manager->actions);
}

static void take_source_input(void *userdata, Input *input) {
    take_input(userdata, input);
}

static void take_probe_input(void *userdata, Input *input) {
    Manager *manager = userdata;
    uint64_t serial = input->probed.serial;
    switch ((ChecksTaken)checks_take(manager->checks, input)) {
    case CHECKS_NOT_THEIRS:
        take_input(manager, input);
        checks_settle(manager->checks, serial);
        break;
    case CHECKS_FOUND:
        // A scan tells of it all that an event would have.
        rescan(manager);
        break;
    case CHECKS_TAKEN:
        break;
    }
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata) {
    Input input = {.kind = INPUT_TIMER};
    (void)source;
    (void)usec;
    take_input(userdata, &input);
    return 0;
}

static void arm_deadline(Manager *manager) {
    uint64_t due_us = registry_next_deadline(manager->registry);
    if (due_us != USEC_NEVER)
        sd_event_source_set_time(manager->deadline, due_us);
    sd_event_source_set_enabled(manager->deadline,
                                due_us != USEC_NEVER ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static void answer_check(void *userdata, uint64_t token, const CheckItems *items) {
    Manager *manager = userdata;
    varlink_server_check_done(manager->varlink, token, items);
}

static int start_check(void *userdata, pid_t pid, uint64_t token) {
    Manager *manager = userdata;
    const Process *known = pid > 0 ? registry_find_pid(manager->registry, pid) : NULL;
    if (known) {
        Input input = {.kind = INPUT_ASKED, .asked = known->serial};
        take_input(manager, &input);
    }
    return checks_start(manager->checks, pid, token);
}

static void cancel_check(void *userdata, uint64_t token) {
    Manager *manager = userdata;
    checks_cancel(manager->checks, token);
}

static void collect(void *userdata, Status *ret) {
    Manager *manager = userdata;
    overview_collect(&manager->overview, ret);
}

static int serve(Manager *manager) {
    Context context = {
        .registry = manager->registry,
        .group = peer_find_group(),
        .started_realtime_us = manager->started_realtime_us,
        .userdata = manager,
        .collect = collect,
        .check = start_check,
        .check_cancel = cancel_check,
    };
    int r = sd_id128_get_boot(&context.boot_id);
    if (r >= 0)
        r = sd_id128_randomize(&context.run_id);
    if (r >= 0)
        r = varlink_server_new(manager->event, &context, &manager->limits, TAKE_FD(manager->fd),
                               &manager->varlink);
    if (r >= 0)
        r = bus_new(manager->event, &context, NULL, &manager->bus);
    manager->overview.varlink = manager->varlink;
    manager->overview.bus = manager->bus;
    return r;
}

static void tell_status(Manager *manager) {
    Status status;
    overview_collect(&manager->overview, &status);
    announce_status(status_mechanism(&status), status.degraded_count > 0);
}

// The first scan is merged, and each process that it found has had its first answer.
static void settle(Manager *manager) {
    manager->settle = sd_event_source_disable_unref(manager->settle);
    int r = serve(manager);
    if (r < 0) {
        log_error("Cannot serve: %s", strerrorname_np(-r));
        sd_event_exit(manager->event, r);
        return;
    }
    tell_status(manager);
    announce_ready();
    // What it took to load the kernel programs is not needed again.
    (void)malloc_trim(0);
}

static int on_settle_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
    (void)source;
    (void)usec;
    settle(userdata);
    return 0;
}

// Goes on from the last life known to have had its answer, so that each is looked at once or twice.
static void check_settled(Manager *manager) {
    const Process *next;
    while ((next = registry_next(manager->registry, manager->settled)) &&
           next->serial <= manager->settle_last) {
        if (next->traits.state == STATE_DETECTED)
            return;
        manager->settled = next->serial;
    }
    settle(manager);
}

static void trim_heap(Manager *manager) {
    size_t lives = registry_count(manager->registry);
    if (lives > manager->lives_most)
        manager->lives_most = lives;
    if (manager->lives_most < LIVES_WORTH_TRIMMING || lives > manager->lives_most / 2)
        return;
    (void)malloc_trim(0);
    manager->lives_most = lives;
}

// After every event, whatever it was; never wakes the loop by itself.
static int on_turn(sd_event_source *source, void *userdata) {
    Manager *manager = userdata;
    (void)source;
    arm_deadline(manager);
    trim_heap(manager);
    if (manager->settle)
        check_settled(manager);
    overview_announce(&manager->overview, &manager->throttle, instant_now().boottime_us);
    if (manager->bus && overview_changed(&manager->overview)) {
        bus_status_changed(manager->bus);
        tell_status(manager);
    }
    return 0;
}

// Descriptors decide how much can be followed and served: the soft limit goes up to the hard one,
// and what is left of it after the daemon's own needs is shared out.
static void fit_descriptors(Options *options) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);

    size_t asking = options->probes + BOUND_LOOKS_OF_ROOT + BOUND_LOOKS_OF_USERS;
    size_t own =
        BOUND_DESCRIPTORS_RESERVED + asking * BOUND_PROBE_DESCRIPTORS + source_descriptors();
    size_t left = limit.rlim_max > own + 8 ? (size_t)limit.rlim_max - own : 8;
    if (options->varlink.connections > left / 4)
        options->varlink.connections = left / 4;
    left -= options->varlink.connections;
    if (options->processes > left) {
        log_notice("RLIMIT_NOFILE %ju: %zu processes can be followed instead of %zu.",
                   (uintmax_t)limit.rlim_max, left, options->processes);
        options->processes = left;
        options->source.processes = left;
    }
}

static const char *socket_remedy(int error) {
    switch (error) {
    case EACCES:
    case EPERM:
        return "run as root, or choose another place with --socket=";
    case ENOENT:
    case ENOTDIR:
        return "make its folder first";
    case ENAMETOOLONG:
        return "choose a shorter path with --socket=";
    default:
        return "choose another place with --socket=";
    }
}

static int claim_socket(Manager *manager, const Options *options) {
    int fd = status_socket_passed();
    if (fd == -ENOENT) {
        pid_t owner = 0;
        fd = status_socket_open(options->socket_path, &owner);
        if (fd == -EADDRINUSE)
            log_error("Another daemon serves %s: process %d.", options->socket_path, owner);
        else if (fd == -EEXIST)
            log_error("%s is not a socket and is left alone.", options->socket_path);
        else if (fd < 0)
            log_error("Cannot make %s (%s): %s.", options->socket_path, strerrorname_np(-fd),
                      socket_remedy(-fd));
        else
            manager->socket_made = options->socket_path;
    } else if (fd < 0) {
        log_error("The socket passed by the service manager is not one listening Unix stream "
                  "socket: %s",
                  strerrorname_np(-fd));
    }
    if (fd < 0)
        return fd;
    manager->fd = fd;
    return 0;
}

static int add_timers(Manager *manager) {
    // Accuracies are small where someone waits for the result, coarse where nobody does.
    int r = sd_event_add_time(manager->event, &manager->deadline, CLOCK_BOOTTIME, 0, 1, on_deadline,
                              manager);
    if (r >= 0)
        r = sd_event_source_set_enabled(manager->deadline, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_time_relative(manager->event, &manager->settle, CLOCK_MONOTONIC, SETTLE_US,
                                       0, on_settle_timeout, manager);
    if (r >= 0)
        r = sd_event_add_post(manager->event, &manager->turn, on_turn, manager);
    return r;
}

// Attach, scan, merge.
static int watch(Manager *manager, const Options *options) {
    RegistryLimits limits = {.processes = options->processes,
                             .processes_per_uid = options->processes / BOUND_UID_DIVISOR};
    if (limits.processes_per_uid == 0)
        limits.processes_per_uid = 1;
    int r = registry_new(&limits, &manager->registry);
    if (r >= 0)
        r = probe_pool_new(manager->event, options->probes, take_probe_input, manager,
                           &manager->probes);
    if (r >= 0)
        r = source_new(manager->event, &options->source, take_source_input, manager,
                       &manager->source);
    if (r >= 0)
        r = checks_new(manager->probes, manager->registry, manager->source, answer_check, manager,
                       &manager->checks);
    if (r < 0)
        return r;
    overview_init(&manager->overview, manager->source, manager->registry, manager->probes,
                  options->source.mechanism);
    r = source_attach(manager->source);
    if (r < 0)
        return r;
    r = source_scan(manager->source);
    if (r < 0)
        log_warning("After the first scan: some processes may be missing: %s", strerrorname_np(-r));
    manager->settle_last = registry_last_serial(manager->registry);
    return 0;
}

// Settles at once where the scan found nothing to wait for.
static int begin(Manager *manager) {
    int r = add_timers(manager);
    if (r < 0)
        return r;
    watching_announce(manager->source);
    overview_announce(&manager->overview, &manager->throttle, instant_now().boottime_us);
    check_settled(manager);
    return 0;
}

DEFINE_CLEANUP(Manager *, manager_free);

int manager_new(sd_event *event, const Options *options, Manager **ret) {
    _cleanup_(manager_freep) Manager *manager = calloc(1, sizeof *manager);
    Options fitted = *options;
    if (!manager)
        return -ENOMEM;
    manager->fd = -1;
    manager->event = sd_event_ref(event);
    manager->started_realtime_us = instant_now().realtime_us;

    int r = claim_socket(manager, &fitted);
    if (r < 0)
        return r;
    fit_descriptors(&fitted);
    manager->limits = fitted.varlink;
    r = watch(manager, &fitted);
    if (r >= 0)
        r = begin(manager);
    if (r < 0) {
        log_error("Cannot start: %s", strerrorname_np(-r));
        return r;
    }
    *ret = TAKE_PTR(manager);
    return 0;
}

void manager_free(Manager *manager) {
    if (!manager)
        return;
    sd_event_source_disable_unref(manager->turn);
    sd_event_source_disable_unref(manager->settle);
    sd_event_source_disable_unref(manager->deadline);
    // The path goes first, so that nobody connects to a server that is being taken down.
    if (manager->socket_made)
        status_socket_remove(manager->socket_made,
                             manager->varlink ? varlink_server_fd(manager->varlink) : manager->fd);
    bus_free(manager->bus);
    varlink_server_free(manager->varlink);
    safe_close(manager->fd);
    checks_free(manager->checks);
    probe_pool_free(manager->probes);
    source_free(manager->source);
    actions_done(&manager->actions);
    registry_free(manager->registry);
    sd_event_unref(manager->event);
    free(manager);
}
