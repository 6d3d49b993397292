// The fixture's loop, registry and clients.
// SPDX-License-Identifier: MIT
#include "server_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bounds.h"
#include "status_socket.h"

static const VarlinkLimits default_limits = {
    .connections = 64, .connections_per_uid = 8, .queue = BOUND_QUEUE};

static size_t count_descriptors(void) {
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    size_t count = 0;
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static void collect(void *userdata, Status *ret) {
    (void)userdata;
    *ret = (Status){
        .mechanisms = {{"probe", false, "less", "refused"}, {"tracepoint", true, "more", NULL}},
        .mechanism_count = 2,
        .scan_interval_us = 1000000,
        .programs = {{"mapping", "tracepoint", true, NULL}, {"scan", "iterator", false, "why"}},
        .program_count = 2,
        .counters = {{"records", 5, false}, {"records_lost", 6, true}},
        .counter_count = 2,
        .degraded = {"no scan"},
        .degraded_count = 1,
    };
}

static int check(void *userdata, pid_t pid, uint64_t token) {
    Fixture *fixture = userdata;
    fixture->checked_pid = pid;
    if (fixture->check_result < 0)
        return fixture->check_result;
    fixture->check_token = token;
    if (fixture->check_at_once)
        fixture_check_done(fixture, token);
    return 0;
}

static void check_cancel(void *userdata, uint64_t token) {
    Fixture *fixture = userdata;
    fixture->cancelled_token = token;
}

void fixture_check_done(Fixture *fixture, uint64_t token) {
    CheckItems items = {.items = {{"mapping", true, NULL}, {"socket", false, strdup("none")}},
                        .count = 2};
    varlink_server_check_done(fixture->server, token, &items);
    check_items_done(&items);
}

static void start(Fixture *fixture, const VarlinkLimits *limits) {
    const Context context = {
        .registry = fixture->registry,
        .group = GROUP_UNKNOWN,
        .boot_id = SD_ID128_MAKE(00, 11, 22, 33, 44, 55, 66, 77, 88, 99, aa, bb, cc, dd, ee, ff),
        .run_id = SD_ID128_MAKE(0f, 11, 22, 33, 44, 55, 66, 77, 88, 99, aa, bb, cc, dd, ee, ff),
        .started_realtime_us = 123,
        .userdata = fixture,
        .collect = collect,
        .check = check,
        .check_cancel = check_cancel,
    };
    pid_t owner;
    int fd = status_socket_open(fixture->path, &owner);
    assert_true(fd >= 0);
    assert_int_equal(varlink_server_new(fixture->event, &context, limits, fd, &fixture->server), 0);
}

int fixture_set_up(void **state) {
    Fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    fixture->descriptors = count_descriptors();
    snprintf(fixture->path, sizeof fixture->path, "/tmp/server-test-%d", getpid());
    assert_int_equal(sd_event_new(&fixture->event), 0);
    const RegistryLimits limits = {.processes = 10000, .processes_per_uid = 10000};
    assert_int_equal(registry_new(&limits, &fixture->registry), 0);
    start(fixture, &default_limits);
    *state = fixture;
    return 0;
}

int fixture_tear_down(void **state) {
    Fixture *fixture = *state;
    varlink_server_free(fixture->server);
    actions_done(&fixture->actions);
    registry_free(fixture->registry);
    sd_event_unref(fixture->event);
    unlink(fixture->path);
    assert_int_equal(count_descriptors(), fixture->descriptors);
    free(fixture);
    return 0;
}

void fixture_restart(Fixture *fixture, const VarlinkLimits *limits) {
    varlink_server_free(fixture->server);
    start(fixture, limits);
}

void fixture_run(Fixture *fixture) {
    for (int turns = 0; turns < 100000; turns++) {
        int r = sd_event_run(fixture->event, 0);
        assert_true(r >= 0);
        if (r == 0)
            return;
    }
    fail_msg("the loop never rests");
}

static void feed(Fixture *fixture, Input *input) {
    static const Instant now = {.boottime_us = 1000000, .realtime_us = 2000000};
    assert_int_equal(registry_feed(fixture->registry, input, now, &fixture->actions), 0);
    for (size_t i = 0; i < fixture->actions.count; i++)
        if (fixture->actions.items[i].kind == ACTION_PUBLISH)
            varlink_server_publish(fixture->server, &fixture->actions.items[i]);
    actions_clear(&fixture->actions);
}

uint64_t fixture_begin(Fixture *fixture, pid_t pid, uid_t uid) {
    Input input = {
        .kind = INPUT_SIGNAL,
        .signal = {.kind = SIGNAL_MAPPING,
                   .key = {.pid = pid, .start_ticks = 100 + fixture->begun++, .exec_count = 1},
                   .uid = uid,
                   .gid = uid,
                   .command = "dotnet",
                   .protection = 0,
                   .seen = {.boottime_us = 1000000, .realtime_us = 2000000}},
    };
    feed(fixture, &input);
    return registry_last_serial(fixture->registry);
}

void fixture_ready(Fixture *fixture, uint64_t serial, Facts *facts) {
    Input input = {.kind = INPUT_PROBED,
                   .probed = {.serial = serial, .outcome = OUTCOME_ANSWERED, .facts = facts}};
    feed(fixture, &input);
}

void fixture_gone(Fixture *fixture, uint64_t serial) {
    Input input = {.kind = INPUT_EXIT, .exit = {.serial = serial}};
    feed(fixture, &input);
}

Facts *fixture_facts(uid_t uid, size_t arguments) {
    Facts *facts = facts_new();
    assert_non_null(facts);
    facts->uid = uid;
    facts->gid = uid;
    memcpy(facts->command, "dotnet", sizeof "dotnet");
    facts->runtime_version = strdup("10.0.5");
    facts->arguments = malloc(arguments + 1);
    assert_non_null(facts->arguments);
    memset(facts->arguments, 'a', arguments);
    facts->arguments[arguments] = '\0';
    facts->arguments_size = arguments + 1;
    return facts;
}

Peer peer_connect(Fixture *fixture) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, fixture->path, sizeof fixture->path);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    fixture_run(fixture);
    return (Peer){.fixture = fixture, .fd = fd};
}

