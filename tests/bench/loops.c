// loops CPU, then KIND BATCHES CALLS on each line of standard input: the time of a call, in
// nanoseconds, of each batch.
//
// It is pinned and warmed up, and many short batches stand in place of a long one: one that was
// interrupted can then be told from the others. It stays from the first round to the last, so that
// what it costs to begin is in none.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "meter.h"

enum { PAGE = 4096 };

typedef struct Files {
    int file; // on disk
    int memory;
} Files;

static bool call_getppid(__attribute__((unused)) const Files *files) {
    return syscall(SYS_getppid) >= 0;
}

static bool map_and_unmap(int fd) {
    void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
    return page != MAP_FAILED && munmap(page, PAGE) == 0;
}

static bool call_file(const Files *files) {
    return map_and_unmap(files->file);
}

static bool call_shmem(const Files *files) {
    return map_and_unmap(files->memory);
}

static bool call_memfd(__attribute__((unused)) const Files *files) {
    int fd = memfd_create("bench", MFD_CLOEXEC);
    return fd >= 0 && close(fd) == 0;
}

static bool call_exec(__attribute__((unused)) const Files *files) {
    pid_t pid = fork();
    if (pid == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(1);
    }
    int status;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static const struct Kind {
    const char *name;
    bool (*call)(const Files *files);
} kinds[] = {
    {"getppid", call_getppid}, {"file", call_file}, {"shmem", call_shmem},
    {"memfd", call_memfd},     {"exec", call_exec},
};

static const struct Kind *find_kind(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    meter_die(name);
}

// The first batch warms up and is not told.
static void run(const struct Kind *kind, const Files *files, uint64_t batches, uint64_t calls) {
    for (uint64_t batch = 0; batch <= batches; batch++) {
        double before = meter_now_us();
        for (uint64_t i = 0; i < calls; i++)
            if (!kind->call(files))
                meter_die(kind->name);
        double after = meter_now_us();
        if (batch > 0)
            printf("%.2f ", (after - before) * 1e3 / (double)calls);
    }
    putchar('\n');
}

int loops_main(__attribute__((unused)) int argc, char **argv) {
    meter_pin(argv[0]);
    Files files = {.file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
                   .memory = memfd_create("bench", MFD_CLOEXEC)};
    if (files.file < 0 || files.memory < 0 || ftruncate(files.memory, PAGE) < 0)
        meter_die("a file to map");
    Order order;
    while (meter_next_order(&order) == 3)
        run(find_kind(order.words[0]), &files, meter_number(order.words[1]),
            meter_number(order.words[2]));
    return 0;
}
