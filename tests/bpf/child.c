// Forked children, stepped over a socketpair: a byte from the child says that it paused, a byte to
// it lets it go on.
// SPDX-License-Identifier: MIT
#include "child.h"

#include <dirent.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"

void must(bool condition, const char *text, const char *file, int line) {
    if (condition)
        return;
    fprintf(stderr, "%s:%d: not so: %s (%m)\n", file, line, text);
    _exit(1);
}

static void send_byte(int control) {
    MUST(send(control, "x", 1, MSG_NOSIGNAL) == 1);
}

static void receive_byte(int control) {
    char byte;
    MUST(recv(control, &byte, 1, 0) == 1);
}

void child_pause(int control) {
    char byte;
    send_byte(control);
    if (recv(control, &byte, 1, 0) != 1)
        _exit(0); // the parent is gone
}

void child_tell(int control, int number) {
    MUST(send(control, &number, sizeof number, MSG_NOSIGNAL) == sizeof number);
}

int child_number(const Child *child) {
    int number;
    MUST(recv(child->control, &number, sizeof number, MSG_WAITALL) == sizeof number);
    return number;
}

Child child_start(ChildBody body, const void *argument) {
    int pair[2];
    MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        MUST(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
        close(pair[0]);
        body(pair[1], argument);
        child_pause(pair[1]);
        _exit(0);
    }
    close(pair[1]);
    Child child = {.pid = pid, .control = pair[0]};
    receive_byte(child.control);
    return child;
}

void child_go(Child *child) {
    child_let_go(child);
    receive_byte(child->control);
}

void child_let_go(Child *child) {
    send_byte(child->control);
}

void child_end(Child *child) {
    kill(child->pid, SIGKILL);
    MUST(waitpid(child->pid, NULL, 0) == child->pid);
    child->control = safe_close(child->control);
}

int make_memfd(const char *name) {
    int fd = memfd_create(name, MFD_CLOEXEC);
    MUST(fd >= 0);
    return fd;
}

void map_fd(int fd, int protection) {
    MUST(mmap(NULL, 1, protection, MAP_PRIVATE, fd, 0) != MAP_FAILED);
}

void map_named(const char *name, int protection) {
    int fd = make_memfd(name);
    map_fd(fd, protection);
    close(fd);
}

int bind_at(const char *path, int type) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    MUST(length <= sizeof address.sun_path);
    memcpy(address.sun_path, path, length);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    MUST(fd >= 0);
    MUST(bind(fd, (struct sockaddr *)&address,
              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) == 0);
    return fd;
}

int listen_at(const char *path) {
    int fd = bind_at(path, SOCK_STREAM);
    MUST(listen(fd, 255) == 0);
    return fd;
}

void make_folder(char path[static 32]) {
    strcpy(path, "/tmp/bpf-test-XXXXXX");
    MUST(mkdtemp(path) != NULL);
}

void remove_folder(const char *path) {
    DIR *directory = opendir(path);
    MUST(directory != NULL);
    const struct dirent *entry;
    while ((entry = readdir(directory)))
        if (entry->d_name[0] != '.')
            MUST(unlinkat(dirfd(directory), entry->d_name, 0) == 0);
    closedir(directory);
    MUST(rmdir(path) == 0);
}
