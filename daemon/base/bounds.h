// Everything an outsider can consume, and how much of it: the one place. Those marked (option) are
// defaults that an option of the daemon replaces.
// SPDX-License-Identifier: MIT
#pragma once

enum {
    // Processes. A bound per uid does not keep one person with many uids from taking everything;
    // hence a part that only root gets.
    BOUND_PROCESSES = 16384,     // followed at once (option); each costs a pidfd
    BOUND_UID_DIVISOR = 4,       // a uid other than 0 gets this part of them, and of BOUND_PROBES
    BOUND_ROOT_DIVISOR = 8,      // this part of them, and of the connections, is for uid 0 alone
    BOUND_GRAVEYARD = 256,       // lives ended last, whose late records are recognised
    BOUND_ARGUMENTS = 4096,      // bytes kept of a command line
    BOUND_PROC_FILE = 8192,      // bytes read of a small file below /proc/PID
    BOUND_PROC_LINES = 64 << 20, // bytes read of net/unix by a scan
    BOUND_PROC_MAPS = 512 << 10, // bytes read of maps, at once
    BOUND_PROC_DESCRIPTORS = 1 << 16, // entries of /proc/PID/fd looked at
    BOUND_CANDIDATES = 8,             // sockets of one process that one attempt considers
    BOUND_SOCKET_TABLE = 8 << 20,     // bytes read of net/unix by one attempt
    BOUND_MOUNT_TABLE = 1 << 20,      // bytes read of mountinfo

    // Kernel records.
    BOUND_RING_BYTES = 512 << 10, // ring buffer, a power of two; it counts twice as resident
    BOUND_RING_RECORDS = 256,     // read per turn of the loop
    BOUND_SELF_TEST_MS = 500,     // that a mechanism may take to tell of the daemon itself
    // Less than sysctl kernel.perf_event_mlock_kb lets a user have for each CPU online.
    BOUND_PERF_BYTES = 256 << 10,       // ring buffer of perf for each CPU, a power of two
    BOUND_PERF_BYTES_OF_ALL = 16 << 20, // the same together, but a page each; where there are many
    BOUND_PERF_RECORDS = 1024,          // read of one of them per turn of the loop
    BOUND_PERF_SIGNALS = 16,            // of these, such as are looked up in /proc
    BOUND_PERF_PAUSE_MS = 5,            // between two looks at them while records come
    BOUND_EXITS_PER_TURN = 64,          // of processes that are followed
    BOUND_SCAN_READ = 512,              // bytes asked of the iterator per read
    BOUND_SCAN_INTERVAL_MS = 1000,      // between the starts of two scans, at least
    BOUND_SCAN_INTERVAL_MAX_MS = 60000, // the same where one follows by itself, at most ...
    BOUND_SCAN_REST = 100,              // ... which is so many times the CPU time of the last one
    BOUND_SCAN_BELIEFS = 8,             // scans that take it that nobody holds a socket still
    BOUND_SCAN_DESCRIPTORS = 256,       // of one process looked at per turn
    BOUND_SCAN_SIGNALS = 64,            // of one process told per turn
    BOUND_SCAN_LISTENERS = 1 << 16,     // diagnostic sockets that a scan of /proc remembers

    // Probes.
    BOUND_PROBES = 64,              // attempts in flight (option)
    BOUND_TIMERS_PER_TURN = 64,     // due attempts begun per turn of the loop
    BOUND_PROBE_MS = 2000,          // an attempt from start to end
    BOUND_PROBE_DESCRIPTORS = 8,    // that one attempt may hold
    BOUND_LOOKS_OF_ROOT = 16,       // threads that look at processes of uid 0, stuck ones included
    BOUND_LOOKS_OF_USERS = 24,      // the same of all other uids together
    BOUND_LOOKS_PER_UID = 4,        // of one of those
    BOUND_LOOKS_STUCK_PER_UID = 2,  // from this many on nothing of that uid is looked at
    BOUND_LOOKERS = 4,              // threads that do without waiting; they stay
    BOUND_LOOK_MS = 10,             // that a look waits for one of them before another is made
    BOUND_LOOKER_STACK = 512 << 10, // bytes of a thread's stack
    BOUND_LOOK_END_MS = 100,        // that the end waits for looks under way
    BOUND_IPC_MESSAGE = 65535,      // a reply, header included
    BOUND_IPC_STRING = 1024,        // UTF-16 units kept of one string of a reply

