// clients CPU, then orders on standard input, each answered by a line: what somebody without the
// daemon does.
//
//   bare FOLDER PID        knows the process and the name of its socket: waits for the file, then
//                          asks until it is answered; "waiting", and when that was, in
//                          microseconds
//   poll FOLDER PID MS     looks every so many milliseconds for a new socket of a living process,
//                          and asks it; "waiting", and when this process had answered
//   ask FOLDER PID COUNT   exchanges with a process that answers; microseconds of each
// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "discovery_names.h"
#include "meter.h"
#include "port.h"

enum { PATH = 108, TRIES = 1000000, TICKS = 10000, PAUSE_NS = 20000 };

// A client in a tight loop from the start would take a processor from the runtime that it waits
// for: it begins when the socket is bound, shortly before somebody listens, and leaves it to others
// for a moment after each attempt.
// Returns what the caller closes, since that takes the kernel milliseconds.
static int await_file(const char *folder, const char *path) {
    char event[4096];
    int fd = inotify_init1(IN_CLOEXEC);
    if (fd < 0 || inotify_add_watch(fd, folder, IN_CREATE) < 0)
        meter_die(folder);
    puts("waiting");
    while (access(path, F_OK) < 0)
        if (read(fd, event, sizeof event) <= 0)
            meter_die("inotify");
    return fd;
}

static void bare(const char *folder, pid_t pid) {
    char path[PATH];
    port_path(path, sizeof path, folder, pid);
    int watch = await_file(folder, path);
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int r, tries = 0;
    prctl(PR_SET_TIMERSLACK, 1);
    while ((r = port_ask(path)) < 0 && tries++ < TRIES)
        (void)ppoll(NULL, 0, &pause, NULL);
    double now_us = meter_now_us();
    meter_need(r, path);
    close(watch);
    printf("%.1f\n", now_us);
}

// Of a socket that is new, and of a process that is there.
static pid_t owner_of(const char *name) {
    char proc[64];
    if (strncmp(name, DISCOVERY_SOCKET_PREFIX, strlen(DISCOVERY_SOCKET_PREFIX)) != 0)
        return 0;
    pid_t pid = (pid_t)strtol(name + strlen(DISCOVERY_SOCKET_PREFIX), NULL, 10);
    snprintf(proc, sizeof proc, "/proc/%d", pid);
    return access(proc, F_OK) == 0 ? pid : 0;
}

static bool look(const char *folder, pid_t wanted) {
    bool answered = false;
    DIR *directory = opendir(folder);
    if (!directory)
        meter_die(folder);
    for (const struct dirent *entry; (entry = readdir(directory));) {
        char path[PATH];
        if (owner_of(entry->d_name) != wanted)
            continue;
        snprintf(path, sizeof path, "%s/%.80s", folder, entry->d_name);
        answered = answered || port_ask(path) == 0;
    }
    closedir(directory);
    return answered;
}

static void poll_for(const char *folder, pid_t pid, uint64_t ms) {
    // Its first look is at any time of the interval: nobody starts in step with a poller.
    uint64_t step_ns = ms * 1000000, first_ns = 0;
    if (getrandom(&first_ns, sizeof first_ns, 0) != sizeof first_ns)
        meter_die("getrandom");
    const struct itimerspec every = {{.tv_nsec = (long)step_ns},
                                     {.tv_nsec = (long)(1 + first_ns % step_ns)}};
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (timer < 0 || timerfd_settime(timer, 0, &every, NULL) < 0)
        meter_die("timerfd");
    puts("waiting");
    for (int tick = 0; tick < TICKS; tick++) {
        uint64_t expired;
        if (read(timer, &expired, sizeof expired) != sizeof expired)
            meter_die("timerfd");
        if (look(folder, pid))
            break;
    }
    double now_us = meter_now_us();
    close(timer);
    printf("%.1f\n", now_us);
}

static void ask(const char *folder, pid_t pid, uint64_t count) {
    char path[PATH];
    port_path(path, sizeof path, folder, pid);
    for (; count > 0; count--) {
        double before_us = meter_now_us();
        meter_need(port_ask(path), path);
        printf("%.1f ", meter_now_us() - before_us);
    }
    putchar('\n');
}

int clients_main(__attribute__((unused)) int argc, char **argv) {
    Order order;
    meter_pin(argv[0]);
    while (meter_next_order(&order) >= 3) {
        const char *name = order.words[0], *folder = order.words[1];
        pid_t pid = (pid_t)meter_number(order.words[2]);
        if (strcmp(name, "bare") == 0)
            bare(folder, pid);
        else if (strcmp(name, "poll") == 0 && order.count == 4)
            poll_for(folder, pid, meter_number(order.words[3]));
        else if (strcmp(name, "ask") == 0 && order.count == 4)
            ask(folder, pid, meter_number(order.words[3]));
    }
    return 0;
}
