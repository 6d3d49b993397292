// The program executes itself, so that no other has to be found.
// SPDX-License-Identifier: MIT
#include "mapper.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "discovery_names.h"

void mapper_execute(int control) {
    char number[16];
    snprintf(number, sizeof number, "%d", control);
    MUST(fcntl(control, F_SETFD, 0) == 0);
    execl("/proc/self/exe", "mapper", "mapper", number, (char *)NULL);
    MUST(false);
}

void mapper_map(__attribute__((unused)) int control, __attribute__((unused)) const void *argument) {
    map_named(DISCOVERY_MAPPING_NAME, PROT_NONE);
}

void mapper_map_and_execute(int control, const void *argument) {
    mapper_map(control, argument);
    child_pause(control);
    mapper_execute(control);
}

bool mapper_main(int argc, char *argv[]) {
    if (argc != 3 || strcmp(argv[1], "mapper") != 0)
        return false;
    int control = atoi(argv[2]);
    mapper_map(control, NULL);
    child_pause(control);
    return true;
}
