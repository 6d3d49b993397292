// record CPU MECHANISM ROUNDS: from right before a process's mmap(2) to its record in the daemon's
// own source, in microseconds, one line for each round; before them a line with the mechanism that
// is in use.
// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bounds.h"
#include "discovery_names.h"
#include "meter.h"
#include "source.h"

enum { DEADLINE_US = 5000000 };

typedef struct Round {
    pid_t pid;
    double came_us;
} Round;

// The first signal of the process: of its mapping, since it makes nothing else.
static void on_input(void *userdata, Input *input) {
    Round *round = userdata;
    if (input->kind == INPUT_SIGNAL && input->signal.key.pid == round->pid && round->came_us <= 0)
        round->came_us = meter_now_us();
    input_done(input);
}

// Waits for the word, so that its parent knows its pid by then.
_Noreturn static void map_when_told(int told, double *before_us) {
    char byte;
    int fd = memfd_create(DISCOVERY_MAPPING_NAME, MFD_CLOEXEC);
    if (fd < 0 || read(told, &byte, 1) != 1)
        _exit(1);
    *before_us = meter_now_us();
    _exit(mmap(NULL, 1, PROT_NONE, MAP_PRIVATE, fd, 0) == MAP_FAILED);
}

static double run_round(sd_event *event, Source *source, Round *round, double *before_us) {
    int told[2];
    if (pipe(told) < 0)
        meter_die("pipe");
    *round = (Round){.pid = fork()};
    if (round->pid == 0)
        map_when_told(told[0], before_us);
    if (round->pid < 0 || write(told[1], "x", 1) != 1)
        meter_die("fork");
    double deadline_us = meter_now_us() + DEADLINE_US;
    while (round->came_us <= 0 && meter_now_us() < deadline_us)
        meter_need(sd_event_run(event, 100000), "sd_event_run");
    close(told[0]);
    close(told[1]);
    waitpid(round->pid, NULL, 0);
    source_disregard(source, round->pid);
    return round->came_us - *before_us;
}

int record_main(__attribute__((unused)) int argc, char **argv) {
    SourceOptions options = {.processes = BOUND_PROCESSES, .ring_bytes = BOUND_RING_BYTES};
    sd_event *event = NULL;
    Source *source = NULL;
    Round round = {0};
    double *before_us =
        mmap(NULL, sizeof *before_us, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (before_us == MAP_FAILED || !mechanism_from_string(argv[1], &options.mechanism))
        meter_die(argv[1]);
    meter_pin(argv[0]);
    meter_need(sd_event_new(&event), "sd_event_new");
    meter_need(source_new(event, &options, on_input, &round, &source), "source_new");
    meter_need(source_attach(source), "source_attach");
    meter_need(source_scan(source), "source_scan");
    puts(mechanism_to_string(source_mechanism(source)));
    for (uint64_t left = meter_number(argv[2]); left > 0; left--)
        printf("%.1f\n", run_round(event, source, &round, before_us));
    source_free(source);
    sd_event_unref(event);
    return 0;
}
