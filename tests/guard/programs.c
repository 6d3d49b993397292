// guard_programs PID: the kernel programs that this process keeps attached, a line each: name, and
// how many instructions the kernel's verifier walked until it had proved it (0 where this kernel
// does not tell, before 5.16).
// SPDX-License-Identifier: MIT
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cleanup.h"

DEFINE_CLEANUP(DIR *, closedir);

// The program behind a descriptor that is a link, 0 for any other.
static unsigned linked_program(const char *path) {
    _cleanup_(fclosep) FILE *file = fopen(path, "re");
    char line[256];
    bool link = false;
    unsigned id = 0;
    while (file && fgets(line, sizeof line, file)) {
        unsigned number;
        link |= sscanf(line, "link_id: %u", &number) == 1;
        if (sscanf(line, "prog_id: %u", &number) == 1)
            id = number;
    }
    return link ? id : 0;
}

static int print_program(unsigned id) {
    struct bpf_prog_info info = {0};
    unsigned size = sizeof info;
    _cleanup_close_ int fd = bpf_prog_get_fd_by_id(id);
    if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) < 0) {
        fprintf(stderr, "The kernel tells nothing of program %u.\n", id);
        return 1;
    }
    printf("%s %u\n", info.name, info.verified_insns);
    return 0;
}

int main(int argc, char *argv[]) {
    char path[64];
    if (argc != 2)
        return 2;
    snprintf(path, sizeof path, "/proc/%s/fdinfo", argv[1]);
    _cleanup_(closedirp) DIR *folder = opendir(path);
    if (!folder) {
        perror(path);
        return 1;
    }
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char file[sizeof path + sizeof entry->d_name];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        unsigned id = linked_program(file);
        if (id > 0 && print_program(id) != 0)
            return 1;
    }
    return 0;
}
