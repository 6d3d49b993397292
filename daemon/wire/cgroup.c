// A process is in one cgroup of each hierarchy: /proc/PID/cgroup has a line for each,
// "ID:CONTROLLERS:PATH", the unified one with the ID 0 and no controllers. One of them has to speak
// for all. The kernel refuses a cgroup name with a newline, so a line is a line.
// SPDX-License-Identifier: MIT
#include "cgroup.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { ID_SIZE = 64 };

// How much a path says, more is better. Where systemd has a hierarchy of its own beside the unified
// one, runc moves a container in the former and leaves it in its runtime's service in the latter.
enum { WORTH_NOTHING, WORTH_ROOT, WORTH_CONTROLLER, WORTH_UNIFIED, WORTH_SYSTEMD };

static bool equals(const char *text, size_t size, const char *other) {
    return size == strlen(other) && memcmp(text, other, size) == 0;
}

static int line_worth(const char *line, size_t size, const char **ret_path, size_t *ret_size) {
    const char *end = line + size;
    const char *controllers = memchr(line, ':', size);
    if (!controllers)
        return WORTH_NOTHING;
    controllers++;
    const char *path = memchr(controllers, ':', (size_t)(end - controllers));
    if (!path)
        return WORTH_NOTHING;
    size_t controllers_size = (size_t)(path - controllers);
    path++;
    if (path == end || *path != '/')
        return WORTH_NOTHING;

    *ret_path = path;
    *ret_size = (size_t)(end - path);
    if (*ret_size == 1)
        return WORTH_ROOT;
    if (equals(controllers, controllers_size, "name=systemd"))
        return WORTH_SYSTEMD;
    return controllers_size == 0 ? WORTH_UNIFIED : WORTH_CONTROLLER;
}

int cgroup_path(const char *text, char **ret) {
    const char *best = NULL;
    size_t best_size = 0;
    int best_worth = WORTH_NOTHING;

    // A last line without a newline was cut, and so may its path be.
    const char *end;
    for (const char *line = text; (end = strchr(line, '\n')); line = end + 1) {
        size_t size = (size_t)(end - line);
        const char *path = NULL;
        size_t path_size = 0;
        int worth = line_worth(line, size, &path, &path_size);
        if (worth > best_worth) {
            best = path;
            best_size = path_size;
            best_worth = worth;
        }
    }

    char *copy = NULL;
    if (best) {
        copy = strndup(best, best_size);
        if (!copy)
            return -ENOMEM;
    }
    *ret = copy;
    return 0;
}

// The id in one component: ID, ID.scope, docker-ID.scope, slice:cri-containerd:ID.
static const char *component_id(const char *component, size_t size) {
    static const char scope[] = ".scope";
    size_t scope_size = sizeof scope - 1;
    if (size >= scope_size && memcmp(component + size - scope_size, scope, scope_size) == 0)
        size -= scope_size;
    if (size < ID_SIZE)
        return NULL;

    const char *id = component + size - ID_SIZE;
    if (id > component && id[-1] != '-' && id[-1] != ':')
        return NULL;
    for (size_t i = 0; i < ID_SIZE; i++)
        if (!((id[i] >= '0' && id[i] <= '9') || (id[i] >= 'a' && id[i] <= 'f')))
            return NULL;
    return id;
}

int cgroup_container_id(const char *path, char **ret) {
    const char *id = NULL;
    while (*path != '\0') {
        size_t size = strcspn(path, "/");
        const char *found = component_id(path, size);
        if (found)
            id = found;
        path += size;
        if (*path == '/')
            path++;
    }

    char *copy = NULL;
    if (id) {
        copy = strndup(id, ID_SIZE);
        if (!copy)
            return -ENOMEM;
    }
    *ret = copy;
    return 0;
}
