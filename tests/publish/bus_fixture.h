// The daemon's side of the bus, a registry fed by hand, and a fake bus, in one process: nothing
// happens but what a test does, and waiting is running the loop until it has nothing left to do.
// SPDX-License-Identifier: MIT
#pragma once

#include "fake_bus.h"

#include "bus.h"
#include "discovery_names.h"
#include "registry.h"

#define PROPERTIES "org.freedesktop.DBus.Properties"
#define MEMBER_GROUP 4711U
#define NO_SUCH_PROCESS DISCOVERY_BUS_NAME ".NoSuchProcess"

// Clients of the bus.
#define ROOT ":1.10"
#define MEMBER ":1.11"
#define OWNER ":1.12" // of uid 1000, whose processes the tests make
#define STRANGER ":1.13"
#define WITHOUT_GROUPS ":1.14"
#define WITHOUT_UID ":1.15"
#define VANISHED ":1.16"
#define FORGED ":1.17"

typedef struct BusFixture {
    sd_event *event;
    Registry *registry;
    Actions actions;
    Bus *bus;
    FakeBus fake;
    Status status;      // what the daemon says of itself
    size_t descriptors; // open before
    uint64_t begun;     // lives so far; each begins a tick after the last
} BusFixture;

// With a bus and a connection that has the name.
int bus_fixture_set_up(void **state);
// With neither.
int bus_fixture_set_up_alone(void **state);
int bus_fixture_tear_down(void **state);
#define BUS_TEST(function) \
    cmocka_unit_test_setup_teardown(function, bus_fixture_set_up, bus_fixture_tear_down)
#define BUS_TEST_ALONE(function) \
    cmocka_unit_test_setup_teardown(function, bus_fixture_set_up_alone, bus_fixture_tear_down)

void bus_fixture_start(BusFixture *fixture);
// Runs the loop until nothing is left to do.
void bus_fixture_run(BusFixture *fixture);
// Runs it until the daemon has connected so often, for 60 s at most.
void bus_fixture_wait_connection(BusFixture *fixture, unsigned count);

// Feed the registry, and tell the bus what it wants told.
uint64_t bus_fixture_begin(BusFixture *fixture, pid_t pid, uid_t uid);
void bus_fixture_ready(BusFixture *fixture, uint64_t serial, size_t arguments);
void bus_fixture_failed(BusFixture *fixture, uint64_t serial, Outcome outcome);
void bus_fixture_gone(BusFixture *fixture, uint64_t serial);

// The next message must be a reply to this client with this body; an error of this name.
void bus_expect_reply(BusFixture *fixture, const char *destination, const char *text);
void bus_expect_error(BusFixture *fixture, const char *destination, const char *name);
// The next message must be this signal with this body, for everybody.
void bus_expect_signal(BusFixture *fixture, const char *interface, const char *member,
                       const char *text);
void bus_expect_nothing(BusFixture *fixture);

void bus_forget_signals(BusFixture *fixture);
// One of uid 1000 that is ready, one of root that is not; their signals are forgotten.
uint64_t bus_two_processes(BusFixture *fixture);

// Calls of a client. bus_call() is for methods without arguments; a value of a filter is `text` or
// `number`, by its type.
void bus_call(BusFixture *fixture, const char *sender, const char *member);
void bus_call_get(BusFixture *fixture, const char *sender, uint32_t pid);
void bus_call_list(BusFixture *fixture, const char *sender);
void bus_call_list_where(BusFixture *fixture, const char *key, const char *type, const char *text,
                         uint32_t number);
void bus_call_property(BusFixture *fixture, const char *sender, const char *property);
void bus_call_properties(BusFixture *fixture, const char *sender, const char *interface);
