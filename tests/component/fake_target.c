// A process that looks to the kernel as a starting .NET process does, and is on its diagnostic
// socket whatever a test needs. It knows nothing of the protocol: the test says which bytes it
// sends. Commands come as lines on standard input, and each is answered by a line "= RESULT"; what
// happens on the sockets is told by lines of its own, so that no test has to wait for a while:
//
//   + SOCKET PEER OPEN     accepted a connection of this pid, which has so many open now
//   - SOCKET PEER BYTES    such a connection ended; all that came over it, in hex
//
// It ends when its standard input does.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "discovery_names.h"
#include "fake_sockets.h"

enum { LINE = 1 << 20 };

typedef struct Fake {
    FakeSockets sockets;
    int storm; // while it is open, the children of a storm live; -1: none
    char line[LINE];
} Fake;

// As the runtime does it, except for the protection where a test asks for another.
static int map(int protection) {
    int fd = memfd_create(DISCOVERY_MAPPING_NAME, MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    void *page = mmap(NULL, 1, protection, MAP_PRIVATE, fd, 0);
    int r = page == MAP_FAILED ? -errno : 0;
    close(fd);
    return r;
}

static int do_bind(Fake *fake, char *path) {
    return fake_sockets_bind(&fake->sockets, path);
}

static int do_answer(Fake *fake, char *answers) {
    return fake_sockets_answer(&fake->sockets, answers);
}

static int do_listen(Fake *fake, __attribute__((unused)) char *argument) {
    return fake_sockets_listen(&fake->sockets);
}

static int do_close(Fake *fake, __attribute__((unused)) char *argument) {
    return fake_sockets_close(&fake->sockets);
}

static int do_map(__attribute__((unused)) Fake *fake, char *protection) {
    return map((strchr(protection, 'r') ? PROT_READ : 0) |
               (strchr(protection, 'w') ? PROT_WRITE : 0) |
               (strchr(protection, 'x') ? PROT_EXEC : 0));
}

// By now everything that happened on the sockets before has been told.
static int do_tell(__attribute__((unused)) Fake *fake, __attribute__((unused)) char *argument) {
    return 0;
}

// A child that lives until the descriptor has no writer any more, or goes on after that as its
// parent would; it must not read from it.
static void await_hangup(int fd) {
    struct pollfd hangup = {.fd = fd};
    while (poll(&hangup, 1, -1) < 0 && errno == EINTR)
        ;
}

// fork [map|listen]: a child with all that is open here, which maps or listens anew where that is
// asked for, and lives until standard input ends.
static int do_fork(Fake *fake, char *argument) {
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0) {
        if (strcmp(argument, "map") == 0 && map(PROT_NONE) < 0)
            _exit(1);
        if (strcmp(argument, "listen") == 0 && fake_sockets_listen(&fake->sockets) < 0)
            _exit(1);
        await_hangup(STDIN_FILENO);
        _exit(0);
    }
    printf("= %d\n", pid);
    return 1;
}

static int do_exec(__attribute__((unused)) Fake *fake, char *path) {
    execl(path, path, (char *)NULL);
    return -errno;
}

static int do_stop(__attribute__((unused)) Fake *fake, __attribute__((unused)) char *argument) {
    return raise(SIGSTOP) == 0 ? 0 : -errno;
}

static int do_user(__attribute__((unused)) Fake *fake, char *uid) {
    unsigned id = (unsigned)strtoul(uid, NULL, 10);
    return setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0 ? -errno : 0;
}

static int do_command(__attribute__((unused)) Fake *fake, char *hex) {
    char command[16] = "";
    for (size_t i = 0; i < sizeof command - 1 && hex[2 * i]; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1]};
        command[i] = (char)strtoul(digits, NULL, 16);
    }
    return prctl(PR_SET_NAME, command) < 0 ? -errno : 0;
}

static int do_chroot(__attribute__((unused)) Fake *fake, char *path) {
    return chroot(path) < 0 || chdir("/") < 0 ? -errno : 0;
}

// A filesystem at this path that nobody else sees.
static int do_tmpfs(__attribute__((unused)) Fake *fake, char *path) {
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", path, "tmpfs", 0, NULL) < 0)
        return -errno;
    return 0;
}

// cover PATH WITH: a bind mount that nobody else sees.
static int do_cover(__attribute__((unused)) Fake *fake, char *argument) {
    char *with = strchr(argument, ' ');
    *with++ = '\0';
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(with, argument, NULL, MS_BIND, NULL) < 0)
        return -errno;
    return 0;
}

// take PID FD: holds what that descriptor of another process is, as if it had been sent here.
static int do_take(__attribute__((unused)) Fake *fake, char *argument) {
    char *fd;
    int process = pidfd_open((pid_t)strtol(argument, &fd, 10), 0);
    if (process < 0)
        return -errno;
    int r = pidfd_getfd(process, (int)strtol(fd, NULL, 10), 0) < 0 ? -errno : 0;
    close(process);
    return r;
}

static int do_network(__attribute__((unused)) Fake *fake, __attribute__((unused)) char *argument) {
    return unshare(CLONE_NEWNET) < 0 ? -errno : 0;
}

// A user namespace of its own; whose users its own are, the test says.
static int do_users(__attribute__((unused)) Fake *fake, __attribute__((unused)) char *argument) {
    return unshare(CLONE_NEWUSER) < 0 ? -errno : 0;
}

// descriptors COUNT: takes so many, so that what is opened next is far behind.
static int do_descriptors(__attribute__((unused)) Fake *fake, char *count) {
    for (unsigned long i = strtoul(count, NULL, 10); i > 0; i--)
        if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
            return -errno;
    return 0;
}

