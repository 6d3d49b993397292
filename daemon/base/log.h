// Messages for the administrator, one line each, on standard error; behind a journal stream each
// line carries its priority as sd-daemon(3) describes. The only file-level state of the daemon, the
// level, lives here.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <syslog.h> // LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG

// Messages above this syslog level are dropped. Default LOG_INFO.
void log_set_level(int level);
int log_level(void);

// True where standard error is the journal, told by $JOURNAL_STREAM and the descriptor's inode.
bool log_to_journal(void);

// Bytes from a process must be escaped (text.h in wire) before they come here. Keeps errno.
void log_message(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_message(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_WARNING, __VA_ARGS__)
#define log_notice(...) log_message(LOG_NOTICE, __VA_ARGS__)
#define log_info(...) log_message(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_DEBUG, __VA_ARGS__)
