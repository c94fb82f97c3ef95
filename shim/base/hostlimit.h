/* hostlimit.h - how much more host memory this process may pin before the kernel ends somebody for it. */
#ifndef SPILLWAY_SHIM_HOSTLIMIT_H
#define SPILLWAY_SHIM_HOSTLIMIT_H
#include <stdint.h>

/* Pinned memory can't be reclaimed, so what counts is what the machine and each control group above the process could still
 * give without taking from anybody: their limit, less what is used, plus file pages that nobody has used lately.
 *
 * `root` is the folder that stands for "/": proc/ and sys/fs/cgroup/ are read below it. Reads a handful of small files,
 * allocates nothing, keeps nothing: cheap enough to be asked again before each growth. */
#define SPW_HOSTLIMIT_UNKNOWN INT64_MAX

struct spw_hostlimit {
    int64_t machine_bytes; /* MemAvailable; SPW_HOSTLIMIT_UNKNOWN when it can't be read */
    int64_t cgroup_bytes;  /* the least that any control group of the process leaves; SPW_HOSTLIMIT_UNKNOWN: no limit set */
};

void spw_hostlimit_read(const char *root, struct spw_hostlimit *ret_limit);

/* The smaller of the two; SPW_HOSTLIMIT_UNKNOWN when nothing says anything. */
int64_t spw_hostlimit_available(const char *root);

/* How many processes of the same job share this machine, from what launchers set (LOCAL_WORLD_SIZE,
 * OMPI_COMM_WORLD_LOCAL_SIZE, MPI_LOCALNRANKS, SLURM_NTASKS_PER_NODE), read through `look_up` (getenv). 1 when nobody says
 * anything sensible. */
unsigned spw_hostlimit_local_ranks(char *(*look_up)(const char *name));

/* The host budget where the user set none: half of what is available, shared by the local ranks. 0 when the available
 * bytes are unknown: nothing is pinned on a guess. */
int64_t spw_hostlimit_default_budget(int64_t available_bytes, unsigned local_ranks);
#endif
