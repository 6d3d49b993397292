// What the linker puts before real functions for the tests of scans, and those.
// SPDX-License-Identifier: MIT
#pragma once

#include <time.h>

#include "proc_entry.h"
#include "procfs.h"
#include "record.h"
#include "scan_iterator.h"

// The linker's names. NOLINTBEGIN(readability-identifier-naming)
int __real_scan_iterator_step(ScanIterator *scan);
int __wrap_scan_iterator_step(ScanIterator *scan);
RecordResult __real_record_decode(const void *bytes, size_t size, struct discovery_record *ret,
                                  size_t *ret_size);
RecordResult __wrap_record_decode(const void *bytes, size_t size, struct discovery_record *ret,
                                  size_t *ret_size);
int __real_procfs_open(pid_t pid, int *ret);
int __wrap_procfs_open(pid_t pid, int *ret);
int __real_proc_entry_start_ticks(int directory, uint64_t *ret);
int __wrap_proc_entry_start_ticks(int directory, uint64_t *ret);
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
// NOLINTEND(readability-identifier-naming)
