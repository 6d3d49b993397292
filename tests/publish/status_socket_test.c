// The status socket's path: made, found alive, found dead, found to be something else, raced for.
// SPDX-License-Identifier: MIT
#include "cmocka_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "cleanup.h"
#include "status_socket.h"

typedef struct Folder {
    char path[64];
    char socket[96]; // in a directory that is not there yet
} Folder;

static int set_up(void **state) {
    Folder *folder = calloc(1, sizeof *folder);
    assert_non_null(folder);
    memcpy(folder->path, "/tmp/status-socket-XXXXXX", sizeof "/tmp/status-socket-XXXXXX");
    assert_non_null(mkdtemp(folder->path));
    snprintf(folder->socket, sizeof folder->socket, "%s/run/socket", folder->path);
    *state = folder;
    return 0;
}

static size_t count_entries(const Folder *folder) {
    char path[80];
    snprintf(path, sizeof path, "%s/run", folder->path);
    DIR *directory = opendir(path);
    size_t count = 0;
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    if (directory)
        closedir(directory);
    return count;
}

static int tear_down(void **state) {
    Folder *folder = *state;
    char path[80];
    unlink(folder->socket);
    assert_int_equal(count_entries(folder), 0);
    snprintf(path, sizeof path, "%s/run", folder->path);
    rmdir(path);
    assert_int_equal(rmdir(folder->path), 0);
    free(folder);
    return 0;
}

static int try_connect(const char *path) {
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
}

static void test_made(void **state) {
    Folder *folder = *state;
    pid_t owner = 77;
    _cleanup_close_ int fd = status_socket_open(folder->socket, &owner);
    assert_true(fd >= 0);
    assert_int_equal(owner, 77);
    assert_true(sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) > 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(try_connect(folder->socket), 0);
    assert_int_equal(count_entries(folder), 1);
    struct stat st;
    assert_int_equal(lstat(folder->socket, &st), 0);
    assert_int_equal(st.st_mode, S_IFSOCK | 0666);

    status_socket_remove(folder->socket, fd);
    assert_int_equal(count_entries(folder), 0);
}

static void test_alive(void **state) {
    Folder *folder = *state;
    pid_t owner = 0;
    _cleanup_close_ int fd = status_socket_open(folder->socket, &owner);
    assert_true(fd >= 0);
    assert_int_equal(status_socket_open(folder->socket, &owner), -EADDRINUSE);
    assert_int_equal(owner, getpid());
    assert_int_equal(try_connect(folder->socket), 0);
    assert_int_equal(count_entries(folder), 1);
}

static void test_dead_is_replaced(void **state) {
    Folder *folder = *state;
    pid_t owner = 0;
    int dead = status_socket_open(folder->socket, &owner);
    assert_true(dead >= 0);
    close(dead);
    assert_int_equal(try_connect(folder->socket), -ECONNREFUSED);

    _cleanup_close_ int fd = status_socket_open(folder->socket, &owner);
    assert_true(fd >= 0);
    assert_int_equal(try_connect(folder->socket), 0);
    assert_int_equal(count_entries(folder), 1);
}

static void test_another_is_not_removed(void **state) {
    Folder *folder = *state;
    pid_t owner = 0;
    _cleanup_close_ int old = status_socket_open(folder->socket, &owner);
    assert_true(old >= 0);
    unlink(folder->socket);
    _cleanup_close_ int new = status_socket_open(folder->socket, &owner);
    assert_true(new >= 0);
    status_socket_remove(folder->socket, old);
    assert_int_equal(try_connect(folder->socket), 0);
}

