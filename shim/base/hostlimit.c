/* hostlimit.c - reads /proc/meminfo and the control groups above the process; a file that cannot be read sets no limit. */
#include "hostlimit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TEXT_BYTES = 4096,   /* read of meminfo and memory.stat: the lines that are needed come well before */
    GROUPS_BYTES = 8192, /* read of /proc/self/cgroup */
    MOST_LOCAL_RANKS = 4096,
};

/* "No limit" is the word max, or the largest number of pages in bytes. Values from here on are never meant as a limit. */
#define NO_LIMIT_FROM (INT64_MAX / 2)
#define UNREADABLE    (-1)

/* The files of a control group in which the numbers are, in the two versions. */
struct version {
    const char *limit_files[2];
    const char *used_file;
    const char *limit_key;   /* in memory.stat: the least limit of all groups above, visible or not; or NULL */
    const char *reclaim_key; /* in memory.stat: file pages that were not used lately */
};

static const struct version v1 = {
    {"memory.limit_in_bytes", NULL}, "memory.usage_in_bytes", "hierarchical_memory_limit", "total_inactive_file"};
static const struct version v2 = {{"memory.max", "memory.high"}, "memory.current", NULL, "inactive_file"};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Reads the beginning of a file as a string. Returns false if it does not exist or cannot be read. */
static bool read_text(const char *path, char *ret_text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t length = 0;
    ssize_t got;
    do {
        got = read(fd, ret_text + length, size - 1 - length);
        if (got > 0)
            length += (size_t)got;
    } while ((got > 0 && length < size - 1) || (got < 0 && errno == EINTR));
    (void)close(fd);
    ret_text[length] = '\0';
    return got >= 0;
}

/* Reads a decimal number up to white space or the end; too large a number is INT64_MAX. Returns UNREADABLE for anything
 * else. */
static int64_t parse_number(const char *text)
{
    if (*text < '0' || *text > '9')
        return UNREADABLE;
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end != '\0' && strchr(" \t\n", *end) == NULL)
        return UNREADABLE;
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* Returns the number in the line that begins with `key`, as in "key 123" or "key:   123 kB"; UNREADABLE if there is none. */
static int64_t find_number(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && strchr(": \t", line[length]) != NULL && line[length] != '\0')
            return parse_number(line + length + strspn(line + length, ": \t"));
    }
    return UNREADABLE;
}

static int64_t machine_bytes(const char *root)
{
    char path[PATH_MAX], text[TEXT_BYTES];

    if (snprintf(path, sizeof(path), "%s/proc/meminfo", root) >= (int)sizeof(path) || !read_text(path, text, sizeof(text)))
        return SPW_HOSTLIMIT_UNKNOWN;
    int64_t kib = find_number(text, "MemAvailable");
    if (kib == UNREADABLE)
        kib = find_number(text, "MemFree"); /* kernels before 3.14 */
    return kib == UNREADABLE || kib > INT64_MAX / 1024 ? SPW_HOSTLIMIT_UNKNOWN : kib * 1024;
}

/* Reads a file of the group whose folder is in `path`, which has room for its name; `length` is the length of the folder's
 * path. */
static bool read_group_file(char *path, size_t length, const char *name, char *ret_text, size_t size)
{
    if (length + 1 + strlen(name) >= PATH_MAX)
        return false;
    (void)snprintf(path + length, PATH_MAX - length, "/%s", name);
    bool done = read_text(path, ret_text, size);
    path[length] = '\0';
    return done;
}

/* Returns what one group has left; unknown if it does not exist or has no limit. */
static int64_t group_bytes(const struct version *version, char *path, size_t length)
{
    char text[TEXT_BYTES];
    int64_t limit = SPW_HOSTLIMIT_UNKNOWN, used = 0, reclaimable = 0;

    for (int i = 0; i < 2 && version->limit_files[i] != NULL; i++) {
        if (!read_group_file(path, length, version->limit_files[i], text, sizeof(text)))
            continue;
        int64_t value = parse_number(text);
        if (value != UNREADABLE)
            limit = smaller(limit, value);
    }
    if (limit >= NO_LIMIT_FROM && version->limit_key == NULL)
        return SPW_HOSTLIMIT_UNKNOWN;
    if (read_group_file(path, length, "memory.stat", text, sizeof(text))) {
        reclaimable = find_number(text, version->reclaim_key);
        int64_t above = version->limit_key != NULL ? find_number(text, version->limit_key) : UNREADABLE;
        if (above != UNREADABLE)
            limit = smaller(limit, above);
    }
    if (limit >= NO_LIMIT_FROM)
        return SPW_HOSTLIMIT_UNKNOWN;
    if (read_group_file(path, length, version->used_file, text, sizeof(text)))
        used = parse_number(text);

    if (used == UNREADABLE)
        used = 0;
    if (reclaimable > 0)
        used -= smaller(used, reclaimable);
    return used < limit ? limit - used : 0;
}

