// varlink.c: frames, calls and replies, good and bad, and what comes of them without memory.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "bounds.h"
#include "exact.h"
#include "macro.h"
#include "varlink.h"

#define BYTES(literal) literal, sizeof(literal) - 1
#define METHOD "\"method\":\"org.dotnetdiscovery.Manager.List\""

static void a_frame_ends_at_the_first_nul(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        ssize_t frame;
    } frames[] = {
        {BYTES(""), -EAGAIN},
        {BYTES("{"), -EAGAIN},
        {BYTES("{}"), -EAGAIN},
        {BYTES("{}\0"), 2},
        {BYTES("\0"), 0},
        {BYTES("\0\0\0"), 0},
        {BYTES("{}\0{\"a\":1}\0"), 2},
        {BYTES("x\0y"), 1},
    };
    for (size_t i = 0; i < ELEMENTS_OF(frames); i++) {
        _cleanup_free_ char *bytes = exact_bytes(frames[i].bytes, frames[i].size);
        assert_int_equal(varlink_frame(bytes, frames[i].size), frames[i].frame);
    }
    assert_int_equal(varlink_frame(NULL, 0), -EAGAIN);
}

enum { ONEWAY = 1, MORE = 2, UPGRADE = 4 };

static const struct {
    const char *text;
    const char *method;
    const char *parameters; // compact; NULL: none
    int flags;
} good_calls[] = {
    {"{" METHOD "}", "org.dotnetdiscovery.Manager.List", NULL, 0},
    {"{" METHOD ",\"parameters\":{}}", "org.dotnetdiscovery.Manager.List", "{}", 0},
    {"{" METHOD ",\"parameters\":null}", "org.dotnetdiscovery.Manager.List", NULL, 0},
    {" {\n\t\"parameters\" : { \"pid\" : 1 , \"a\" : [ ] } , \"method\" : \"x\" }\r\n", "x",
     "{\"pid\":1,\"a\":[]}", 0},
    {"{" METHOD ",\"more\":true}", "org.dotnetdiscovery.Manager.List", NULL, MORE},
    {"{" METHOD ",\"oneway\":true}", "org.dotnetdiscovery.Manager.List", NULL, ONEWAY},
    {"{" METHOD ",\"upgrade\":true}", "org.dotnetdiscovery.Manager.List", NULL, UPGRADE},
    {"{" METHOD ",\"more\":false,\"oneway\":false,\"upgrade\":false}",
     "org.dotnetdiscovery.Manager.List", NULL, 0},
    {"{" METHOD ",\"more\":true,\"oneway\":false}", "org.dotnetdiscovery.Manager.List", NULL, MORE},
    // The protocol's types are nullable.
    {"{" METHOD ",\"more\":null,\"oneway\":null,\"upgrade\":null}",
     "org.dotnetdiscovery.Manager.List", NULL, 0},
    // Extensions.
    {"{" METHOD ",\"com.example\":{\"trace\":7}}", "org.dotnetdiscovery.Manager.List", NULL, 0},
    {"{\"method\":\"\\u00fc \\\" \\\\ \xf0\x9f\x98\x80\"}", "\xc3\xbc \" \\ \xf0\x9f\x98\x80", NULL,
     0},
    {"{\"method\":\"{[{[{[{[{[{[{[{[{[{[\",\"parameters\":{\"a\":\"\\\"{[{[{[{[{[{[{[{[{[\"}}",
     "{[{[{[{[{[{[{[{[{[{[", "{\"a\":\"\\\"{[{[{[{[{[{[{[{[{[\"}", 0},
    // 16 levels, the message and its parameters among them.
    {"{\"method\":\"x\",\"parameters\":{\"a\":[[[[[[[[[[[[[[]]]]]]]]]]]]]],\"b\":[[]]}}", "x",
     "{\"a\":[[[[[[[[[[[[[[]]]]]]]]]]]]]],\"b\":[[]]}", 0},
    {"{\"method\":\"x\",\"parameters\":{\"i\":9223372036854775807,\"j\":-9223372036854775808}}",
     "x", "{\"i\":9223372036854775807,\"j\":-9223372036854775808}", 0},
};

