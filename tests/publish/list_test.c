// List without "more": one reply, collected in many turns.
// SPDX-License-Identifier: MIT
#include "server_fixture.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bounds.h"

static size_t turns_until_readable(Fixture *fixture, const Peer *peer) {
    for (size_t turns = 0;; turns++) {
        struct pollfd wait = {.fd = peer->fd, .events = POLLIN};
        if (poll(&wait, 1, 0) > 0)
            return turns;
        assert_true(sd_event_run(fixture->event, 0) > 0);
    }
}

// A long list is collected a part at a time.
static void test_list_delays_nobody(void **state) {
    Fixture *fixture = *state;
    enum { TURNS = 4, COUNT = TURNS * BOUND_LIVES_PER_TURN };
    static const char list[] = "{\"method\":\"" MANAGER("List") "\"}";
    static const char glob[] =
        "{\"method\":\"" MANAGER("List") "\",\"parameters\":{\"filter\":{\"command\":\"x*\"}}}";
    for (int i = 0; i < COUNT; i++)
        fixture_begin(fixture, 1 + i, geteuid());
    _cleanup_peer_ Peer peer = peer_connect(fixture);
    assert_int_equal(send(peer.fd, list, sizeof list, 0), sizeof list);
    _cleanup_json_ json_t *reply = peer_reply(&peer, false);
    json_t *processes = json_object_get(reply, "processes");
    assert_int_equal(json_array_size(processes), COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(
            json_integer_value(json_object_get(json_array_get(processes, (size_t)i), "pid")),
            1 + i);
    assert_int_equal(json_integer_value(json_object_get(reply, "sequence")), COUNT);

    assert_int_equal(send(peer.fd, list, sizeof list, 0), sizeof list);
    assert_true(turns_until_readable(fixture, &peer) >= TURNS);
    peer_skip_reply(&peer, false);
    assert_int_equal(send(peer.fd, glob, sizeof glob, 0), sizeof glob);
    assert_true(turns_until_readable(fixture, &peer) >= (size_t)TURNS * BOUND_GLOB_LIVES);
    peer_skip_reply(&peer, false);

    // Begun and ended meanwhile, and in the end a client that leaves before its reply.
    assert_int_equal(send(peer.fd, list, sizeof list, 0), sizeof list);
    assert_true(sd_event_run(fixture->event, 0) > 0);
    Input begin = {
        .kind = INPUT_SIGNAL,
        .signal = {.key = {.pid = 60000, .start_ticks = 1, .exec_count = 1}, .uid = geteuid()}};
    Input end = {.kind = INPUT_EXIT, .exit.serial = COUNT};
    assert_int_equal(registry_feed(fixture->registry, &begin, (Instant){0}, &fixture->actions), 0);
    assert_int_equal(registry_feed(fixture->registry, &end, (Instant){0}, &fixture->actions), 0);
    actions_clear(&fixture->actions);
    _cleanup_json_ json_t *later = peer_reply(&peer, false);
    assert_int_equal(json_array_size(json_object_get(later, "processes")), COUNT - 1);
    assert_int_equal(json_integer_value(json_object_get(later, "sequence")), COUNT);
    assert_int_equal(send(peer.fd, list, sizeof list, 0), sizeof list);
    assert_true(sd_event_run(fixture->event, 0) > 0);
}

int main(void) {
    static const struct CMUnitTest tests[] = {FIXTURE_TEST(test_list_delays_nobody)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
