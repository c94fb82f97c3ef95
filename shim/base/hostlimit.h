/* hostlimit.h - tells how much more host memory this process may pin before the kernel kills a process for it. */
#ifndef SPILLWAY_SHIM_HOSTLIMIT_H
#define SPILLWAY_SHIM_HOSTLIMIT_H
#include <stdint.h>

/* Pinned memory cannot be reclaimed. So what counts is how much the machine, and each control group above the process, can
 * still give without taking memory from anyone: the limit, less what is used, plus file pages that were not used lately.
 *
 * `root` is the folder that stands for "/": proc/ and sys/fs/cgroup/ are read below it. This reads a handful of small
 * files, allocates nothing and keeps nothing: it is cheap enough to be asked again before each growth. */
#define SPW_HOSTLIMIT_UNKNOWN INT64_MAX

struct spw_hostlimit {
    int64_t machine_bytes; /* MemAvailable; SPW_HOSTLIMIT_UNKNOWN if it cannot be read */
    int64_t cgroup_bytes;  /* the least that any control group of the process has left; SPW_HOSTLIMIT_UNKNOWN: no limit is
                            * set */
};

void spw_hostlimit_read(const char *root, struct spw_hostlimit *ret_limit);

/* Returns the smaller of the two, or SPW_HOSTLIMIT_UNKNOWN if neither is known. */
int64_t spw_hostlimit_available(const char *root);

/* Returns how many processes of the same job share this machine, from what launchers set (LOCAL_WORLD_SIZE,
 * OMPI_COMM_WORLD_LOCAL_SIZE, MPI_LOCALNRANKS, SLURM_NTASKS_PER_NODE), read through `look_up` (getenv). 1 if none of them
 * is set to a sensible value. */
unsigned spw_hostlimit_local_ranks(char *(*look_up)(const char *name));

/* Returns the host budget if the user has set none: half of what is available, divided by the local ranks. 0 if the
 * available bytes are unknown: nothing is pinned on a guess. */
int64_t spw_hostlimit_default_budget(int64_t available_bytes, unsigned local_ranks);
#endif