static void each_good_call_comes_out(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(good_calls); i++) {
        size_t size = strlen(good_calls[i].text);
        _cleanup_free_ char *bytes = exact_bytes(good_calls[i].text, size);
        _cleanup_(varlink_call_done) VarlinkCall call = {0};
        const char *fault = NULL;
        if (varlink_call_parse(bytes, size, &call, &fault) != 0)
            fail_msg("%s: %s", good_calls[i].text, fault);
        assert_null(fault);
        assert_string_equal(call.method, good_calls[i].method);
        assert_int_equal(call.oneway, good_calls[i].flags == ONEWAY);
        assert_int_equal(call.more, good_calls[i].flags == MORE);
        assert_int_equal(call.upgrade, good_calls[i].flags == UPGRADE);
        assert_int_equal(call.parameters != NULL, good_calls[i].parameters != NULL);
        if (!call.parameters)
            continue;
        _cleanup_free_ char *parameters = json_dumps(call.parameters, JSON_COMPACT);
        assert_string_equal(parameters, good_calls[i].parameters);
    }
}

static void no_part_of_a_call_is_a_call(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(good_calls); i++) {
        size_t whole = strlen(good_calls[i].text);
        while (good_calls[i].text[whole - 1] != '}')
            whole--;
        for (size_t size = 0; size < whole; size++) {
            _cleanup_free_ char *bytes = exact_bytes(good_calls[i].text, size);
            VarlinkCall call = {0};
            const char *fault = NULL;
            assert_int_equal(varlink_call_parse(bytes, size, &call, &fault), -EBADMSG);
            assert_non_null(fault);
            assert_null(call.message);
        }
    }
}

static const struct {
    const char *bytes;
    size_t size;
    const char *fault;
} bad_calls[] = {
    {BYTES(""), "an empty message"},
    {BYTES(" "), "not JSON"},
    {BYTES("GET / HTTP/1.1\r\n"), "not JSON"},
    {BYTES("{" METHOD "} {}"), "not JSON"},
    {BYTES("{" METHOD ",}"), "not JSON"},
    {BYTES("{'method':'x'}"), "not JSON"},
    {BYTES("{" METHOD "," METHOD "}"), "not JSON"}, // twice the same member
    {BYTES("{\"method\":\"\xff\"}"), "not JSON"},
    {BYTES("{\"method\":\"\xed\xa0\x80\"}"), "not JSON"},
    {BYTES("{\"method\":\"\\ud800\"}"), "not JSON"},
    {BYTES("{\"method\":\"a\\u0000b\"}"), "not JSON"},
    {BYTES("{\"method\":\"x\",\"parameters\":{\"i\":9223372036854775808}}"), "not JSON"},
    {BYTES("{\"method\":\"x\",\"parameters\":{\"i\":1e999}}"), "not JSON"},
    {BYTES("{" METHOD "\0}"), "a NUL within a message"},
    {BYTES("\0{" METHOD "}"), "a NUL within a message"},
    {BYTES("{" METHOD "}\0"), "a NUL within a message"},
    {BYTES("\"method\""), "not JSON"},
    {BYTES("null"), "not JSON"},
    {BYTES("[]"), "not an object"},
    {BYTES("[{" METHOD "}]"), "not an object"},

    {BYTES("{}"), "no method"},
    {BYTES("{\"parameters\":{}}"), "no method"},
    {BYTES("{\"method\":\"\"}"), "no method"},
    {BYTES("{\"method\":null}"), "no method"},
    {BYTES("{\"method\":1}"), "no method"},
    {BYTES("{\"method\":[\"x\"]}"), "no method"},
    {BYTES("{" METHOD ",\"parameters\":[]}"), "parameters that are not an object"},
    {BYTES("{" METHOD ",\"parameters\":\"\"}"), "parameters that are not an object"},
    {BYTES("{" METHOD ",\"parameters\":0}"), "parameters that are not an object"},
    {BYTES("{" METHOD ",\"more\":1}"), "oneway, more or upgrade that is not a boolean"},
    {BYTES("{" METHOD ",\"more\":\"true\"}"), "oneway, more or upgrade that is not a boolean"},
    {BYTES("{" METHOD ",\"oneway\":{}}"), "oneway, more or upgrade that is not a boolean"},
    {BYTES("{" METHOD ",\"upgrade\":[]}"), "oneway, more or upgrade that is not a boolean"},
    {BYTES("{" METHOD ",\"more\":true,\"oneway\":true}"),
     "oneway, more and upgrade exclude each other"},
    {BYTES("{" METHOD ",\"more\":true,\"upgrade\":true}"),
     "oneway, more and upgrade exclude each other"},
    {BYTES("{" METHOD ",\"mroe\":true}"), "a member that Varlink does not know"},
    {BYTES("{" METHOD ",\"More\":true}"), "a member that Varlink does not know"},
    {BYTES("{" METHOD ",\"\":{}}"), "a member that Varlink does not know"},
    {BYTES("{" METHOD ",\"example\":{}}"), "a member that Varlink does not know"},
    {BYTES("{" METHOD ",\"com.example\":1}"), "a member that Varlink does not know"},
    {BYTES("{" METHOD ",\"continues\":true}"), "a member that Varlink does not know"},

    // 17 levels, opened only, closed too often, behind a string with an escaped quote.
    {BYTES("{\"method\":\"x\",\"parameters\":{\"a\":[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]}}"),
     "nested too deeply"},
    {BYTES("[[[[[[[[[[[[[[[[["), "nested too deeply"},
    {BYTES("]]]]]]]]]][[[[[[[[[[[[[[[[["), "nested too deeply"},
    {BYTES("{\"a\\\\\":{\"\\\"{\":[{\"\":[[[[[[[[[[[[[["), "nested too deeply"},
    {BYTES("]"), "not JSON"},
    {BYTES("\""), "not JSON"},
    {BYTES("{\"a\\"), "not JSON"},
};

