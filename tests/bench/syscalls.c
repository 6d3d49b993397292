// syscalls KIND CPU BATCHES CALLS: the time of a call in nanoseconds, one line for each batch.
//
// It is pinned and warmed up, and many short batches stand in place of a long one: one that was
// interrupted can then be told from the others. KIND: getppid, the shortest call there is; file and
// memfd, a mapping of one page and its end.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

static bool call_getppid(int fd) {
    (void)fd;
    return syscall(SYS_getppid) >= 0;
}

static bool call_mmap(int fd) {
    void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
    return page != MAP_FAILED && munmap(page, PAGE) == 0;
}

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int open_file(const char *kind) {
    if (strcmp(kind, "memfd") != 0)
        return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int fd = memfd_create("bench", MFD_CLOEXEC);
    return fd >= 0 && ftruncate(fd, PAGE) == 0 ? fd : -1;
}

static bool pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    bool (*call)(int) = strcmp(argv[1], "getppid") == 0 ? call_getppid : call_mmap;
    int batches = atoi(argv[3]), calls = atoi(argv[4]);
    int fd = open_file(argv[1]);
    if (fd < 0 || !pin(atoi(argv[2]))) {
        perror("syscalls");
        return 1;
    }
    // The first batch warms up and is not told.
    for (int batch = 0; batch <= batches; batch++) {
        double before = now_ns();
        for (int i = 0; i < calls; i++) {
            if (!call(fd)) {
                perror(argv[1]);
                return 1;
            }
        }
        double after = now_ns();
        if (batch > 0)
            printf("%.2f\n", (after - before) / calls);
    }
    return 0;
}
