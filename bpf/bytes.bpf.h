// Comparing names: BPF has no memcmp, and clang makes a call of it.
// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#pragma once

#include "kernel_types.h"

#include <bpf/bpf_helpers.h>

// The beginning of a name, on the stack and aligned, so that it is compared a word at a time.
struct name {
    __u64 words[4];
};

// `literal` is at most as long as struct name. All differences are collected before the one branch:
// fewer paths for the verifier to walk.
static __always_inline bool name_begins_with(const struct name *name, const char *literal,
                                             __u32 size) {
    __u64 differences = 0;
#pragma unroll
    for (__u32 at = 0; at < size; at += 8) {
        __u32 part = size - at < 8 ? size - at : 8;
        __u64 wanted = 0, mask = 0;
        __builtin_memcpy(&wanted, literal + at, part);
        __builtin_memset(&mask, 0xff, part);
        differences |= (name->words[at / 8] ^ wanted) & mask;
    }
    return differences == 0;
}

#define NAME_BEGINS_WITH(name, literal) name_begins_with(&(name), (literal), sizeof(literal) - 1)
