// Where facts come from: the kernel programs and their ring buffer, the scans, the pidfds. Turns
// each into an Input and hands it to one function. Knows nothing of what becomes of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

#include "input.h"
#include "mechanism.h"

typedef struct Source Source;

typedef enum ProgramId {
    PROGRAM_MAPPING, // a process maps the name: the moment itself
    PROGRAM_LISTEN,  // it listens: the same for runtimes that map nothing
    PROGRAM_EXEC,    // the end of a life by execve
    PROGRAM_SCAN,    // what runs already
    PROGRAM_COUNT_,
} ProgramId;

// A feature of the kernel side: by what it is had, whether it works, if not why and what that
// costs. The first two are the mechanism's, the others independent of it.
typedef struct Program {
    const char *name; // static: "mapping", "listen", "exec", "scan"
    const char *kind; // the source's: "fentry shmem_mmap, hugetlbfs_file_mmap"; "none"
    bool attached;
    char *detail; // owned; NULL when attached: why not, what it costs, what to do
} Program;

typedef struct SourceOptions {
    size_t processes;             // how many the kernel side may follow
    size_t ring_bytes;            // of the ring buffer, a power of two
    MechanismId mechanism;        // to use, or MECHANISM_AUTO
    bool without[PROGRAM_COUNT_]; // programs left out on request
} SourceOptions;

typedef struct SourceCounters {
    uint64_t records;       // that the mechanism told, as far as they are signals or execs
    uint64_t records_bad;   // not understood
    uint64_t records_lost;  // the kernel had no room for
    uint64_t rescans;       // made since the first scan
    uint64_t scan_failures; // ways of scanning that did not work, sockets left out
    uint64_t scans_failing; // scans that ended early since the last that did not
} SourceCounters;

// Gets one input, with all that it owns. Called from the loop, source_attach() and source_scan().
typedef void (*SourceInput)(void *userdata, Input *input);

// How many descriptors a source may need for the CPUs of this host, whatever it follows.
size_t source_descriptors(void);

// -ENOMEM and errors of the event loop only. The caller owns *ret; `event` is borrowed and
// referenced.
int source_new(sd_event *event, const SourceOptions *options, SourceInput input, void *userdata,
               Source **ret);
void source_free(Source *source);

// Attaches the first mechanism that passes its self-test: the daemon maps and listens itself, and
// must be told of it. What fails is told (source_mechanisms, source_programs) and is no error: with
// nothing at all the source still scans, and follows. Once, before the first scan. -ENOMEM and
// errors of the event loop only.
int source_attach(Source *source);

// The scan of what runs already, to its end, before anything is served. Every process found is an
// INPUT_SIGNAL of kind scan. Then drains what the ring buffer got meanwhile. An entry that cannot
// be read never spoils the rest. Where it ends early another follows in the loop, and so after
// each, ever later, until one does not.
int source_scan(Source *source);

// Asks for another scan, in the loop, bounded reads a turn. Asked for again while it runs or within
// a second of the last one: one more follows.
int source_rescan(Source *source);

// Holds whatever process has the pid by a pidfd and yields INPUT_EXIT when it ends; that it is of
// this key is for a look begun later to find out. FOLLOW_GONE: there is none any more (no input is
// yielded; the caller tells the registry). -EMFILE and the like: not followed.
typedef enum FollowResult { FOLLOW_OK, FOLLOW_GONE } FollowResult;
int source_follow(Source *source, uint64_t serial, const ProcessKey *key);
// Stops that, and has the kernel side forget the pid unless it follows a later life of it by now
// (another exec count). Not following it is no error.
void source_unfollow(Source *source, uint64_t serial, const ProcessKey *key);
// Has the kernel side forget a pid that is not followed.
void source_disregard(Source *source, pid_t pid);

// Borrowed: MECHANISM_COUNT_ of them, indexed by MechanismId; which one is in use.
const Mechanism *source_mechanisms(const Source *source);
MechanismId source_mechanism(const Source *source);
// Between the starts of two scans by itself, microseconds; 0 where the mechanism needs none.
uint64_t source_scan_interval_us(const Source *source);

// Borrowed: PROGRAM_COUNT_ of them, indexed by ProgramId.
const Program *source_programs(const Source *source);
const SourceCounters *source_counters(const Source *source);
