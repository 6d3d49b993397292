// One call, one answer: methods, errors, visibility, and what bytes may look like.
// SPDX-License-Identifier: MIT
#include "server_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bounds.h"
#include "macro.h"

static const char *text_of(const json_t *object, const char *name) {
    return json_string_value(json_object_get(object, name));
}

static void test_info(void **state) {
    _cleanup_peer_ Peer peer = peer_connect(*state);
    peer_call(&peer, SERVICE("GetInfo"), NULL, false);
    _cleanup_json_ json_t *info = peer_reply(&peer, false);
    assert_string_equal(text_of(info, "vendor"), "dotnet-discoveryd");
    assert_string_equal(text_of(info, "product"), "dotnet-discoveryd");
    assert_string_equal(text_of(info, "version"), DISCOVERY_VERSION);
    assert_string_equal(text_of(info, "url"), "man:org.dotnetdiscovery.Manager(7)");
    json_t *interfaces = json_object_get(info, "interfaces");
    assert_int_equal(json_array_size(interfaces), 2);
    assert_string_equal(json_string_value(json_array_get(interfaces, 0)),
                        "org.dotnetdiscovery.Manager");
    assert_string_equal(json_string_value(json_array_get(interfaces, 1)), "org.varlink.service");
}

static void test_description_is_the_file(void **state) {
    char file[65536];
    FILE *stream = fopen(MANAGER_DESCRIPTION, "re");
    assert_non_null(stream);
    size_t size = fread(file, 1, sizeof file - 1, stream);
    fclose(stream);
    file[size] = '\0';

    _cleanup_peer_ Peer peer = peer_connect(*state);
    peer_call(&peer, SERVICE("GetInterfaceDescription"),
              "{\"interface\": \"org.dotnetdiscovery.Manager\"}", false);
    _cleanup_json_ json_t *manager = peer_reply(&peer, false);
    assert_string_equal(text_of(manager, "description"), file);

    peer_call(&peer, SERVICE("GetInterfaceDescription"), "{\"interface\": \"org.varlink.service\"}",
              false);
    _cleanup_json_ json_t *service = peer_reply(&peer, false);
    assert_non_null(strstr(text_of(service, "description"), "\ninterface org.varlink.service\n"));
}

