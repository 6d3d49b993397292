// The connection. It is blocking; the send timeout bounds connecting and sending, poll bounds
// receiving. Replies larger than any that the daemon makes, or nested deeper, end it.
// SPDX-License-Identifier: MIT
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "bounds.h"
#include "discovery_names.h"
#include "exit_status.h"
#include "field.h"
#include "instant.h"
#include "log.h"
#include "macro.h"
#include "scrub.h"

// As long as D-Bus callers wait; everything but the bound of a check is far below it.
#define PATIENCE_SECONDS 25

uint64_t client_patience(void) {
    return instant_now().boottime_us + PATIENCE_SECONDS * USEC_PER_SEC;
}

void client_init(Client *client, const char *path) {
    *client = (Client){.fd = -1, .output = -1, .path = path};
    buffer_init(&client->input, BOUND_REPLY + BOUND_PAGE);
}

void client_done(Client *client) {
    client->fd = safe_close(client->fd);
    buffer_done(&client->input);
}

// Not 0, 1 or 2, which a caller may have closed: output would go to the daemon.
static int open_socket(void) {
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return high < 0 ? -errno : high;
}

int client_connect(Client *client) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(client->path);
    if (length >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    memcpy(address.sun_path, client->path, length);

    _cleanup_close_ int fd = open_socket();
    if (fd < 0)
        return fd;
    struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        if (errno == ENOENT || errno == ECONNREFUSED)
            return CLIENT_NOT_RUNNING;
        return errno == EAGAIN ? CLIENT_LATE : -errno;
    }
    client->fd = TAKE_FD(fd);
    return CLIENT_OK;
}

int client_send(Client *client, const char *method, json_t *parameters, bool more) {
    _cleanup_free_ char *frame = NULL;
    size_t size;
    int r = varlink_call_format(method, parameters, more, &frame, &size);
    if (r < 0)
        return r;
    for (size_t sent = 0; sent < size;) {
        ssize_t n = send(client->fd, frame + sent, size - sent, MSG_NOSIGNAL);
        if (n >= 0)
            sent += (size_t)n;
        else if (errno == EPIPE || errno == ECONNRESET)
            return CLIENT_OK; // an answer may stand in the socket all the same
        else if (errno == EAGAIN)
            return CLIENT_LATE;
        else if (errno != EINTR)
            return -errno;
    }
    return CLIENT_OK;
}

// Waits for bytes or an end of the stream.
static int wait_readable(const Client *client, uint64_t deadline_us) {
    for (;;) {
        struct pollfd fds[] = {
            {.fd = client->fd, .events = POLLIN},
            {.fd = client->output},
        };
        struct timespec left = {0};
        if (deadline_us != USEC_NEVER) {
            uint64_t now = instant_now().boottime_us;
            if (now >= deadline_us)
                return CLIENT_LATE;
            left.tv_sec = (time_t)((deadline_us - now) / USEC_PER_SEC);
            left.tv_nsec = (long)((deadline_us - now) % USEC_PER_SEC * NSEC_PER_USEC);
        }
        int n = ppoll(fds, ELEMENTS_OF(fds), deadline_us == USEC_NEVER ? NULL : &left, NULL);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0 && fds[1].revents)
            return CLIENT_UNREAD;
        if (n > 0)
            return CLIENT_OK;
    }
}

static int fill(Client *client, uint64_t deadline_us) {
    int r = wait_readable(client, deadline_us);
    if (r != CLIENT_OK)
        return r;
    char *room;
    size_t size;
    r = buffer_reserve(&client->input, BOUND_PAGE, &room, &size);
    if (r < 0)
        return r;
    if (size == 0) {
        client->fault = "the reply is too long";
        return CLIENT_BAD;
    }
    ssize_t n = recv(client->fd, room, size, 0);
    if (n < 0)
        return errno == ECONNRESET ? CLIENT_ENDED : errno == EINTR ? CLIENT_OK : -errno;
    if (n == 0)
        return CLIENT_ENDED;
    buffer_commit(&client->input, (size_t)n);
    return CLIENT_OK;
}

static int parse(Client *client, size_t size, VarlinkReply *ret) {
    VarlinkReply reply = {0};
    int r = varlink_reply_parse(buffer_bytes(&client->input), size, &reply, &client->fault);
    if (r == -EBADMSG)
        return CLIENT_BAD;
    if (r < 0)
        return r;
    buffer_consume(&client->input, size + 1);

    r = scrub(reply.message);
    if (r < 0) {
        varlink_reply_done(&reply);
        client->fault = "a member's name is not text";
        return r == -EBADMSG ? CLIENT_BAD : r;
    }
    // Strings may have been replaced.
    if (reply.error)
        reply.error = field_text(reply.message, "error");
    *ret = reply;
    return CLIENT_OK;
}

