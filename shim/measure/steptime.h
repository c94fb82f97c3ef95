/* steptime.h - how long the device takes for iterations: an event at each beginning, read when it is complete.
 *
 * From one beginning to the next, by the device's clock; the host's says when it submitted, not when it ran. The few events
 * of a device are used in turn. Whoever calls never waits; where the host is more iterations ahead of the device than there
 * are events, iterations in between are left out. Engine lock held in all of these. */
#ifndef SPILLWAY_SHIM_STEPTIME_H
#define SPILLWAY_SHIM_STEPTIME_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "streams.h"

enum { SPW_STEPTIME_MEAN_OF = 16, SPW_STEPTIME_MEDIAN_OF = 5, SPW_STEPTIME_SHAPES = 16 };
#define SPW_STEPTIME_ANY UINT32_MAX

/* An iteration of that shape begins with what the calling thread submits to `s` next, and the one before it ends there.
 * Where `s` is NULL or gone, that is not known: the times of both are not told. */
void spw_steptime_begins_locked(int device, const struct spw_stream *s, uint32_t shape);

/* What has begun is no iteration after all, or it is not known where it ends: its time is not told. */
void spw_steptime_broken_locked(int device);

struct spw_steptime {
    uint64_t count;          /* measured since the start; 0: the others are 0 */
    double last_us, mean_us; /* of the last one, and of the last SPW_STEPTIME_MEAN_OF, or as many as there are */
    double median_us;        /* of the last SPW_STEPTIME_MEDIAN_OF: one that was disturbed makes no difference */
};

/* Reads the times of iterations that are complete; begins() does it too. */
void spw_steptime_collect_locked(int device);

/* Iterations of that shape have ended whose times are not read yet, since the device is not that far. */
bool spw_steptime_is_pending_locked(int device, uint32_t shape);

/* What was read of a shape, or of all together (SPW_STEPTIME_ANY). The SPW_STEPTIME_SHAPES used last are remembered. */
struct spw_steptime spw_steptime_locked(int device, uint32_t shape);

/* The context is about to be destroyed, and the events with it. */
void spw_steptime_context_gone_locked(CUcontext context);
void spw_steptime_reset(void); /* forgets everything without a driver call: for tests */
#endif