static const struct {
    const char *method;
    const char *parameters;
    bool more;
    const char *error;
    const char *error_parameters;
} errors[] = {
#define INVALID(name) SERVICE("InvalidParameter"), "{\"parameter\": \"" name "\"}"
    {MANAGER("Nope"), NULL, false, SERVICE("MethodNotFound"),
     "{\"method\": \"org.dotnetdiscovery.Manager.Nope\"}"},
    {MANAGER("list"), NULL, false, SERVICE("MethodNotFound"),
     "{\"method\": \"org.dotnetdiscovery.Manager.list\"}"},
    {SERVICE("Get"), NULL, false, SERVICE("MethodNotFound"),
     "{\"method\": \"org.varlink.service.Get\"}"},
    {"List", NULL, false, SERVICE("MethodNotFound"), "{\"method\": \"List\"}"},
    {"org.dotnetdiscovery.List", NULL, false, SERVICE("InterfaceNotFound"),
     "{\"interface\": \"org.dotnetdiscovery\"}"},
    {MANAGER("x.List"), NULL, false, SERVICE("InterfaceNotFound"),
     "{\"interface\": \"org.dotnetdiscovery.Manager.x\"}"},
    {SERVICE("GetInterfaceDescription"), "{\"interface\": \"a.b\"}", false,
     SERVICE("InterfaceNotFound"), "{\"interface\": \"a.b\"}"},
    {SERVICE("GetInterfaceDescription"), NULL, false, INVALID("interface")},
    {SERVICE("GetInterfaceDescription"), "{\"interface\": null}", false, INVALID("interface")},
    {SERVICE("GetInterfaceDescription"), "{\"interface\": 1}", false, INVALID("interface")},
    {SERVICE("GetInfo"), "{\"x\": null}", false, INVALID("x")},
    {MANAGER("Status"), "{\"pid\": 1}", false, INVALID("pid")},
    {MANAGER("List"), "{\"filters\": {}}", false, INVALID("filters")},
    {MANAGER("List"), "{\"filter\": []}", false, INVALID("filter")},
    {MANAGER("List"), "{\"filter\": {\"pid\": 0}}", false, INVALID("pid")},
    {MANAGER("List"), "{\"filter\": {\"x\": 0}}", true, INVALID("x")},
    {MANAGER("Subscribe"), "{\"filter\": {\"state\": \"x\"}}", true, INVALID("state")},
    {MANAGER("Subscribe"), NULL, false, SERVICE("ExpectedMore"), NULL},
    {MANAGER("Get"), NULL, false, INVALID("pid")},
    {MANAGER("Get"), "{\"pid\": null}", false, INVALID("pid")},
    {MANAGER("Get"), "{\"pid\": 0}", false, INVALID("pid")},
    {MANAGER("Get"), "{\"pid\": -1}", false, INVALID("pid")},
    {MANAGER("Get"), "{\"pid\": 2147483648}", false, INVALID("pid")},
    {MANAGER("Get"), "{\"pid\": 1.5}", false, INVALID("pid")},
    {MANAGER("Get"), "{\"pid\": 1, \"startTime\": -1}", false, INVALID("startTime")},
    {MANAGER("Get"), "{\"pid\": 1, \"startTime\": \"1\"}", false, INVALID("startTime")},
    {MANAGER("Get"), "{\"pid\": 1}", false, MANAGER("NoSuchProcess"), "{\"pid\": 1}"},
    {MANAGER("Get"), "{\"pid\": 10, \"startTime\": 101}", false, MANAGER("NoSuchProcess"),
     "{\"pid\": 10}"},
    {MANAGER("Check"), "{\"pid\": 0}", false, INVALID("pid")},
    {MANAGER("Check"), "{\"pids\": 0}", false, INVALID("pids")},
#undef INVALID
};

static void test_errors(void **state) {
    fixture_begin(*state, 10, geteuid());
    _cleanup_peer_ Peer peer = peer_connect(*state);
    for (size_t i = 0; i < ELEMENTS_OF(errors); i++) {
        peer_call(&peer, errors[i].method, errors[i].parameters, errors[i].more);
        peer_expect_error(&peer, errors[i].error, errors[i].error_parameters);
    }
    peer_expect_silence(&peer);
}

static void test_flags(void **state) {
    _cleanup_peer_ Peer peer = peer_connect(*state);
    static const char upgrade[] =
        "{\"method\": \"org.dotnetdiscovery.Manager.Status\", \"upgrade\": true}";
    peer_send(&peer, upgrade, sizeof upgrade);
    peer_expect_error(&peer, SERVICE("InvalidParameter"), "{\"parameter\": \"upgrade\"}");

    static const char oneway[] =
        "{\"method\": \"org.dotnetdiscovery.Manager.Nope\", \"oneway\": true}\0"
        "{\"method\": \"org.dotnetdiscovery.Manager.Status\", \"oneway\": true}";
    peer_send(&peer, oneway, sizeof oneway);
    peer_expect_silence(&peer);

    // One answer where there are never several.
    peer_call(&peer, MANAGER("Status"), NULL, true);
    peer_skip_reply(&peer, false);
    peer_expect_silence(&peer);
}

static void test_get(void **state) {
    Fixture *fixture = *state;
    fixture_begin(fixture, 10, geteuid());
    _cleanup_peer_ Peer peer = peer_connect(fixture);
    const char *const calls[] = {"{\"pid\": 10}", "{\"pid\": 10, \"startTime\": 100}",
                                 "{\"pid\": 10, \"startTime\": null}"};
    for (size_t i = 0; i < ELEMENTS_OF(calls); i++) {
        peer_call(&peer, MANAGER("Get"), calls[i], false);
        _cleanup_json_ json_t *reply = peer_reply(&peer, false);
        json_t *process = json_object_get(reply, "process");
        assert_string_equal(text_of(process, "id"), "00112233445566778899aabbccddeeff-10-100-1");
        assert_string_equal(text_of(process, "state"), "detected");
        assert_string_equal(text_of(process, "mappingProtection"), "---p");
    }
}

