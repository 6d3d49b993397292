// Subscribe, and List with "more": what a subscriber knows at the end is what is so, whatever
// changed while it read and however slowly it did.
// SPDX-License-Identifier: MIT
#include "server_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bounds.h"

// Enough processes of this size that no socket buffer holds their snapshot.
enum { BIG_ARGUMENTS = 4000, MANY = 1000 };

static const char *text_of(const json_t *object, const char *name) {
    return json_string_value(json_object_get(object, name));
}
static json_int_t number_of(const json_t *object, const char *name) {
    return json_integer_value(json_object_get(object, name));
}

static void begin_many(Fixture *fixture) {
    for (int i = 0; i < MANY; i++)
        fixture_ready(fixture, fixture_begin(fixture, 1 + i, geteuid()),
                      fixture_facts(geteuid(), BIG_ARGUMENTS));
}

// A subscriber's knowledge: pid to process.
typedef struct Knowledge {
    json_t *processes; // owned
    json_int_t sequence;
    bool synced;
    size_t pages;
    size_t syncs;
    size_t overruns;
    size_t changes;
} Knowledge;

static void knowledge_done(Knowledge *knowledge) {
    json_decref(knowledge->processes);
}

static void know(Knowledge *knowledge, json_t *process) {
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)number_of(process, "pid"));
    if (strcmp(text_of(process, "state"), "gone") == 0)
        json_object_del(knowledge->processes, pid);
    else
        json_object_set(knowledge->processes, pid, process);
}

static void learn_change(Knowledge *knowledge, json_t *event) {
    json_t *process = json_object_get(event, "process");
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)number_of(process, "pid"));
    const char *previous = text_of(event, "previousState");
    json_t *known = json_object_get(knowledge->processes, pid);
    assert_true(knowledge->synced);
    assert_true(number_of(event, "sequence") > knowledge->sequence);
    assert_int_equal(number_of(event, "sequence"), number_of(process, "sequence"));
    assert_int_equal(previous != NULL, known != NULL);
    if (known) {
        assert_string_equal(previous, text_of(known, "state"));
        assert_true(number_of(process, "sequence") > number_of(known, "sequence"));
    }
    know(knowledge, process);
    knowledge->sequence = number_of(event, "sequence");
    knowledge->changes++;
}

static void learn(Knowledge *knowledge, json_t *event) {
    const char *kind = text_of(event, "kind");
    if (strcmp(kind, "snapshot") == 0) {
        assert_false(knowledge->synced);
        json_t *processes = json_object_get(event, "processes");
        _cleanup_free_ char *page = json_dumps(event, JSON_COMPACT);
        assert_true(strlen(page) <= BOUND_PAGE);
        for (size_t i = 0; i < json_array_size(processes); i++)
            know(knowledge, json_array_get(processes, i));
        knowledge->pages++;
    } else if (strcmp(kind, "synced") == 0) {
        assert_false(knowledge->synced);
        knowledge->synced = true;
        knowledge->sequence = number_of(event, "sequence");
        knowledge->syncs++;
    } else if (strcmp(kind, "overrun") == 0) {
        assert_true(knowledge->synced);
        knowledge->synced = false;
        json_object_clear(knowledge->processes); // the snapshot tells all
        knowledge->overruns++;
    } else {
        assert_string_equal(kind, "changed");
        learn_change(knowledge, event);
    }
}

// Reads until it knows of everything up to this sequence.
static void learn_up_to(Knowledge *knowledge, Peer *peer, uint64_t sequence) {
    if (!knowledge->processes)
        knowledge->processes = json_object();
    while (!knowledge->synced || knowledge->sequence < (json_int_t)sequence) {
        _cleanup_json_ json_t *event = peer_reply(peer, true);
        learn(knowledge, event);
    }
}

