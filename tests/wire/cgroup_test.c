// cgroup.c against what real hosts have in /proc/PID/cgroup.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "cgroup.h"
#include "cleanup.h"
#include "exact.h"
#include "macro.h"

#define ID "3f8a1c94be27d05e6b7f2013c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7"
#define POD "9c1e0d2f3b4a5968778695a4b3c2d1e0f9e8d7c6b5a4938271605f4e3d2c1b0a"
#define UID_DASHES "7e44ee88-1e65-4a16-8cdf-9a90c819180e"
#define UID_BARS "7e44ee88_1e65_4a16_8cdf_9a90c819180e"

// A path or an id of NULL: there is none.
static const struct {
    const char *what;
    const char *text;
    const char *path;
    const char *id;
} texts[] = {
    // Containers.
    {"Docker, v1, cgroupfs driver",
     "12:memory:/docker/" ID "\n11:cpu,cpuacct:/docker/" ID "\n1:name=systemd:/docker/" ID "\n",
     "/docker/" ID, ID},
    {"Docker, v1 beside the unified hierarchy: runc does not touch the latter",
     "12:pids:/docker/" ID "\n1:name=systemd:/docker/" ID "\n0::/system.slice/containerd.service\n",
     "/docker/" ID, ID},
    {"Docker, v2, cgroupfs driver", "0::/docker/" ID "\n", "/docker/" ID, ID},
    {"Docker, v2, systemd driver", "0::/system.slice/docker-" ID ".scope\n",
     "/system.slice/docker-" ID ".scope", ID},
    {"Docker, v1, systemd driver",
     "9:devices:/system.slice/docker-" ID ".scope\n1:name=systemd:/system.slice/docker-" ID
     ".scope\n0::/system.slice/docker-" ID ".scope\n",
     "/system.slice/docker-" ID ".scope", ID},
    {"Docker, rootless",
     "0::/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope\n",
     "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope", ID},
    {"Docker in Docker: the inner one", "0::/docker/" POD "/docker/" ID "\n",
     "/docker/" POD "/docker/" ID, ID},
    {"systemd inside Docker", "0::/docker/" ID "/system.slice/app.service\n",
     "/docker/" ID "/system.slice/app.service", ID},
    {"Podman, root", "0::/machine.slice/libpod-" ID ".scope/container\n",
     "/machine.slice/libpod-" ID ".scope/container", ID},
    {"Podman, rootless",
     "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container\n",
     "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container", ID},
    {"Podman, in a pod",
     "0::/machine.slice/machine-libpod_pod_" POD ".slice/libpod-" ID ".scope/container\n",
     "/machine.slice/machine-libpod_pod_" POD ".slice/libpod-" ID ".scope/container", ID},
    {"Podman, cgroupfs driver", "0::/libpod_parent/" POD "/libpod-" ID "\n",
     "/libpod_parent/" POD "/libpod-" ID, ID},
    {"Podman, v1",
     "11:freezer:/machine.slice/libpod-" ID ".scope\n1:name=systemd:/machine.slice/libpod-" ID
     ".scope\n0::/machine.slice/libpod-" ID ".scope\n",
     "/machine.slice/libpod-" ID ".scope", ID},
    {"containerd, namespace default", "0::/default/" ID "\n", "/default/" ID, ID},
    {"nerdctl, systemd driver", "0::/system.slice/nerdctl-" ID ".scope\n",
     "/system.slice/nerdctl-" ID ".scope", ID},
    {"Kubernetes, containerd, cgroupfs driver, v1",
     "11:memory:/kubepods/burstable/pod" UID_DASHES "/" ID
     "\n1:name=systemd:/kubepods/burstable/pod" UID_DASHES "/" ID "\n",
     "/kubepods/burstable/pod" UID_DASHES "/" ID, ID},
    {"Kubernetes, containerd, systemd driver",
     "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_BARS
     ".slice/cri-containerd-" ID ".scope\n",
     "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_BARS
     ".slice/cri-containerd-" ID ".scope",
     ID},
    {"Kubernetes, containerd and kubelet with different drivers",
     "0::/system.slice/containerd.service/kubepods-besteffort-pod" UID_BARS
     ".slice:cri-containerd:" ID "\n",
     "/system.slice/containerd.service/kubepods-besteffort-pod" UID_BARS
     ".slice:cri-containerd:" ID,
     ID},
    {"Kubernetes, CRI-O",
     "0::/kubepods.slice/kubepods-pod" UID_BARS ".slice/crio-" ID ".scope/container\n",
     "/kubepods.slice/kubepods-pod" UID_BARS ".slice/crio-" ID ".scope/container", ID},
    {"Kubernetes in Docker (kind)",
     "0::/system.slice/docker-" POD
     ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_BARS
     ".slice/cri-containerd-" ID ".scope\n",
     "/system.slice/docker-" POD
     ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_BARS
     ".slice/cri-containerd-" ID ".scope",
     ID},
    {"Amazon ECS", "1:name=systemd:/ecs/0a1b2c3d4e5f60718293a4b5c6d7e8f9/" ID "\n",
     "/ecs/0a1b2c3d4e5f60718293a4b5c6d7e8f9/" ID, ID},
    {"AWS Fargate: not an id of a container runtime",
     "0::/ecs/0a1b2c3d4e5f60718293a4b5c6d7e8f9/0a1b2c3d4e5f60718293a4b5c6d7e8f9-2387615840\n",
     "/ecs/0a1b2c3d4e5f60718293a4b5c6d7e8f9/0a1b2c3d4e5f60718293a4b5c6d7e8f9-2387615840", NULL},
    {"nspawn", "0::/machine.slice/systemd-nspawn@debian.service/payload/system.slice/app.service\n",
     "/machine.slice/systemd-nspawn@debian.service/payload/system.slice/app.service", NULL},
    {"LXC", "0::/lxc.payload.web/system.slice/app.service\n",
     "/lxc.payload.web/system.slice/app.service", NULL},

    // No containers.
    {"a unit", "0::/system.slice/app.service\n", "/system.slice/app.service", NULL},
    {"a unit of a template, escaped", "0::/system.slice/system-app.slice/app@a\\x2db.service\n",
     "/system.slice/system-app.slice/app@a\\x2db.service", NULL},
    {"a unit of a user's manager",
     "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app.service\n",
     "/user.slice/user-1000.slice/user@1000.service/app.slice/app.service", NULL},
    {"a session", "0::/user.slice/user-1000.slice/session-2.scope\n",
     "/user.slice/user-1000.slice/session-2.scope", NULL},
    {"a hybrid host",
     "12:rdma:/\n11:memory:/system.slice/app.service\n10:cpuset:/\n"
     "1:name=systemd:/system.slice/app.service\n0::/system.slice/app.service\n",
     "/system.slice/app.service", NULL},
    {"the unified path only", "12:rdma:/\n1:name=systemd:/\n0::/system.slice/app.service\n",
     "/system.slice/app.service", NULL},
    {"the unified path before a controller's",
     "5:memory:/other\n4:cpu:/other\n0::/system.slice/app.service\n", "/system.slice/app.service",
     NULL},
    {"one controller only",
     "9:name=systemd:/\n8:pids:/\n5:devices:/\n4:memory:/jobs/8fd5cb58\n1:cpu:/\n0::/\n",
     "/jobs/8fd5cb58", NULL},
    {"the first of several controllers", "4:memory:/a\n3:cpu:/b\n1:name=openrc:/c\n", "/a", NULL},
    {"no systemd, v1", "3:cpu:/docker/" ID "\n1:name=openrc:/docker\n", "/docker/" ID, ID},
    {"everything in the root", "9:name=systemd:/\n8:pids:/\n0::/\n", "/", NULL},
    {"the root", "0::/\n", "/", NULL},
    {"above the root of a cgroup namespace", "0::/../../system.slice/app.service\n",
     "/../../system.slice/app.service", NULL},
    {"colons in a name", "0::/a:b::c\n", "/a:b::c", NULL},
    {"blanks in a name", "0::/a b/ c\n", "/a b/ c", NULL},
    {"a last line that was cut", "1:cpu:/a\n0::/system.sl", "/a", NULL},

    // Not what the kernel writes.
    {"nothing", "", NULL, NULL},
    {"an empty line", "\n", NULL, NULL},
    {"no colon", "0\n", NULL, NULL},
    {"one colon", "0:/a\n", NULL, NULL},
    {"no path", "0::\n", NULL, NULL},
    {"a path that is not absolute", "0::a\n", NULL, NULL},
    {"a bad line before a good one", "x\n\n0::b\n0::/a\n", "/a", NULL},
};

