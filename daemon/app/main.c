// dotnet-discoveryd: knows which .NET processes on this host can be diagnosed, the moment they can.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <systemd/sd-event.h>

#include "announce.h"
#include "checks.h"
#include "cleanup.h"
#include "log.h"
#include "manager.h"
#include "options.h"

DEFINE_CLEANUP(Manager *, manager_free);

// Before all else: a storm of records or exits has priority over what is normal.
static int end_by(sd_event *event, int number) {
    sd_event_source *source;
    int r = sd_event_add_signal(event, &source, number, NULL, NULL);
    if (r < 0)
        return r;
    r = sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IMPORTANT);
    if (r >= 0)
        r = sd_event_source_set_floating(source, true);
    sd_event_source_unref(source);
    return r;
}

// SIGTERM and SIGINT end the loop; they are read by the loop, so they stay blocked.
static int prepare_loop(sd_event **ret) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    // A log pipe whose reader has gone is no reason to end.
    signal(SIGPIPE, SIG_IGN);

    _cleanup_(sd_event_unrefp) sd_event *event = NULL;
    int r = sd_event_new(&event);
    if (r >= 0)
        r = end_by(event, SIGTERM);
    if (r >= 0)
        r = end_by(event, SIGINT);
    // Where the service manager wants it, and only from this loop: no loop, no sign of life.
    if (r >= 0)
        r = sd_event_set_watchdog(event, true);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(event);
    return 0;
}

static int serve(const Options *options) {
    _cleanup_(sd_event_unrefp) sd_event *event = NULL;
    _cleanup_(manager_freep) Manager *manager = NULL;

    int r = prepare_loop(&event);
    if (r < 0) {
        log_error("Cannot start the event loop: %s", strerrorname_np(-r));
        return r;
    }
    r = manager_new(event, options, &manager);
    if (r < 0)
        return r;
    r = sd_event_loop(event);
    announce_stopping();
    if (r < 0)
        log_error("The event loop failed: %s", strerrorname_np(-r));
    return r;
}

int main(int argc, char *argv[]) {
    Options options;
    if (options_parse(argc, argv, &options) < 0)
        return 2;
    switch (options.mode) {
    case MODE_DONE:
        return EXIT_SUCCESS;
    case MODE_CHECK:
        return checks_run_alone(options.check_pid, &options.source);
    case MODE_SERVE:
        return serve(&options) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    return EXIT_FAILURE;
}
