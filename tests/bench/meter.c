// meter COMMAND: the part of `./dev bench` that measures or is measured. Whatever a figure depends
// on is in C, so that none is one of an interpreter; the scripts beside it say what runs when, and
// make tables of what it prints.
// SPDX-License-Identifier: MIT
#include "meter.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double meter_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

void meter_die(const char *what) {
    fprintf(stderr, "meter: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

void meter_need(int r, const char *what) {
    if (r >= 0)
        return;
    errno = -r;
    meter_die(what);
}

void meter_pin(const char *cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(meter_number(cpu), &set);
    if (sched_setaffinity(0, sizeof set, &set) < 0)
        meter_die("sched_setaffinity");
}

uint64_t meter_number(const char *text) {
    char *end;
    uint64_t number = strtoull(text, &end, 10);
    if (end == text || *end) {
        errno = EINVAL;
        meter_die(text);
    }
    return number;
}

// By read(2): what follows an order is left to whoever comes after.
static size_t next_line(char *line) {
    size_t size = 0;
    while (size < METER_LINE - 1 && read(STDIN_FILENO, line + size, 1) == 1) {
        if (line[size] == '\n') {
            line[size] = '\0';
            return size;
        }
        size++;
    }
    return 0;
}

size_t meter_next_order(Order *order) {
    char *rest, *word;
    order->count = 0;
    if (next_line(order->line) == 0)
        return 0;
    for (word = strtok_r(order->line, " ", &rest); word && order->count < METER_WORDS;
         word = strtok_r(NULL, " ", &rest))
        order->words[order->count++] = word;
    return order->count;
}

void meter_await_end(void) {
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
        int arguments; // at least
    } commands[] = {
        {"loops", loops_main, 1},
        {"tracepoint", tracepoint_main, 1},
        {"perf", perf_main, 0},
        {"walks", walks_main, 1},
        {"record", record_main, 3},
        {"moments", moments_main, 0},
        {"fakes", fakes_main, 1},
        {"clients", clients_main, 1},
        {"watch", watch_main, 2},
        {"watch-bus", watch_bus_main, 1},
        {"subscribers", subscribers_main, 3},
    };
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].name, argv[1]) == 0 && argc >= 2 + commands[i].arguments)
            return commands[i].run(argc - 2, argv + 2);
    fputs("usage: meter COMMAND [ARGUMENT...]\n", stderr);
    return 2;
}
