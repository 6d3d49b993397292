// A file system in user space whose server does not answer all it is asked, and a process that uses
// it to make whoever looks at it wait: what any user may do who may make user namespaces.
//
//   fake_files exec DEVICE FOLDER     an execve that waits for the server, with the mapping made
//   fake_files quiet DEVICE FOLDER    the same without the mapping
//   fake_files overlay DEVICE FOLDER  a socket in an overlay that asks the server for permissions
//
// DEVICE is /dev/fuse. Becomes uid and gid 65534 first. Writes the pid of that process, and a line
// "held" once the server is asked what it does not answer; a line "no: WHY" where the machine does
// not let it. All end with its standard input.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "discovery_names.h"

enum { NOBODY = 65534, PATH = 96, REQUEST = 1 << 17, ROOT = FUSE_ROOT_ID, ENTRY = 2 };

// A second, so that what was said once holds for the whole test.
enum { VALID = 1000 };

typedef struct Stage {
    const char *device;
    char files[PATH]; // where the file system is mounted
    char empty[PATH]; // the overlay's other layer
    char merged[PATH];
    bool overlay;
    bool quiet;
    int holding; // the server's end: a byte comes when it is to hold back
} Stage;

static void refuse(const char *what) {
    printf("no: %s: %s\n", what, strerrorname_np(errno));
    fflush(stdout);
    exit(EXIT_SUCCESS);
}

static void must(bool holds, const char *what) {
    if (!holds)
        refuse(what);
}

static void write_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
    close(fd);
}

static void reply(int fuse, uint64_t unique, int error, const void *body, size_t size) {
    struct {
        struct fuse_out_header header;
        uint8_t body[256];
    } message = {
        .header = {.len = (uint32_t)(sizeof message.header + size),
                   .error = error,
                   .unique = unique},
    };
    if (size > 0)
        memcpy(message.body, body, size);
    (void)!write(fuse, &message, message.header.len);
}

// The root and, in an overlay's layer, what is in it are folders; else it is a file.
static struct fuse_attr attributes(const Stage *stage, uint64_t node) {
    bool folder = node == ROOT || stage->overlay;
    return (struct fuse_attr){
        .ino = node,
        .mode = folder ? S_IFDIR | 0755 : S_IFREG | 0644,
        .nlink = 1,
        .size = folder ? 0 : 4096,
    };
}

// True for what is never answered: once told to hold back, who may enter the overlay's layer; and
// always that the last word on a file was heard.
static bool is_held(const Stage *stage, const struct fuse_in_header *request) {
    char byte;
    static bool holding;
    if (!holding)
        holding = recv(stage->holding, &byte, 1, MSG_DONTWAIT) == 1;
    if (stage->overlay)
        return holding && request->opcode == FUSE_GETATTR && request->nodeid == ENTRY;
    return request->opcode == FUSE_FLUSH;
}

static void answer(const Stage *stage, int fuse, const struct fuse_in_header *request,
                   const char *name) {
    switch (request->opcode) {
    case FUSE_INIT: {
        struct fuse_init_out init = {.major = 7, .minor = 31, .max_write = 4096};
        reply(fuse, request->unique, 0, &init, sizeof init);
        break;
    }
    case FUSE_LOOKUP: {
        struct fuse_entry_out entry = {.nodeid = ENTRY, .entry_valid = VALID};
        entry.attr_valid = stage->overlay ? 0 : VALID;
        entry.attr = attributes(stage, ENTRY);
        if (strcmp(name, "entry") == 0)
            reply(fuse, request->unique, 0, &entry, sizeof entry);
        else
            reply(fuse, request->unique, -ENOENT, NULL, 0);
        break;
    }
    case FUSE_GETATTR: {
        struct fuse_attr_out attr = {.attr_valid = stage->overlay ? 0 : VALID};
        attr.attr = attributes(stage, request->nodeid);
        reply(fuse, request->unique, 0, &attr, sizeof attr);
        break;
    }
    case FUSE_STATFS: {
        struct fuse_statfs_out statfs = {.st = {.bsize = 4096, .namelen = 255, .frsize = 4096}};
        reply(fuse, request->unique, 0, &statfs, sizeof statfs);
        break;
    }
    case FUSE_OPEN: {
        struct fuse_open_out file = {.fh = 1};
        reply(fuse, request->unique, 0, &file, sizeof file);
        break;
    }
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
        break;
    default:
        reply(fuse, request->unique, -ENOSYS, NULL, 0);
        break;
    }
}

