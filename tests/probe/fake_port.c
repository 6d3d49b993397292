// See fake_port.h.
// SPDX-License-Identifier: MIT
#include "fake_port.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "ipc.h"
#include "procfs.h"
#include "procfs_text.h"

#define HEADER(size, command) "DOTNET_IPC_V1\0" size "\xff" command "\0\0"
#define COOKIE "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20"
#define PID "own pid!" // a place for it
#define OS "\6\0\0\0L\0i\0n\0u\0x\0\0\0"
#define ARCHITECTURE "\4\0\0\0x\0006\0004\0\0\0"
#define COMMAND_LINE "\2\0\0\0a\0\0\0"
#define ASSEMBLY "\4\0\0\0A\0p\0p\0\0\0"
#define VERSION "\3\0\0\0v\0009\0\0\0"
#define RID "\2\0\0\0r\0\0\0"

#define REPLY(literal) \
    { .bytes = (const uint8_t *)(literal), .size = sizeof(literal) - 1 }

const FakeReply fake_version3 = REPLY(
    HEADER("\x72\0", "\0") "\1\0\0\0" PID COOKIE COMMAND_LINE OS ARCHITECTURE ASSEMBLY VERSION RID);
const FakeReply fake_version2 =
    REPLY(HEADER("\x66\0", "\0") PID COOKIE COMMAND_LINE OS ARCHITECTURE ASSEMBLY VERSION);
const FakeReply fake_version1 =
    REPLY(HEADER("\x50\0", "\0") PID COOKIE COMMAND_LINE OS ARCHITECTURE);
const FakeReply fake_unknown = REPLY(HEADER("\x18\0", "\xff") "\x85\x13\x13\x80");
const FakeReply fake_failed = REPLY(HEADER("\x18\0", "\xff") "\x05\x40\x00\x80");
const FakeReply fake_silent = {0};

