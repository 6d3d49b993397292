// cmocka wants these four before itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
