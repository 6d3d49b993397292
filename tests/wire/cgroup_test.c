// cgroup.c against what real hosts have in /proc/PID/cgroup.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "cgroup.h"
#include "cleanup.h"
#include "exact.h"
#include "macro.h"

#define ID "3f8a1c94be27d05e6b7f2013c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7"
#define POD "9c1e0d2f3b4a5968778695a4b3c2d1e0f9e8d7c6b5a4938271605f4e3d2c1b0a"
#define UID_DASHES "7e44ee88-1e65-4a16-8cdf-9a90c819180e"
#define UID_BARS "7e44ee88_1e65_4a16_8cdf_9a90c819180e"

// A path or a container of NULL: there is none. Where somebody has shown such a text in public, it
// is told where; ids are made up, what is around them is not.
static const struct {
    const char *what;
    const char *text;
    const char *path;
    const char *container;
} texts[] = {
    // Containers.
    {"Docker, v1, cgroupfs driver (open-telemetry/opentelemetry-go#3633)",
     "12:memory:/docker/" ID "\n11:cpu,cpuacct:/docker/" ID
     "\n10:rdma:/\n1:name=systemd:/docker/" ID "\n",
     "/docker/" ID, ID},
    {"Docker, v1 beside the unified hierarchy, which runc does not touch (ctrsploit/ctrsploit#280)",
     "12:pids:/docker/" ID "\n1:name=systemd:/docker/" ID "\n0::/system.slice/containerd.service\n",
     "/docker/" ID, ID},
    {"Docker, v1, in a container that systemd's hierarchy knows nothing of "
     "(kubernetes/kubernetes#18202)",
     "9:perf_event:/docker/" ID "\n5:memory:/docker/" ID
     "\n1:name=systemd:/system.slice/docker.service\n",
     "/system.slice/docker.service", ID},
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
    {"Docker in Docker: the inner one (kata-containers/cgroups-rs#131)",
     "11:pids:/docker/" POD "/docker/" ID "\n", "/docker/" POD "/docker/" ID, ID},
    {"Docker in Docker, the outer one by systemd (jpetazzo/dind#87)",
     "0::/system.slice/docker-" POD ".scope/docker/" ID "\n",
     "/system.slice/docker-" POD ".scope/docker/" ID, ID},
    {"systemd inside Docker", "0::/docker/" ID "/system.slice/app.service\n",
     "/docker/" ID "/system.slice/app.service", ID},
    {"Podman, root", "0::/machine.slice/libpod-" ID ".scope/container\n",
     "/machine.slice/libpod-" ID ".scope/container", ID},
    {"Podman, rootless (containers/podman#29582)",
     "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container\n",
     "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container", ID},
    {"Podman, in a pod (containers/podman#13673)",
     "0::/machine.slice/machine-libpod_pod_" POD ".slice/libpod-" ID ".scope/container\n",
     "/machine.slice/machine-libpod_pod_" POD ".slice/libpod-" ID ".scope/container", ID},
    {"Podman, in a unit, --cgroups=split (containers/podman#16589)",
     "0::/system.slice/app.service/libpod-payload-" ID "\n",
     "/system.slice/app.service/libpod-payload-" ID, ID},
    {"Podman, in a unit of a user",
     "0::/user.slice/user-1000.slice/user@1000.service/app.slice/"
     "app.service/libpod-payload-" ID "\n",
     "/user.slice/user-1000.slice/user@1000.service/app.slice/app.service/libpod-payload-" ID, ID},
    {"Podman, what is beside the container in such a unit",
     "0::/system.slice/app.service/runtime\n", "/system.slice/app.service/runtime", NULL},
    {"Podman, what looks after a container (containers/podman#4380)",
     "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-conmon-" ID ".scope\n",
     "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-conmon-" ID ".scope", NULL},
    {"Podman, cgroupfs driver (containers/podman#7004)",
     "0::/libpod_parent/libpod-" POD "/libpod-" ID "\n", "/libpod_parent/libpod-" POD "/libpod-" ID,
     ID},
    {"Podman, v1",
     "11:freezer:/machine.slice/libpod-" ID ".scope\n1:name=systemd:/machine.slice/libpod-" ID
     ".scope\n0::/machine.slice/libpod-" ID ".scope\n",
     "/machine.slice/libpod-" ID ".scope", ID},
    {"Podman, its user's own namespace outside of a container (containers/crun#376)",
     "0::/user.slice/user-1000.slice/user@1000.service/user.slice/podman-6696.scope\n",
     "/user.slice/user-1000.slice/user@1000.service/user.slice/podman-6696.scope", NULL},
    {"containerd, namespace default", "0::/default/" ID "\n", "/default/" ID, ID},
    {"nerdctl, systemd driver", "0::/system.slice/nerdctl-" ID ".scope\n",
     "/system.slice/nerdctl-" ID ".scope", ID},
    {"Kubernetes, cgroupfs driver, v1 (DrAuYueng in iovisor/kubectl-trace#207)",
     "11:memory:/kubepods/burstable/pod" UID_DASHES "/" ID
     "\n1:name=systemd:/kubepods/burstable/pod" UID_DASHES "/" ID "\n",
     "/kubepods/burstable/pod" UID_DASHES "/" ID, ID},
    {"Kubernetes, a guaranteed pod, cgroupfs driver", "0::/kubepods/pod" UID_DASHES "/" ID "\n",
     "/kubepods/pod" UID_DASHES "/" ID, ID},
    {"Kubernetes, containerd, systemd driver (iovisor/kubectl-trace#174)",
     "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_BARS
     ".slice/cri-containerd-" ID ".scope\n",
     "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_BARS
     ".slice/cri-containerd-" ID ".scope",
     ID},
    {"Kubernetes, a static pod, whose uid is a hash (netdata/netdata#4868)",
     "0::/kubepods.slice/kubepods-burstable.slice/"
     "kubepods-burstable-pod8daa50c3a64c9ff60bb9eab7b44b56fd.slice/cri-containerd-" ID ".scope\n",
     "/kubepods.slice/kubepods-burstable.slice/"
     "kubepods-burstable-pod8daa50c3a64c9ff60bb9eab7b44b56fd.slice/cri-containerd-" ID ".scope",
     ID},
    {"Kubernetes, containerd and kubelet with different drivers (elastic/apm-agent-nodejs#3550)",
     "1:name=systemd:/system.slice/containerd.service/kubepods-besteffort-pod" UID_BARS
     ".slice:cri-containerd:" ID "\n",
     "/system.slice/containerd.service/kubepods-besteffort-pod" UID_BARS
     ".slice:cri-containerd:" ID,
     ID},
    {"Kubernetes, the same without a service (open-telemetry/opentelemetry-java#4507)",
     "11:perf_event:/kubepods-besteffort-pod" UID_BARS ".slice:cri-containerd:" ID "\n",
     "/kubepods-besteffort-pod" UID_BARS ".slice:cri-containerd:" ID, ID},
    {"Kubernetes, Docker, systemd driver (kontena/pharos-cluster#440)",
     "1:name=systemd:/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_BARS
     ".slice/docker-" ID ".scope\n",
     "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_BARS
     ".slice/docker-" ID ".scope",
     ID},
    {"Kubernetes, CRI-O, v1, an unknown hierarchy among its own (opencontainers/runc#4620)",
     "13:freezer:/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_BARS
     ".slice/crio-" ID ".scope\n11:files:/\n10:hugetlb:/kubepods.slice/kubepods-burstable.slice/"
     "kubepods-burstable-pod" UID_BARS ".slice/crio-" ID ".scope\n",
     "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_BARS ".slice/crio-" ID
     ".scope",
     ID},
    {"Kubernetes, CRI-O with crun",
     "0::/kubepods.slice/kubepods-pod" UID_BARS ".slice/crio-" ID ".scope/container\n",
     "/kubepods.slice/kubepods-pod" UID_BARS ".slice/crio-" ID ".scope/container", ID},
    {"Kubernetes, CRI-O, a sandbox (containerd/nri#227)",
     "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_BARS
     ".slice/crio-" ID "\n",
     "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_BARS ".slice/crio-" ID,
     ID},
    {"Kubernetes, CRI-O, what looks after a container (cri-o/cri-o#811)",
     "0::/kubepods.slice/kubepods-pod" UID_BARS ".slice/crio-conmon-" ID ".scope\n",
     "/kubepods.slice/kubepods-pod" UID_BARS ".slice/crio-conmon-" ID ".scope", NULL},
    {"Kubernetes in Docker (kind)",
     "0::/system.slice/docker-" POD
     ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_BARS
     ".slice/cri-containerd-" ID ".scope\n",
     "/system.slice/docker-" POD
     ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_BARS
     ".slice/cri-containerd-" ID ".scope",
     ID},
    {"Kubernetes in Docker, the node's own service (kubernetes/minikube#11280)",
     "0::/docker/" ID "/kubelet.slice/kubelet.service\n",
     "/docker/" ID "/kubelet.slice/kubelet.service", ID},
    {"Amazon ECS (DataDog/dd-trace-dotnet#1286)",
     "2:memory:/ecs/55091c13-b8cf-4801-b527-f4601742204d/" ID
     "\n1:name=systemd:/ecs/55091c13-b8cf-4801-b527-f4601742204d/" ID "\n",
     "/ecs/55091c13-b8cf-4801-b527-f4601742204d/" ID, ID},
    {"AWS Fargate, where nobody sees more than a task: a task and a number "
     "(open-telemetry/opentelemetry-js-contrib#2855)",
     "0::/ecs/0a1b2c3d4e5f60718293a4b5c6d7e8f9/0a1b2c3d4e5f60718293a4b5c6d7e8f9-2387615840\n",
     "/ecs/0a1b2c3d4e5f60718293a4b5c6d7e8f9/0a1b2c3d4e5f60718293a4b5c6d7e8f9-2387615840", NULL},

    // Seen by a daemon in a cgroup namespace of its own.
    {"from within a container, itself", "0::/\n", "/", NULL},
    {"from within a container, a neighbour (inspektor-gadget/inspektor-gadget#3085)",
     "0::/../../../kubepods-burstable.slice/kubepods-burstable-pod" UID_BARS
     ".slice/cri-containerd-" ID ".scope\n",
     "/../../../kubepods-burstable.slice/kubepods-burstable-pod" UID_BARS
     ".slice/cri-containerd-" ID ".scope",
     ID},
    {"from within a container, another of the same Docker", "0::/../" ID "\n", "/../" ID, ID},
    {"from within a container, a unit of the host", "0::/../../system.slice/app.service\n",
     "/../../system.slice/app.service", NULL},

    // Machines. Their names are like host names.
    {"nspawn as a service", "0::/machine.slice/systemd-nspawn@debian.service/payload/init.scope\n",
     "/machine.slice/systemd-nspawn@debian.service/payload/init.scope", "debian"},
    {"nspawn as a service, a unit in it",
     "0::/machine.slice/systemd-nspawn@a-b.c.service/payload/system.slice/app.service\n",
     "/machine.slice/systemd-nspawn@a-b.c.service/payload/system.slice/app.service", "a-b.c"},
    {"nspawn from a shell (systemd/systemd#18104)",
     "0::/machine.slice/machine-debian.scope/payload/system.slice/app.service\n",
     "/machine.slice/machine-debian.scope/payload/system.slice/app.service", "debian"},
    {"nspawn from a shell, v1, where it has no payload",
     "1:name=systemd:/machine.slice/machine-my\\x2dweb\\x2d1.scope/system.slice/app.service\n",
     "/machine.slice/machine-my\\x2dweb\\x2d1.scope/system.slice/app.service", "my-web-1"},
    {"nspawn that is not registered, in a unit as it was (systemd/systemd#16796)",
     "0::/user.slice/user-1001.slice/user@1001.service/leaky.scope/payload/system.slice/"
     "a.service\n",
     "/user.slice/user-1001.slice/user@1001.service/leaky.scope/payload/system.slice/a.service",
     NULL},
    {"Docker in nspawn",
     "0::/machine.slice/systemd-nspawn@debian.service/payload/system.slice/docker-" ID ".scope\n",
     "/machine.slice/systemd-nspawn@debian.service/payload/system.slice/docker-" ID ".scope", ID},
    {"nspawn in Docker",
     "0::/docker/" ID "/machine.slice/machine-web.scope/payload/system.slice/app.service\n",
     "/docker/" ID "/machine.slice/machine-web.scope/payload/system.slice/app.service", "web"},
    {"a scope that is called alike", "0::/system.slice/machine-web.scope\n",
     "/system.slice/machine-web.scope", NULL},
    {"a machine without a name", "0::/machine.slice/machine-.scope\n",
     "/machine.slice/machine-.scope", NULL},
    {"what else is escaped stays as it is", "0::/machine.slice/machine-\\x2f\\x2.scope\n",
     "/machine.slice/machine-\\x2f\\x2.scope", "\\x2f\\x2"},
    {"LXC (liske/needrestart#238)", "0::/lxc.payload.focal/system.slice/avahi-daemon.service\n",
     "/lxc.payload.focal/system.slice/avahi-daemon.service", "focal"},
    {"LXC 3.1 (lxc/lxc#2782)", "1:name=systemd:/lxc.payload/web/system.slice/app.service\n",
     "/lxc.payload/web/system.slice/app.service", "web"},
    {"LXC before (cloudfoundry/bpm-release#109)", "11:hugetlb:/lxc/my-container\n",
     "/lxc/my-container", "my-container"},
    {"LXC, what looks after a container (lxc/incus#3684)", "0::/lxc.monitor.web\n",
     "/lxc.monitor.web", NULL},

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

static void each_text_gives_its_path_and_container(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++) {
        _cleanup_free_ char *path = NULL, *container = NULL;
        assert_int_equal(cgroup_path(texts[i].text, &path), 0);
        if (!texts[i].path != !path || (path && strcmp(path, texts[i].path) != 0))
            fail_msg("%s: path %s", texts[i].what, path ? path : "none");
        assert_int_equal(cgroup_container(texts[i].text, &container), 0);
        if (!texts[i].container != !container ||
            (container && strcmp(container, texts[i].container) != 0))
            fail_msg("%s: container %s", texts[i].what, container ? container : "none");
    }
}

