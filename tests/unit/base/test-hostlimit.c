/* test-hostlimit.c - what may be pinned, read from folders of sample files that stand for machines and containers. */
/* promise: host-budget */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hostlimit.h"

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

static char root[] = "/tmp/spillway-hostlimit-XXXXXX";

static int make_root(void **state)
{
    memcpy(root + sizeof(root) - 7, "XXXXXX", 7);
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    return remove(path);
}

static int remove_root(void **state)
{
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Writes a file below the root, and the folders above it. */
static void file_has(const char *name, const char *text)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_true(length < (int)sizeof(path));
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(path, 0777) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void machine_has(int64_t available_bytes)
{
    char text[300];
    snprintf(
        text, sizeof(text),
        "MemTotal:       263982344 kB\nMemFree:        11111 kB\nMemAvailable:   %lld kB\nBuffers:            1776 kB\n",
        (long long)available_bytes / 1024);
    file_has("proc/meminfo", text);
}

/* A group of version 2 below sys/fs/cgroup; NULL: the file isn't there. */
static void group_has(const char *group, const char *max, const char *current, const char *inactive_file)
{
    char name[200], text[200];
    snprintf(name, sizeof(name), "sys/fs/cgroup%s/memory.max", group);
    if (max != NULL)
        file_has(name, max);
    snprintf(name, sizeof(name), "sys/fs/cgroup%s/memory.current", group);
    if (current != NULL)
        file_has(name, current);
    snprintf(name, sizeof(name), "sys/fs/cgroup%s/memory.stat", group);
    snprintf(text, sizeof(text), "anon 1\nfile 999999999\ninactive_anon 77\ninactive_file %s\nactive_file 5\n",
             inactive_file);
    if (inactive_file != NULL)
        file_has(name, text);
}

static int64_t of_cgroups(void)
{
    struct spw_hostlimit limit;
    spw_hostlimit_read(root, &limit);
    return limit.cgroup_bytes;
}

static void without_groups_the_machine_alone_counts(void **state)
{
    machine_has(100 * GIB);
    struct spw_hostlimit limit;
    spw_hostlimit_read(root, &limit);
    assert_true(limit.machine_bytes == 100 * GIB);
    assert_true(limit.cgroup_bytes == SPW_HOSTLIMIT_UNKNOWN);
    assert_true(spw_hostlimit_available(root) == 100 * GIB);
}

static void an_empty_folder_says_nothing(void **state)
{
    assert_true(spw_hostlimit_available(root) == SPW_HOSTLIMIT_UNKNOWN);
    assert_true(spw_hostlimit_available("/nowhere/at/all") == SPW_HOSTLIMIT_UNKNOWN);
}

static void a_kernel_without_memavailable_is_asked_for_memfree(void **state)
{
    file_has("proc/meminfo", "MemTotal:  1000 kB\nMemFree:  600 kB\n");
    assert_true(spw_hostlimit_available(root) == 600 * 1024);
}

/* A pod whose own group has 8 GiB, 6 of them used, 1 of which is cache that can go. */
static void a_group_leaves_its_limit_less_use_plus_idle_file_pages(void **state)
{
    machine_has(100 * GIB);
    file_has("proc/self/cgroup", "0::/kubepods/pod1\n");
    group_has("/kubepods/pod1", "8589934592\n", "6442450944\n", "1073741824");
    assert_true(of_cgroups() == 3 * GIB);
    assert_true(spw_hostlimit_available(root) == 3 * GIB);
    machine_has(2 * GIB);
    assert_true(spw_hostlimit_available(root) == 2 * GIB);
}

static void every_group_above_counts_too(void **state)
{
    file_has("proc/self/cgroup", "0::/a/b/c\n");
    group_has("/a/b/c", "max\n", "1048576\n", "0");
    group_has("/a/b", "10485760\n", "1048576\n", "0");
    assert_true(of_cgroups() == 9 * MIB);
    group_has("/a", "8388608\n", "2097152\n", "1048576");
    assert_true(of_cgroups() == 7 * MIB);
    group_has("", "6291456\n", "2097152\n", "0");
    assert_true(of_cgroups() == 4 * MIB);
    group_has("/a/b/c", "3145728\n", "1048576\n", "0");
    assert_true(of_cgroups() == 2 * MIB);
}

/* The group is named as the host names it, while its files lie at the top of what the container sees. */
static void in_a_container_the_top_of_the_mount_is_found(void **state)
{
    file_has("proc/self/cgroup", "0::/system.slice/docker-0123456789abcdef.scope\n");
    group_has("", "4294967296\n", "1073741824\n", "0");
    assert_true(of_cgroups() == 3 * GIB);
}

static void a_group_outside_of_the_namespace_stands_for_the_top(void **state)
{
    file_has("proc/self/cgroup", "0::/../../other\n");
    group_has("", "4294967296\n", "1073741824\n", "0");
    file_has("sys/memory.max", "1\n"); /* where ../../ would lead */
    file_has("sys/memory.current", "1\n");
    assert_true(of_cgroups() == 3 * GIB);
}

/* Memory above memory.high is reclaimed at once and the process is slowed down: pinned memory can't give way. */
static void the_high_mark_is_a_limit(void **state)
{
    file_has("proc/self/cgroup", "0::/a\n");
    group_has("/a", "10737418240\n", "1073741824\n", "0");
    file_has("sys/fs/cgroup/a/memory.high", "5368709120\n");
    assert_true(of_cgroups() == 4 * GIB);
    group_has("/a", "max\n", NULL, NULL);
    assert_true(of_cgroups() == 4 * GIB);
}

static void a_full_group_leaves_nothing(void **state)
{
    file_has("proc/self/cgroup", "0::/a\n");
    group_has("/a", "1048576\n", "1048576\n", "0");
    assert_true(of_cgroups() == 0);
    group_has("/a", "1048576\n", "9048576\n", "4096");
    assert_true(of_cgroups() == 0);
    group_has("/a", "0\n", "0\n", "0");
    assert_true(of_cgroups() == 0);
    group_has("/a", "1048576\n", "4096\n", "999999"); /* more idle than used: both were read at their own time */
    assert_true(of_cgroups() == MIB);
}

static const char groups_v1[] = "12:pids:/docker/abc\n"
                                "11:cpu,cpuacct:/docker/abc\n"
                                "10:net_cls,memory,hugetlb:/docker/abc\n"
                                "1:name=systemd:/docker/abc\n"
                                "0::/\n";

static void version_1_is_read_by_its_own_names(void **state)
{
    file_has("proc/self/cgroup", groups_v1);
    file_has("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "8589934592\n");
    file_has("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "6442450944\n");
    file_has("sys/fs/cgroup/memory/docker/abc/memory.stat",
             "cache 1\ninactive_file 5\nhierarchical_memory_limit 8589934592\ntotal_inactive_file 1073741824\n");
    file_has("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    file_has("sys/fs/cgroup/memory/memory.usage_in_bytes", "16442450944\n");
    assert_true(of_cgroups() == 3 * GIB);
}

/* The group that limits is above what the container sees, and only memory.stat tells of it. */
static void version_1_tells_of_limits_that_are_out_of_sight(void **state)
{
    file_has("proc/self/cgroup", groups_v1);
    file_has("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    file_has("sys/fs/cgroup/memory/memory.usage_in_bytes", "1073741824\n");
    file_has("sys/fs/cgroup/memory/memory.stat", "hierarchical_memory_limit 4294967296\n");
    assert_true(of_cgroups() == 3 * GIB);
}

static void the_largest_page_count_means_no_limit(void **state)
{
    file_has("proc/self/cgroup", groups_v1);
    file_has("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
    file_has("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "6442450944\n");
    file_has("sys/fs/cgroup/memory/docker/abc/memory.stat", "hierarchical_memory_limit 9223372036854771712\n");
    assert_true(of_cgroups() == SPW_HOSTLIMIT_UNKNOWN);
    file_has("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "18446744073709551615\n");
    assert_true(of_cgroups() == SPW_HOSTLIMIT_UNKNOWN);
    file_has("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "99999999999999999999999999999\n");
    assert_true(of_cgroups() == SPW_HOSTLIMIT_UNKNOWN);
}

static void another_controller_with_memory_in_its_name_is_not_memory(void **state)
{
    file_has("proc/self/cgroup", "3:memoryless,xmemory:/a\n2:name=memory:/a\n");
    file_has("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1048576\n");
    assert_true(of_cgroups() == SPW_HOSTLIMIT_UNKNOWN);
}

/* Both versions mounted, as systemd's hybrid layout does: whichever holds the memory controller is found. */
static void a_hybrid_machine_is_read_in_both_places(void **state)
{
    file_has("proc/self/cgroup", "4:memory:/job\n0::/job\n");
    group_has("/unified/job", "4294967296\n", "1073741824\n", "0");
    assert_true(of_cgroups() == 3 * GIB);
    file_has("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648\n");
    file_has("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1073741824\n");
    assert_true(of_cgroups() == GIB);
}

static void a_limit_without_a_readable_use_is_the_bound(void **state)
{
    file_has("proc/self/cgroup", "0::/a\n");
    group_has("/a", "1073741824\n", NULL, NULL);
    assert_true(of_cgroups() == GIB);
    group_has("/a", "1073741824\n", "lots\n", "much");
    assert_true(of_cgroups() == GIB);
}

static void garbage_says_nothing(void **state)
{
    const char *const meminfos[] = {"",
                                    "\n\n",
                                    "MemAvailable",
                                    "MemAvailable:",
                                    "MemAvailable: lots kB\n",
                                    "MemAvailable: -5 kB\n",
                                    "MemAvailable: 0x10 kB\n",
                                    "MemAvailable: 99999999999999999999 kB\n",
                                    "XMemAvailable: 5 kB\n",
                                    "MemAvailableX: 5 kB\n"};
    for (size_t i = 0; i < sizeof(meminfos) / sizeof(meminfos[0]); i++) {
        file_has("proc/meminfo", meminfos[i]);
        assert_true(spw_hostlimit_available(root) == SPW_HOSTLIMIT_UNKNOWN);
    }
    const char *const limits[] = {"", "\n", "max", "-1\n", "12Q\n", "1e9\n", " 5\n", "0x100\n"};
    file_has("proc/self/cgroup", "0::/a\n");
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        group_has("/a", limits[i], "4096\n", "0");
        assert_true(of_cgroups() == SPW_HOSTLIMIT_UNKNOWN);
    }
    group_has("/a", "1048576", "0", "0");
    const char *const groups[] = {"", "\n", ":::", "0", "0:", "0::", "0::a\n", "memory", "x:memory", "1::/a\n", "::/a\n"};
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        file_has("proc/self/cgroup", groups[i]);
        assert_true(of_cgroups() == SPW_HOSTLIMIT_UNKNOWN);
    }
    file_has("proc/self/cgroup", "0::/a");
    assert_true(of_cgroups() == MIB);
}

/* Names that don't fit any path: the top of the mount still counts. */
static void a_name_of_any_length_is_survived(void **state)
{
    static char text[3 * PATH_MAX];
    group_has("", "1048576\n", "0\n", "0");
    for (size_t length = 16; length < sizeof(text) - 8; length += length < 2 * PATH_MAX ? 97 : 1000) {
        memset(text, 'x', sizeof(text));
        memcpy(text, "0::/", 4);
        text[4 + length / 2] = '/';
        text[4 + length] = '\n';
        text[5 + length] = '\0';
        file_has("proc/self/cgroup", text);
        assert_true(of_cgroups() == MIB);
    }
}

static void a_folder_in_place_of_a_file_says_nothing(void **state)
{
    file_has("proc/meminfo/x", "");
    file_has("proc/self/cgroup/x", "");
    assert_true(spw_hostlimit_available(root) == SPW_HOSTLIMIT_UNKNOWN);
}

static const char *environment[8][2];

static char *look_up(const char *name)
{
    for (size_t i = 0; i < sizeof(environment) / sizeof(environment[0]); i++)
        if (environment[i][0] != NULL && strcmp(environment[i][0], name) == 0)
            return (char *)environment[i][1];
    return NULL;
}

static unsigned ranks_with(const char *name, const char *value, const char *other, const char *other_value)
{
    environment[0][0] = name;
    environment[0][1] = value;
    environment[1][0] = other;
    environment[1][1] = other_value;
    return spw_hostlimit_local_ranks(look_up);
}

static void each_launcher_is_asked_for_its_local_ranks(void **state)
{
    assert_int_equal(ranks_with(NULL, NULL, NULL, NULL), 1);
    assert_int_equal(ranks_with("LOCAL_WORLD_SIZE", "8", NULL, NULL), 8);
    assert_int_equal(ranks_with("OMPI_COMM_WORLD_LOCAL_SIZE", "4", NULL, NULL), 4);
    assert_int_equal(ranks_with("MPI_LOCALNRANKS", "3", NULL, NULL), 3);
    assert_int_equal(ranks_with("SLURM_NTASKS_PER_NODE", "2", NULL, NULL), 2);
    assert_int_equal(ranks_with("SLURM_NTASKS_PER_NODE", "1", "LOCAL_WORLD_SIZE", "8"), 8);
}

static void a_senseless_rank_count_is_passed_over(void **state)
{
    const char *const values[] = {"", "0", "-1", "many", "8x", "99999999999999999999", "4097", " 3"};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        assert_int_equal(ranks_with("LOCAL_WORLD_SIZE", values[i], NULL, NULL), 1);
        assert_int_equal(ranks_with("LOCAL_WORLD_SIZE", values[i], "SLURM_NTASKS_PER_NODE", "6"), 6);
    }
}

static void the_default_budget_is_half_shared_by_the_ranks(void **state)
{
    assert_true(spw_hostlimit_default_budget(64 * GIB, 1) == 32 * GIB);
    assert_true(spw_hostlimit_default_budget(64 * GIB, 8) == 4 * GIB);
    assert_true(spw_hostlimit_default_budget(64 * GIB, 0) == 32 * GIB);
    assert_true(spw_hostlimit_default_budget(0, 4) == 0);
    assert_true(spw_hostlimit_default_budget(-5, 4) == 0);
    assert_true(spw_hostlimit_default_budget(SPW_HOSTLIMIT_UNKNOWN, 1) == 0);
}

/* Not a sample: this machine. Whatever it is, it has some memory left and an answer within reason. */
static void this_machine_has_an_answer(void **state)
{
    int64_t available = spw_hostlimit_available("/");
    if (access("/proc/meminfo", R_OK) != 0)
        skip();
    assert_true(available > 0);
    assert_true(available < (INT64_C(1) << 50));
}

#define ON_FILES(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FILES(without_groups_the_machine_alone_counts),
        ON_FILES(an_empty_folder_says_nothing),
        ON_FILES(a_kernel_without_memavailable_is_asked_for_memfree),
        ON_FILES(a_group_leaves_its_limit_less_use_plus_idle_file_pages),
        ON_FILES(every_group_above_counts_too),
        ON_FILES(in_a_container_the_top_of_the_mount_is_found),
        ON_FILES(a_group_outside_of_the_namespace_stands_for_the_top),
        ON_FILES(the_high_mark_is_a_limit),
        ON_FILES(a_full_group_leaves_nothing),
        ON_FILES(version_1_is_read_by_its_own_names),
        ON_FILES(version_1_tells_of_limits_that_are_out_of_sight),
        ON_FILES(the_largest_page_count_means_no_limit),
        ON_FILES(another_controller_with_memory_in_its_name_is_not_memory),
        ON_FILES(a_hybrid_machine_is_read_in_both_places),
        ON_FILES(a_limit_without_a_readable_use_is_the_bound),
        ON_FILES(garbage_says_nothing),
        ON_FILES(a_name_of_any_length_is_survived),
        ON_FILES(a_folder_in_place_of_a_file_says_nothing),
        cmocka_unit_test(each_launcher_is_asked_for_its_local_ranks),
        cmocka_unit_test(a_senseless_rank_count_is_passed_over),
        cmocka_unit_test(the_default_budget_is_half_shared_by_the_ranks),
        cmocka_unit_test(this_machine_has_an_answer),
    };
    return cmocka_run_group_tests_name("hostlimit", tests, NULL, NULL);
}
