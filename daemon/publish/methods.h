// The methods of org.dotnetdiscovery.Manager and org.varlink.service.
// SPDX-License-Identifier: MIT
#pragma once

#include "session.h"

// Answers a call, or begins to. A negative errno ends the connection.
int methods_call(Session *session, const VarlinkCall *call);
