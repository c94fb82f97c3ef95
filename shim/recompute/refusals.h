/* refusals.h - lists which operations of a device's iteration cannot be replayed, why, and how many bytes that keeps from
 * being dropped.
 *
 * There is one list for each device, of the longest iteration that was learned from, by kernel and reason, with those that
 * hold most bytes first; it is `refusals` of the device, NULL while nothing was learned. Engine lock. */
#ifndef SPILLWAY_SHIM_REFUSALS_H
#define SPILLWAY_SHIM_REFUSALS_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "ours.h"
#include "verdicts.h"

struct spw_course;
struct spw_device;

enum { SPW_REFUSALS = 32, SPW_REFUSAL_KERNEL = 240, SPW_REFUSAL_READABLE = 96 };

struct spw_refusal {
    char kernel[SPW_REFUSAL_KERNEL];     /* the kernel's name as the driver gives it, cut off; or the kind of call */
    char readable[SPW_REFUSAL_READABLE]; /* for messages (readable.h) */
    enum spw_replay_verdict verdict;
    uint32_t operations; /* in an iteration */
    uint64_t bytes; /* of tensors that they wrote and that are read again in the iteration, but not by the next operation */
};

struct spw_refusals {
    uint32_t operations;      /* of the iteration, of all kinds */
    uint32_t replayable;      /* of these, the ones that can be replayed */
    uint32_t count, left_out; /* entries in the list; kernels and reasons for which there was no room */
    uint64_t left_out_bytes;
    struct spw_refusal list[SPW_REFUSALS];
};

struct spw_judged {      /* the verdict on an operation */
    CUfunction function; /* NULL: it is not a launch */
    enum spw_replay_verdict verdict;
};

/* Makes the list when all operations of the course were judged; `judged` has as many entries as it has operations. Logs the
 * list at level info. Without memory nothing is listed. */
void spw_refusals_learned_locked(struct spw_device *d, const struct spw_course *course, const struct spw_judged *judged);

/* Call when a replay of `operation` gave other bytes: neither it nor others of its function can be replayed. Course NULL:
 * the course is not the one that is followed, so the operations are not known. */
void spw_refusals_mismatch_locked(struct spw_device *d, const struct spw_course *course, uint32_t operation,
                                  CUfunction function);

extern uint64_t spw_refusals_changes SPW_OURS; /* raised when a list changes */

/* Called with each list that changed: by the recorder, while there is a trace. */
extern void (*spw_refusals_listener)(uint32_t device, const struct spw_refusals *refusals) SPW_OURS;
#endif