// What it knows is what a fresh list says.
static void expect_truth(const Knowledge *knowledge, Fixture *fixture) {
    _cleanup_peer_ Peer peer = peer_connect(fixture);
    peer_call(&peer, MANAGER("List"), NULL, true);
    _cleanup_(knowledge_done) Knowledge truth = {.processes = json_object()};
    for (bool more = true; more;) {
        _cleanup_json_ json_t *message = peer_receive(&peer);
        more = json_is_true(json_object_get(message, "continues"));
        json_t *processes = json_object_get(json_object_get(message, "parameters"), "processes");
        assert_non_null(processes);
        for (size_t i = 0; i < json_array_size(processes); i++)
            know(&truth, json_array_get(processes, i));
    }
    assert_int_equal(json_object_size(truth.processes), registry_count(fixture->registry));
    assert_true(json_equal(knowledge->processes, truth.processes));
}

static void expect_event(Peer *peer, const char *kind, pid_t pid, const char *state_now,
                         const char *previous) {
    _cleanup_json_ json_t *event = peer_reply(peer, true);
    assert_string_equal(text_of(event, "kind"), kind);
    json_t *process = json_object_get(event, "process");
    assert_int_equal(process != NULL, pid != 0);
    if (!process)
        return;
    assert_int_equal(number_of(process, "pid"), pid);
    assert_string_equal(text_of(process, "state"), state_now);
    assert_int_equal(text_of(event, "previousState") != NULL, previous != NULL);
    if (previous)
        assert_string_equal(text_of(event, "previousState"), previous);
}

static void test_life(void **state) {
    Fixture *fixture = *state;
    uint64_t early = fixture_begin(fixture, 10, geteuid());
    _cleanup_peer_ Peer peer = peer_connect(fixture);
    peer_call(&peer, MANAGER("Subscribe"), NULL, true);
    assert_int_equal(varlink_server_counters(fixture->server)->subscribers, 1);
    _cleanup_json_ json_t *page = peer_reply(&peer, true);
    assert_string_equal(text_of(page, "kind"), "snapshot");
    assert_int_equal(number_of(page, "sequence"), 1);
    assert_int_equal(json_array_size(json_object_get(page, "processes")), 1);
    _cleanup_json_ json_t *synced = peer_reply(&peer, true);
    assert_string_equal(text_of(synced, "kind"), "synced");
    assert_int_equal(number_of(synced, "sequence"), 1);
    peer_expect_silence(&peer);

    uint64_t serial = fixture_begin(fixture, 11, geteuid());
    fixture_ready(fixture, serial, fixture_facts(geteuid(), 10));
    expect_event(&peer, "changed", 11, "detected", NULL);
    expect_event(&peer, "changed", 11, "ready", "detected");
    fixture_gone(fixture, early);
    fixture_gone(fixture, serial);
    expect_event(&peer, "changed", 10, "gone", "detected");
    expect_event(&peer, "changed", 11, "gone", "ready");
    peer_expect_silence(&peer);

    // Calls behind it are not read; to leave ends it.
    peer_call(&peer, MANAGER("Status"), NULL, false);
    peer_expect_silence(&peer);
    peer_close(&peer);
    fixture_run(fixture);
    assert_int_equal(varlink_server_counters(fixture->server)->subscribers, 0);
    fixture_begin(fixture, 12, geteuid());
}

static void test_empty_snapshot(void **state) {
    _cleanup_peer_ Peer peer = peer_connect(*state);
    peer_call(&peer, MANAGER("Subscribe"), NULL, true);
    assert_int_equal(shutdown(peer.fd, SHUT_WR), 0); // listens on
    _cleanup_json_ json_t *page = peer_reply(&peer, true);
    assert_string_equal(text_of(page, "kind"), "snapshot");
    assert_int_equal(json_array_size(json_object_get(page, "processes")), 0);
    expect_event(&peer, "synced", 0, NULL, NULL);
    fixture_begin(*state, 12, geteuid());
    expect_event(&peer, "changed", 12, "detected", NULL);
}

