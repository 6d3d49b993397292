// What the commands of the measuring program share. Each is an entry of the table in meter.c, runs
// until its standard input ends or its work is done, and ends the program where it cannot go on: a
// figure that was not measured must never look like one that was.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Named as the commands that they are.
int loops_main(int argc, char **argv);
int tracepoint_main(int argc, char **argv);
int perf_main(int argc, char **argv);
int walks_main(int argc, char **argv);
int record_main(int argc, char **argv);
int moments_main(int argc, char **argv);
int fakes_main(int argc, char **argv);
int clients_main(int argc, char **argv);
int watch_main(int argc, char **argv);
int watch_bus_main(int argc, char **argv);
int subscribers_main(int argc, char **argv);

// CLOCK_BOOTTIME, as the kernel's records have it.
double meter_now_us(void);
_Noreturn void meter_die(const char *what);
// Says why not where `r` is negative: a number of errno, as libbpf and sd-bus return it.
void meter_need(int r, const char *what);
void meter_pin(const char *cpu);
uint64_t meter_number(const char *text);

// The next line of standard input, split at spaces into at most `size` words; 0 at the end.
enum { METER_WORDS = 8, METER_LINE = 512 };
typedef struct Order {
    char line[METER_LINE];
    char *words[METER_WORDS];
    size_t count;
} Order;
size_t meter_next_order(Order *order);

// Blocks until standard input ends.
void meter_await_end(void);
