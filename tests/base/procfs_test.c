// procfs.c: on files of known content in a folder that stands for /proc/PID, and on real processes.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "procfs.h"

#define CHUNK ((size_t)8192) // what procfs_each_line() passes at most

typedef struct Folder {
    char path[64];
    int fd;
} Folder;

static int folder_make(void **state) {
    Folder *folder = calloc(1, sizeof *folder);
    if (!folder)
        return -1;
    *state = folder;
    const char *parent = getenv("TMPDIR");
    int size = snprintf(folder->path, sizeof folder->path, "%s/procfs_test.XXXXXX",
                        parent && strlen(parent) < 32 ? parent : "/tmp");
    if (size < 0 || !mkdtemp(folder->path))
        return -1;
    folder->fd = open(folder->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return folder->fd < 0 ? -1 : 0;
}

static int folder_remove(void **state) {
    Folder *folder = *state;
    unlinkat(folder->fd, "file", 0);
    unlinkat(folder->fd, "link", 0);
    close(folder->fd);
    rmdir(folder->path);
    free(folder);
    return 0;
}

static void write_file(const Folder *folder, const char *bytes, size_t size) {
    _cleanup_close_ int fd =
        openat(folder->fd, "file", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
}

static void a_file_is_read_to_its_end_or_cut(void **state) {
    const Folder *folder = *state;
    char buffer[8];
    size_t size = 77;

    write_file(folder, "", 0);
    assert_int_equal(procfs_read(folder->fd, "file", buffer, sizeof buffer, &size), 0);
    assert_int_equal(size, 0);
    assert_string_equal(buffer, "");

    write_file(folder, "a\0b", 3);
    assert_int_equal(procfs_read(folder->fd, "file", buffer, sizeof buffer, &size), 0);
    assert_int_equal(size, 3);
    assert_memory_equal(buffer, "a\0b", 4);

    write_file(folder, "1234567", 7);
    assert_int_equal(procfs_read(folder->fd, "file", buffer, sizeof buffer, &size), 0);
    assert_int_equal(size, 7);
    assert_string_equal(buffer, "1234567");

    write_file(folder, "12345678", 8);
    assert_int_equal(procfs_read(folder->fd, "file", buffer, sizeof buffer, &size), 1);
    assert_int_equal(size, 7);
    assert_string_equal(buffer, "1234567");

    write_file(folder, "123456789", 9);
    assert_int_equal(procfs_read(folder->fd, "file", buffer, sizeof buffer, &size), 1);
    assert_string_equal(buffer, "1234567");
}

static void a_file_that_is_missing_says_so(void **state) {
    const Folder *folder = *state;
    char buffer[8];
    size_t size = 77;
    assert_int_equal(procfs_read(folder->fd, "file", buffer, sizeof buffer, &size), -ENOENT);
    assert_int_equal(size, 77);
    assert_int_equal(procfs_read_link(folder->fd, "link", buffer, sizeof buffer), -ENOENT);
    assert_int_equal(procfs_each_line(folder->fd, "file", 100, NULL, NULL), -ENOENT);
}

static void a_link_that_does_not_fit_is_no_link(void **state) {
    const Folder *folder = *state;
    char buffer[8];
    assert_int_equal(symlinkat("1234567", folder->fd, "link"), 0);
    assert_int_equal(procfs_read_link(folder->fd, "link", buffer, sizeof buffer), 0);
    assert_string_equal(buffer, "1234567");
    assert_int_equal(procfs_read_link(folder->fd, "link", buffer, 7), -ENAMETOOLONG);
    write_file(folder, "", 0);
    assert_int_equal(procfs_read_link(folder->fd, "file", buffer, sizeof buffer), -EINVAL);
}

// Lines as they came, each ended with '|'.
typedef struct Seen {
    char *text;
    size_t size;
    size_t lines;
    size_t stop_at;
} Seen;

static int see(void *userdata, const char *line, size_t size) {
    Seen *seen = userdata;
    assert_int_equal(line[size], '\0');
    seen->text = realloc(seen->text, seen->size + size + 2);
    assert_non_null(seen->text);
    memcpy(seen->text + seen->size, line, size);
    seen->size += size;
    seen->text[seen->size++] = '|';
    seen->text[seen->size] = '\0';
    seen->lines++;
    return seen->lines == seen->stop_at ? 42 : 0;
}

static void each_line_is_passed_once(void **state) {
    static const struct {
        const char *text;
        const char *seen;
    } files[] = {
        {"", NULL},         {"\n", "|"},           {"a", "a|"},       {"a\n", "a|"},
        {"a\nbc", "a|bc|"}, {"a\n\nb\n", "a||b|"}, {"\n\na", "||a|"}, {"a\r\n", "a\r|"},
    };
    const Folder *folder = *state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        Seen seen = {0};
        write_file(folder, files[i].text, strlen(files[i].text));
        assert_int_equal(procfs_each_line(folder->fd, "file", 1 << 20, see, &seen), 0);
        assert_int_equal(seen.text != NULL, files[i].seen != NULL);
        if (seen.text)
            assert_string_equal(seen.text, files[i].seen);
        free(seen.text);
    }
}

static void a_line_can_end_the_reading(void **state) {
    const Folder *folder = *state;
    Seen seen = {.stop_at = 2};
    write_file(folder, "a\nb\nc\n", 6);
    assert_int_equal(procfs_each_line(folder->fd, "file", 1 << 20, see, &seen), 42);
    assert_string_equal(seen.text, "a|b|");
    free(seen.text);
}

// Lines of every length around the chunk, between two others, wherever the chunks end.
static void lines_are_whole_across_chunks(void **state) {
    const Folder *folder = *state;
    static const size_t befores[] = {0, 1, 5000, CHUNK - 2, CHUNK - 1};
    static const size_t lengths[] = {1, 100, 4096, CHUNK - 2, CHUNK - 1};
    for (size_t i = 0; i < sizeof befores / sizeof befores[0]; i++) {
        for (size_t j = 0; j < sizeof lengths / sizeof lengths[0]; j++) {
            char text[3 * CHUNK];
            size_t size = befores[i] + 1 + lengths[j] + 1 + 3;
            memset(text, 'x', sizeof text);
            text[befores[i]] = '\n';
            text[befores[i] + 1 + lengths[j]] = '\n';
            write_file(folder, text, size);

            Seen seen = {0};
            assert_int_equal(procfs_each_line(folder->fd, "file", 1 << 20, see, &seen), 0);
            assert_int_equal(seen.lines, 3);
            assert_int_equal(seen.size, size + 1);
            assert_int_equal(seen.text[befores[i]], '|');
            assert_int_equal(seen.text[befores[i] + 1 + lengths[j]], '|');
            free(seen.text);
        }
    }
}

static void a_line_longer_than_a_chunk_comes_in_parts(void **state) {
    const Folder *folder = *state;
    char text[2 * CHUNK + 100];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\n';
    write_file(folder, text, sizeof text);
    Seen seen = {0};
    assert_int_equal(procfs_each_line(folder->fd, "file", 1 << 20, see, &seen), 0);
    assert_int_equal(seen.lines, 3);
    assert_int_equal(seen.text[CHUNK], '|');
    assert_int_equal(seen.size, sizeof text - 1 + seen.lines);
    free(seen.text);
}

static void reading_ends_at_the_limit(void **state) {
    const Folder *folder = *state;
    char text[4 * CHUNK];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 64 == 63 ? '\n' : 'x';
    write_file(folder, text, sizeof text);
    Seen seen = {0};
    assert_int_equal(procfs_each_line(folder->fd, "file", 2 * CHUNK, see, &seen), -EFBIG);
    assert_int_equal(seen.lines, 2 * CHUNK / 64);
    free(seen.text);
}

static void a_process_is_opened_by_its_pid(void **state) {
    (void)state;
    int directory = -1;
    assert_int_equal(procfs_open(getpid(), &directory), 0);
    _cleanup_close_ int owned = directory;
    char buffer[4096], expected[32];
    size_t size;
    assert_int_equal(procfs_read(owned, "stat", buffer, sizeof buffer, &size), 0);
    snprintf(expected, sizeof expected, "%d (", getpid());
    assert_int_equal(strncmp(buffer, expected, strlen(expected)), 0);
    assert_int_equal(procfs_read_link(owned, "root", buffer, sizeof buffer), 0);

    int untouched = 77;
    assert_int_equal(procfs_open(INT_MAX, &untouched), -ENOENT);
    assert_int_equal(untouched, 77);
}

static void a_process_that_ended_cannot_be_read(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    assert_true(child > 0);
    int directory = -1;
    int r = procfs_open(child, &directory);
    _cleanup_close_ int owned = directory;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(r, 0);

    char buffer[64];
    size_t size;
    r = procfs_read(owned, "stat", buffer, sizeof buffer, &size);
    assert_true(r == -ESRCH || r == -ENOENT);
}

int main(void) {
#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_file_is_read_to_its_end_or_cut),
        WITH_FOLDER(a_file_that_is_missing_says_so),
        WITH_FOLDER(a_link_that_does_not_fit_is_no_link),
        WITH_FOLDER(each_line_is_passed_once),
        WITH_FOLDER(a_line_can_end_the_reading),
        WITH_FOLDER(lines_are_whole_across_chunks),
        WITH_FOLDER(a_line_longer_than_a_chunk_comes_in_parts),
        WITH_FOLDER(reading_ends_at_the_limit),
        cmocka_unit_test(a_process_is_opened_by_its_pid),
        cmocka_unit_test(a_process_that_ended_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