Peer peer_connect_as(Fixture *fixture, uid_t uid) {
    assert_int_equal(seteuid(uid), 0);
    Peer peer = peer_connect(fixture);
    assert_int_equal(seteuid(0), 0);
    return peer;
}

void peer_close(Peer *peer) {
    if (peer->fd >= 0)
        close(peer->fd);
    free(peer->input);
    *peer = (Peer){.fixture = peer->fixture, .fd = -1};
}

void peer_send(Peer *peer, const void *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t n =
            send(peer->fd, (const char *)bytes + done, size - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            done += (size_t)n;
        else if (errno != EAGAIN)
            return; // the server closed: what it did about it is the test's question
        fixture_run(peer->fixture);
    }
}

void peer_call(Peer *peer, const char *method, const char *parameters, bool more) {
    _cleanup_json_ json_t *object = parameters ? json_loads(parameters, 0, NULL) : NULL;
    assert_true(!parameters || object);
    _cleanup_free_ char *frame = NULL;
    size_t size;
    assert_int_equal(varlink_call_format(method, object, more, &frame, &size), 0);
    peer_send(peer, frame, size);
}

// 1: some bytes, 0: the end, -EAGAIN.
static int receive_bytes(Peer *peer) {
    char *input = realloc(peer->input, peer->input_size + 65536);
    assert_non_null(input);
    peer->input = input;
    fixture_run(peer->fixture);
    ssize_t n = recv(peer->fd, input + peer->input_size, 65536, MSG_DONTWAIT);
    if (n < 0)
        return errno == ECONNRESET ? 0 : -errno;
    peer->input_size += (size_t)n;
    return n > 0;
}

json_t *peer_poll(Peer *peer) {
    ssize_t size;
    while ((size = varlink_frame(peer->input, peer->input_size)) < 0)
        if (receive_bytes(peer) <= 0)
            return NULL;
    json_t *message = json_loadb(peer->input, (size_t)size, 0, NULL);
    assert_non_null(message);
    peer->input_size -= (size_t)size + 1;
    memmove(peer->input, peer->input + size + 1, peer->input_size);
    return message;
}

json_t *peer_receive(Peer *peer) {
    json_t *message = peer_poll(peer);
    if (!message)
        fail_msg("no message");
    return message;
}

json_t *peer_reply(Peer *peer, bool continues) {
    _cleanup_json_ json_t *message = peer_receive(peer);
    if (json_object_get(message, "error"))
        fail_msg("%s", json_string_value(json_object_get(message, "error")));
    assert_int_equal(json_is_true(json_object_get(message, "continues")), continues);
    json_t *parameters = json_object_get(message, "parameters");
    assert_true(json_is_object(parameters));
    return json_incref(parameters);
}

void peer_skip_reply(Peer *peer, bool continues) {
    json_decref(peer_reply(peer, continues));
}

void peer_expect_error(Peer *peer, const char *error, const char *parameters) {
    _cleanup_json_ json_t *message = peer_receive(peer);
    const char *name = json_string_value(json_object_get(message, "error"));
    assert_non_null(name);
    assert_string_equal(name, error);
    assert_null(json_object_get(message, "continues"));
    json_t *sent = json_object_get(message, "parameters");
    if (!parameters) {
        assert_true(!sent || json_object_size(sent) == 0);
        return;
    }
    _cleanup_json_ json_t *expected = json_loads(parameters, 0, NULL);
    assert_non_null(expected);
    assert_true(json_equal(sent, expected));
}

void peer_expect_silence(Peer *peer) {
    assert_int_equal(receive_bytes(peer), -EAGAIN);
    assert_int_equal(peer->input_size, 0);
}

void peer_expect_end(Peer *peer) {
    assert_int_equal(receive_bytes(peer), 0);
    assert_int_equal(peer->input_size, 0);
}
