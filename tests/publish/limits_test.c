// How many are let in, what is told to the rest, and what happens without descriptors.
// SPDX-License-Identifier: MIT
#include "server_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bounds.h"

static void expect_served(Peer *peer) {
    peer_call(peer, MANAGER("Status"), NULL, false);
    _cleanup_json_ json_t *status = peer_reply(peer, false);
    assert_non_null(json_object_get(status, "version"));
}

static void expect_refused(Peer *peer) {
    peer_call(peer, MANAGER("Status"), NULL, false);
    peer_expect_error(peer, MANAGER("TooManyConnections"), NULL);
    peer_expect_end(peer);
}

static void test_connections_in_all(void **state) {
    Fixture *fixture = *state;
    fixture_restart(fixture, &(VarlinkLimits){3, 3, BOUND_QUEUE});
    Peer peers[3];
    for (size_t i = 0; i < 3; i++)
        peers[i] = peer_connect(fixture);
    _cleanup_peer_ Peer extra = peer_connect(fixture);
    peer_expect_silence(&extra); // not before it calls
    const VarlinkCounters *counters = varlink_server_counters(fixture->server);
    assert_int_equal(counters->connections, 3);
    assert_int_equal(counters->refused, 1);
    expect_refused(&extra);
    for (size_t i = 0; i < 3; i++)
        expect_served(&peers[i]);

    peer_close(&peers[1]);
    fixture_run(fixture);
    peers[1] = peer_connect(fixture);
    for (size_t i = 0; i < 3; i++) {
        expect_served(&peers[i]);
        peer_close(&peers[i]);
    }
    fixture_run(fixture);
    assert_int_equal(counters->connections, 0);
}

static void test_connections_of_one_uid(void **state) {
    Fixture *fixture = *state;
    if (geteuid() != 0) {
        print_message("Skipped: needs root.\n");
        skip();
    }
    fixture_restart(fixture, &(VarlinkLimits){10, 2, BOUND_QUEUE});
    _cleanup_peer_ Peer first = peer_connect_as(fixture, 1000);
    _cleanup_peer_ Peer second = peer_connect_as(fixture, 1000);
    _cleanup_peer_ Peer third = peer_connect_as(fixture, 1000);
    _cleanup_peer_ Peer other = peer_connect_as(fixture, 1001);
    Peer roots[4];
    for (size_t i = 0; i < 4; i++)
        roots[i] = peer_connect(fixture);

    expect_refused(&third);
    expect_served(&first);
    expect_served(&second);
    expect_served(&other);
    for (size_t i = 0; i < 4; i++) {
        expect_served(&roots[i]);
        peer_close(&roots[i]);
    }
}

static void test_root_has_its_own(void **state) {
    Fixture *fixture = *state;
    if (geteuid() != 0) {
        print_message("Skipped: needs root.\n");
        skip();
    }
    fixture_restart(fixture, &(VarlinkLimits){16, 4, BOUND_QUEUE});
    Peer others[14], roots[2];
    for (size_t i = 0; i < 14; i++)
        others[i] = peer_connect_as(fixture, (uid_t)(1000 + i / 4));
    _cleanup_peer_ Peer other = peer_connect_as(fixture, 1005);
    expect_refused(&other);
    for (size_t i = 0; i < 2; i++)
        roots[i] = peer_connect(fixture);
    _cleanup_peer_ Peer root = peer_connect(fixture);
    expect_refused(&root);
    for (size_t i = 0; i < 2; i++) {
        expect_served(&roots[i]);
        peer_close(&roots[i]);
    }
    for (size_t i = 0; i < 14; i++) {
        expect_served(&others[i]);
        peer_close(&others[i]);
    }
}

static void test_refused_ones_are_few(void **state) {
    enum { EXTRA = BOUND_CONNECTIONS_REFUSED + 5 };
    Fixture *fixture = *state;
    fixture_restart(fixture, &(VarlinkLimits){1, 1, BOUND_QUEUE});
    _cleanup_peer_ Peer served = peer_connect(fixture);
    Peer peers[EXTRA];
    for (size_t i = 0; i < EXTRA; i++)
        peers[i] = peer_connect(fixture);
    // The oldest made room.
    for (size_t i = 0; i < EXTRA; i++) {
        if (i < EXTRA - BOUND_CONNECTIONS_REFUSED)
            peer_expect_end(&peers[i]);
        else
            expect_refused(&peers[i]);
        peer_close(&peers[i]);
    }
    expect_served(&served);
    assert_int_equal(varlink_server_counters(fixture->server)->refused, EXTRA);
}

