/* status_page.h - the page on which a process tells others how it is doing: what the library writes and the tools read.
 *
 * One file per process, /dev/shm/spillway.UID.PID, or in $XDG_RUNTIME_DIR where there is no /dev/shm, of mode 0600: this
 * structure in the machine's byte order. It is made when CUDA starts and removed when the process ends; one that a killed
 * process has left is removed by whoever finds it. Figures never go back, unless it says "now".
 *
 * A reader takes `sequence`, then a copy of everything, then `sequence` again: the copy is good when both are the same and
 * even. What is behind `bytes` of an older version's page is not there. */
#ifndef SPILLWAY_SHIM_STATUS_PAGE_H
#define SPILLWAY_SHIM_STATUS_PAGE_H
#include <stdint.h>

#define SPW_STATUS_MAGIC "spwstat"
enum {
    SPW_STATUS_VERSION = 3,
    SPW_STATUS_DEVICES = 64,
    SPW_STATUS_COMMAND = 256,
    SPW_STATUS_REFUSALS = 16,
    SPW_STATUS_KERNEL = 240
};

#define SPW_STATUS_UNKNOWN UINT32_MAX

/* What iterations by plan come to; all 0 where none went by plan, but the counts. */
struct spw_status_planned {
    uint64_t iterations, planned_iterations; /* followed from beginning to end; of these by plan */
    uint64_t plans, lost;                    /* adopted; times that an iteration left its plan */
    uint64_t prefetches, prefetches_in_time; /* used; there when the device got to their first use */

    /* Now: by the plan that was followed last; 0: not known. */
    uint64_t predicted_ns, step_ns, on_demand_ns; /* one iteration: as the plan has it, measured, measured without a plan */
    uint64_t out_bytes, in_bytes;                 /* moved in each */
    uint32_t plan;                                /* its number, from 1 */
    uint32_t hidden_permille; /* of the copies' time, during which operations went on; or SPW_STATUS_UNKNOWN */

    uint64_t d2h_bytes_per_s, h2d_bytes_per_s; /* now: measured speed of copies out and in, each alone; 0: not known */
};

struct spw_status_device {
    uint32_t ordinal, reserved;
    uint64_t budget_bytes;   /* 0: none is kept */
    uint64_t physical_bytes; /* now: taken of it, caches included */
    uint64_t live_bytes;     /* now: allocated by the program, wherever it lies */
    uint64_t live_bytes_peak;
    struct spw_status_planned planned;
};

/* What was computed again in place of being copied, and how that is kept right. */
struct spw_status_recomputed {
    uint64_t dropped, dropped_bytes;        /* tensors that left without a copy, to be made again */
    uint64_t by_plan, by_plan_bytes;        /* made again ahead of their use */
    uint64_t on_demand, rescued;            /* by who used them; before what they depend on was written */
    uint64_t operations, failed;            /* run again; could not be */
    uint64_t equal, mismatches, unanswered; /* compared: as before, or not; nothing to compare with */
    uint64_t repaired, lost;                /* after a mismatch: true bytes restored; there were none */
    uint64_t proven, refuted, unproven;     /* left as their copies were good: proven; not so; copied for want of proof */
    uint64_t kept_bytes, kept_bytes_peak;   /* of records of operations: now; at most */
    uint64_t kept_bytes_limit;              /* 0: nothing is recomputed */
};

/* Operations of one kernel that are not run again, for one reason (refusals.h). */
struct spw_status_refusal {
    char kernel[SPW_STATUS_KERNEL]; /* mangled, cut off */
    uint32_t device, verdict;       /* enum spw_replay_verdict */
    uint32_t operations, reserved;  /* of an iteration */
    uint64_t bytes;                 /* that they made, and that cannot be dropped for it */
};

struct spw_status_page {
    char magic[8];
    uint32_t version, bytes; /* of this structure */
    uint32_t sequence;       /* odd while it is being changed */
    uint32_t pid;            /* as the process itself knows it */

    /* Which process that is, among all that had the number; never changed. */
    uint64_t pid_namespace; /* inode of /proc/self/ns/pid */
    uint64_t process_start; /* field 22 of /proc/PID/stat */
    uint64_t started_unix_ns;
    uint32_t mode; /* enum spw_mode */
    uint32_t device_count;
    char command[SPW_STATUS_COMMAND]; /* arguments, separated by spaces, cut off */

    uint64_t updated_ns; /* CLOCK_MONOTONIC */

    uint64_t host_limit_bytes, host_held_bytes, host_used_bytes; /* now; 0 in mode trace */
    uint64_t out_bytes, in_bytes;                                /* moved to the host, and back */
    uint64_t operations, slow_operations, refused_operations;
    uint64_t allocations, refused_allocations;
    uint64_t cache_hits, cache_misses; /* large allocations served from cached memory, or not */
    uint64_t stalls, stalled_ns;       /* times that the host waited for room, and for how long */

    /* Tensors that went and came back by plan. */
    uint64_t left, restored, restored_in_time; /* in time: there before the host submitted their first use */
    uint64_t late, cancelled, failed; /* needed before there was memory for them; used before they were gone; could not be */

    /* While a trace is written, once an iteration has been found. */
    uint64_t iterations;       /* begun */
    uint32_t iteration_shape;  /* as the trace numbers them */
    uint32_t iteration_length; /* operations of one; 0: none found */
    uint64_t step_ns;          /* host time between the last two beginnings; 0: not known */

    struct spw_status_device devices[SPW_STATUS_DEVICES]; /* the first device_count */

    struct spw_status_recomputed recomputed;
    uint32_t refusal_count, refusals_left_out; /* listed; kernels and reasons that found no room */
    uint64_t refusals_version;                 /* of the list: nobody's but the writer's */
    struct spw_status_refusal refusals[SPW_STATUS_REFUSALS];
};
_Static_assert(sizeof(struct spw_status_page) == 504 + 152 * SPW_STATUS_DEVICES + 152 + 16 + 264 * SPW_STATUS_REFUSALS,
               "the same for every compiler");
#endif
