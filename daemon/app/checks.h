// Check calls under way: a check of a process that nobody follows takes an attempt of its own, and
// is answered when that has ended; one of a process that is being asked waits for that attempt.
// SPDX-License-Identifier: MIT
#pragma once

#include "check.h"
#include "probe.h"
#include "registry.h"

typedef struct Checks Checks;

// Gets the items of each check that was started, once.
typedef void (*ChecksDone)(void *userdata, uint64_t token, const CheckItems *items);

// All but *ret are borrowed; `source` and `registry` are NULL where no daemon serves. -ENOMEM.
int checks_new(ProbePool *probes, const Registry *registry, const Source *source, ChecksDone done,
               void *userdata, Checks **ret);
void checks_free(Checks *checks);

// Checks the machine (pid 0) or a process; `token` comes back with the items, perhaps before this
// returns. -ESRCH: no such process. -ENOMEM. Each belongs to a client that waits for it, which
// bounds how many there are.
int checks_start(Checks *checks, pid_t pid, uint64_t token);
// Its client has gone. Not having it is no error.
void checks_cancel(Checks *checks, uint64_t token);

// CHECKS_NOT_THEIRS: the attempt is a life's, and its input untouched. CHECKS_FOUND: it answered,
// and nobody follows it.
typedef enum ChecksTaken { CHECKS_NOT_THEIRS, CHECKS_TAKEN, CHECKS_FOUND } ChecksTaken;
int checks_take(Checks *checks, Input *input);

// The attempt at this life, or the life itself, has ended, as the registry now has it.
void checks_settle(Checks *checks, uint64_t serial);

// --check: runs one check without a daemon and prints it. The process's exit status: 0 all is well,
// 1 not all, 3 there is no such process.
#define CHECKS_NO_PROCESS 3
int checks_run_alone(pid_t pid, const SourceOptions *options);
