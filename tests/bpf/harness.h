// The real source in a loop of its own, and everything it said.
// SPDX-License-Identifier: MIT
#pragma once

#include "child.h"
#include "source.h"

typedef struct Harness {
    sd_event *event; // owned
    Source *source;  // owned
    Input *inputs;   // owned; none of them owns anything
    size_t count;
    size_t capacity;
} Harness;

// That which the environment's DISCOVERY_MECHANISM names, or MECHANISM_AUTO.
MechanismId harness_mechanism(void);

// With that mechanism; with another.
void harness_init(Harness *harness, const bool without[PROGRAM_COUNT_]);
void harness_init_by(Harness *harness, MechanismId mechanism, const bool without[PROGRAM_COUNT_]);
void harness_done(Harness *harness);

// The number of signals of this kind, of execs, of this pid so far.
size_t harness_signals(const Harness *harness, SignalKind kind, pid_t pid);
size_t harness_execs(const Harness *harness, pid_t pid);
size_t harness_exits(const Harness *harness, uint64_t serial);
// The last of them; there must be one.
const Signal *harness_signal(const Harness *harness, SignalKind kind, pid_t pid);
const ProcessKey *harness_exec(const Harness *harness, pid_t pid);

// Runs the loop until `done` says so; fails the test after twenty seconds.
typedef bool (*HarnessDone)(const Harness *harness, const void *argument);
void harness_run(Harness *harness, HarnessDone done, const void *argument);
// Two mappings of a pid_t; an exit of a uint64_t serial.
bool harness_has_two_mappings(const Harness *harness, const void *pid);
bool harness_has_exit(const Harness *harness, const void *serial);
void harness_await_mapping(Harness *harness, pid_t pid);
void harness_await_listen(Harness *harness, pid_t pid);
// Returns when all that the kernel side said before is here: has a process make a mapping of its
// own and waits for that, since records keep their order.
void harness_fence(Harness *harness);

// Field 22 of /proc/PID/stat.
uint64_t start_ticks_of(pid_t pid);

// cmocka's setup and teardown: *state is a Harness with every program.
int harness_setup(void **state);
int harness_teardown(void **state);

// Whether the mechanism's own words say that the machine withholds it: no fault of ours.
bool harness_is_withheld(const Mechanism *mechanism);
// For main(): ends the program with status 77 and the reason where the programs cannot be loaded.
void harness_skip_unless_privileged(void);
