// watch-bus CPU: "listening", and then for each process that becomes ready a line with its pid and
// when the signal came over D-Bus, in microseconds.
// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "discovery_names.h"
#include "meter.h"

static int on_signal(sd_bus_message *message, __attribute__((unused)) void *userdata,
                     __attribute__((unused)) sd_bus_error *error) {
    double now_us = meter_now_us();
    uint64_t sequence, start_time;
    uint32_t pid;
    const char *id, *state;
    meter_need(sd_bus_message_read(message, "tsuts", &sequence, &id, &pid, &start_time, &state),
               "ProcessChanged");
    if (strcmp(state, "ready") == 0)
        printf("%u %.1f\n", pid, now_us);
    return 0;
}

int watch_bus_main(__attribute__((unused)) int argc, char **argv) {
    sd_bus *bus = NULL;
    meter_pin(argv[0]);
    meter_need(sd_bus_open_system(&bus), "the bus");
    meter_need(sd_bus_match_signal(bus, NULL, DISCOVERY_BUS_NAME, DISCOVERY_BUS_PATH,
                                   DISCOVERY_BUS_INTERFACE, "ProcessChanged", on_signal, NULL),
               "a match");
    puts("listening");
    for (;;) {
        int r = sd_bus_process(bus, NULL);
        meter_need(r, "sd_bus_process");
        if (r == 0)
            meter_need(sd_bus_wait(bus, UINT64_MAX), "sd_bus_wait");
    }
}
