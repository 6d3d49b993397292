// Subscribers of the status socket. A frame is searched, not parsed: its members are written
// without spaces, and no text of a process can hold an unescaped quotation mark.
//
// watch CPU SOCKET: "synced", and then for each process that becomes ready a line with its pid,
// when that was read, when the process was detected and when it had answered, in microseconds.
//
// subscribers CPU SOCKET COUNT READY SECONDS: so many of them. When all have their snapshot, a line
// with the microseconds that took, and how many processes were in the first one's. Where READY is
// not 0, goes on until each was told of so many ready processes, by its last snapshot and after it,
// or nobody was told anything for so many seconds; then a line with the least and the most that one
// was told and the number of overruns, and one with the microseconds from detected to read, of
// those that became ready: 999 quantiles and the largest.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "discovery_names.h"
#include "meter.h"

enum { BUFFER = 256 << 10, EVENTS = 64, QUANTILES = 1000 };

#define READY "\"state\":\"ready\""

static const char subscribe[] = "{\"method\":\"" DISCOVERY_INTERFACE ".Subscribe\","
                                "\"parameters\":{},\"more\":true}";

typedef struct Stream {
    int fd;
    size_t begin, end; // of what was read and not yet looked at
    bool synced;
    uint64_t processes, ready, overruns;
    char *buffer;
} Stream;

typedef struct Crowd {
    Stream *streams;
    size_t count, synced, done;
    uint64_t wanted;
    double *waits_us;
    size_t waits;
} Crowd;

static void open_stream(Stream *stream, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    *stream = (Stream){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    stream->buffer = malloc(BUFFER);
    if (stream->fd < 0 || !stream->buffer ||
        connect(stream->fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
        send(stream->fd, subscribe, sizeof subscribe, MSG_NOSIGNAL) != sizeof subscribe)
        meter_die(path);
}

static void fill(Stream *stream) {
    if (stream->begin > 0) {
        memmove(stream->buffer, stream->buffer + stream->begin, stream->end - stream->begin);
        stream->end -= stream->begin;
        stream->begin = 0;
    }
    ssize_t n = read(stream->fd, stream->buffer + stream->end, BUFFER - stream->end);
    if (n <= 0)
        meter_die("the daemon left");
    stream->end += (size_t)n;
}

// The next frame with its NUL, NULL where there is no whole one.
static const char *next_frame(Stream *stream) {
    const char *frame = stream->buffer + stream->begin;
    const char *end = memchr(frame, '\0', stream->end - stream->begin);
    if (!end)
        return NULL;
    stream->begin += (size_t)(end - frame) + 1;
    return frame;
}

static bool has(const char *frame, const char *text) {
    return strstr(frame, text) != NULL;
}

static double number_behind(const char *frame, const char *name) {
    const char *at = strstr(frame, name);
    return at ? strtod(at + strlen(name), NULL) : 0;
}

static uint64_t count(const char *frame, const char *text) {
    uint64_t found = 0;
    for (const char *at = frame; (at = strstr(at, text)); at++)
        found++;
    return found;
}

// Whether it tells that a process became ready.
static bool take_frame(Stream *stream, const char *frame) {
    if (has(frame, "\"kind\":\"changed\"")) {
        bool news = has(frame, READY) && !has(frame, "\"previousState\":\"ready\"");
        stream->ready += news;
        return news;
    }
    if (has(frame, "\"kind\":\"synced\"")) {
        stream->synced = true;
    } else if (has(frame, "\"kind\":\"snapshot\"")) {
        stream->processes += count(frame, "\"startTime\":");
        stream->ready += count(frame, READY);
    } else if (has(frame, "\"kind\":\"overrun\"")) {
        stream->overruns++;
        stream->processes = stream->ready = 0;
    }
    return false;
}

int watch_main(__attribute__((unused)) int argc, char **argv) {
    Stream stream;
    meter_pin(argv[0]);
    open_stream(&stream, argv[1]);
    for (;;) {
        fill(&stream);
        double now_us = meter_now_us();
        bool synced = stream.synced;
        for (const char *frame; (frame = next_frame(&stream));) {
            if (take_frame(&stream, frame))
                printf("%.0f %.1f %.1f %.1f\n", number_behind(frame, "\"pid\":"), now_us,
                       number_behind(frame, "\"detectedBoottimeUSec\":"),
                       number_behind(frame, "\"readyBoottimeUSec\":"));
        }
        if (stream.synced && !synced)
            puts("synced");
    }
}

static void take_frames(Crowd *crowd, Stream *stream, double now_us) {
    bool synced = stream->synced, done = stream->ready >= crowd->wanted;
    for (const char *frame; (frame = next_frame(stream));) {
        if (take_frame(stream, frame) && crowd->waits < crowd->count * crowd->wanted)
            crowd->waits_us[crowd->waits++] =
                now_us - number_behind(frame, "\"detectedBoottimeUSec\":");
    }
    crowd->synced += stream->synced && !synced;
    crowd->done += (size_t)(stream->ready >= crowd->wanted) - done;
}

// False where nothing came in time.
static bool turn(Crowd *crowd, int epoll, int timeout_ms) {
    struct epoll_event events[EVENTS];
    int n = epoll_wait(epoll, events, EVENTS, timeout_ms);
    if (n < 0 && errno != EINTR)
        meter_die("epoll_wait");
    for (int i = 0; i < n; i++) {
        Stream *stream = events[i].data.ptr;
        fill(stream);
        take_frames(crowd, stream, meter_now_us());
    }
    return n != 0;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void print_waits(Crowd *crowd) {
    qsort(crowd->waits_us, crowd->waits, sizeof *crowd->waits_us, compare);
    for (size_t i = 1; i <= QUANTILES && crowd->waits > 0; i++)
        printf("%.1f ", crowd->waits_us[(i * crowd->waits + QUANTILES - 1) / QUANTILES - 1]);
    putchar('\n');
}

static void print_counts(const Crowd *crowd) {
    uint64_t least = UINT64_MAX, most = 0, overruns = 0;
    for (size_t i = 0; i < crowd->count; i++) {
        const Stream *stream = &crowd->streams[i];
        least = stream->ready < least ? stream->ready : least;
        most = stream->ready > most ? stream->ready : most;
        overruns += stream->overruns;
    }
    printf("%lu %lu %lu\n", least, most, overruns);
}

int subscribers_main(int argc, char **argv) {
    Crowd crowd = {.count = meter_number(argv[2])};
    int timeout_ms = argc > 4 ? (int)meter_number(argv[4]) * 1000 : -1;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    meter_pin(argv[0]);
    crowd.wanted = argc > 4 ? meter_number(argv[3]) : 0;
    crowd.streams = calloc(crowd.count, sizeof *crowd.streams);
    crowd.waits_us = calloc(crowd.count * crowd.wanted + 1, sizeof *crowd.waits_us);
    if (!crowd.streams || !crowd.waits_us || epoll < 0)
        meter_die("memory");
    double begun_us = meter_now_us();
    for (size_t i = 0; i < crowd.count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &crowd.streams[i]};
        open_stream(&crowd.streams[i], argv[1]);
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, crowd.streams[i].fd, &event) < 0)
            meter_die("epoll_ctl");
    }
    while (crowd.synced < crowd.count)
        (void)turn(&crowd, epoll, -1);
    printf("%.1f %lu\n", meter_now_us() - begun_us, crowd.streams[0].processes);
    if (crowd.wanted == 0)
        return 0;
    while (crowd.done < crowd.count && turn(&crowd, epoll, timeout_ms))
        ;
    print_counts(&crowd);
    print_waits(&crowd);
    return 0;
}