size_t count_descriptors(void) {
    DIR *directory = opendir("/proc/self/fd");
    size_t count = 0;
    assert_non_null(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static void on_input(void *userdata, Input *input) {
    Fixture *fixture = userdata;
    assert_int_equal(input->kind, INPUT_PROBED);
    assert_true(fixture->results_count < FAKE_RESULTS);
    Input *result = &fixture->results[fixture->results_count++];
    *result = *input;
    if (fixture->on_result)
        fixture->on_result(fixture, result);
}

void fixture_new_pool(Fixture *fixture, size_t attempts) {
    probe_pool_free(fixture->pool);
    assert_int_equal(probe_pool_new(fixture->event, attempts, on_input, fixture, &fixture->pool),
                     0);
}

int fixture_setup(void **state) {
    Fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    fixture->descriptors = count_descriptors();
    strcpy(fixture->folder, "/tmp/probe-test-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    assert_true(sd_event_new(&fixture->event) >= 0);
    fixture_new_pool(fixture, 2);
    *state = fixture;
    return 0;
}

int fixture_teardown(void **state) {
    Fixture *fixture = *state;
    probe_pool_free(fixture->pool);
    sd_event_unref(fixture->event);
    for (size_t i = 0; i < fixture->results_count; i++)
        input_done(&fixture->results[i]);

    DIR *folder = opendir(fixture->folder);
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        unlinkat(dirfd(folder), entry->d_name, entry->d_type == DT_DIR ? AT_REMOVEDIR : 0);
    if (folder)
        closedir(folder);
    rmdir(fixture->folder);
    size_t left = count_descriptors() - fixture->descriptors;
    free(fixture);
    assert_int_equal(left, 0);
    return 0;
}

void fixture_path(const Fixture *fixture, const char *name, char ret[static SOCKET_PATH_SIZE]) {
    snprintf(ret, SOCKET_PATH_SIZE, "%s/%s", fixture->folder, name);
}

ProcessKey key_of(pid_t pid) {
    ProcessKey key = {.pid = pid, .exec_count = EXEC_COUNT_UNKNOWN};
    char text[4096];
    size_t size;
    _cleanup_close_ int directory = -1;
    assert_int_equal(procfs_open(pid, &directory), 0);
    assert_int_equal(procfs_read(directory, "stat", text, sizeof text, &size), 0);
    assert_int_equal(procfs_text_start_ticks(text, &key.start_ticks), 0);
    return key;
}

void fixture_turn(Fixture *fixture) {
    for (int i = 0; i < 8; i++)
        assert_true(sd_event_run(fixture->event, 0) >= 0);
}

void fixture_wait(Fixture *fixture, size_t results) {
    uint64_t end = instant_now().boottime_us + 5 * USEC_PER_SEC;
    while (fixture->results_count < results) {
        assert_true(sd_event_run(fixture->event, 100 * USEC_PER_MSEC) >= 0);
        assert_true(instant_now().boottime_us < end);
    }
    fixture_turn(fixture);
    assert_int_equal(fixture->results_count, results);
}

const Input *fixture_probe(Fixture *fixture, pid_t pid, const char *hint) {
    ProcessKey key = key_of(pid);
    size_t before = fixture->results_count;
    assert_int_equal(probe_start(fixture->pool, 1000 + before,
                                 &(ProbeTarget){.key = key, .uid = 0, .socket_hint = hint}),
                     0);
    assert_int_equal(fixture->results_count, before);
    fixture_wait(fixture, before + 1);
    const Input *input = &fixture->results[before];
    assert_int_equal(input->probed.serial, 1000 + before);
    assert_int_equal(probe_counters(fixture->pool)->in_flight, 0);
    return input;
}

void assert_detail(const Input *input, const char *part) {
    assert_non_null(input->probed.detail);
    if (!strstr(input->probed.detail, part))
        fail_msg("\"%s\" is not in \"%s\"", part, input->probed.detail);
}

static int new_socket(const char *path, struct sockaddr_un *ret) {
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    strcpy(ret->sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    return fd;
}

int listen_at(const char *path) {
    struct sockaddr_un address;
    int fd = new_socket(path, &address);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 5), 0);
    return fd;
}

int connect_to(const char *path) {
    struct sockaddr_un address;
    int fd = new_socket(path, &address);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

pid_t child_listening(const char *path) {
    int done[2];
    assert_int_equal(pipe(done), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (path)
            listen_at(path);
        close(done[0]);
        close(done[1]);
        for (;;)
            pause();
    }
    char byte;
    close(done[1]);
    assert_int_equal(read(done[0], &byte, 1), 0);
    close(done[0]);
    return pid;
}

void end_child(pid_t pid) {
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void close_connection(struct FakeConnection *connection) {
    connection->io = sd_event_source_disable_unref(connection->io);
    connection->fd = safe_close(connection->fd);
}

// Its bytes as this process sends them.
static const uint8_t *reply_bytes(const FakeReply *reply, uint8_t buffer[static FAKE_REPLY]) {
    assert_true(reply->size <= FAKE_REPLY);
    if (reply->size > 0)
        memcpy(buffer, reply->bytes, reply->size);
    uint8_t *place = memmem(buffer, reply->size, PID, sizeof PID - 1);
    uint64_t pid = htole64((uint64_t)getpid());
    if (place)
        memcpy(place, &pid, sizeof pid);
    return buffer;
}

static int on_connection(sd_event_source *source, int fd, uint32_t events, void *userdata) {
    struct FakeConnection *connection = userdata;
    const FakePort *port = connection->port;
    size_t index = (size_t)(connection - port->connections);
    if (index >= port->replies_count)
        index = port->replies_count - 1;
    const FakeReply *reply = &port->replies[index];

    if (events & EPOLLIN) {
        ssize_t n = recv(fd, connection->request + connection->request_size,
                         sizeof connection->request - connection->request_size, 0);
        if (n <= 0) {
            connection->closed = true;
            close_connection(connection);
            return 0;
        }
        connection->request_size += (size_t)n;
    }
    if (connection->request_size < IPC_HEADER_SIZE)
        return 0;
    size_t left = reply->size - connection->sent;
    if (left > 0) {
        uint8_t buffer[FAKE_REPLY];
        const uint8_t *bytes = reply_bytes(reply, buffer);
        ssize_t n = send(fd, bytes + connection->sent, reply->torn ? 1 : left, MSG_NOSIGNAL);
        assert_true(n > 0);
        connection->sent += (size_t)n;
    }
    bool done = connection->sent == reply->size;
    if (done && reply->closes)
        close_connection(connection);
    else
        assert_true(sd_event_source_set_io_events(source, done ? EPOLLIN : EPOLLIN | EPOLLOUT) >=
                    0);
    return 0;
}

static int on_accept(sd_event_source *source, int fd, uint32_t events, void *userdata) {
    FakePort *port = userdata;
    (void)source;
    (void)events;
    assert_true(port->connections_count < FAKE_CONNECTIONS);
    struct FakeConnection *connection = &port->connections[port->connections_count++];
    *connection = (struct FakeConnection){
        .port = port, .fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    assert_true(connection->fd >= 0);
    assert_true(sd_event_add_io(port->fixture->event, &connection->io, connection->fd, EPOLLIN,
                                on_connection, connection) >= 0);
    return 0;
}

void fake_port_init(Fixture *fixture, FakePort *port, const char *name, const FakeReply *replies,
                    size_t replies_count) {
    *port = (FakePort){.fixture = fixture, .replies = replies, .replies_count = replies_count};
    fixture_path(fixture, name, port->path);
    port->listener = listen_at(port->path);
    assert_true(sd_event_add_io(fixture->event, &port->accepting, port->listener, EPOLLIN,
                                on_accept, port) >= 0);
}

void fake_port_done(FakePort *port) {
    port->accepting = sd_event_source_disable_unref(port->accepting);
    port->listener = safe_close(port->listener);
    for (size_t i = 0; i < port->connections_count; i++)
        close_connection(&port->connections[i]);
}