static void test_list(void **state) {
    Fixture *fixture = *state;
    _cleanup_peer_ Peer peer = peer_connect(fixture);
    peer_call(&peer, MANAGER("List"), NULL, false);
    _cleanup_json_ json_t *none = peer_reply(&peer, false);
    assert_int_equal(json_array_size(json_object_get(none, "processes")), 0);
    assert_int_equal(json_integer_value(json_object_get(none, "sequence")), 0);

    fixture_begin(fixture, 10, geteuid());
    fixture_ready(fixture, fixture_begin(fixture, 11, geteuid()), fixture_facts(geteuid(), 10));
    peer_call(&peer, MANAGER("List"), "{\"filter\": null}", false);
    _cleanup_json_ json_t *both = peer_reply(&peer, false);
    assert_int_equal(json_array_size(json_object_get(both, "processes")), 2);
    assert_int_equal(json_integer_value(json_object_get(both, "sequence")), 3);

    peer_call(&peer, MANAGER("List"), "{\"filter\": {\"state\": \"ready\"}}", false);
    _cleanup_json_ json_t *one = peer_reply(&peer, false);
    json_t *processes = json_object_get(one, "processes");
    assert_int_equal(json_array_size(processes), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(processes, 0), "pid")), 11);
}

static void test_list_too_large(void **state) {
    Fixture *fixture = *state;
    enum { ARGUMENTS = 4000, COUNT = BOUND_REPLY / ARGUMENTS };
    for (int i = 0; i < COUNT; i++)
        fixture_ready(fixture, fixture_begin(fixture, 1 + i, geteuid()),
                      fixture_facts(geteuid(), ARGUMENTS));
    _cleanup_peer_ Peer peer = peer_connect(fixture);
    peer_call(&peer, MANAGER("List"), NULL, false);
    peer_expect_error(&peer, MANAGER("ReplyTooLarge"), NULL);
    // A large one that fits goes out as the client reads.
    for (int i = 0; i < COUNT / 4; i++)
        fixture_gone(fixture, registry_find_pid(fixture->registry, 1 + i)->serial);
    peer_call(&peer, MANAGER("List"), NULL, false);
    _cleanup_json_ json_t *reply = peer_reply(&peer, false);
    assert_int_equal(json_array_size(json_object_get(reply, "processes")), COUNT - COUNT / 4);
}

static void test_status(void **state) {
    Fixture *fixture = *state;
    if (geteuid() != 0) {
        print_message("Skipped: needs root.\n");
        skip();
    }
    fixture_begin(fixture, 10, geteuid());
    fixture_begin(fixture, 12, geteuid());
    fixture_ready(fixture, fixture_begin(fixture, 11, geteuid()), fixture_facts(geteuid(), 10));
    _cleanup_peer_ Peer peer = peer_connect(fixture);
    peer_call(&peer, MANAGER("Status"), NULL, false);
    _cleanup_json_ json_t *status = peer_reply(&peer, false);
    json_object_del(status, "kernelRelease");
    _cleanup_json_ json_t *expected = json_loads(
        "{\"version\": \"" DISCOVERY_VERSION "\", \"runId\": \"0f112233445566778899aabbccddeeff\","
        "\"mechanism\": \"tracepoint\", \"mechanisms\": ["
        "{\"name\": \"probe\", \"used\": false, \"cost\": \"less\", \"detail\": \"refused\"},"
        "{\"name\": \"tracepoint\", \"used\": true, \"cost\": \"more\"}],"
        "\"scanIntervalUSec\": 1000000, \"degraded\": [\"no scan\"], \"startedRealtimeUSec\": 123,"
        "\"sequence\": 4, \"programs\": ["
        "{\"name\": \"mapping\", \"kind\": \"tracepoint\", \"attached\": true},"
        "{\"name\": \"scan\", \"kind\": \"iterator\", \"attached\": false, \"detail\": \"why\"}],"
        "\"counters\": [{\"name\": \"records\", \"value\": 5},"
        "{\"name\": \"records_lost\", \"value\": 6}],"
        "\"processes\": [{\"name\": \"detected\", \"value\": 2}, {\"name\": \"ready\", \"value\": "
        "1},"
        "{\"name\": \"unreachable\", \"value\": 0}]}",
        0, NULL);
    assert_non_null(expected);
    assert_true(json_equal(status, expected));
}

