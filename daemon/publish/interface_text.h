// The interface descriptions, embedded when the daemon is built.
// SPDX-License-Identifier: MIT
#pragma once

extern const char interface_text_manager[]; // org.dotnetdiscovery.Manager
extern const char interface_text_service[]; // org.varlink.service
extern const char interface_text_bus[];     // org.dotnetdiscovery1.Manager, of the bus
