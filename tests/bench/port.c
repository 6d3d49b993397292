// The question is ProcessInfo3, the answer one that the daemon takes: whatever it does with each
// field it does here too.
// SPDX-License-Identifier: MIT
#include "port.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "discovery_names.h"
#include "meter.h"

enum { HEADER = 20, SIZE_AT = 14, REPLY = 512 };

// ProcessInfo3.
static const char question[HEADER] = "DOTNET_IPC_V1\0\x14\0\x04\x08";

void port_path(char *path, size_t size, const char *folder, pid_t pid) {
    char name[64], text[1024] = "";
    snprintf(name, sizeof name, "/proc/%d/stat", pid);
    FILE *file = fopen(name, "re");
    if (!file || fread(text, 1, sizeof text - 1, file) == 0)
        meter_die(name);
    fclose(file);
    // Field 22; the command before it may have spaces, and ends with the last parenthesis.
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        meter_die(name);
    snprintf(path, size, "%s/" DISCOVERY_SOCKET_PREFIX "%d-%llu-socket", folder, pid,
             strtoull(at, NULL, 10));
}

// Length in units with the NUL, then these.
static char *put_text(char *at, const char *text) {
    uint32_t length = htole32((uint32_t)strlen(text) + 1);
    memcpy(at, &length, sizeof length);
    at += sizeof length;
    do {
        *at++ = *text;
        *at++ = '\0';
    } while (*text++);
    return at;
}

static size_t make_reply(char *reply) {
    static const char *const texts[] = {"fake", "Linux", "x64", "Fake", "10.0.5", "linux-x64"};
    uint64_t pid = htole64((uint64_t)getpid());
    uint32_t version = htole32(1);
    memset(reply, 0, HEADER + 28);
    memcpy(reply, question, SIZE_AT);
    reply[16] = (char)0xff; // the command set of answers; the code of a good one is 0
    memcpy(reply + HEADER, &version, sizeof version);
    memcpy(reply + HEADER + 4, &pid, sizeof pid);
    memcpy(reply + HEADER + 12, &pid, sizeof pid); // of the cookie: another of each process
    char *at = reply + HEADER + 28;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        at = put_text(at, texts[i]);
    uint16_t size = htole16((uint16_t)(at - reply));
    memcpy(reply + SIZE_AT, &size, sizeof size);
    return (size_t)(at - reply);
}

void port_serve(int listener) {
    char asked[HEADER], reply[REPLY];
    int fd = accept(listener, NULL, NULL);
    if (fd < 0)
        return;
    if (recv(fd, asked, sizeof asked, MSG_WAITALL) == HEADER)
        (void)send(fd, reply, make_reply(reply), MSG_NOSIGNAL);
    close(fd);
}

static int read_reply(int fd) {
    char reply[64 << 10];
    size_t size = 0, wanted = HEADER;
    while (size < wanted) {
        ssize_t n = read(fd, reply + size, sizeof reply - size);
        if (n <= 0)
            return n < 0 ? -errno : -EPIPE;
        size += (size_t)n;
        uint16_t whole;
        memcpy(&whole, reply + SIZE_AT, sizeof whole);
        if (size >= HEADER)
            wanted = le16toh(whole);
    }
    return 0;
}

int port_ask(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        meter_die("socket");
    int r = 0;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
        send(fd, question, HEADER, MSG_NOSIGNAL) != HEADER)
        r = -errno;
    if (r == 0)
        r = read_reply(fd);
    close(fd);
    return r;
}
