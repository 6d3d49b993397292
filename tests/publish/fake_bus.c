// An sd-bus server at a socket, which plays the driver.
// SPDX-License-Identifier: MIT
#include "fake_bus.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cleanup.h"
#include "discovery_names.h"
#include "macro.h"

#define DRIVER "org.freedesktop.DBus"

static void send_reply(sd_bus_message *reply, const char *sender) {
    assert_true(sd_bus_message_set_sender(reply, sender) >= 0);
    assert_true(sd_bus_message_send(reply) >= 0);
    sd_bus_message_unref(reply);
}

static FakeCaller find_caller(const FakeBus *bus, const char *name) {
    for (size_t i = 0; i < bus->caller_count; i++)
        if (strcmp(bus->callers[i].name, name) == 0)
            return bus->callers[i];
    return (FakeCaller){.name = name};
}

static void append_credentials(sd_bus_message *reply, const FakeCaller *caller) {
    assert_true(sd_bus_message_open_container(reply, 'a', "{sv}") >= 0);
    assert_true(sd_bus_message_append(reply, "{sv}", "ProcessID", "u", 1) >= 0);
    if (caller->uid != UINT32_MAX)
        assert_true(sd_bus_message_append(reply, "{sv}", "UnixUserID", "u", caller->uid) >= 0);
    if (caller->group_count > 0) {
        assert_true(sd_bus_message_open_container(reply, 'e', "sv") >= 0);
        assert_true(sd_bus_message_append(reply, "s", "UnixGroupIDs") >= 0);
        assert_true(sd_bus_message_open_container(reply, 'v', "au") >= 0);
        assert_true(sd_bus_message_append_array(reply, 'u', caller->groups,
                                                caller->group_count * sizeof(uint32_t)) >= 0);
        assert_true(sd_bus_message_close_container(reply) >= 0);
        assert_true(sd_bus_message_close_container(reply) >= 0);
    }
    assert_true(sd_bus_message_append(reply, "{sv}", "LinuxSecurityLabel", "ay", 1, 0) >= 0);
    assert_true(sd_bus_message_close_container(reply) >= 0);
}

static void answer_credentials(FakeBus *bus, sd_bus_message *question) {
    const char *name;
    assert_true(sd_bus_message_read(question, "s", &name) > 0);
    FakeCaller caller = find_caller(bus, name);
    sd_bus_message *reply;
    if (caller.error) {
        sd_bus_error error = SD_BUS_ERROR_MAKE_CONST(caller.error, "as the test has it");
        assert_true(sd_bus_message_new_method_error(question, &reply, &error) >= 0);
    } else {
        assert_true(sd_bus_message_new_method_return(question, &reply) >= 0);
        append_credentials(reply, &caller);
    }
    send_reply(reply, caller.forged ? ":1.666" : DRIVER);
}

void fake_bus_answer(FakeBus *bus) {
    for (size_t i = 0; i < bus->question_count; i++) {
        answer_credentials(bus, bus->questions[i]);
        sd_bus_message_unref(bus->questions[i]);
    }
    bus->question_count = 0;
}

static void answer_request(FakeBus *bus, sd_bus_message *request) {
    const char *name;
    assert_true(sd_bus_message_read(request, "su", &name, &bus->name_flags) > 0);
    assert_string_equal(name, DISCOVERY_BUS_NAME);
    sd_bus_message *reply;
    if (bus->name_result == UINT32_MAX)
        return;
    if (bus->name_result == 0) {
        sd_bus_error error = SD_BUS_ERROR_MAKE_CONST(SD_BUS_ERROR_ACCESS_DENIED, "not you");
        assert_true(sd_bus_message_new_method_error(request, &reply, &error) >= 0);
    } else {
        if (bus->name_result == 1)
            fake_bus_name(bus, "NameAcquired");
        assert_true(sd_bus_message_new_method_return(request, &reply) >= 0);
        assert_true(sd_bus_message_append(reply, "u", bus->name_result) >= 0);
    }
    send_reply(reply, DRIVER);
}

static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error) {
    FakeBus *bus = userdata;
    (void)error;
    if (sd_bus_message_is_signal(message, "org.freedesktop.DBus.Local", NULL) > 0)
        return 0;
    if (sd_bus_message_is_method_call(message, DRIVER, "Hello") > 0)
        return sd_bus_reply_method_return(message, "s", ":1.1") < 0 ? -1 : 1;
    if (sd_bus_message_is_method_call(message, DRIVER, "RequestName") > 0) {
        answer_request(bus, message);
    } else if (sd_bus_message_is_method_call(message, DRIVER, "GetConnectionCredentials") > 0) {
        assert_true(bus->question_count < ELEMENTS_OF(bus->questions));
        bus->questions[bus->question_count++] = sd_bus_message_ref(message);
        if (!bus->keeps_questions)
            fake_bus_answer(bus);
    } else {
        assert_true(bus->count < ELEMENTS_OF(bus->messages));
        bus->messages[bus->count++] = sd_bus_message_ref(message);
    }
    return 1;
}

static void drop_questions(FakeBus *bus) {
    while (bus->question_count > 0)
        sd_bus_message_unref(bus->questions[--bus->question_count]);
}

