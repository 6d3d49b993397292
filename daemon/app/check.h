// "check": what the machine offers, and one process step by step.
// SPDX-License-Identifier: MIT
#pragma once

#include "input.h"
#include "source.h"
#include "status.h"

// Appends an item; `detail` is a format, NULL for none. What does not fit or cannot be allocated is
// left out.
void check_add(CheckItems *items, const char *name, bool ok, const char *detail, ...)
    __attribute__((format(printf, 4, 5)));

// Kernel, privileges, /proc, mechanism, programs, descriptors, group.
void check_machine(const Source *source, CheckItems *items);

// Whether a process lives, and its effective uid. CHECK_ENDED: nothing further can be asked about
// it. Never blocks. -ESRCH: there is no such process.
typedef enum CheckBegun { CHECK_GOES_ON, CHECK_ENDED } CheckBegun;
int check_process_begin(pid_t pid, CheckItems *items, uid_t *ret_uid);
// What is known already of a followed process.
void check_process_known(const Process *process, CheckItems *items);
// What an attempt made for the check found.
void check_process_probed(pid_t pid, Outcome outcome, const char *detail, const Facts *facts,
                          CheckItems *items);

// Writes the items as the JSON object that Check returns, on standard output.
int check_print(const CheckItems *items);