static void each_bad_call_has_its_fault(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(bad_calls); i++) {
        _cleanup_free_ char *bytes = exact_bytes(bad_calls[i].bytes, bad_calls[i].size);
        VarlinkCall call = {0};
        const char *fault = NULL;
        int r = varlink_call_parse(bytes, bad_calls[i].size, &call, &fault);
        if (r != -EBADMSG)
            fail_msg("%s: %d", bad_calls[i].bytes, r);
        if (strcmp(fault, bad_calls[i].fault) != 0)
            fail_msg("%s: %s", bad_calls[i].bytes, fault);
        assert_null(call.message);
    }
}

static void a_whole_message_of_brackets_is_refused_at_once(void **state) {
    (void)state;
    _cleanup_free_ char *bytes = malloc(BOUND_MESSAGE);
    assert_non_null(bytes);
    memset(bytes, '[', BOUND_MESSAGE);
    VarlinkCall call;
    const char *fault = NULL;
    assert_int_equal(varlink_call_parse(bytes, BOUND_MESSAGE, &call, &fault), -EBADMSG);
    assert_string_equal(fault, "nested too deeply");
}

static const struct {
    const char *text;
    const char *parameters;
    const char *error;
    bool continues;
} good_replies[] = {
    {"{}", NULL, NULL, false},
    {"{\"parameters\":{}}", "{}", NULL, false},
    {"{\"parameters\":null}", NULL, NULL, false},
    {"{\"parameters\":{\"sequence\":7},\"continues\":true}", "{\"sequence\":7}", NULL, true},
    {"{\"parameters\":{},\"continues\":false}", "{}", NULL, false},
    {"{\"error\":\"org.varlink.service.MethodNotFound\",\"parameters\":{\"method\":\"x\"}}",
     "{\"method\":\"x\"}", "org.varlink.service.MethodNotFound", false},
    {"{\"error\":\"a.B\",\"continues\":false}", NULL, "a.B", false},
    {"{\"error\":null,\"continues\":null}", NULL, NULL, false},
    {"{\"org.example\":{}}", NULL, NULL, false},
};