static void test_other_user(void **state) {
    Fixture *fixture = *state;
    if (geteuid() != 0) {
        print_message("Skipped: needs root.\n");
        skip();
    }
    fixture_begin(fixture, 10, 0);
    fixture_begin(fixture, 11, 1000);
    fixture_begin(fixture, getpid(), 0);
    _cleanup_peer_ Peer peer = peer_connect_as(fixture, 1000);

    peer_call(&peer, MANAGER("List"), NULL, false);
    _cleanup_json_ json_t *list = peer_reply(&peer, false);
    json_t *processes = json_object_get(list, "processes");
    assert_int_equal(json_array_size(processes), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(processes, 0), "pid")), 11);

    peer_call(&peer, MANAGER("Get"), "{\"pid\": 10}", false);
    peer_expect_error(&peer, MANAGER("NoSuchProcess"), "{\"pid\": 10}");
    // Known to the registry or not: another user's.
    peer_call(&peer, MANAGER("Check"), "{\"pid\": 10}", false);
    peer_expect_error(&peer, MANAGER("NoSuchProcess"), "{\"pid\": 10}");
    peer_call(&peer, MANAGER("Check"), "{\"pid\": 1}", false);
    peer_expect_error(&peer, MANAGER("NoSuchProcess"), "{\"pid\": 1}");
    assert_int_equal(fixture->checked_pid, 0);

    peer_call(&peer, MANAGER("Status"), NULL, false);
    _cleanup_json_ json_t *status = peer_reply(&peer, false);
    json_t *counters = json_object_get(status, "counters");
    assert_int_equal(json_array_size(counters), 1);
    assert_string_equal(text_of(json_array_get(counters, 0), "name"), "records_lost");
    json_t *detected = json_array_get(json_object_get(status, "processes"), 0);
    assert_int_equal(json_integer_value(json_object_get(detected, "value")), 1);

    fixture->check_at_once = true;
    peer_call(&peer, MANAGER("Check"), "{\"pid\": 11}", false);
    peer_skip_reply(&peer, false);
    assert_int_equal(fixture->checked_pid, 11);
}

static void test_check(void **state) {
    Fixture *fixture = *state;
    if (geteuid() != 0) {
        print_message("Skipped: needs root.\n");
        skip();
    }
    _cleanup_peer_ Peer peer = peer_connect(fixture);
    peer_call(&peer, MANAGER("Check"), "{\"pid\": 77}", false);
    peer_call(&peer, MANAGER("Status"), NULL, false); // waits behind it
    peer_expect_silence(&peer);
    assert_int_equal(fixture->checked_pid, 77);

    _cleanup_peer_ Peer other = peer_connect(fixture);
    peer_call(&other, MANAGER("Status"), NULL, false);
    peer_skip_reply(&other, false);

    fixture_check_done(fixture, fixture->check_token + 1); // nobody's
    peer_expect_silence(&peer);
    fixture_check_done(fixture, fixture->check_token);
    _cleanup_json_ json_t *items = peer_reply(&peer, false);
    _cleanup_json_ json_t *expected =
        json_loads("{\"items\": [{\"name\": \"mapping\", \"ok\": true},"
                   "{\"name\": \"socket\", \"ok\": false, \"detail\": \"none\"}]}",
                   0, NULL);
    assert_true(json_equal(items, expected));
    _cleanup_json_ json_t *status = peer_reply(&peer, false);
    assert_non_null(json_object_get(status, "version"));
    fixture_check_done(fixture, fixture->check_token); // answered already
    peer_expect_silence(&peer);
}

