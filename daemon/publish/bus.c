// The connection to the bus, and the name. A connection that has ended is replaced by a new one, at
// once; where that does not last, after a pause that grows. A bus that is not there costs no timer:
// sd-bus watches for its socket.
//
// Signals are sent while the name is ours and at no other time. The policy that says who receives
// them (systemd/org.dotnetdiscovery1.conf) comes with the right to own the name: a bus that does
// not know it would tell everybody.
// SPDX-License-Identifier: MIT
#include "bus.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>
#include <time.h>

#include "bounds.h"
#include "bus_calls.h"
#include "bus_view.h"
#include "cleanup.h"
#include "discovery_names.h"
#include "instant.h"
#include "log.h"
#include "view.h"

#define LOCAL "org.freedesktop.DBus.Local"
#define USUAL_ADDRESS "unix:path=/run/dbus/system_bus_socket"

// Replies to RequestName, by the D-Bus specification.
enum { NAME_IS_OURS = 1, NAME_WAS_OURS = 4 };

static const char refused_text[] =
    "nothing is told over D-Bus, where the daemon may not have the name " DISCOVERY_BUS_NAME
    ": install " DISCOVERY_BUS_NAME
    ".conf in share/dbus-1/system.d, reload the bus and restart the "
    "daemon";
static const char taken_text[] =
    "nothing is told over D-Bus, where somebody else has the name " DISCOVERY_BUS_NAME
    " (busctl status tells who): it is taken when it is free";
static const char unconnected_text[] =
    "nothing is told over D-Bus, to which there is no way: it is tried again now and then";

struct Bus {
    sd_event *event; // referenced
    const char *address;
    Context context;
    BusCounters counters;
    BusCalls calls;
    sd_bus *connection;      // owned, NULL while there is none
    sd_bus_slot *request;    // owned, the question for the name
    sd_event_source *retry;  // on while a new connection is due
    uint64_t connected_us;   // when the connection was begun
    unsigned failures;       // connections in a row that did not last
    sd_event_source *turn;   // after every turn of the loop
    sd_event_source *stall;  // on while something waits for the bus
    uint64_t seen_unsent;    // messages, when it was last looked whether it takes any
    int seen_bytes;          // in the socket, the same
    uint64_t unsent_signals; // sent since it had; of those that it has not taken, at most
    bool has_name;
    const char *trouble; // static, NULL where there is none
};

static void connect_later(Bus *bus) {
    uint64_t longest_us = (BOUND_BUS_PAUSE_MS * USEC_PER_MSEC) << BOUND_BUS_PAUSE_DOUBLINGS;
    if (instant_now().boottime_us - bus->connected_us >= longest_us)
        bus->failures = 0;
    uint64_t pause_us = 0;
    if (bus->failures > 0)
        pause_us = (BOUND_BUS_PAUSE_MS * USEC_PER_MSEC) << (bus->failures - 1);
    if (bus->failures <= BOUND_BUS_PAUSE_DOUBLINGS)
        bus->failures++;
    sd_event_source_set_time_relative(bus->retry, pause_us);
    sd_event_source_set_enabled(bus->retry, SD_EVENT_ONESHOT);
}

// ---- the name

static void take_name(Bus *bus) {
    bus->has_name = true;
    bus->trouble = NULL;
}

static int on_request(sd_bus_message *reply, void *userdata,
                      sd_bus_error *error __attribute__((unused))) {
    Bus *bus = userdata;
    if (sd_bus_message_is_method_error(reply, NULL)) {
        // Any other is of a connection that ends, or of a bus that is slow: NameAcquired comes yet.
        if (sd_bus_error_has_name(sd_bus_message_get_error(reply), SD_BUS_ERROR_ACCESS_DENIED))
            bus->trouble = refused_text;
        return 0;
    }
    uint32_t result;
    if (sd_bus_message_read(reply, "u", &result) > 0 &&
        (result == NAME_IS_OURS || result == NAME_WAS_OURS)) {
        take_name(bus);
        return 0;
    }
    bus->trouble = taken_text;
    return 0;
}

