// The commands, and what they share. Each does its work with the options given, has told standard
// error of every failure, and returns the exit status.
// SPDX-License-Identifier: MIT
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "client.h"
#include "command_line.h"
#include "exit_status.h"
#include "output.h"

int command_list(const CommandLine *line, Output *output);
int command_show(const CommandLine *line, Output *output);
int command_monitor(const CommandLine *line, Output *output);
int command_wait(const CommandLine *line, Output *output);
int command_status(const CommandLine *line, Output *output);
int command_check(const CommandLine *line, Output *output);

// For an error of ours; tells it.
int command_fail(int error);

// The parameters of List and Subscribe: {} or {"filter": {...}}, of all arguments together. *ret is
// owned by the caller.
int command_filter(const CommandLine *line, json_t **ret);

// Connects and calls a method of the daemon's interface; `parameters` is borrowed.
int command_call(Client *client, const char *method, json_t *parameters, bool more);
// The next reply. An error reply is told and is a failure.
int command_reply(Client *client, uint64_t deadline_us, VarlinkReply *ret);

// Both, for a method that gives one reply.
int command_ask(Client *client, const char *method, json_t *parameters, VarlinkReply *ret);

// How to start a .NET process, for those who see none.
void command_hint_start(FILE *file);

#define _cleanup_reply_ _cleanup_(varlink_reply_done)