static void test_changes_while_reading(void **state) {
    Fixture *fixture = *state;
    begin_many(fixture);
    _cleanup_peer_ Peer peer = peer_connect(fixture);
    peer_call(&peer, MANAGER("Subscribe"), NULL, true);
    fixture_run(fixture);

    // Of a life passed already, of some yet to come, and of new ones, of which one ends at once.
    uint64_t passed = registry_find_pid(fixture->registry, 1)->serial;
    uint64_t to_come = registry_find_pid(fixture->registry, MANY - 1)->serial;
    fixture_gone(fixture, passed);
    fixture_gone(fixture, to_come);
    uint64_t new = fixture_begin(fixture, 5001, geteuid());
    fixture_ready(fixture, new, fixture_facts(geteuid(), 10));
    fixture_gone(fixture, fixture_begin(fixture, 5002, geteuid()));
    fixture_begin(fixture, 1, geteuid()); // the pid again, another life

    _cleanup_(knowledge_done) Knowledge knowledge = {0};
    learn_up_to(&knowledge, &peer, registry_sequence(fixture->registry));
    peer_expect_silence(&peer);
    assert_true(knowledge.pages > MANY * BIG_ARGUMENTS / BOUND_PAGE);
    assert_int_equal(knowledge.syncs, 1);
    assert_int_equal(knowledge.overruns, 0);
    assert_int_equal(knowledge.changes, 6); // not of the one to come
    expect_truth(&knowledge, fixture);
}

static void test_overrun_while_live(void **state) {
    Fixture *fixture = *state;
    fixture_restart(fixture, &(VarlinkLimits){8, 8, 20000});
    _cleanup_peer_ Peer slow = peer_connect(fixture);
    _cleanup_peer_ Peer quick = peer_connect(fixture);
    peer_call(&slow, MANAGER("Subscribe"), NULL, true);
    peer_call(&quick, MANAGER("Subscribe"), NULL, true);
    _cleanup_(knowledge_done) Knowledge of_slow = {0};
    _cleanup_(knowledge_done) Knowledge of_quick = {0};
    learn_up_to(&of_slow, &slow, 0);
    learn_up_to(&of_quick, &quick, 0);
    for (int i = 0; i < MANY; i++) {
        uint64_t serial = fixture_begin(fixture, 1 + i, geteuid());
        fixture_ready(fixture, serial, fixture_facts(geteuid(), BIG_ARGUMENTS));
        if (i % 3 == 0)
            fixture_gone(fixture, serial);
        learn_up_to(&of_quick, &quick, registry_sequence(fixture->registry));
    }
    assert_int_equal(of_quick.overruns, 0);
    assert_true(varlink_server_counters(fixture->server)->overruns > 0);
    learn_up_to(&of_slow, &slow, registry_sequence(fixture->registry));
    assert_true(of_slow.overruns > 0);
    expect_truth(&of_quick, fixture);
    expect_truth(&of_slow, fixture);

    // Both go on as before.
    fixture_begin(fixture, 5000, geteuid());
    learn_up_to(&of_quick, &quick, registry_sequence(fixture->registry));
    learn_up_to(&of_slow, &slow, registry_sequence(fixture->registry));
    expect_truth(&of_slow, fixture);
}

static void test_overrun_while_reading(void **state) {
    Fixture *fixture = *state;
    fixture_restart(fixture, &(VarlinkLimits){8, 8, 20000});
    begin_many(fixture);
    _cleanup_peer_ Peer peer = peer_connect(fixture);
    peer_call(&peer, MANAGER("Subscribe"), NULL, true);
    fixture_run(fixture);
    for (int i = 0; i < 100; i++)
        fixture_begin(fixture, 5000 + i, geteuid());
    assert_int_equal(varlink_server_counters(fixture->server)->overruns, 1);
    _cleanup_(knowledge_done) Knowledge knowledge = {0};
    learn_up_to(&knowledge, &peer, registry_sequence(fixture->registry));
    assert_int_equal(knowledge.overruns, 1);
    assert_int_equal(knowledge.syncs, 2);
    expect_truth(&knowledge, fixture);
}