static void test_refused_ways_to_leave(void **state) {
    Fixture *fixture = *state;
    fixture_restart(fixture, &(VarlinkLimits){0, 0, BOUND_QUEUE});
    _cleanup_peer_ Peer silent = peer_connect(fixture);
    Peer gone = peer_connect(fixture);
    peer_close(&gone);
    fixture_run(fixture);
    _cleanup_peer_ Peer wrong = peer_connect(fixture);
    peer_send(&wrong, "x", 2);
    peer_expect_end(&wrong);
    _cleanup_peer_ Peer oneway = peer_connect(fixture);
    static const char call[] = "{\"method\":\"a.b\",\"oneway\":true}";
    peer_send(&oneway, call, sizeof call);
    peer_expect_end(&oneway);
    peer_expect_silence(&silent);
}

static void test_without_descriptors(void **state) {
    Fixture *fixture = *state;
    Peer served = peer_connect(fixture);
    _cleanup_peer_ Peer other = peer_connect(fixture);
    _cleanup_close_ int lowest_free = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    assert_true(lowest_free >= 0);

    // The client's own descriptor is the last that may be opened.
    struct rlimit before, tight;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = before;
    tight.rlim_cur = (rlim_t)lowest_free + 2;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    _cleanup_peer_ Peer late = peer_connect(fixture); // fails where the loop never rests
    const VarlinkCounters *counters = varlink_server_counters(fixture->server);
    assert_int_equal(counters->pauses, 1);
    assert_int_equal(counters->connections, 2);
    expect_served(&served);
    expect_served(&other);

    // One leaves, and the late one comes in without a limit having been raised.
    peer_close(&served);
    expect_served(&late);
    assert_int_equal(counters->pauses, 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

// With no connection of its own to wait for, the timer tries again.
static void test_without_descriptors_alone(void **state) {
    Fixture *fixture = *state;
    _cleanup_close_ int lowest_free = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    assert_true(lowest_free >= 0);
    struct rlimit before, tight;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = before;
    tight.rlim_cur = (rlim_t)lowest_free + 2;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    _cleanup_peer_ Peer late = peer_connect(fixture);
    const VarlinkCounters *counters = varlink_server_counters(fixture->server);
    assert_int_equal(counters->pauses, 1);
    assert_int_equal(counters->connections, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    while (counters->connections == 0)
        assert_true(sd_event_run(fixture->event, UINT64_C(10000) * BOUND_ACCEPT_PAUSE_MS) > 0);
    expect_served(&late);
}

// How many whole messages one read brings.
static size_t read_once(const Peer *peer) {
    char bytes[BOUND_QUEUE];
    ssize_t n = recv(peer->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    size_t count = 0;
    for (ssize_t i = 0; i < n; i++)
        count += bytes[i] == '\0';
    return count;
}

// The first change of a turn is sent at once and the others together, but for what would fill the
// queue: a client with a short one loses nothing of a storm that it reads in time.
static void test_changes_of_one_turn(void **state) {
    Fixture *fixture = *state;
    enum { CHANGES = 64, SHORT = 8 << 10 };
    static const size_t queues[] = {BOUND_QUEUE, SHORT};
    for (size_t i = 0; i < 2; i++) {
        fixture_restart(fixture, &(VarlinkLimits){10, 10, queues[i]});
        _cleanup_peer_ Peer peer = peer_connect(fixture);
        peer_call(&peer, MANAGER("Subscribe"), NULL, true);
        fixture_run(fixture);
        while (read_once(&peer) > 0)
            continue;

        for (int pid = 1; pid <= CHANGES; pid++)
            fixture_begin(fixture, 1000 * (int)(i + 1) + pid, geteuid());
        size_t sent = read_once(&peer);
        assert_int_equal(sent > 1, queues[i] == SHORT);
        assert_true(sent > 0);
        fixture_run(fixture);
        for (size_t more; (more = read_once(&peer)) > 0;)
            sent += more;
        assert_int_equal(sent, CHANGES);
        assert_int_equal(varlink_server_counters(fixture->server)->overruns, 0);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_connections_in_all),        FIXTURE_TEST(test_connections_of_one_uid),
        FIXTURE_TEST(test_root_has_its_own),          FIXTURE_TEST(test_refused_ones_are_few),
        FIXTURE_TEST(test_refused_ways_to_leave),     FIXTURE_TEST(test_without_descriptors),
        FIXTURE_TEST(test_without_descriptors_alone), FIXTURE_TEST(test_changes_of_one_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
