// What the linker puts before the real functions of the ladder's parts and of libbpf, and those.
// SPDX-License-Identifier: MIT
#pragma once

#include <bpf/libbpf.h>

#include "hooks.h"
#include "perf.h"
#include "self_test.h"

// The linker's names. NOLINTBEGIN(readability-identifier-naming)
int __wrap_hooks_attach(Hooks *hooks, const Kernel *kernel, MechanismId mechanism, char **ret_why);
int __real_hooks_attach(Hooks *hooks, const Kernel *kernel, MechanismId mechanism, char **ret_why);
int __wrap_self_test_begin(SelfTest *test);
int __real_self_test_begin(SelfTest *test);
int __wrap_perf_init(Perf *perf, Context *context, size_t bytes, bool exec, PerfLoss loss,
                     void *userdata);
int __real_perf_init(Perf *perf, Context *context, size_t bytes, bool exec, PerfLoss loss,
                     void *userdata);
struct bpf_link *__wrap_bpf_program__attach(const struct bpf_program *program);
struct bpf_link *__real_bpf_program__attach(const struct bpf_program *program);
// NOLINTEND(readability-identifier-naming)
