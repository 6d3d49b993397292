// An errno says little of why a kernel refuses BPF, and libbpf's own words mislead. What can be
// asked is asked: the daemon's capabilities, the kernel's mode, its limits.
// SPDX-License-Identifier: MIT
#include "refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "capabilities.h"
#include "cleanup.h"
#include "kernel_version.h"

const char *refusal_name(int error) {
    const char *name = strerrorname_np(-error);
    // The kernel's own, which has no name here: an architecture that cannot do it says so.
    return name ? name : error == -524 ? "ENOTSUPP" : "unknown error";
}

static bool has_capability(int capability) {
    uint64_t effective;
    return capabilities_effective(&effective) == 0 && effective & UINT64_C(1) << capability;
}

static bool is_privileged(void) {
    return has_capability(CAP_SYS_ADMIN) ||
           (has_capability(CAP_BPF) && has_capability(CAP_PERFMON));
}

static bool file_has(const char *path, const char *part) {
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[256] = "";
    return fd >= 0 && read(fd, text, sizeof text - 1) > 0 && strstr(text, part);
}

bool refusal_is_locked_down(void) {
    return file_has("/sys/kernel/security/lockdown", "[confidentiality]");
}

// The kernels of some distributions have a third level, at which CAP_PERFMON is not enough.
bool refusal_is_perf_restricted(void) {
    _cleanup_close_ int fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
    char text[16] = "";
    return !has_capability(CAP_SYS_ADMIN) && fd >= 0 && read(fd, text, sizeof text - 1) > 0 &&
           strtol(text, NULL, 10) > 2;
}

// The initial user namespace maps all ids to themselves; what is a capability elsewhere is none to
// the kernel here.
static bool is_initial_user(void) {
    return file_has("/proc/self/uid_map", "4294967295");
}

// Before 5.11 what BPF takes counts as locked memory.
static bool is_memory_limited(void) {
    struct rlimit limit;
    return kernel_is_before(5, 11) && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
           limit.rlim_cur != RLIM_INFINITY;
}

static const char *remedy_beside_capabilities(void) {
    if (!is_initial_user())
        return "run it outside of a user namespace";
    if (refusal_is_locked_down())
        return "the kernel is locked down: boot with lockdown=integrity or none, not "
               "confidentiality";
    if (is_memory_limited())
        return "let the daemon lock memory (LimitMEMLOCK=infinity)";
    return "this kernel, or a filter of system calls, does not permit it whatever the privileges";
}

static const char *remedy_of_permission(void) {
    return is_privileged() ? remedy_beside_capabilities()
                           : "run as root, or with CAP_BPF and CAP_PERFMON";
}

const char *refusal_remedy(int error) {
    if (error == -EPERM)
        return remedy_of_permission();
    if (error == -EACCES && !is_privileged())
        return remedy_of_permission();
    if (error == -EMFILE)
        return "raise RLIMIT_NOFILE";
    // What libbpf returns where there is none that it understands.
    if (error == -ESRCH || access("/sys/kernel/btf/vmlinux", F_OK) < 0)
        return "use a kernel with BTF (CONFIG_DEBUG_INFO_BTF)";
    if (error == -EINVAL && refusal_is_locked_down())
        return remedy_of_permission();
    if (error == -EACCES)
        return "this kernel's checks refuse it; the log at level debug has its reason";
    if (error == -524)
        return "this kernel cannot do it on this architecture";
    return "the log at level debug has the kernel's reason";
}

const char *refusal_remedy_of_perf(int error) {
    switch (error) {
    case -EPERM:
    case -EACCES:
        if (refusal_is_perf_restricted())
            return "run as root with CAP_SYS_ADMIN, or set sysctl kernel.perf_event_paranoid=2";
        if (!has_capability(CAP_SYS_ADMIN) && !has_capability(CAP_PERFMON))
            return "run as root, or with CAP_PERFMON";
        return remedy_beside_capabilities();
    case -ENOSYS:
        return "use a kernel with CONFIG_PERF_EVENTS";
    case -EMFILE:
        return "raise RLIMIT_NOFILE: each CPU takes two descriptors";
    default:
        return refusal_remedy(error);
    }
}
