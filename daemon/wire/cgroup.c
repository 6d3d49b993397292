// A process is in one cgroup of each hierarchy: /proc/PID/cgroup has a line for each,
// "ID:CONTROLLERS:PATH", the unified one with the ID 0 and no controllers. One of them has to speak
// for all. The kernel refuses a cgroup name with a newline, so a line is a line.
//
// No container manager registers its containers with the kernel: the names that they give to their
// cgroups are all there is, and whoever may make a cgroup may name it so too. Paths in it can begin
// with "/..", where the reader is in a cgroup namespace that does not hold the process: the end
// that has the name is there all the same.
// SPDX-License-Identifier: MIT
#include "cgroup.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"

enum { ID_SIZE = 64 };

// How much a path says, more is better. Where systemd has a hierarchy of its own beside the unified
// one, runc moves a container in the former and leaves it in its runtime's service in the latter.
enum { WORTH_NOTHING, WORTH_ROOT, WORTH_CONTROLLER, WORTH_UNIFIED, WORTH_SYSTEMD };

// A piece of the text.
typedef struct Part {
    const char *start; // NULL: none
    size_t size;
} Part;

static bool equals(Part part, const char *other) {
    return part.size == strlen(other) && memcmp(part.start, other, part.size) == 0;
}

static bool starts_with(Part part, const char *prefix) {
    return part.size >= strlen(prefix) && memcmp(part.start, prefix, strlen(prefix)) == 0;
}

static bool ends_with(Part part, const char *suffix) {
    size_t size = strlen(suffix);
    return part.size >= size && memcmp(part.start + part.size - size, suffix, size) == 0;
}

static int line_worth(Part line, Part *ret_path) {
    const char *end = line.start + line.size;
    const char *controllers = memchr(line.start, ':', line.size);
    if (!controllers)
        return WORTH_NOTHING;
    controllers++;
    const char *path = memchr(controllers, ':', (size_t)(end - controllers));
    if (!path)
        return WORTH_NOTHING;
    Part hierarchy = {controllers, (size_t)(path - controllers)};
    path++;
    if (path == end || *path != '/')
        return WORTH_NOTHING;

    *ret_path = (Part){path, (size_t)(end - path)};
    if (ret_path->size == 1)
        return WORTH_ROOT;
    if (equals(hierarchy, "name=systemd"))
        return WORTH_SYSTEMD;
    return hierarchy.size == 0 ? WORTH_UNIFIED : WORTH_CONTROLLER;
}

// The best path, or what is wanted of each, of the best that has it.
static Part best_of(const char *text, Part (*wanted)(Part path)) {
    Part best = {0};
    int best_worth = WORTH_NOTHING;

    // A last line without a newline was cut, and so may its path be.
    const char *end;
    for (const char *line = text; (end = strchr(line, '\n')); line = end + 1) {
        Part path = {0};
        int worth = line_worth((Part){line, (size_t)(end - line)}, &path);
        if (worth <= best_worth)
            continue;
        if (wanted)
            path = wanted(path);
        if (path.start) {
            best = path;
            best_worth = worth;
        }
    }
    return best;
}

static int copy_part(Part part, char **ret) {
    char *copy = NULL;
    if (part.start) {
        copy = strndup(part.start, part.size);
        if (!copy)
            return -ENOMEM;
    }
    *ret = copy;
    return 0;
}

int cgroup_path(const char *text, char **ret) {
    return copy_part(best_of(text, NULL), ret);
}

// ID, ID.scope, docker-ID.scope, libpod-payload-ID, slice:cri-containerd:ID. A conmon is what looks
// after a container, from outside.
static Part id_in(Part component) {
    static const char scope[] = ".scope";
    if (ends_with(component, scope))
        component.size -= sizeof scope - 1;
    if (component.size < ID_SIZE)
        return (Part){0};

    Part id = {component.start + component.size - ID_SIZE, ID_SIZE};
    component.size -= ID_SIZE;
    if (component.size > 0 && !ends_with(component, "-") && !ends_with(component, ":"))
        return (Part){0};
    if (ends_with(component, "-conmon-"))
        return (Part){0};
    for (size_t i = 0; i < ID_SIZE; i++)
        if (!((id.start[i] >= '0' && id.start[i] <= '9') ||
              (id.start[i] >= 'a' && id.start[i] <= 'f')))
            return (Part){0};
    return id;
}

// Of those that have a name in place of an id.
static Part name_in(Part parent, Part component) {
    static const struct {
        const char *parent; // NULL: any
        const char *prefix;
        const char *suffix;
    } forms[] = {
        {"machine.slice", "machine-", ".scope"}, // as systemd-machined names a scope for it
        {NULL, "systemd-nspawn@", ".service"},   // machinectl start
        {NULL, "lxc.payload.", ""},              // LXC 4
        {"lxc.payload", "", ""},                 // LXC 3.1
        {"lxc", "", ""},                         // LXC before that
    };
    for (size_t i = 0; i < ELEMENTS_OF(forms); i++) {
        size_t prefix = strlen(forms[i].prefix), suffix = strlen(forms[i].suffix);
        if ((!forms[i].parent || equals(parent, forms[i].parent)) &&
            component.size > prefix + suffix && starts_with(component, forms[i].prefix) &&
            ends_with(component, forms[i].suffix))
            return (Part){component.start + prefix, component.size - prefix - suffix};
    }
    return (Part){0};
}

// The innermost, where one is in another.
static Part container_in(Part path) {
    Part found = {0}, parent = {0};
    const char *end = path.start + path.size;
    for (const char *p = path.start; p < end;) {
        const char *slash = memchr(p, '/', (size_t)(end - p));
        Part component = {p, (size_t)((slash ? slash : end) - p)};
        Part container = id_in(component);
        if (!container.start)
            container = name_in(parent, component);
        if (container.start)
            found = container;
        parent = component;
        p += component.size + 1;
    }
    return found;
}

// Of what systemd escapes in a unit's name a machine's name can have only one character.
static void unescape(char *name) {
    static const char escaped[] = "\\x2d";
    for (char *p = name; (p = strstr(p, escaped)); p++) {
        *p = '-';
        memmove(p + 1, p + sizeof escaped - 1, strlen(p + sizeof escaped - 1) + 1);
    }
}

int cgroup_container(const char *text, char **ret) {
    char *container;
    int r = copy_part(best_of(text, container_in), &container);
    if (r < 0)
        return r;
    if (container)
        unescape(container);
    *ret = container;
    return 0;
}
