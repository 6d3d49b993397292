// Switches that the user sets in the environment.
// SPDX-License-Identifier: MIT
#pragma once

// 1 or 0 for the words that systemd takes for yes and no, -EINVAL for others and for NULL.
int environment_boolean(const char *text);