static void serve(const Stage *stage, int fuse) {
    static uint8_t bytes[REQUEST];
    bool told = false;
    for (;;) {
        ssize_t n = read(fuse, bytes, sizeof bytes - 1);
        if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT))
            continue;
        if (n < (ssize_t)sizeof(struct fuse_in_header))
            exit(EXIT_SUCCESS);
        bytes[n] = '\0';
        const struct fuse_in_header *request = (const void *)bytes;
        if (!is_held(stage, request)) {
            answer(stage, fuse, request, (const char *)(request + 1));
        } else if (!told) {
            told = true;
            puts("held");
            fflush(stdout);
        }
    }
}

// Becomes root of a user namespace of its own, so that it may mount.
static void enter_namespaces(void) {
    must(setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
             setresuid(NOBODY, NOBODY, NOBODY) == 0,
         "becoming another user");
    prctl(PR_SET_DUMPABLE, 1);
    must(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0, "a user namespace");
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", "0 65534 1");
    write_file("/proc/self/gid_map", "0 65534 1");
    must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "a mount namespace");
}

static int mount_files(const Stage *stage) {
    char options[128];
    int fuse = open(stage->device, O_RDWR | O_CLOEXEC);
    must(fuse >= 0, stage->device);
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0%s", fuse,
             stage->overlay ? ",default_permissions" : "");
    must(mount("fake", stage->files, "fuse", MS_NOSUID | MS_NODEV, options) == 0, "mounting FUSE");
    return fuse;
}

static void listen_in(const char *folder) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.64s/dotnet-diagnostic-%d-1-socket",
             folder, getpid());
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
             listen(fd, 10) == 0,
         "listening");
}

static void map(void) {
    int fd = memfd_create(DISCOVERY_MAPPING_NAME, MFD_CLOEXEC);
    must(fd >= 0 && mmap(NULL, 1, PROT_NONE, MAP_PRIVATE, fd, 0) != MAP_FAILED, "mapping");
    close(fd);
}

// The kernel closes the file in the middle of the execve, and asks the server.
static void play_exec(const Stage *stage) {
    char path[PATH + 8];
    snprintf(path, sizeof path, "%s/entry", stage->files);
    must(open(path, O_RDONLY | O_CLOEXEC) >= 0, "opening a file");
    printf("%d\n", getpid());
    fflush(stdout);
    if (!stage->quiet)
        map();
    execl("/proc/self/exe", "fake_files", (char *)NULL);
    refuse("executing itself");
}

static void play_overlay(const Stage *stage, int server) {
    char options[2 * PATH + 32];
    snprintf(options, sizeof options, "lowerdir=%s/entry:%s", stage->files, stage->empty);
    listen_in(stage->merged);
    must(mount("fake", stage->merged, "overlay", 0, options) == 0, "mounting an overlay");
    must(send(server, "", 1, 0) == 1, "telling the server");
    printf("%d\n", getpid());
    fflush(stdout);
    map();
    pause();
}

static void play(const Stage *stage, int server) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (stage->overlay)
        play_overlay(stage, server);
    else
        play_exec(stage);
    exit(EXIT_SUCCESS);
}

int main(int argc, char **argv) {
    if (argc < 4)
        return EXIT_FAILURE;
    Stage stage = {.device = argv[2],
                   .overlay = strcmp(argv[1], "overlay") == 0,
                   .quiet = strcmp(argv[1], "quiet") == 0};
    snprintf(stage.files, sizeof stage.files, "%s/files", argv[3]);
    snprintf(stage.empty, sizeof stage.empty, "%s/empty", argv[3]);
    snprintf(stage.merged, sizeof stage.merged, "%s/merged", argv[3]);
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "a socket pair");
    stage.holding = ends[0];
    enter_namespaces();
    must(mkdir(stage.files, 0755) == 0 && mkdir(stage.empty, 0755) == 0 &&
             mkdir(stage.merged, 0777) == 0,
         "folders");
    int fuse = mount_files(&stage);
    pid_t server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(&stage, fuse);
    }
    pid_t target = fork();
    if (target == 0) {
        close(fuse);
        play(&stage, ends[1]);
    }
    must(server > 0 && target > 0, "forking");
    close(fuse);
    char byte;
    (void)!read(STDIN_FILENO, &byte, 1);
    kill(server, SIGKILL);
    kill(target, SIGKILL);
    return EXIT_SUCCESS;
}
