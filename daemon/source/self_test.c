// That a mechanism attached proves little: there are kernels where a program loads, attaches and is
// never called. No file is made, so the daemon's sandbox may be as tight as it likes.
// SPDX-License-Identifier: MIT
#include "self_test.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cleanup.h"
#include "discovery_names.h"

static int map(void) {
    _cleanup_close_ int fd = memfd_create(DISCOVERY_TESTING_NAME, MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *address = mmap(NULL, size, PROT_NONE, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED)
        return -errno;
    munmap(address, size);
    return 0;
}

// Bound to a name that the kernel makes up.
static int listen_once(void) {
    const struct sockaddr_un address = {.sun_family = AF_UNIX};
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address.sun_family) < 0 ||
        listen(fd, 1) < 0)
        return -errno;
    return 0;
}

int self_test_act(void) {
    int r = map();
    return r < 0 ? r : listen_once();
}

int self_test_begin(SelfTest *test) {
    *test = (SelfTest){0};
    return self_test_act();
}

bool self_test_take(SelfTest *test, const Input *input) {
    if (input->kind != INPUT_SIGNAL || input->signal.key.pid != getpid())
        return false;
    if (input->signal.kind == SIGNAL_MAPPING)
        test->mapping = true;
    else if (input->signal.kind == SIGNAL_LISTEN)
        test->listen = true;
    return true;
}