/* Returns the least that the group and those above it have left. In a container the files of the process's own group are
 * often at the top of the mount, while its name is the host's: folders that do not exist set no limit, and the walk ends at
 * the top in any case. */
static int64_t least_upwards(const struct version *version, const char *root, const char *mount, const char *group)
{
    char path[PATH_MAX];
    int64_t least = SPW_HOSTLIMIT_UNKNOWN;
    bool outside = strstr(group, "/..") != NULL; /* the name of a group that is not below the top of the mount */

    int top = snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s", root, mount);
    int length = snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s%s", root, mount, outside ? "" : group);
    if (top >= (int)sizeof(path))
        return least;
    if (length >= (int)sizeof(path)) {
        path[top] = '\0';
        length = top;
    }
    for (;;) {
        while (length > top && path[length - 1] == '/')
            path[--length] = '\0';
        least = smaller(least, group_bytes(version, path, (size_t)length));
        if (length == top)
            return least;
        while (length > top && path[length - 1] != '/')
            path[--length] = '\0';
    }
}

/* Returns true if the comma-separated list [list, end) names the memory controller. */
static bool names_memory(const char *list, const char *end)
{
    while (list < end) {
        size_t length = strcspn(list, ",:");
        if (length == strlen("memory") && strncmp(list, "memory", length) == 0)
            return true;
        list += length + 1;
    }
    return false;
}

/* Reads one line of /proc/self/cgroup, "number:controllers:group"; version 2 has number 0 and no controllers. */
static int64_t line_bytes(const char *root, char *line)
{
    char *controllers = strchr(line, ':');
    char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL || group[1] != '/')
        return SPW_HOSTLIMIT_UNKNOWN;
    controllers++;
    if (controllers == group && strncmp(line, "0:", 2) == 0)
        return smaller(least_upwards(&v2, root, "", group + 1), least_upwards(&v2, root, "/unified", group + 1));
    if (names_memory(controllers, group))
        return least_upwards(&v1, root, "/memory", group + 1);
    return SPW_HOSTLIMIT_UNKNOWN;
}

static int64_t cgroup_bytes(const char *root)
{
    char path[PATH_MAX], text[GROUPS_BYTES];
    int64_t least = SPW_HOSTLIMIT_UNKNOWN;

    if (snprintf(path, sizeof(path), "%s/proc/self/cgroup", root) >= (int)sizeof(path) ||
        !read_text(path, text, sizeof(text)))
        return least;
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n"))
        least = smaller(least, line_bytes(root, line));
    return least;
}

void spw_hostlimit_read(const char *root, struct spw_hostlimit *ret_limit)
{
    ret_limit->machine_bytes = machine_bytes(root);
    ret_limit->cgroup_bytes = cgroup_bytes(root);
}

int64_t spw_hostlimit_available(const char *root)
{
    struct spw_hostlimit limit;
    spw_hostlimit_read(root, &limit);
    return smaller(limit.machine_bytes, limit.cgroup_bytes);
}

unsigned spw_hostlimit_local_ranks(char *(*look_up)(const char *name))
{
    /* The nearest launcher first: torchrun inside a Slurm task starts more processes than Slurm knows about. */
    static const char *const names[] = {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "SLURM_NTASKS_PER_NODE"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = look_up(names[i]);
        int64_t ranks = value != NULL ? parse_number(value) : UNREADABLE;
        if (ranks >= 1 && ranks <= MOST_LOCAL_RANKS)
            return (unsigned)ranks;
    }
    return 1;
}

int64_t spw_hostlimit_default_budget(int64_t available_bytes, unsigned local_ranks)
{
    if (available_bytes <= 0 || available_bytes == SPW_HOSTLIMIT_UNKNOWN)
        return 0;
    return available_bytes / 2 / (local_ranks > 0 ? local_ranks : 1);
}