int client_receive(Client *client, uint64_t deadline_us, VarlinkReply *ret) {
    for (;;) {
        if (buffer_size(&client->input) > 0) {
            ssize_t size = varlink_frame(buffer_bytes(&client->input), buffer_size(&client->input));
            if (size >= 0)
                return parse(client, (size_t)size, ret);
        }
        int r = fill(client, deadline_us);
        if (r != CLIENT_OK)
            return r;
    }
}

// Whether a service manager runs that could start the daemon and knows its socket unit.
static bool has_unit(void) {
    static const char *const folders[] = {"/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"};
    if (access("/run/systemd/system", F_OK) < 0)
        return false;
    for (size_t i = 0; i < ELEMENTS_OF(folders); i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/systemd/system/" DISCOVERY_DAEMON ".socket", folders[i]);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static int explain_errno(const Client *client, int error) {
    if (error == EACCES || error == EPERM)
        log_error("Not allowed to connect to %s.", client->path);
    else if (error == ENAMETOOLONG)
        log_error("The path of a socket has at most %zu bytes: %s",
                  sizeof((struct sockaddr_un *)NULL)->sun_path - 1, client->path);
    else
        log_error("Failed to talk to " DISCOVERY_DAEMON " on %s: %s.", client->path,
                  strerror(error));
    return EXIT_STATUS_FAILED;
}

int client_explain(const Client *client, int result) {
    if (result < 0)
        return explain_errno(client, -result);
    switch ((ClientResult)result) {
    case CLIENT_NOT_RUNNING:
        log_error(DISCOVERY_DAEMON " is not running: nothing listens on %s.", client->path);
        // The unit's socket is the usual one.
        if (strcmp(client->path, DISCOVERY_SOCKET_PATH) == 0 && has_unit())
            log_error("Start it with 'systemctl start " DISCOVERY_DAEMON ".socket'.");
        else
            log_error("Start '" DISCOVERY_DAEMON "' as root, or './dev run' in its source tree.");
        return EXIT_STATUS_NOT_RUNNING;
    case CLIENT_ENDED:
        log_error(DISCOVERY_DAEMON " has ended the connection.");
        return EXIT_STATUS_FAILED;
    case CLIENT_LATE:
        log_error(DISCOVERY_DAEMON " did not answer within %d seconds.", PATIENCE_SECONDS);
        return EXIT_STATUS_FAILED;
    case CLIENT_BAD:
        log_error("What listens on %s does not answer as " DISCOVERY_DAEMON " does: %s.",
                  client->path, client->fault ? client->fault : "a field is missing");
        return EXIT_STATUS_FAILED;
    case CLIENT_OK:
    case CLIENT_UNREAD:
        break;
    }
    return EXIT_STATUS_DONE;
}

const char *client_hint_unseen(void) {
    if (geteuid() == 0)
        return NULL;
    return "More may be visible to root and to members of the group " DISCOVERY_GROUP ".";
}

int client_explain_error(const VarlinkReply *reply) {
    const char *parameter = field_text(reply->parameters, "parameter");
    if (strcmp(reply->error, "org.varlink.service.InvalidParameter") == 0) {
        log_error("The value of %s is not one that " DISCOVERY_DAEMON " knows%s.",
                  parameter ? parameter : "a parameter",
                  parameter && strcmp(parameter, "state") == 0
                      ? ": detected, ready, unreachable or gone"
                      : "");
        return EXIT_STATUS_USAGE;
    }
    uint64_t pid;
    if (strcmp(reply->error, DISCOVERY_INTERFACE ".NoSuchProcess") == 0 &&
        field_number(reply->parameters, "pid", &pid)) {
        log_error("Process %ju is not known: it does not exist, or has shown no sign of .NET.",
                  (uintmax_t)pid);
        if (client_hint_unseen())
            log_error("%s", client_hint_unseen());
        return EXIT_STATUS_NOT_FOUND;
    }
    if (strcmp(reply->error, DISCOVERY_INTERFACE ".TooManyConnections") == 0)
        log_error(DISCOVERY_DAEMON " has too many connections, of all users or of this one.");
    else
        log_error(DISCOVERY_DAEMON " refused the call: %s.", reply->error);
    return EXIT_STATUS_FAILED;
}
