// The public names: what clients, units and packages rely on. Change none of them.
// SPDX-License-Identifier: MIT
#pragma once

#define DISCOVERY_DAEMON "dotnet-discoveryd"
#define DISCOVERY_CLIENT "dotnet-discoveryctl"
#define DISCOVERY_INTERFACE "org.dotnetdiscovery.Manager"
#define DISCOVERY_SOCKET_DIRECTORY "/run/dotnet-discoveryd"
#define DISCOVERY_SOCKET_PATH DISCOVERY_SOCKET_DIRECTORY "/" DISCOVERY_INTERFACE

#define DISCOVERY_BUS_NAME "org.dotnetdiscovery1"
#define DISCOVERY_BUS_PATH "/org/dotnetdiscovery1"
#define DISCOVERY_BUS_INTERFACE "org.dotnetdiscovery1.Manager"

// Members see every user's processes.
#define DISCOVERY_GROUP "dotnet-discovery"

// What the runtime names its memfd; the kernel's dentry puts "memfd:" in front.
#define DISCOVERY_MAPPING_NAME "dotnet_ipc_created"
// The same for the self-test at the start of the daemon, which counts for none but itself.
#define DISCOVERY_TESTING_NAME "dotnet_ipc_testing"

// Default diagnostic sockets begin so; the runtime cuts a path at 107 bytes, which leaves at least
// the shorter form of the name. dsrouter is a relay, not an application.
#define DISCOVERY_SOCKET_PREFIX "dotnet-diagnostic-"
#define DISCOVERY_SOCKET_PREFIX_CUT "dotnet-diagno"
#define DISCOVERY_DSROUTER_PREFIX "dotnet-diagnostic-dsrouter-"

// Journal MESSAGE_IDs (128-bit, lower-case hex as sd-journal and the catalog write them).
#define DISCOVERY_MESSAGE_READY "620de9cdc93f44679928f5c325e91fdc"
#define DISCOVERY_MESSAGE_UNREACHABLE "813a746434644eb49336f4f09fe3c83d"
#define DISCOVERY_MESSAGE_GONE "c7836273f86243baa305c1cb24410e6a"
#define DISCOVERY_MESSAGE_LOST "d7f0f2fd8ea24d0583b8a84c8acc0fd5"
#define DISCOVERY_MESSAGE_DEGRADED "a2a565c77e4145778ff98063c8f5c81d"
#define DISCOVERY_MESSAGE_MECHANISM "0a9c6e97d19f438fa32d47470ae0ca75"
#define DISCOVERY_MESSAGE_LEFT_OUT "39745cea065a451a9b04015cee083579"