// What is in the socket can neither be counted nor overtaken by root's: hence little of it.
static void shorten_socket(Bus *bus) {
    const int bytes = BOUND_BUS_SOCKET;
    setsockopt(sd_bus_get_fd(bus->connection), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

static void take_driver_signal(Bus *bus, sd_bus_message *message) {
    bool acquired = sd_bus_message_is_signal(message, BUS_DRIVER, "NameAcquired") > 0;
    if (acquired)
        shorten_socket(bus);
    const char *name;
    if ((!acquired && sd_bus_message_is_signal(message, BUS_DRIVER, "NameLost") <= 0) ||
        sd_bus_message_read(message, "s", &name) <= 0 || strcmp(name, DISCOVERY_BUS_NAME) != 0)
        return;
    if (acquired)
        take_name(bus);
    else
        bus->has_name = false;
}

// ---- the connection

// Messages that the bus has not taken.
static uint64_t count_unsent(Bus *bus) {
    uint64_t unsent = 0;
    if (bus->connection)
        sd_bus_get_n_queued_write(bus->connection, &unsent);
    if (unsent == 0) {
        bus->unsent_signals = 0;
        bus->calls.unsent_bytes = 0;
    }
    return unsent;
}

// Whether the bus takes what it is sent.
static bool takes_messages(Bus *bus) {
    return count_unsent(bus) < BOUND_BUS_QUEUE && bus->calls.unsent_bytes < BOUND_BUS_QUEUE_BYTES;
}

// Every message but replies. None goes on to sd-bus, which would answer it at its own discretion.
static int on_message(sd_bus_message *message, void *userdata,
                      sd_bus_error *error __attribute__((unused))) {
    Bus *bus = userdata;
    if (bus_is_from(message, BUS_DRIVER)) {
        take_driver_signal(bus, message);
        return 0;
    }
    if (bus_is_from(message, LOCAL) &&
        sd_bus_message_is_signal(message, LOCAL, "Disconnected") > 0) {
        bus->has_name = false;
        connect_later(bus);
        return 0;
    }
    if (sd_bus_message_is_method_call(message, NULL, NULL) <= 0)
        return 1;
    // Replies that are not taken must not pile up, whatever they are to.
    if (takes_messages(bus))
        bus_calls_take(&bus->calls, message);
    else
        bus->counters.refused++;
    return 1;
}

static void drop_connection(Bus *bus) {
    bus->has_name = false;
    sd_event_source_set_enabled(bus->stall, SD_EVENT_OFF);
    bus_calls_clear(&bus->calls);
    bus->request = sd_bus_slot_unref(bus->request);
    uint64_t unsent = count_unsent(bus);
    bus->counters.signals_dropped += unsent < bus->unsent_signals ? unsent : bus->unsent_signals;
    bus->unsent_signals = 0;
    bus->calls.unsent_bytes = 0;
    bus->connection = sd_bus_close_unref(bus->connection);
}

static int prepare(Bus *bus, sd_bus *connection) {
    int r = sd_bus_set_address(connection, bus->address);
    if (r >= 0)
        r = sd_bus_set_bus_client(connection, true);
    if (r >= 0)
        r = sd_bus_set_watch_bind(connection, true);
    if (r >= 0)
        r = sd_bus_negotiate_fds(connection, false);
    // At the end it would wait for the bus to take what is queued.
    if (r >= 0)
        r = sd_bus_set_close_on_exit(connection, false);
    if (r >= 0)
        r = sd_bus_add_filter(connection, NULL, on_message, bus);
    if (r >= 0)
        r = sd_bus_attach_event(connection, bus->event, SD_EVENT_PRIORITY_NORMAL);
    return r;
}

// What is sent before the connection is there leaves when it is.
static int connect_now(Bus *bus) {
    _cleanup_(sd_bus_close_unrefp) sd_bus *connection = NULL;
    bus->connected_us = instant_now().boottime_us;
    int r = sd_bus_new(&connection);
    if (r >= 0)
        r = prepare(bus, connection);
    if (r >= 0)
        r = sd_bus_start(connection);
    if (r >= 0)
        r = sd_bus_request_name_async(connection, &bus->request, DISCOVERY_BUS_NAME,
                                      SD_BUS_NAME_QUEUE, on_request, bus);
    if (r < 0)
        return r;
    bus->connection = TAKE_PTR(connection);
    return 0;
}

static void connect_or_later(Bus *bus) {
    int r = connect_now(bus);
    if (r >= 0)
        return;
    bus->trouble = unconnected_text;
    connect_later(bus);
}

static int on_retry(sd_event_source *source __attribute__((unused)),
                    uint64_t now __attribute__((unused)), void *userdata) {
    Bus *bus = userdata;
    drop_connection(bus);
    connect_or_later(bus);
    return 0;
}

// ---- a bus that stands still

// Whether the bus has taken something since the last time.
static bool has_progressed(Bus *bus, uint64_t unsent) {
    int bytes = 0;
    ioctl(sd_bus_get_fd(bus->connection), SIOCOUTQ, &bytes);
    bool progressed = unsent < bus->seen_unsent || bytes != bus->seen_bytes;
    bus->seen_unsent = unsent;
    bus->seen_bytes = bytes;
    return progressed;
}

// A connection that is not yet there has limits of its own.
static void watch_stall(Bus *bus) {
    uint64_t unsent = count_unsent(bus);
    if (unsent == 0 || sd_bus_is_ready(bus->connection) <= 0) {
        sd_event_source_set_enabled(bus->stall, SD_EVENT_OFF);
        return;
    }
    int enabled = SD_EVENT_OFF;
    sd_event_source_get_enabled(bus->stall, &enabled);
    if (!has_progressed(bus, unsent) && enabled != SD_EVENT_OFF)
        return;
    sd_event_source_set_time_relative(bus->stall, BOUND_BUS_STALL_MS * USEC_PER_MSEC);
    sd_event_source_set_enabled(bus->stall, SD_EVENT_ONESHOT);
}

// The bus reads no more of a connection while clients leave too much unread that came from it. A
// new one begins at nothing.
static int on_stall(sd_event_source *source __attribute__((unused)),
                    uint64_t now __attribute__((unused)), void *userdata) {
    Bus *bus = userdata;
    // A slow bus gives no sign before much has been taken.
    if (has_progressed(bus, count_unsent(bus)))
        return 0; // on_turn() sets the next time
    log_debug("The bus takes nothing: connecting to it anew");
    drop_connection(bus);
    connect_later(bus);
    return 0;
}

static int on_turn(sd_event_source *source __attribute__((unused)), void *userdata) {
    Bus *bus = userdata;
    bus_calls_turn(&bus->calls);
    watch_stall(bus);
    return 0;
}

static int add_sources(Bus *bus) {
    int r =
        sd_event_add_time(bus->event, &bus->retry, CLOCK_MONOTONIC, UINT64_MAX, 0, on_retry, bus);
    if (r >= 0)
        r = sd_event_source_set_enabled(bus->retry, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_time(bus->event, &bus->stall, CLOCK_MONOTONIC, UINT64_MAX, 0, on_stall,
                              bus);
    if (r >= 0)
        r = sd_event_source_set_enabled(bus->stall, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_post(bus->event, &bus->turn, on_turn, bus);
    return r;
}

int bus_new(sd_event *event, const Context *context, const char *address, Bus **ret) {
    Bus *bus = calloc(1, sizeof *bus);
    if (!bus)
        return -ENOMEM;
    if (!address)
        address = secure_getenv("DBUS_SYSTEM_BUS_ADDRESS");
    bus->event = sd_event_ref(event);
    bus->address = address ? address : USUAL_ADDRESS;
    bus->context = *context;

    int r = bus_calls_init(&bus->calls, event, &bus->context, &bus->counters);
    if (r >= 0)
        r = add_sources(bus);
    if (r < 0) {
        bus_free(bus);
        return r;
    }
    connect_or_later(bus);
    *ret = bus;
    return 0;
}

void bus_free(Bus *bus) {
    if (!bus)
        return;
    drop_connection(bus);
    bus_calls_done(&bus->calls);
    sd_event_source_disable_unref(bus->retry);
    sd_event_source_disable_unref(bus->stall);
    sd_event_source_disable_unref(bus->turn);
    sd_event_unref(bus->event);
    free(bus);
}

// ---- signals

static const char *or_empty(const char *text) {
    return text ? text : "";
}

enum { SIGNAL_SIZE = 512 }; // about

// `result` is that of sending it.
static void signal_sent(Bus *bus, int result) {
    if (result < 0) {
        bus->counters.signals_dropped++;
        return;
    }
    bus->unsent_signals++;
    bus->calls.unsent_bytes += SIGNAL_SIZE;
}

static int emit_change(Bus *bus, const Action *action) {
    const Process *process = action->process;
    char id[VIEW_ID_SIZE];
    view_id(process, bus->context.boot_id, id);
    return sd_bus_emit_signal(bus->connection, DISCOVERY_BUS_PATH, DISCOVERY_BUS_INTERFACE,
                              "ProcessChanged", "tsutsss", process->sequence, id,
                              (uint32_t)process->key.pid, process->key.start_ticks,
                              state_to_string(process->traits.state),
                              action->has_before ? state_to_string(action->before.state) : "",
                              or_empty(reason_to_string(process->reason)));
}

void bus_publish(Bus *bus, const Action *action) {
    if (bus->has_name)
        signal_sent(bus, takes_messages(bus) ? emit_change(bus, action) : -ENOBUFS);
}

static int emit_status(Bus *bus) {
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *signal = NULL;
    Status status;
    bus->context.collect(bus->context.userdata, &status);
    int r = sd_bus_message_new_signal(bus->connection, &signal, DISCOVERY_BUS_PATH,
                                      "org.freedesktop.DBus.Properties", "PropertiesChanged");
    if (r >= 0)
        r = bus_view_changed(signal, &status);
    return r < 0 ? r : sd_bus_message_send(signal);
}

void bus_status_changed(Bus *bus) {
    if (bus->has_name)
        signal_sent(bus, takes_messages(bus) ? emit_status(bus) : -ENOBUFS);
}

const char *bus_trouble(const Bus *bus) {
    return bus->trouble;
}

const BusCounters *bus_counters(const Bus *bus) {
    return &bus->counters;
}