static void each_good_reply_comes_out(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(good_replies); i++) {
        size_t size = strlen(good_replies[i].text);
        _cleanup_free_ char *bytes = exact_bytes(good_replies[i].text, size);
        _cleanup_(varlink_reply_done) VarlinkReply reply = {0};
        const char *fault = NULL;
        if (varlink_reply_parse(bytes, size, &reply, &fault) != 0)
            fail_msg("%s: %s", good_replies[i].text, fault);
        assert_int_equal(reply.continues, good_replies[i].continues);
        assert_int_equal(reply.error != NULL, good_replies[i].error != NULL);
        if (reply.error)
            assert_string_equal(reply.error, good_replies[i].error);
        assert_int_equal(reply.parameters != NULL, good_replies[i].parameters != NULL);
        if (!reply.parameters)
            continue;
        _cleanup_free_ char *parameters = json_dumps(reply.parameters, JSON_COMPACT);
        assert_string_equal(parameters, good_replies[i].parameters);
    }
}

static const struct {
    const char *text;
    const char *fault;
} bad_replies[] = {
    {"", "an empty message"},
    {"[]", "not an object"},
    {"{", "not JSON"},
    {"{\"parameters\":[]}", "parameters that are not an object"},
    {"{\"error\":1}", "an error without a name"},
    {"{\"error\":\"\"}", "an error without a name"},
    {"{\"continues\":1}", "continues that is not a boolean"},
    {"{\"error\":\"a.B\",\"continues\":true}", "an error that continues"},
    {"{\"method\":\"x\"}", "a member that Varlink does not know"},
};

static void each_bad_reply_has_its_fault(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(bad_replies); i++) {
        VarlinkReply reply = {0};
        const char *fault = NULL;
        size_t size = strlen(bad_replies[i].text);
        assert_int_equal(varlink_reply_parse(bad_replies[i].text, size, &reply, &fault), -EBADMSG);
        if (strcmp(fault, bad_replies[i].fault) != 0)
            fail_msg("%s: %s", bad_replies[i].text, fault);
        assert_null(reply.message);
    }
}

static void assert_frame(int r, const char *frame, size_t size, const char *expected) {
    assert_int_equal(r, 0);
    assert_int_equal(varlink_frame(frame, size), (ssize_t)size - 1);
    assert_string_equal(frame, expected);
}

static void frames_are_compact_and_end_with_a_nul(void **state) {
    (void)state;
    _cleanup_json_ json_t *parameters = json_pack("{s:i, s:[s]}", "pid", 7, "a", "\xc3\xbc/\n");
    assert_non_null(parameters);
    char *frame = NULL;
    size_t size = 0;

    int r = varlink_call_format("a.b.C", parameters, true, &frame, &size);
    assert_frame(r, frame, size,
                 "{\"method\":\"a.b.C\",\"parameters\":{\"pid\":7,\"a\":[\"\xc3\xbc/\\n\"]},"
                 "\"more\":true}");
    free(frame);
    r = varlink_call_format("a.b.C", NULL, false, &frame, &size);
    assert_frame(r, frame, size, "{\"method\":\"a.b.C\"}");
    free(frame);
    r = varlink_reply_format(parameters, true, &frame, &size);
    assert_frame(r, frame, size,
                 "{\"parameters\":{\"pid\":7,\"a\":[\"\xc3\xbc/\\n\"]},\"continues\":true}");
    free(frame);
    r = varlink_reply_format(NULL, false, &frame, &size);
    assert_frame(r, frame, size, "{\"parameters\":{}}");
    free(frame);
    r = varlink_error_format("a.b.Error", parameters, &frame, &size);
    assert_frame(r, frame, size,
                 "{\"error\":\"a.b.Error\",\"parameters\":{\"pid\":7,\"a\":[\"\xc3\xbc/\\n\"]}}");
    free(frame);
    r = varlink_error_format("a.b.Error", NULL, &frame, &size);
    assert_frame(r, frame, size, "{\"error\":\"a.b.Error\"}");
    free(frame);
    // Borrowed: still ours alone.
    assert_int_equal(parameters->refcount, 1);
}

static void what_is_formatted_can_be_parsed(void **state) {
    (void)state;
    _cleanup_json_ json_t *parameters = json_pack("{s:i}", "pid", 7);
    _cleanup_free_ char *frame = NULL, *answer = NULL;
    size_t size, answer_size;
    const char *fault;
    assert_int_equal(varlink_call_format("a.b.C", parameters, true, &frame, &size), 0);
    _cleanup_(varlink_call_done) VarlinkCall call = {0};
    assert_int_equal(varlink_call_parse(frame, size - 1, &call, &fault), 0);
    assert_string_equal(call.method, "a.b.C");
    assert_true(call.more);
    assert_true(json_equal(call.parameters, parameters));

    assert_int_equal(varlink_reply_format(parameters, true, &answer, &answer_size), 0);
    _cleanup_(varlink_reply_done) VarlinkReply reply = {0};
    assert_int_equal(varlink_reply_parse(answer, answer_size - 1, &reply, &fault), 0);
    assert_true(reply.continues);
    assert_null(reply.error);
    assert_true(json_equal(reply.parameters, parameters));
}

