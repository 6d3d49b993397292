// fakes FOLDER, then orders on standard input, each answered by a line: processes that look to the
// kernel and to the daemon as .NET processes do, and others beside them, made as fast as fork(2)
// can. No runtime is in here. What is made ends with this program.
//
//   spawn COUNT EVERY MAPPINGS DESCRIPTORS THREADS   every EVERY-th is one of .NET (0: none);
//                                                    answers when all are up
//   rate COUNT PER-SECOND                            of .NET, so many a second; answers with how
//                                                    late the last began, in microseconds
//   brief COUNT                                      `true`, two at a time; there is nothing else
//   one                                              of .NET, that waits before it binds; its pid
//   go                                               the word it waits for; when it was about to
//                                                    listen and to map, in microseconds
//   end                                              of all that were made
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "discovery_names.h"
#include "meter.h"
#include "port.h"

enum { PAGE = 4096, STACK = 32 << 10, AT_ONCE = 2 };

typedef struct Herd {
    const char *folder;
    pid_t *pids;
    size_t count, capacity;
    int go[2], up[2]; // of the one that waits
} Herd;

// When it was about to listen and to map, in microseconds; 0: it did not.
typedef struct Moments {
    double listen_us, map_us;
} Moments;

typedef struct Shape {
    bool dotnet;
    uint64_t threads; // beside the first
    int up;           // where it writes its moments, -1: nowhere
    int go;           // what it reads from before it binds, -1: nothing
} Shape;

static void bind_port(int fd, const char *folder) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    port_path(address.sun_path, sizeof address.sun_path, folder, getpid());
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        meter_die(address.sun_path);
}

// As the runtime makes it: a private page that nobody may touch. When it was about to.
static double map_name(void) {
    int fd = memfd_create(DISCOVERY_MAPPING_NAME, MFD_CLOEXEC);
    double now_us = meter_now_us();
    if (fd < 0 || mmap(NULL, 1, PROT_NONE, MAP_PRIVATE, fd, 0) == MAP_FAILED)
        meter_die("the mapping");
    close(fd);
    return now_us;
}

_Noreturn static void *idle(__attribute__((unused)) void *argument) {
    for (;;)
        pause();
}

static void start_threads(uint64_t count) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    for (pthread_t thread; count > 0; count--)
        if (pthread_create(&thread, &attributes, idle, NULL) != 0)
            meter_die("pthread_create");
}

static int open_port(const Shape *shape, const char *folder, Moments *ret) {
    char byte;
    if (shape->go >= 0 && read(shape->go, &byte, 1) != 1)
        _exit(1);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bind_port(listener, folder);
    ret->listen_us = meter_now_us();
    if (listen(listener, 255) < 0)
        meter_die("listen");
    ret->map_us = map_name();
    return listener;
}

// One fake process, from its beginning on.
_Noreturn static void live(const Shape *shape, const char *folder) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    start_threads(shape->threads);
    Moments moments = {0};
    int listener = shape->dotnet ? open_port(shape, folder, &moments) : -1;
    if (shape->up >= 0 && write(shape->up, &moments, sizeof moments) != sizeof moments)
        meter_die("up");
    close(shape->up);
    for (;;) {
        if (listener >= 0)
            port_serve(listener);
        else
            pause();
    }
}

static pid_t start(Herd *herd, const Shape *shape) {
    if (herd->count == herd->capacity) {
        herd->capacity = 2 * herd->capacity + 1024;
        herd->pids = reallocarray(herd->pids, herd->capacity, sizeof *herd->pids);
        if (!herd->pids)
            meter_die("memory");
    }
    pid_t pid = fork();
    if (pid < 0)
        meter_die("fork");
    if (pid == 0)
        live(shape, herd->folder);
    herd->pids[herd->count++] = pid;
    return pid;
}

static void await_up(int up, uint64_t count, Moments *ret) {
    for (; count > 0; count--)
        if (read(up, ret, sizeof *ret) != sizeof *ret)
            meter_die("a fake process ended");
    close(up);
}

// Handed on by fork(2). Neighbours differ, or they would become one.
static void *make_mappings(uint64_t count) {
    size_t size = (count + 1) * PAGE;
    char *place = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED)
        meter_die("mappings");
    for (uint64_t i = 0; i < count; i += 2)
        if (mprotect(place + i * PAGE, PAGE, PROT_READ) < 0)
            meter_die("mappings");
    return place;
}

