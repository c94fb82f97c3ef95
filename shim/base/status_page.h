/* status_page.h - the page on which a process publishes its figures: the library writes it, the tools read it.
 *
 * It is one file per process, /dev/shm/spillway.UID.PID, or in $XDG_RUNTIME_DIR if there is no /dev/shm, of mode 0600: this
 * structure in the machine's byte order. It is made when CUDA starts and removed when the process ends. A page that a
 * killed process has left is removed by whoever finds it. Figures never decrease, except those marked "now".
 *
 * A reader reads `sequence`, then copies everything, then reads `sequence` again: the copy is good if both are equal and
 * even. A reader does not understand pages of another version or size. */
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

/* Figures of iterations that follow a plan. All but the counts are 0 if none did. */
struct spw_status_planned {
    uint64_t iterations, planned_iterations; /* followed from beginning to end; those of them that followed a plan */
    uint64_t plans, lost;                    /* plans adopted; times that an iteration left its plan */
    uint64_t prefetches, prefetches_in_time; /* that were used; that had arrived when the device got to their first use */

    /* Now, for the plan that was followed last; 0: unknown. */
    uint64_t predicted_ns, step_ns, on_demand_ns; /* of one iteration: as the plan predicts, as measured, as measured without
                                                   * a plan */
    uint64_t out_bytes, in_bytes;                 /* moved in each iteration */
    uint32_t plan;                                /* its number, from 1 */
    uint32_t hidden_permille;                     /* part of the copies' time during which operations ran; or
                                                   * SPW_STATUS_UNKNOWN */

    uint64_t d2h_bytes_per_s, h2d_bytes_per_s; /* now: measured speed of copies out and in, each alone; 0: unknown */
};

struct spw_status_device {
    uint32_t ordinal, reserved;
    uint64_t budget_bytes;   /* 0: there is no budget */
    uint64_t physical_bytes; /* now: taken from the budget, caches included */
    uint64_t live_bytes;     /* now: allocated by the program, wherever it lies */
    uint64_t live_bytes_peak;
    struct spw_status_planned planned;
};

/* What was recomputed instead of copied, and how that is verified. */
struct spw_status_recomputed {
    uint64_t dropped, dropped_bytes;        /* tensors that were evicted without a copy, to be made again */
    uint64_t by_plan, by_plan_bytes;        /* made again ahead of their use */
    uint64_t on_demand, rescued;            /* made again when they were used; made again before what they depend on was
                                             * written */
    uint64_t operations, failed;            /* operations run again; attempts that failed */
    uint64_t equal, mismatches, unanswered; /* comparisons: equal; different; nothing to compare with */
    uint64_t repaired, lost;                /* after a mismatch: the true bytes were restored; there were none */
    uint64_t proven, refuted, unproven;     /* evicted because their copies were shown to be good; shown not to be; copied
                                             * because nothing was shown */
    uint64_t kept_bytes, kept_bytes_peak;   /* for records of operations: now; at most */
    uint64_t kept_bytes_limit;              /* 0: nothing is recomputed */
};

/* Operations of one kernel that are not run again, for one reason (refusals.h). */
struct spw_status_refusal {
    char kernel[SPW_STATUS_KERNEL]; /* mangled, truncated */
    uint32_t device, verdict;       /* enum spw_replay_verdict */
    uint32_t operations, reserved;  /* operations of an iteration */
    uint64_t bytes;                 /* that they made, and that cannot be dropped because of this */
};

struct spw_status_page {
    char magic[8];
    uint32_t version, bytes; /* bytes: size of this structure */
    uint32_t sequence;       /* odd while it is being changed */
    uint32_t pid;            /* as the process itself sees it */

    /* Tells the process apart from all others that had its pid; never changes. */
    uint64_t pid_namespace; /* inode of /proc/self/ns/pid */
    uint64_t process_start; /* field 22 of /proc/PID/stat */
    uint64_t started_unix_ns;
    uint32_t mode; /* enum spw_mode */
    uint32_t device_count;
    char command[SPW_STATUS_COMMAND]; /* arguments, separated by spaces, truncated */

    uint64_t updated_ns; /* CLOCK_MONOTONIC */

    uint64_t host_limit_bytes, host_held_bytes, host_used_bytes; /* now; 0 in mode trace */
    uint64_t out_bytes, in_bytes;                                /* moved to the host, and back */
    uint64_t operations, slow_operations, refused_operations;
    uint64_t allocations, refused_allocations;
    uint64_t cache_hits, cache_misses; /* large allocations served from cached memory; the others */
    uint64_t stalls, stalled_ns;       /* times that the host waited for room; total time */

    /* Tensors that were evicted and brought back by plan. */
    uint64_t left, restored, restored_in_time; /* in time: it had arrived before the host submitted its first use */
    uint64_t late, cancelled, failed;          /* needed before there was memory for them; used before they had left;
                                                * impossible */

    /* While a trace is written, once an iteration has been found. */
    uint64_t iterations;       /* that have begun */
    uint32_t iteration_shape;  /* as the trace numbers them */
    uint32_t iteration_length; /* operations of one iteration; 0: none was found */
    uint64_t step_ns;          /* host time between the last two beginnings; 0: unknown */

    struct spw_status_device devices[SPW_STATUS_DEVICES]; /* the first device_count */

    struct spw_status_recomputed recomputed;
    uint32_t refusal_count, refusals_left_out; /* refusals listed; kernels and reasons for which there was no room */
    uint64_t refusals_version;                 /* version of the list; only the writer uses it */
    struct spw_status_refusal refusals[SPW_STATUS_REFUSALS];
};
_Static_assert(sizeof(struct spw_status_page) == 504 + 152 * SPW_STATUS_DEVICES + 152 + 16 + 264 * SPW_STATUS_REFUSALS,
               "the same for every compiler");
#endif
