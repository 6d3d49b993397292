// moments, then a pid on each line: when the kernel saw the process listen at a diagnostic socket
// and map the name, in microseconds; 0 where it told of none. It is the daemon's own source once
// more, whose records have the kernel's own time: nothing is read before somebody asks, so that it
// takes the processor from nobody while something is measured.
// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "bounds.h"
#include "meter.h"
#include "source.h"

enum { DEADLINE_US = 500000 }; // of a process that may do only one of both

typedef struct Sought {
    Source *source;
    pid_t pid;
    double listen_us, map_us; // of its first of each
} Sought;

static void on_input(void *userdata, Input *input) {
    Sought *sought = userdata;
    const Signal *signal = &input->signal;
    if (input->kind == INPUT_SIGNAL) {
        double *moment_us = signal->kind == SIGNAL_MAPPING  ? &sought->map_us
                            : signal->kind == SIGNAL_LISTEN ? &sought->listen_us
                                                            : NULL;
        if (moment_us && signal->key.pid == sought->pid && *moment_us <= 0)
            *moment_us = (double)signal->seen.boottime_us;
        source_disregard(sought->source, signal->key.pid);
    }
    input_done(input);
}

static void answer(sd_event *event, Sought *sought) {
    const Program *programs = source_programs(sought->source);
    double deadline_us = meter_now_us() + DEADLINE_US;
    while (((programs[PROGRAM_LISTEN].attached && sought->listen_us <= 0) ||
            (programs[PROGRAM_MAPPING].attached && sought->map_us <= 0)) &&
           meter_now_us() < deadline_us)
        meter_need(sd_event_run(event, DEADLINE_US), "sd_event_run");
    printf("%.1f %.1f\n", sought->listen_us, sought->map_us);
}

int moments_main(__attribute__((unused)) int argc, __attribute__((unused)) char **argv) {
    const SourceOptions options = {
        .processes = BOUND_PROCESSES,
        .ring_bytes = BOUND_RING_BYTES,
        .mechanism = MECHANISM_AUTO,
    };
    sd_event *event = NULL;
    Sought sought = {0};
    meter_need(sd_event_new(&event), "sd_event_new");
    meter_need(source_new(event, &options, on_input, &sought, &sought.source), "source_new");
    meter_need(source_attach(sought.source), "source_attach");
    puts("ready");
    Order order;
    while (meter_next_order(&order) == 1) {
        sought = (Sought){.source = sought.source, .pid = (pid_t)meter_number(order.words[0])};
        answer(event, &sought);
    }
    source_free(sought.source);
    sd_event_unref(event);
    return 0;
}