static void each_text_gives_its_path_and_id(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++) {
        _cleanup_free_ char *path = NULL, *id = NULL;
        assert_int_equal(cgroup_path(texts[i].text, &path), 0);
        if (!texts[i].path != !path || (path && strcmp(path, texts[i].path) != 0))
            fail_msg("%s: path %s", texts[i].what, path ? path : "none");
        if (!path)
            continue;
        assert_int_equal(cgroup_container_id(path, &id), 0);
        if (!texts[i].id != !id || (id && strcmp(id, texts[i].id) != 0))
            fail_msg("%s: id %s", texts[i].what, id ? id : "none");
    }
}

static void each_text_may_end_anywhere(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++) {
        for (size_t size = 0; size < strlen(texts[i].text); size++) {
            _cleanup_free_ char *text = exact_text(texts[i].text, size), *path = NULL, *id = NULL;
            assert_int_equal(cgroup_path(text, &path), 0);
            if (!path)
                continue;
            assert_int_equal(path[0], '/');
            // Torn, it has a path of a line that is whole.
            char *found = strstr(text, path);
            assert_non_null(found);
            assert_non_null(strchr(found, '\n'));
            assert_int_equal(cgroup_container_id(path, &id), 0);
            if (id)
                assert_int_equal(strlen(id), 64);
        }
    }
}

