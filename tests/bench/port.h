// Both ends of a diagnostic port, as far as a figure needs them: the question, and an answer.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <sys/types.h>

// Where the process of this pid listens; it must be there.
void port_path(char *path, size_t size, const char *folder, pid_t pid);

// Takes one connection of a fake process and answers it.
void port_serve(int listener);

// One exchange as a client that looks at no answer: 0 once all of it came, a negative errno where
// nobody listens there or it ends early.
int port_ask(const char *path);
