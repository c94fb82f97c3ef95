/* doctor_machine.c - checks what may prevent a process from using its device: files that it may not open, a kernel that
 * does not let it place memory, another library that answers driver calls before spillway does. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "doctor.h"
#include "past.h"
#include "shown.h"

#define SECTION "machine"
#define LOADED  "/proc/driver/nvidia/version" /* exists while the kernel has loaded NVIDIA's driver */

enum { MOST_DEVICES = 16, NOT_THERE = -1 };

/* ---- files ---- */

/* Returns 0, an error number, or NOT_THERE. */
static int try_to_open(const char *path, int flags)
{
    const int file = open(path, flags | O_CLOEXEC);
    if (file >= 0) {
        close(file);
        return 0;
    }
    return errno == ENOENT || errno == ENOTDIR ? NOT_THERE : errno;
}

static void advise_access(struct facts *facts, const char *path, int error)
{
    char line[200];
    facts_problem(facts, SECTION, "%s may not be opened here: %s", path, strerror(error));
    snprintf(line, sizeof(line), "sudo usermod -aG \"$(stat -c %%G %s)\" \"$USER\"   # then log in anew", path);
    facts_advise(facts, line,
                 "the driver needs %s; in a container it has to be started with the device (docker run --gpus all)", path);
}

/* Returns true if there are any. */
static bool look_at_nodes(struct facts *facts, json_t *names)
{
    char path[64];
    for (int i = -2; i < MOST_DEVICES; i++) {
        snprintf(path, sizeof(path), i < -1 ? "/dev/nvidiactl" : i < 0 ? "/dev/nvidia-uvm" : "/dev/nvidia%d", i);
        const int r = try_to_open(path, O_RDWR);
        if (r == NOT_THERE)
            continue;
        (void)json_array_append_new(names, json_string(path));
        if (r == EACCES || r == EPERM)
            advise_access(facts, path, r);
    }
    return json_array_size(names) > 0;
}

static void add_nodes(struct facts *facts)
{
    json_t *names = json_array();
    const bool is_loaded = try_to_open(LOADED, O_RDONLY) == 0, any = look_at_nodes(facts, names);
    const size_t count = json_array_size(names);
    facts_add(facts, SECTION, "kernel_driver", json_boolean(is_loaded), "NVIDIA's kernel driver",
              is_loaded ? "loaded" : "not loaded");
    facts_add(facts, SECTION, "nodes", names, "files of devices", "%zu in /dev", count);
    if (!is_loaded || any)
        return;
    facts_problem(facts, SECTION, "the kernel has NVIDIA's driver, and /dev has no device of it");
    facts_advise(facts, "sudo nvidia-modprobe -c0 -u   # a container: docker run --gpus all ...",
                 "no program here reaches a device");
}

/* ---- placing memory ---- */

/* Tries to say where memory should be placed, which some containers forbid. */
static void add_memory_policy(struct facts *facts)
{
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
    const int r = syscall(SYS_mbind, page, bytes, 0, NULL, 0, 0) == 0 ? 0 : errno;
    munmap(page, bytes);
    facts_add(facts, SECTION, "memory_policy", json_boolean(r == 0), "memory can be placed", "%s",
              r == 0 ? "yes" : strerror(r));
    if (r == EPERM)
        facts_advise(
            facts, "docker run --cap-add SYS_NICE ...   # or whatever starts this container",
            "the kernel lets nobody here say on which node memory is to lie: host memory of tensors may lie far from "
            "the device, and copies take longer");
}

/* ---- other libraries ---- */

/* Tries the order of libraries that the user has, if the user preloads ours by hand; else the order that the command
 * would make. */
static enum past_way try_both(const char *library)
{
    const char *preloaded = getenv("LD_PRELOAD");
    return past_which_way(preloaded && strstr(preloaded, "libspillway") ? NULL : library);
}

static void add_other_library(struct facts *facts, const char *library)
{
    char path[PATH_MAX];
    const bool is_other = past_other_library(path, sizeof(path));
    const enum past_way way = is_other && library ? try_both(library) : PAST_UNKNOWN;
    facts_add(facts, SECTION, "preloaded_driver", is_other ? shown_string(path) : NULL, "other preloaded driver", "%s%s",
              is_other ? path : "none",
              way == PAST_NOT                ? "; calls come to spillway first"
              : is_other && way != PAST_OURS ? "; whether calls come to spillway cannot be tried here"
                                             : "");
    if (way != PAST_OURS)
        return;
    facts_problem(facts, SECTION, "%s is preloaded and takes the driver's calls past spillway", path);
    facts_advise(facts, "unset LD_PRELOAD",
                 "of two libraries that stand in front of the driver one sees only what the other lets through, here "
                 "nothing: spillway run refuses to start with a budget, and without the command none is kept");
}

void doctor_machine(struct facts *facts, const char *library)
{
    add_nodes(facts);
    add_memory_policy(facts);
    add_other_library(facts, library);
}