static void test_check_at_once(void **state) {
    Fixture *fixture = *state;
    fixture->check_at_once = true;
    fixture->checked_pid = -1;
    _cleanup_peer_ Peer peer = peer_connect(fixture);
    peer_call(&peer, MANAGER("Check"), NULL, false);
    peer_skip_reply(&peer, false);
    assert_int_equal(fixture->checked_pid, 0);
    peer_call(&peer, MANAGER("Check"), "{\"pid\": null}", false);
    peer_skip_reply(&peer, false);
}

static void test_check_fails(void **state) {
    Fixture *fixture = *state;
    if (geteuid() != 0) {
        print_message("Skipped: needs root.\n");
        skip();
    }
    fixture->check_result = -ESRCH;
    Peer peer = peer_connect(fixture);
    peer_call(&peer, MANAGER("Check"), "{\"pid\": 77}", false);
    peer_expect_error(&peer, MANAGER("NoSuchProcess"), "{\"pid\": 77}");
    fixture->check_result = -ENOMEM;
    peer_call(&peer, MANAGER("Check"), "{\"pid\": 77}", false);
    peer_expect_end(&peer);
    peer_close(&peer);

    // The client leaves first.
    fixture->check_result = 0;
    peer = peer_connect(fixture);
    peer_call(&peer, MANAGER("Check"), "{\"pid\": 77}", false);
    peer_close(&peer);
    assert_int_equal(fixture->cancelled_token, 0);
    fixture_run(fixture);
    assert_int_equal(fixture->cancelled_token, fixture->check_token);
    fixture_check_done(fixture, fixture->check_token);
    assert_int_equal(varlink_server_counters(fixture->server)->connections, 0);
}

static void test_torn_call(void **state) {
    static const char call[] = "{\"method\":\"org.varlink.service.GetInfo\",\"parameters\":{}}";
    _cleanup_peer_ Peer peer = peer_connect(*state);
    for (size_t cut = 0; cut <= sizeof call; cut++) {
        peer_send(&peer, call, cut);
        if (cut < sizeof call)
            peer_expect_silence(&peer);
        peer_send(&peer, call + cut, sizeof call - cut);
        _cleanup_json_ json_t *info = peer_reply(&peer, false);
        assert_non_null(json_object_get(info, "vendor"));
    }
    for (size_t i = 0; i < sizeof call; i++) {
        peer_expect_silence(&peer);
        peer_send(&peer, call + i, 1);
    }
    peer_skip_reply(&peer, false);
}

static void test_many_calls_at_once(void **state) {
    enum { CALLS = 5 * BOUND_CALLS_PER_TURN + 3 };
    _cleanup_peer_ Peer peer = peer_connect(*state);
    char calls[CALLS * 128];
    size_t size = 0;
    for (int i = 0; i < CALLS; i++)
        size += (size_t)sprintf(calls + size,
                                "{\"method\":\"org.dotnetdiscovery.Manager.Get\","
                                "\"parameters\":{\"pid\":%d}}",
                                i + 1) +
                1;
    peer_send(&peer, calls, size);
    // Half-closed: every answer comes, in order, and then the end.
    assert_int_equal(shutdown(peer.fd, SHUT_WR), 0);
    for (int i = 0; i < CALLS; i++) {
        char parameters[32];
        sprintf(parameters, "{\"pid\": %d}", i + 1);
        peer_expect_error(&peer, MANAGER("NoSuchProcess"), parameters);
    }
    peer_expect_end(&peer);
}

#define BYTES(text) \
    { text, sizeof(text) - 1 }
static const struct {
    const char *bytes;
    size_t size;
} malformed[] = {
    BYTES("\0"),
    BYTES("\0\0\0\0\0\0"),
    BYTES("x\0"),
    BYTES("[]\0"),
    BYTES("{}\0"),
    BYTES("{\"method\":1}\0"),
    BYTES("{\"method\":\"a.b\",\"parameters\":[]}\0"),
    BYTES("{\"method\":\"a.b\"}}\0"),
    BYTES("{\"method\":\"a.b\",\"more\":1}\0"),
    BYTES("{\"method\":\"a\xff.b\"}\0"),
    BYTES("{\"method\":\"a\\u0000.b\"}\0"),
    BYTES("{\"method\":\"a.b\",\"parameters\":{\"a\":[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}}\0"),
};
#undef BYTES