// A change that alone is larger than the queue.
static void test_queue_of_nothing(void **state) {
    Fixture *fixture = *state;
    fixture_restart(fixture, &(VarlinkLimits){8, 8, 0});
    _cleanup_peer_ Peer peer = peer_connect(fixture);
    peer_call(&peer, MANAGER("Subscribe"), NULL, true);
    _cleanup_(knowledge_done) Knowledge knowledge = {0};
    learn_up_to(&knowledge, &peer, 0);
    for (int i = 0; i < 3; i++) {
        fixture_begin(fixture, 1 + i, geteuid());
        learn_up_to(&knowledge, &peer, registry_sequence(fixture->registry));
        expect_truth(&knowledge, fixture);
    }
    assert_int_equal(knowledge.overruns, 3);
}

static void test_list_with_more(void **state) {
    Fixture *fixture = *state;
    begin_many(fixture);
    _cleanup_peer_ Peer peer = peer_connect(fixture);
    peer_call(&peer, MANAGER("List"), NULL, true);
    peer_call(&peer, MANAGER("Get"), "{\"pid\": 2}", false); // waits behind it
    fixture_run(fixture);
    uint64_t start = registry_sequence(fixture->registry);
    fixture_gone(fixture, registry_find_pid(fixture->registry, 1)->serial);
    fixture_begin(fixture, 5001, geteuid());

    _cleanup_(knowledge_done) Knowledge knowledge = {.processes = json_object()};
    size_t pages = 0;
    for (bool more = true; more; pages++) {
        _cleanup_json_ json_t *message = peer_receive(&peer);
        more = json_is_true(json_object_get(message, "continues"));
        json_t *parameters = json_object_get(message, "parameters");
        if (pages == 0)
            assert_int_equal(number_of(parameters, "sequence"), start);
        if (!more)
            assert_int_equal(number_of(parameters, "sequence"), start + 2);
        json_t *processes = json_object_get(parameters, "processes");
        for (size_t i = 0; i < json_array_size(processes); i++)
            know(&knowledge, json_array_get(processes, i));
    }
    assert_true(pages > MANY * BIG_ARGUMENTS / BOUND_PAGE);
    expect_truth(&knowledge, fixture);
    _cleanup_json_ json_t *got = peer_reply(&peer, false);
    assert_int_equal(number_of(json_object_get(got, "process"), "pid"), 2);
    assert_int_equal(varlink_server_counters(fixture->server)->subscribers, 0);
}

// A list is of one moment, which comes however long its client takes to read up to it.
static void test_list_ends(void **state) {
    Fixture *fixture = *state;
    fixture_restart(fixture, &(VarlinkLimits){8, 8, 16 << 20});
    begin_many(fixture);
    _cleanup_peer_ Peer peer = peer_connect(fixture);
    peer_call(&peer, MANAGER("List"), NULL, true);
    fixture_run(fixture);
    for (int i = 0; i < MANY; i++)
        fixture_ready(fixture, fixture_begin(fixture, 5000 + i, geteuid()),
                      fixture_facts(geteuid(), BIG_ARGUMENTS));
    uint64_t moment = registry_sequence(fixture->registry);

    bool later = false;
    for (bool more = true; more;) {
        _cleanup_json_ json_t *message = peer_receive(&peer);
        more = json_is_true(json_object_get(message, "continues"));
        json_t *parameters = json_object_get(message, "parameters");
        assert_true(number_of(parameters, "sequence") <= (json_int_t)moment);
        if (!more)
            assert_int_equal(number_of(parameters, "sequence"), moment);
        json_t *first = json_array_get(json_object_get(parameters, "processes"), 0);
        // The snapshot is over, and most of what was queued behind it is not read yet.
        if (!later && first && number_of(first, "pid") == 5000) {
            fixture_begin(fixture, 9999, geteuid());
            later = true;
        }
    }
    assert_true(later);
}