static void each_text_may_end_anywhere(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++) {
        for (size_t size = 0; size < strlen(texts[i].text); size++) {
            _cleanup_free_ char *text = exact_text(texts[i].text, size), *path = NULL,
                                *container = NULL;
            assert_int_equal(cgroup_path(text, &path), 0);
            assert_int_equal(cgroup_container(text, &container), 0);
            if (!path) {
                assert_null(container);
                continue;
            }
            assert_int_equal(path[0], '/');
            // Torn, it has a path of a line that is whole, and a container that it had before.
            char *found = strstr(text, path);
            assert_non_null(found);
            assert_non_null(strchr(found, '\n'));
            if (container)
                assert_string_equal(container, texts[i].container);
        }
    }
}

static void an_id_is_64_lower_case_digits_at_the_end_of_a_component(void **state) {
    (void)state;
    static const struct {
        const char *path;
        const char *id;
    } paths[] = {
        {"/" ID, ID},
        {"/" ID "/", ID},
        {"/" ID ".scope", ID},
        {"/a-b-" ID ".scope", ID},
        {"/a:b:" ID, ID},
        {"/" POD "/" ID "/x", ID},
        {"/", NULL},
        {"//", NULL},
        {"/-conmon-" ID, NULL},
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
        char text[512];
        snprintf(text, sizeof text, "0::%s\n", paths[i].path);
        _cleanup_free_ char *id = NULL;
        assert_int_equal(cgroup_container(text, &id), 0);
        if (!paths[i].id != !id || (id && strcmp(id, paths[i].id) != 0))
            fail_msg("%s: id %s", paths[i].path, id ? id : "none");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_text_gives_its_path_and_container),
        cmocka_unit_test(each_text_may_end_anywhere),
        cmocka_unit_test(an_id_is_64_lower_case_digits_at_the_end_of_a_component),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