static void test_malformed(void **state) {
    Fixture *fixture = *state;
    _cleanup_peer_ Peer other = peer_connect(fixture);
    for (size_t i = 0; i < ELEMENTS_OF(malformed); i++) {
        _cleanup_peer_ Peer peer = peer_connect(fixture);
        // What came before it is answered.
        peer_call(&peer, MANAGER("Status"), NULL, false);
        peer_skip_reply(&peer, false);
        peer_send(&peer, malformed[i].bytes, malformed[i].size);
        peer_expect_end(&peer);
        assert_int_equal(varlink_server_counters(fixture->server)->malformed, i + 1);
        assert_int_equal(varlink_server_counters(fixture->server)->connections, 1);
    }
    peer_call(&other, MANAGER("Status"), NULL, false);
    peer_skip_reply(&other, false);
}

// A method name that makes a message of so many bytes without its NUL.
static char *message_of(size_t size) {
    static const char start[] = "{\"method\":\"", end[] = "\"}";
    char *message = malloc(size + 1);
    assert_non_null(message);
    memset(message, 'a', size);
    memcpy(message, start, sizeof start - 1);
    memcpy(message + size - (sizeof end - 1), end, sizeof end);
    return message;
}

static void test_message_bound(void **state) {
    Fixture *fixture = *state;
    _cleanup_peer_ Peer peer = peer_connect(fixture);
    _cleanup_free_ char *fits = message_of(BOUND_MESSAGE);
    peer_send(&peer, fits, BOUND_MESSAGE + 1);
    _cleanup_json_ json_t *message = peer_receive(&peer);
    assert_string_equal(text_of(message, "error"), SERVICE("MethodNotFound"));

    _cleanup_free_ char *long_one = message_of(BOUND_MESSAGE + 1);
    peer_send(&peer, long_one, BOUND_MESSAGE + 2);
    peer_expect_end(&peer);
    _cleanup_free_ char *huge = message_of(1 << 20);
    _cleanup_peer_ Peer other = peer_connect(fixture);
    peer_send(&other, huge, 1 << 20);
    peer_expect_end(&other);
    assert_int_equal(varlink_server_counters(fixture->server)->malformed, 2);
}

static void test_half_a_frame(void **state) {
    Fixture *fixture = *state;
    Peer peer = peer_connect(fixture);
    peer_send(&peer, "{\"meth", 6);
    assert_int_equal(shutdown(peer.fd, SHUT_WR), 0);
    peer_expect_end(&peer);
    peer_close(&peer);
    assert_int_equal(varlink_server_counters(fixture->server)->malformed, 1);

    peer = peer_connect(fixture);
    peer_send(&peer, "{\"meth", 6);
    peer_close(&peer);
    fixture_run(fixture);
    assert_int_equal(varlink_server_counters(fixture->server)->malformed, 2);

    // To leave without a word is no fault.
    peer = peer_connect(fixture);
    peer_close(&peer);
    fixture_run(fixture);
    peer = peer_connect(fixture);
    assert_int_equal(shutdown(peer.fd, SHUT_WR), 0);
    peer_expect_end(&peer);
    peer_close(&peer);
    assert_int_equal(varlink_server_counters(fixture->server)->malformed, 2);
    assert_int_equal(varlink_server_counters(fixture->server)->connections, 0);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_info),
        FIXTURE_TEST(test_description_is_the_file),
        FIXTURE_TEST(test_errors),
        FIXTURE_TEST(test_flags),
        FIXTURE_TEST(test_get),
        FIXTURE_TEST(test_list),
        FIXTURE_TEST(test_list_too_large),
        FIXTURE_TEST(test_status),
        FIXTURE_TEST(test_other_user),
        FIXTURE_TEST(test_check),
        FIXTURE_TEST(test_check_at_once),
        FIXTURE_TEST(test_check_fails),
        FIXTURE_TEST(test_torn_call),
        FIXTURE_TEST(test_many_calls_at_once),
        FIXTURE_TEST(test_malformed),
        FIXTURE_TEST(test_message_bound),
        FIXTURE_TEST(test_half_a_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