// storm COUNT UID: so many children of this user that have the mapping and no socket.
static int do_storm(Fake *fake, char *argument) {
    char *uid;
    unsigned long count = strtoul(argument, &uid, 10);
    int mapped[2], life[2];
    if (pipe2(mapped, O_CLOEXEC) < 0 || pipe2(life, O_CLOEXEC) < 0)
        return -errno;
    for (unsigned long i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid < 0)
            return -errno;
        if (pid == 0) {
            close(life[1]);
            char ok = (char)(do_user(fake, uid) == 0 && map(PROT_NONE) == 0);
            if (ok && write(mapped[1], &ok, 1) == 1)
                await_hangup(life[0]);
            _exit(0);
        }
    }
    close(mapped[1]);
    close(life[0]);
    fake->storm = life[1];
    unsigned long seen = 0;
    char bytes[4096];
    for (ssize_t n; seen < count && (n = read(mapped[0], bytes, sizeof bytes)) > 0;)
        seen += (unsigned long)n;
    close(mapped[0]);
    return seen == count ? 0 : -ECHILD;
}

// Ends the storm.
static int do_calm(Fake *fake, __attribute__((unused)) char *argument) {
    close(fake->storm);
    fake->storm = -1;
    while (wait(NULL) > 0)
        ;
    return 0;
}

static void live_briefly(const char *folder) {
    char path[sizeof((struct sockaddr_un *)NULL)->sun_path];
    snprintf(path, sizeof path, "%s/" DISCOVERY_SOCKET_PREFIX "%d-1-socket", folder, getpid());
    int fd = fake_bind(path);
    if (fd < 0 || listen(fd, 255) < 0 || map(PROT_NONE) < 0)
        _exit(1);
    unlink(path);
    _exit(0);
}

// burst COUNT FOLDER: so many children, one after another, that have socket and mapping and end at
// once. The result is their pids.
static int do_burst(__attribute__((unused)) Fake *fake, char *argument) {
    char *folder;
    unsigned long count = strtoul(argument, &folder, 10);
    printf("=");
    for (unsigned long i = 0; i < count; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0)
            live_briefly(folder + 1);
        if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
            return -ECHILD;
        printf(" %d", pid);
    }
    putchar('\n');
    return 1;
}

static void obey(Fake *fake, char *line) {
    static const struct {
        const char *name;
        int (*act)(Fake *fake, char *argument);
    } commands[] = {
        {"bind", do_bind},       {"listen", do_listen}, {"close", do_close},
        {"answer", do_answer},   {"map", do_map},       {"fork", do_fork},
        {"exec", do_exec},       {"stop", do_stop},     {"user", do_user},
        {"command", do_command}, {"chroot", do_chroot}, {"tmpfs", do_tmpfs},
        {"network", do_network}, {"storm", do_storm},   {"calm", do_calm},
        {"burst", do_burst},     {"tell", do_tell},     {"descriptors", do_descriptors},
        {"cover", do_cover},     {"take", do_take},     {"users", do_users},
    };
    char *argument = strchr(line, ' ');
    if (argument)
        *argument++ = '\0';
    int r = -ENOSYS;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(commands[i].name, line) == 0)
            r = commands[i].act(fake, argument ? argument : line + strlen(line));
    }
    if (r <= 0)
        printf("= %s\n", r == 0 ? "ok" : strerrorname_np(-r));
}

// All that are there, so that what happens on the sockets waits for the last of them. Byte by byte,
// so that what follows an exec is left to the program executed.
static void read_commands(Fake *fake) {
    struct pollfd more = {.fd = STDIN_FILENO, .events = POLLIN};
    do {
        size_t size = 0;
        do {
            if (size == LINE || read(STDIN_FILENO, &fake->line[size], 1) != 1)
                _exit(0);
        } while (fake->line[size++] != '\n');
        fake->line[size - 1] = '\0';
        obey(fake, fake->line);
    } while (poll(&more, 1, 0) > 0);
}

static void turn(Fake *fake) {
    struct pollfd polls[1 + FAKE_POLLS] = {{.fd = STDIN_FILENO, .events = POLLIN}};
    fake_sockets_fill(&fake->sockets, polls + 1);
    if (poll(polls, sizeof polls / sizeof polls[0], -1) < 0)
        return;
    fake_sockets_turn(&fake->sockets, polls + 1);
    if (polls[0].revents)
        read_commands(fake);
}

// Goes on in a child with this pid (0: any), in a pid namespace of its own where that is in
// `flags`; the parent lasts as long.
static void become_child(pid_t pid, uint64_t flags) {
    struct clone_args arguments = {.flags = flags, .exit_signal = SIGCHLD};
    if (pid != 0) {
        arguments.set_tid = (uint64_t)(uintptr_t)&pid;
        arguments.set_tid_size = 1;
    }
    long child = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (child < 0) {
        perror("clone3");
        _exit(1);
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return;
    }
    int status = 0;
    waitpid((pid_t)child, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int main(int argc, char *argv[]) {
    if (argc > 1 && strncmp(argv[1], "--pid=", 6) == 0)
        become_child((pid_t)strtol(argv[1] + 6, NULL, 10), 0);
    else if (argc > 1 && strcmp(argv[1], "--pid-namespace") == 0)
        become_child(0, CLONE_NEWPID);

    Fake *fake = calloc(1, sizeof *fake);
    if (!fake)
        return 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    fake->storm = -1;
    fake_sockets_init(&fake->sockets);
    printf("= %d\n", getpid());
    for (;;)
        turn(fake);
}