static void test_list_overrun(void **state) {
    Fixture *fixture = *state;
    fixture_restart(fixture, &(VarlinkLimits){8, 8, 20000});
    begin_many(fixture);
    _cleanup_peer_ Peer peer = peer_connect(fixture);
    peer_call(&peer, MANAGER("List"), NULL, true);
    fixture_run(fixture);
    for (int i = 0; i < 100; i++)
        fixture_begin(fixture, 5000 + i, geteuid());
    for (bool more = true; more;) {
        _cleanup_json_ json_t *message = peer_receive(&peer);
        more = json_is_true(json_object_get(message, "continues"));
        if (!more)
            assert_string_equal(text_of(message, "error"), MANAGER("ReplyTooLarge"));
    }
    peer_call(&peer, MANAGER("Get"), "{\"pid\": 2}", false);
    peer_skip_reply(&peer, false);
}

static void test_filter(void **state) {
    Fixture *fixture = *state;
    _cleanup_peer_ Peer detected = peer_connect(fixture);
    _cleanup_peer_ Peer ready = peer_connect(fixture);
    peer_call(&detected, MANAGER("Subscribe"), "{\"filter\":{\"state\":\"detected\"}}", true);
    peer_call(&ready, MANAGER("Subscribe"), "{\"filter\":{\"runtimeVersion\":\"10.*\"}}", true);
    expect_event(&detected, "snapshot", 0, NULL, NULL);
    expect_event(&detected, "synced", 0, NULL, NULL);
    expect_event(&ready, "snapshot", 0, NULL, NULL);
    expect_event(&ready, "synced", 0, NULL, NULL);

    uint64_t serial = fixture_begin(fixture, 10, geteuid());
    expect_event(&detected, "changed", 10, "detected", NULL);
    peer_expect_silence(&ready);
    fixture_ready(fixture, serial, fixture_facts(geteuid(), 10));
    expect_event(&detected, "changed", 10, "ready", "detected"); // once, and forgotten
    expect_event(&ready, "changed", 10, "ready", NULL);
    fixture_gone(fixture, serial);
    peer_expect_silence(&detected);
    expect_event(&ready, "changed", 10, "gone", "ready");
}

// A process that becomes another user's is gone for its old one, and shows nothing of what it is
// now.
static void test_out_of_sight(void **state) {
    Fixture *fixture = *state;
    if (geteuid() != 0) {
        print_message("Skipped: needs root.\n");
        skip();
    }
    _cleanup_peer_ Peer old = peer_connect_as(fixture, 1000);
    _cleanup_peer_ Peer new = peer_connect_as(fixture, 1001);
    peer_call(&old, MANAGER("Subscribe"), NULL, true);
    peer_call(&new, MANAGER("Subscribe"), NULL, true);
    expect_event(&old, "snapshot", 0, NULL, NULL);
    expect_event(&old, "synced", 0, NULL, NULL);
    expect_event(&new, "snapshot", 0, NULL, NULL);
    expect_event(&new, "synced", 0, NULL, NULL);

    uint64_t serial = fixture_begin(fixture, 10, 1000);
    expect_event(&old, "changed", 10, "detected", NULL);
    fixture_ready(fixture, serial, fixture_facts(1001, 10));
    _cleanup_json_ json_t *event = peer_reply(&old, true);
    json_t *process = json_object_get(event, "process");
    assert_string_equal(text_of(process, "id"), "00112233445566778899aabbccddeeff-10-100-1");
    assert_string_equal(text_of(process, "state"), "gone");
    assert_string_equal(text_of(event, "previousState"), "detected");
    assert_null(json_object_get(process, "arguments"));
    assert_null(json_object_get(process, "uid"));
    assert_null(json_object_get(process, "command"));
    expect_event(&new, "changed", 10, "ready", NULL);
    fixture_gone(fixture, serial);
    peer_expect_silence(&old);
    expect_event(&new, "changed", 10, "gone", "ready");
}