    // Clients.
    BOUND_CONNECTIONS = 1024,       // in all (option)
    BOUND_CONNECTIONS_PER_UID = 64, // of one uid other than 0 (option)
    BOUND_CONNECTIONS_REFUSED = 16, // waiting to be told TooManyConnections
    BOUND_MESSAGE = 64 << 10,       // bytes of a message read
    BOUND_MESSAGE_DEPTH = 16,       // nesting of a message read
    BOUND_PAGE = 64 << 10,          // bytes of a snapshot reply written
    BOUND_REPLY = 4 << 20,          // bytes of a List reply without "more"
    BOUND_QUEUE = 256 << 10,        // bytes of changes queued per subscriber (option)
    BOUND_CALLS_PER_TURN = 16,      // messages of one connection handled per turn
    BOUND_LIVES_PER_TURN = 512,     // lives one snapshot looks at per turn
    BOUND_GLOB_LIVES = 16,          // as so many of them counts one that globs are tried on
    BOUND_PATTERN = 256,            // bytes of a glob in a filter
    BOUND_PATTERN_TEXT = 256,       // characters at the front of a text that a glob is tried on
    BOUND_ACCEPT_PAUSE_MS = 1000,   // at most, after accept() failed for lack of descriptors
    // Clients of the bus.
    BOUND_BUS_CALLERS = 2048,         // clients of the bus that are remembered, or being asked for
    BOUND_BUS_CALLS = 4096,           // waiting for the bus to say who calls; to take replies
    BOUND_BUS_CALLS_PER_CALLER = 16,  // of one client
    BOUND_BUS_LISTS = 64,             // ListProcesses calls being answered, whose caller is known
    BOUND_BUS_LISTS_PER_UID = 8,      // of one uid other than 0
    BOUND_BUS_LIST = 1 << 20,         // bytes of a ListProcesses reply
    BOUND_BUS_LIST_OF_ALL = 16 << 20, // the same for who sees all; a bus takes messages of 32 MiB
    BOUND_BUS_QUEUE = 4096,           // messages that the bus has not taken; then no more are made
    BOUND_BUS_SOCKET = 16 << 10,      // of its buffer for what the bus has not read
    BOUND_BUS_QUEUE_BYTES = 4 << 20,  // the same in bytes, about, beside one list
    BOUND_BUS_STALL_MS = 3000,        // that the bus takes nothing of it; then it is left
    // A bus of the usual limits reads nothing of us while 127 MiB that it has of us are not read.
    BOUND_BUS_PLACES = 32,                // that uids other than 0 share
    BOUND_BUS_BURST = 4 << 20,            // bytes told at once over the bus, of one place
    BOUND_BUS_PER_SECOND = 512 << 10,     // afterwards
    BOUND_BUS_USERS_BURST = 32 << 20,     // the same of all of them together
    BOUND_BUS_USERS_PER_SECOND = 2 << 20, // so long that a stall is rare, however many they are
    BOUND_BUS_REPLY = 1024,               // bytes that a reply counts at least
    BOUND_BUS_PAUSE_MS = 100,      // before connecting to the bus again, doubled each time ...
    BOUND_BUS_PAUSE_DOUBLINGS = 8, // ... so often
    BOUND_JOURNAL_TEXT = 512,      // bytes of a process's text in a journal field
    // Together less than the 10,000 in 30 s after which journald drops a service's entries.
    BOUND_JOURNAL_PLACES = 32,       // that uids other than 0 share
    BOUND_JOURNAL_BURST = 128,       // entries about processes at once, of one place
    BOUND_JOURNAL_PER_SECOND = 2,    // afterwards; each can bring one that counts those left out
    BOUND_JOURNAL_ROOT_BURST = 1024, // the same of uid 0
    BOUND_JOURNAL_ROOT_PER_SECOND = 15,
    BOUND_JOURNAL_DAEMON_BURST = 8,    // entries about the daemon itself, at once
    BOUND_JOURNAL_DAEMON_SECONDS = 10, // between two afterwards

    // Descriptors kept back for everything that is not a process, a probe or a client.
    BOUND_DESCRIPTORS_RESERVED = 128,
};