static void make_directory(const Folder *folder) {
    char path[80];
    snprintf(path, sizeof path, "%s/run", folder->path);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void test_file_is_left_alone(void **state) {
    Folder *folder = *state;
    make_directory(folder);
    int file = open(folder->socket, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    close(file);
    pid_t owner;
    assert_int_equal(status_socket_open(folder->socket, &owner), -EEXIST);
    assert_int_equal(count_entries(folder), 1);
}

static void test_link_is_left_alone(void **state) {
    Folder *folder = *state;
    make_directory(folder);
    assert_int_equal(symlink("elsewhere", folder->socket), 0);
    pid_t owner;
    assert_int_equal(status_socket_open(folder->socket, &owner), -EEXIST);
    assert_int_equal(count_entries(folder), 1);
}

static void test_datagram_socket_is_left_alone(void **state) {
    Folder *folder = *state;
    make_directory(folder);
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, folder->socket, sizeof folder->socket);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    pid_t owner;
    assert_int_equal(status_socket_open(folder->socket, &owner), -EEXIST);
    assert_int_equal(count_entries(folder), 1);
}

static void test_path_too_long(void **state) {
    Folder *folder = *state;
    char path[200];
    snprintf(path, sizeof path, "%s/%0130d", folder->path, 1);
    pid_t owner;
    assert_int_equal(status_socket_open(path, &owner), -ENAMETOOLONG);
}

enum { STARTERS = 16, ROUNDS = 40 };

// Waits for the start to be given, tries, tells, and lives on until it is killed.
static pid_t start_one(const char *path, const int start[2], int told) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    char byte;
    close(start[1]);
    (void)!read(start[0], &byte, 1);
    pid_t owner;
    int fd = status_socket_open(path, &owner);
    byte = fd >= 0 ? 'w' : fd == -EADDRINUSE ? 'l' : 'e';
    (void)!write(told, &byte, 1);
    for (;;)
        pause();
}

static void race_once(const Folder *folder) {
    int start[2], told[2];
    assert_int_equal(pipe2(start, O_CLOEXEC), 0);
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    pid_t children[STARTERS];
    for (size_t i = 0; i < STARTERS; i++)
        children[i] = start_one(folder->socket, start, told[1]);
    close(start[0]);
    close(start[1]);
    size_t winners = 0, losers = 0;
    for (size_t i = 0; i < STARTERS; i++) {
        char byte;
        assert_int_equal(read(told[0], &byte, 1), 1);
        winners += byte == 'w';
        losers += byte == 'l';
    }
    int alive = try_connect(folder->socket);
    for (size_t i = 0; i < STARTERS; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    close(told[0]);
    close(told[1]);
    assert_int_equal(winners, 1);
    assert_int_equal(losers, STARTERS - 1);
    assert_int_equal(alive, 0);
    assert_int_equal(count_entries(folder), 1);
}

// Many start at once: one wins, and the path is the winner's. Each round finds the dead socket of
// the one before.
static void test_race(void **state) {
    for (size_t i = 0; i < ROUNDS; i++)
        race_once(*state);
}

// In a child: the descriptors that systemd passes begin at 3.
static int passed_result(int type, bool listening, const char *count) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int fd = socket(AF_UNIX, type, 0);
        if (listening) {
            struct sockaddr_un address = {.sun_family = AF_UNIX};
            if (bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)) < 0 || listen(fd, 1) < 0)
                _exit(99);
        }
        if (fd != SD_LISTEN_FDS_START && dup2(fd, SD_LISTEN_FDS_START) < 0)
            _exit(98);
        if (dup2(fd, SD_LISTEN_FDS_START + 1) < 0)
            _exit(97);
        char pid[16];
        snprintf(pid, sizeof pid, "%d", getpid());
        setenv("LISTEN_PID", pid, 1);
        setenv("LISTEN_FDS", count, 1);
        int r = status_socket_passed();
        _exit(r < 0 ? -r : r + 100);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_passed(void **state) {
    (void)state;
    assert_int_equal(passed_result(SOCK_STREAM, true, "1"), SD_LISTEN_FDS_START + 100);
    assert_int_equal(passed_result(SOCK_STREAM, true, "2"), EINVAL);
    assert_int_equal(passed_result(SOCK_STREAM, false, "1"), EINVAL);
    assert_int_equal(passed_result(SOCK_DGRAM, false, "1"), EINVAL);
    unsetenv("LISTEN_PID");
    assert_int_equal(status_socket_passed(), -ENOENT);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_alive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dead_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_another_is_not_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_file_is_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_link_is_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_datagram_socket_is_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_path_too_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_race, set_up, tear_down),
        cmocka_unit_test(test_passed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