static void spawn(Herd *herd, const Order *order) {
    uint64_t count = meter_number(order->words[1]), every = meter_number(order->words[2]);
    uint64_t mappings = meter_number(order->words[3]), files = meter_number(order->words[4]);
    uint64_t threads = meter_number(order->words[5]);
    int up[2], first = open("/dev/null", O_RDONLY | O_CLOEXEC), last = first;
    void *place = make_mappings(mappings);
    for (; files > 0; files--)
        last = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (first < 0 || last < 0 || pipe2(up, O_CLOEXEC) < 0)
        meter_die("descriptors");
    for (uint64_t i = 0; i < count; i++)
        start(herd, &(Shape){.dotnet = every && i % every == 0,
                             .threads = threads > 1 ? threads - 1 : 0,
                             .up = up[1],
                             .go = -1});
    close(up[1]);
    Moments moments;
    await_up(up[0], count, &moments);
    close_range((unsigned)first, (unsigned)last, 0);
    munmap(place, (mappings + 1) * PAGE);
    puts("ok");
}

// Each at its time by the clock, whatever the one before took.
static void rate(Herd *herd, uint64_t count, uint64_t per_second) {
    const long step_ns = 1000000000 / (long)per_second;
    const struct itimerspec every = {{.tv_nsec = step_ns}, {.tv_nsec = step_ns}};
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (per_second < 2 || timer < 0 || timerfd_settime(timer, 0, &every, NULL) < 0)
        meter_die("timerfd");
    uint64_t due = 0, ticks;
    double begun_us = meter_now_us(), last_us = begun_us;
    for (uint64_t i = 0; i < count; i++) {
        while (i >= due) {
            if (read(timer, &ticks, sizeof ticks) != sizeof ticks)
                meter_die("timerfd");
            due += ticks;
        }
        last_us = meter_now_us();
        start(herd, &(Shape){.dotnet = true, .up = -1, .go = -1});
    }
    close(timer);
    printf("%.1f\n", last_us - begun_us - (double)count * (double)step_ns / 1e3);
}

static void start_true(void) {
    pid_t pid = fork();
    if (pid < 0)
        meter_die("fork");
    if (pid == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(1);
    }
}

static void brief(uint64_t count) {
    double begun_us = meter_now_us();
    for (uint64_t i = 0; i < count + AT_ONCE; i++) {
        if (i < count)
            start_true();
        if (i >= AT_ONCE && waitpid(-1, NULL, 0) < 0)
            meter_die("waitpid");
    }
    printf("%.1f\n", meter_now_us() - begun_us);
}

static void one(Herd *herd) {
    if (pipe2(herd->up, O_CLOEXEC) < 0 || pipe2(herd->go, O_CLOEXEC) < 0)
        meter_die("pipe");
    printf("%d\n", start(herd, &(Shape){.dotnet = true, .up = herd->up[1], .go = herd->go[0]}));
    close(herd->up[1]);
    close(herd->go[0]);
}

static void go(const Herd *herd) {
    Moments moments;
    if (write(herd->go[1], "x", 1) != 1)
        meter_die("go");
    close(herd->go[1]);
    await_up(herd->up[0], 1, &moments);
    printf("%.1f %.1f\n", moments.listen_us, moments.map_us);
}

static void end(Herd *herd) {
    for (size_t i = 0; i < herd->count; i++)
        kill(herd->pids[i], SIGKILL);
    for (size_t i = 0; i < herd->count; i++)
        waitpid(herd->pids[i], NULL, 0);
    herd->count = 0;
    puts("ok");
}

static void obey(Herd *herd, const Order *order) {
    const char *name = order->words[0];
    if (strcmp(name, "spawn") == 0 && order->count == 6)
        spawn(herd, order);
    else if (strcmp(name, "rate") == 0 && order->count == 3)
        rate(herd, meter_number(order->words[1]), meter_number(order->words[2]));
    else if (strcmp(name, "brief") == 0 && order->count == 2)
        brief(meter_number(order->words[1]));
    else if (strcmp(name, "one") == 0)
        one(herd);
    else if (strcmp(name, "go") == 0)
        go(herd);
    else if (strcmp(name, "end") == 0)
        end(herd);
    else
        meter_die(name);
}

int fakes_main(__attribute__((unused)) int argc, char **argv) {
    Herd herd = {.folder = argv[0]};
    Order order;
    while (meter_next_order(&order) > 0)
        obey(&herd, &order);
    free(herd.pids);
    return 0;
}