static int on_listen(sd_event_source *source, int fd, uint32_t events, void *userdata) {
    FakeBus *bus = userdata;
    (void)source;
    (void)events;
    int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_true(connection >= 0);
    if (bus->connection) { // has been closed by the daemon, which the bus has not seen
        struct pollfd end = {.fd = sd_bus_get_fd(bus->connection)};
        assert_int_equal(poll(&end, 1, 0), 1);
        assert_true(end.revents & POLLHUP);
        drop_questions(bus);
        bus->connection = sd_bus_close_unref(bus->connection);
    }
    bus->connections++;
    assert_true(sd_bus_new(&bus->connection) >= 0);
    assert_true(sd_bus_set_fd(bus->connection, connection, connection) >= 0);
    assert_true(sd_bus_set_server(bus->connection, true,
                                  SD_ID128_MAKE(01, 11, 22, 33, 44, 55, 66, 77, 88, 99, aa, bb, cc,
                                                dd, ee, ff)) >= 0);
    assert_true(sd_bus_set_trusted(bus->connection, true) >= 0);
    assert_true(sd_bus_set_close_on_exit(bus->connection, false) >= 0);
    assert_true(sd_bus_add_filter(bus->connection, NULL, on_message, bus) >= 0);
    assert_true(sd_bus_attach_event(bus->connection, bus->event, 0) >= 0);
    assert_true(sd_bus_start(bus->connection) >= 0);
    return 0;
}

void fake_bus_init(FakeBus *bus, sd_event *event) {
    *bus = (FakeBus){.event = event, .fd = -1, .name_result = 1};
    snprintf(bus->path, sizeof bus->path, "/tmp/bus-test-%d", getpid());
    snprintf(bus->address, sizeof bus->address, "unix:path=%s", bus->path);
}

void fake_bus_listen(FakeBus *bus) {
    bus->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, bus->path, sizeof bus->path);
    assert_int_equal(bind(bus->fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(bus->fd, 8), 0);
    assert_int_equal(sd_event_add_io(bus->event, &bus->listen, bus->fd, EPOLLIN, on_listen, bus),
                     0);
}

void fake_bus_disconnect(FakeBus *bus, bool ends) {
    if (ends) {
        bus->listen = sd_event_source_disable_unref(bus->listen);
        bus->fd = safe_close(bus->fd);
        unlink(bus->path);
    }
    drop_questions(bus);
    bus->connection = sd_bus_close_unref(bus->connection);
}

void fake_bus_done(FakeBus *bus) {
    fake_bus_disconnect(bus, true);
    for (size_t i = 0; i < bus->count; i++)
        sd_bus_message_unref(bus->messages[i]);
}

void fake_bus_pause(FakeBus *bus) {
    assert_true(sd_bus_detach_event(bus->connection) >= 0);
}

void fake_bus_resume(FakeBus *bus) {
    assert_true(sd_bus_attach_event(bus->connection, bus->event, 0) >= 0);
}

void fake_bus_name(FakeBus *bus, const char *member) {
    sd_bus_message *message;
    assert_true(sd_bus_message_new_signal(bus->connection, &message, "/org/freedesktop/DBus",
                                          DRIVER, member) >= 0);
    assert_true(sd_bus_message_set_destination(message, ":1.1") >= 0);
    assert_true(sd_bus_message_append(message, "s", DISCOVERY_BUS_NAME) >= 0);
    send_reply(message, DRIVER);
}

sd_bus_message *fake_bus_call(FakeBus *bus, const char *sender, const char *interface,
                              const char *member) {
    sd_bus_message *message;
    assert_true(sd_bus_message_new_method_call(bus->connection, &message, DISCOVERY_BUS_NAME,
                                               DISCOVERY_BUS_PATH, interface, member) >= 0);
    assert_true(sd_bus_message_set_sender(message, sender) >= 0);
    return message;
}

void fake_bus_send(FakeBus *bus, sd_bus_message *message) {
    // Who does not ask for the number gets no reply.
    uint64_t cookie;
    assert_true(sd_bus_send(bus->connection, message, &cookie) >= 0);
    sd_bus_message_unref(message);
}

sd_bus_message *fake_bus_next(FakeBus *bus) {
    return bus->first < bus->count ? bus->messages[bus->first++] : NULL;
}

// ---- text

static void print_value(FILE *file, sd_bus_message *message);

static void print_values(FILE *file, sd_bus_message *message, const char *separator) {
    for (bool first = true; sd_bus_message_at_end(message, false) == 0; first = false) {
        fputs(first ? "" : separator, file);
        print_value(file, message);
    }
}

static void print_basic(FILE *file, sd_bus_message *message, char type) {
    union {
        const char *s;
        uint32_t u;
        uint64_t t;
        int b;
    } value;
    assert_true(sd_bus_message_read_basic(message, type, &value) > 0);
    switch (type) {
    case 's':
        fprintf(file, "\"%s\"", value.s);
        break;
    case 'u':
        fprintf(file, "%" PRIu32, value.u);
        break;
    case 't':
        fprintf(file, "%" PRIu64, value.t);
        break;
    case 'b':
        fputs(value.b ? "true" : "false", file);
        break;
    default:
        fail_msg("unexpected type %c", type);
    }
}

static void print_value(FILE *file, sd_bus_message *message) {
    char type;
    const char *contents;
    assert_true(sd_bus_message_peek_type(message, &type, &contents) > 0);
    if (!contents) {
        print_basic(file, message, type);
        return;
    }
    assert_true(sd_bus_message_enter_container(message, type, contents) > 0);
    if (type == 'v')
        fprintf(file, "%s ", contents);
    fputs(type == 'a' ? "[" : "", file);
    print_values(file, message, type == 'e' ? ": " : ", ");
    fputs(type == 'a' ? "]" : "", file);
    assert_true(sd_bus_message_exit_container(message) >= 0);
}

char *fake_bus_text(sd_bus_message *message) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    print_values(file, message, ", ");
    fclose(file);
    return text;
}
