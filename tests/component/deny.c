// Executes a command without some of its system calls, as a sandbox or a kernel that lacks them
// would: deny [--errno=NAME] CALL[,CALL…] [--] COMMAND [ARGUMENT…]
//
// CALL is bpf or perf_event_open, and NAME what it fails with: EPERM by default. Needs no library,
// so that it can be linked statically and taken into a guest.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "Which AUDIT_ARCH_ is this?"
#endif

enum { CALLS = 2, LAST_ERRNO = 133, USAGE = 2, CANNOT_EXECUTE = 127 };

static const struct {
    const char *name;
    uint32_t number;
} calls[CALLS] = {{"bpf", SYS_bpf}, {"perf_event_open", SYS_perf_event_open}};

static int find_call(const char *name, uint32_t *ret) {
    for (size_t i = 0; i < CALLS; i++) {
        if (strcmp(calls[i].name, name) == 0) {
            *ret = calls[i].number;
            return 0;
        }
    }
    return -EINVAL;
}

// 0 where there is no such error.
static uint32_t find_error(const char *name) {
    for (int error = 1; error <= LAST_ERRNO; error++) {
        const char *candidate = strerrorname_np(error);
        if (candidate && strcmp(candidate, name) == 0)
            return (uint32_t)error;
    }
    return 0;
}

// Calls of another architecture's numbers are let through: none is made here.
static int install(const uint32_t numbers[], unsigned char count, uint32_t error) {
    struct sock_filter filter[CALLS + 5];
    unsigned char n = 0;
    filter[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 0,
                                               (unsigned char)(count + 1));
    filter[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned char i = 0; i < count; i++)
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[i],
                                                   (unsigned char)(count - i), 0);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);

    const struct sock_fprog program = {.len = n, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

int main(int argc, char *argv[]) {
    uint32_t error = EPERM;
    int at = 1;
    if (at < argc && strncmp(argv[at], "--errno=", 8) == 0)
        error = find_error(argv[at++] + 8);
    if (error == 0 || argc - at < 2) {
        fputs("Usage: deny [--errno=NAME] bpf,perf_event_open [--] COMMAND [ARGUMENT…]\n", stderr);
        return USAGE;
    }

    uint32_t numbers[CALLS];
    unsigned char count = 0;
    char *rest = NULL;
    for (char *name = strtok_r(argv[at], ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (count == CALLS || find_call(name, &numbers[count++]) < 0) {
            fprintf(stderr, "deny: cannot take %s away\n", name);
            return USAGE;
        }
    }
    int r = install(numbers, count, error);
    if (r < 0) {
        fprintf(stderr, "deny: no seccomp filter: %s\n", strerrorname_np(-r));
        return EXIT_FAILURE;
    }
    at += strcmp(argv[at + 1], "--") == 0 ? 2 : 1;
    if (at < argc)
        execvp(argv[at], argv + at);
    perror("deny: cannot execute the command");
    return CANNOT_EXECUTE;
}
