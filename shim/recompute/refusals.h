/* refusals.h - which operations of a device's iteration cannot be run again, why, and what that keeps from being dropped.
 *
 * Of each device the list of the longest iteration that was learned from; by kernel and reason, those first that hold most
 * bytes; `refusals` of the device, NULL while nothing was learned. Engine lock. */
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
    char kernel[SPW_REFUSAL_KERNEL];     /* as the driver names it, cut off; or the kind of call */
    char readable[SPW_REFUSAL_READABLE]; /* for messages (readable.h) */
    enum spw_replay_verdict verdict;
    uint32_t operations; /* of an iteration */
    uint64_t bytes; /* tensors that they wrote and that are read again in the iteration, but not by the next operation */
};

struct spw_refusals {
    uint32_t operations;      /* of the iteration, all kinds together */
    uint32_t replayable;      /* of these: can be run again */
    uint32_t count, left_out; /* listed; kernels and reasons for which there was no room */
    uint64_t left_out_bytes;
    struct spw_refusal list[SPW_REFUSALS];
};

struct spw_judged {      /* an operation */
    CUfunction function; /* NULL: no launch */
    enum spw_replay_verdict verdict;
};

/* All operations of the course were judged, as many as it has. Says so at level info. Without memory
 * nothing is listed. */
void spw_refusals_learned_locked(struct spw_device *d, const struct spw_course *course, const struct spw_judged *judged);

/* A replay of `operation` gave other bytes: it cannot be run again, nor can others of its function.
 * Course NULL: it is not the one that is followed, so that the operations are not known. */
void spw_refusals_mismatch_locked(struct spw_device *d, const struct spw_course *course, uint32_t operation,
                                  CUfunction function);

extern uint64_t spw_refusals_changes SPW_OURS; /* rises when a list changes */

/* Is told of each list that changed: the recorder, while there is a trace. */
extern void (*spw_refusals_listener)(uint32_t device, const struct spw_refusals *refusals) SPW_OURS;
#endif
