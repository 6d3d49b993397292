// Processes that have no port and have not ended.
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_port.h"

static void *wait_for_main(void *userdata) {
    const int *done = userdata;
    char text[64];
    snprintf(text, sizeof text, "/proc/%d/stat", getpid());
    for (char state = 0; state != 'Z';) {
        FILE *stat = fopen(text, "re");
        if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
            _exit(1);
        fclose(stat);
    }
    close(*done);
    for (;;)
        pause();
}

// A child whose main thread has ended alone.
static pid_t child_without_main(void) {
    static int done[2];
    assert_int_equal(pipe(done), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        pthread_t thread;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(done[0]);
        if (pthread_create(&thread, NULL, wait_for_main, &done[1]) != 0)
            _exit(1);
        pthread_exit(NULL);
    }
    char byte;
    close(done[1]);
    assert_int_equal(read(done[0], &byte, 1), 0);
    close(done[0]);
    return pid;
}

static void main_thread_has_ended(void **state) {
    Fixture *fixture = *state;
    pid_t child = child_without_main();
    ProcessKey key = key_of(child);
    const Input *input = fixture_probe(fixture, child, "");
    assert_int_equal(input->probed.outcome, OUTCOME_NO_SOCKET);
    assert_string_equal(input->probed.detail, "its main thread has ended");
    assert_non_null(input->probed.facts);
    assert_int_equal(input->probed.facts->uid, geteuid());

    // Now the rest, which leaves a zombie.
    siginfo_t info;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(probe_start(fixture->pool, 1, &(ProbeTarget){.key = key, .socket_hint = ""}),
                     0);
    fixture_wait(fixture, 2);
    assert_int_equal(fixture->results[1].probed.outcome, OUTCOME_VANISHED);
    end_child(child);
}

static void kernel_thread(void **state) {
    Fixture *fixture = *state;
    char name[16] = "";
    FILE *comm = fopen("/proc/2/comm", "re");
    if (comm) {
        if (!fgets(name, sizeof name, comm))
            name[0] = '\0';
        fclose(comm);
    }
    if (strcmp(name, "kthreadd\n") != 0) {
        print_message("Skipped: kernel threads are not seen from here.\n");
        skip();
    }
    const Input *input = fixture_probe(fixture, 2, "");
    assert_int_equal(input->probed.outcome, OUTCOME_NO_SOCKET);
    assert_string_equal(input->probed.detail, "is a kernel thread");
    assert_non_null(input->probed.facts);
    assert_string_equal(input->probed.facts->command, "kthreadd");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(main_thread_has_ended, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(kernel_thread, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
