// filter_argument.c: what NAME=VALUE becomes, and what is none.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "filter_argument.h"
#include "macro.h"
#include "varlink.h"

static void takes_what_a_filter_may_be(void **state) {
    (void)state;
    static const struct {
        const char *argument, *json;
    } filters[] = {
        {"pid=1", "{\"pid\":1}"},
        {"pid=0017", "{\"pid\":17}"},
        {"pid=2147483647", "{\"pid\":2147483647}"},
        {"uid=0", "{\"uid\":0}"},
        {"uid=root", "{\"uid\":0}"},
        {"uid=4294967294", "{\"uid\":4294967294}"},
        {"state=ready", "{\"state\":\"ready\"}"},
        {"state=17", "{\"state\":\"17\"}"},
        {"unit=*.service", "{\"unit\":\"*.service\"}"},
        {"command=a=b", "{\"command\":\"a=b\"}"},
        {"entryAssembly=Gr\xc3\xbc\xc3\x9f"
         "e*",
         "{\"entryAssembly\":\"Gr\xc3\xbc\xc3\x9f"
         "e*\"}"},
        {"runtimeVersion=10.*", "{\"runtimeVersion\":\"10.*\"}"},
        {"containerId=?", "{\"containerId\":\"?\"}"},
    };
    for (size_t i = 0; i < ELEMENTS_OF(filters); i++) {
        _cleanup_json_ json_t *filter = json_object();
        const char *fault = NULL;
        assert_int_equal(filter_argument_add(filter, filters[i].argument, &fault), 0);
        _cleanup_free_ char *text = json_dumps(filter, JSON_COMPACT);
        assert_string_equal(text, filters[i].json);
    }
}

static void adds_to_those_before(void **state) {
    (void)state;
    _cleanup_json_ json_t *filter = json_object();
    const char *fault = NULL;
    assert_int_equal(filter_argument_add(filter, "uid=1000", &fault), 0);
    assert_int_equal(filter_argument_add(filter, "state=gone", &fault), 0);
    assert_int_equal(filter_argument_add(filter, "uid=1001", &fault), -EINVAL);
    assert_string_equal(fault, "names what another filter names already");
    _cleanup_free_ char *text = json_dumps(filter, JSON_COMPACT);
    assert_string_equal(text, "{\"uid\":1000,\"state\":\"gone\"}");
}

static void refuses_the_rest(void **state) {
    (void)state;
    static const char names[] = "has none of the names " FILTER_ARGUMENT_NAMES;
    static const struct {
        const char *argument, *fault;
    } filters[] = {
        {"", "is not NAME=VALUE"},
        {"17", "is not NAME=VALUE"},
        {"state", "is not NAME=VALUE"},
        {"=", names},
        {"=ready", names},
        {"stat=ready", names},
        {"states=ready", names},
        {"State=ready", names},
        {" pid=1", names},
        {"gid=1", names},
        {"pid=", "does not name a process id"},
        {"pid=0", "does not name a process id"},
        {"pid=-1", "does not name a process id"},
        {"pid=+1", "does not name a process id"},
        {"pid= 1", "does not name a process id"},
        {"pid=1 ", "does not name a process id"},
        {"pid=0x1", "does not name a process id"},
        {"pid=2147483648", "does not name a process id"},
        {"pid=18446744073709551617", "does not name a process id"},
        {"pid=self", "does not name a process id"},
        {"uid=", "names no user"},
        {"uid=4294967295", "names no user"},
        {"uid=4294967296", "names no user"},
        {"uid=-1", "names no user"},
        {"uid=no such user", "names no user"},
        {"state=", "has no value"},
        {"unit=\xff", "is not UTF-8"},
    };
    for (size_t i = 0; i < ELEMENTS_OF(filters); i++) {
        _cleanup_json_ json_t *filter = json_object();
        const char *fault = NULL;
        assert_int_equal(filter_argument_add(filter, filters[i].argument, &fault), -EINVAL);
        assert_string_equal(fault, filters[i].fault);
        assert_int_equal(json_object_size(filter), 0);
    }
}

static void reads_process_ids(void **state) {
    (void)state;
    uint64_t pid = 77;
    assert_false(filter_argument_pid("0", &pid));
    assert_false(filter_argument_pid("1x", &pid));
    assert_int_equal(pid, 77);
    assert_true(filter_argument_pid("4711", &pid));
    assert_int_equal(pid, 4711);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_a_filter_may_be),
        cmocka_unit_test(adds_to_those_before),
        cmocka_unit_test(refuses_the_rest),
        cmocka_unit_test(reads_process_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