static void an_id_is_64_lower_case_digits_at_the_end_of_a_component(void **state) {
    (void)state;
    static const struct {
        const char *path;
        const char *id;
    } paths[] = {
        {ID, ID},
        {"/" ID, ID},
        {"/" ID "/", ID},
        {"/" ID ".scope", ID},
        {"/a-b-" ID ".scope", ID},
        {"/a:b:" ID, ID},
        {"/" POD "/" ID "/x", ID},
        {"", NULL},
        {"/", NULL},
        {"/.scope", NULL},
        {"/docker" ID, NULL},
        {"/docker_" ID ".scope", NULL},
        {"/a" ID, NULL},
        {"/" ID "a", NULL},
        {"/" ID ".service", NULL},
        {"/" ID "-x.scope", NULL},
        {"/3F8A1C94BE27D05E6B7F2013C4D5E6F708192A3B4C5D6E7F8091A2B3C4D5E6F7", NULL},
        {"/3f8a1c94be27d05e6b7f2013c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f", NULL},
        {"/3f8a1c94be27d05e6b7f2013c4d5e6f/08192a3b4c5d6e7f8091a2b3c4d5e6f7", NULL},
        {"/3f8a1c94be27d05e6b7f2013c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6fg", NULL},
    };
    for (size_t i = 0; i < ELEMENTS_OF(paths); i++) {
        _cleanup_free_ char *id = NULL;
        assert_int_equal(cgroup_container_id(paths[i].path, &id), 0);
        if (!paths[i].id != !id || (id && strcmp(id, paths[i].id) != 0))
            fail_msg("%s: id %s", paths[i].path, id ? id : "none");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_text_gives_its_path_and_id),
        cmocka_unit_test(each_text_may_end_anywhere),
        cmocka_unit_test(an_id_is_64_lower_case_digits_at_the_end_of_a_component),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