static int allocations_left;

static void *failing(size_t size) {
    return allocations_left-- > 0 ? malloc(size) : NULL;
}

typedef int (*Attempt)(json_t *parameters);

static int attempt_call_parse(json_t *parameters) {
    (void)parameters;
    static const char text[] = "{" METHOD ",\"parameters\":{\"a\":[1,\"b\"]},\"more\":true}";
    VarlinkCall call = {0};
    const char *fault = "untouched";
    int r = varlink_call_parse(text, sizeof text - 1, &call, &fault);
    // jansson takes some failures for bad syntax; that message is lost then, and nothing else.
    assert_string_equal(fault, r == -EBADMSG ? "not JSON" : "untouched");
    assert_int_equal(call.message != NULL, r == 0);
    varlink_call_done(&call);
    return r == -EBADMSG ? -ENOMEM : r;
}

static int attempt_call_format(json_t *parameters) {
    char *frame = NULL;
    size_t size = 77;
    int r = varlink_call_format("a.b.C", parameters, true, &frame, &size);
    assert_int_equal(frame != NULL, r == 0);
    free(frame);
    return r;
}

static int attempt_reply_format(json_t *parameters) {
    char *frame = NULL;
    size_t size;
    int r = varlink_reply_format(parameters, true, &frame, &size);
    assert_int_equal(frame != NULL, r == 0);
    free(frame);
    return r;
}

static int attempt_empty_reply_format(json_t *parameters) {
    (void)parameters;
    return attempt_reply_format(NULL);
}

static int attempt_error_format(json_t *parameters) {
    char *frame = NULL;
    size_t size;
    int r = varlink_error_format("a.b.Error", parameters, &frame, &size);
    assert_int_equal(frame != NULL, r == 0);
    free(frame);
    return r;
}

static void without_memory_each_says_so(void **state) {
    (void)state;
    static const Attempt attempts[] = {attempt_call_parse, attempt_call_format,
                                       attempt_reply_format, attempt_empty_reply_format,
                                       attempt_error_format};
    _cleanup_json_ json_t *parameters = json_pack("{s:i}", "pid", 7);
    assert_non_null(parameters);
    json_set_alloc_funcs(failing, free);
    for (size_t i = 0; i < ELEMENTS_OF(attempts); i++) {
        int r = -ENOMEM, failures = 0;
        for (; r == -ENOMEM && failures < 1000; failures++) {
            allocations_left = failures;
            r = attempts[i](parameters);
        }
        assert_int_equal(r, 0);
        assert_true(failures > 3);
    }
    json_set_alloc_funcs(malloc, free);
    assert_int_equal(parameters->refcount, 1);
}

static void done_takes_nothing_and_leaves_nothing(void **state) {
    (void)state;
    varlink_call_done(NULL);
    varlink_reply_done(NULL);
    VarlinkCall call = {.message = json_object(), .more = true};
    varlink_call_done(&call);
    varlink_call_done(&call);
    assert_null(call.message);
    assert_false(call.more);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_ends_at_the_first_nul),
        cmocka_unit_test(each_good_call_comes_out),
        cmocka_unit_test(no_part_of_a_call_is_a_call),
        cmocka_unit_test(each_bad_call_has_its_fault),
        cmocka_unit_test(a_whole_message_of_brackets_is_refused_at_once),
        cmocka_unit_test(each_good_reply_comes_out),
        cmocka_unit_test(each_bad_reply_has_its_fault),
        cmocka_unit_test(frames_are_compact_and_end_with_a_nul),
        cmocka_unit_test(what_is_formatted_can_be_parsed),
        cmocka_unit_test(without_memory_each_says_so),
        cmocka_unit_test(done_takes_nothing_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