// Subscribers that leave in mid stream, read nothing or read slowly, while things change.
static void test_client_leaves_in_mid_stream(void **state) {
    Fixture *fixture = *state;
    begin_many(fixture);
    Peer leaving = peer_connect(fixture);
    _cleanup_peer_ Peer reading = peer_connect(fixture);
    peer_call(&leaving, MANAGER("Subscribe"), NULL, true);
    peer_call(&reading, MANAGER("Subscribe"), NULL, true);
    fixture_begin(fixture, 5001, geteuid());
    peer_skip_reply(&leaving, true);
    peer_close(&leaving);
    fixture_begin(fixture, 5002, geteuid()); // not noticed yet
    fixture_run(fixture);
    assert_int_equal(varlink_server_counters(fixture->server)->connections, 1);
    _cleanup_(knowledge_done) Knowledge knowledge = {0};
    learn_up_to(&knowledge, &reading, registry_sequence(fixture->registry));
    expect_truth(&knowledge, fixture);
}

// The whole at random: three readers of different speed, one queue that is often too small.
static void test_random(void **state) {
    Fixture *fixture = *state;
    fixture_restart(fixture, &(VarlinkLimits){8, 8, 60000});
    begin_many(fixture);
    unsigned seed = (unsigned)getpid();
    print_message("seed %u\n", seed);
    srandom(seed);
    enum { READERS = 3 };
    Peer peers[READERS];
    Knowledge knowledge[READERS] = {0};
    for (size_t i = 0; i < READERS; i++) {
        peers[i] = peer_connect(fixture);
        peer_call(&peers[i], MANAGER("Subscribe"), NULL, true);
        knowledge[i].processes = json_object();
    }
    for (int step = 0; step < 3000; step++) {
        const Process *process =
            registry_find_pid(fixture->registry, (pid_t)(1 + random() % (MANY + 200)));
        if (!process)
            fixture_begin(fixture, (pid_t)(1 + random() % (MANY + 200)), 0);
        else if (process->traits.state == STATE_READY)
            fixture_gone(fixture, process->serial);
        else
            fixture_ready(fixture, process->serial,
                          fixture_facts(geteuid(), (size_t)(random() % BIG_ARGUMENTS)));
        for (size_t i = 0; i < READERS; i++) {
            if ((size_t)(random() % (READERS + 1)) <= i)
                continue;
            _cleanup_json_ json_t *message = peer_poll(&peers[i]);
            if (message)
                learn(&knowledge[i], json_object_get(message, "parameters"));
        }
    }
    assert_true(varlink_server_counters(fixture->server)->overruns > 0);
    // What every reader comes to in the end: its sequence says that it knows of all before.
    fixture_begin(fixture, 9999, geteuid());
    for (size_t i = 0; i < READERS; i++) {
        learn_up_to(&knowledge[i], &peers[i], registry_sequence(fixture->registry));
        expect_truth(&knowledge[i], fixture);
        peer_close(&peers[i]);
        knowledge_done(&knowledge[i]);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_life),
        FIXTURE_TEST(test_empty_snapshot),
        FIXTURE_TEST(test_changes_while_reading),
        FIXTURE_TEST(test_overrun_while_live),
        FIXTURE_TEST(test_overrun_while_reading),
        FIXTURE_TEST(test_queue_of_nothing),
        FIXTURE_TEST(test_list_with_more),
        FIXTURE_TEST(test_list_ends),
        FIXTURE_TEST(test_list_overrun),
        FIXTURE_TEST(test_filter),
        FIXTURE_TEST(test_out_of_sight),
        FIXTURE_TEST(test_client_leaves_in_mid_stream),
        FIXTURE_TEST(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
