/* steptime.h - measures how long the device takes for iterations, by an event at each beginning that is read when it is
 * complete.
 *
 * Times go from one beginning to the next by the device's clock; the host's clock would say when the host submitted, not
 * when the device executed. The few events of a device are used in turn. No caller ever waits: if the host is more
 * iterations ahead of the device than there are events, iterations in between are left out. The engine lock is held for all
 * functions. */
#ifndef SPILLWAY_SHIM_STEPTIME_H
#define SPILLWAY_SHIM_STEPTIME_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "streams.h"

enum { SPW_STEPTIME_MEAN_OF = 16, SPW_STEPTIME_MEDIAN_OF = 5, SPW_STEPTIME_SHAPES = 16 };
#define SPW_STEPTIME_ANY UINT32_MAX

/* An iteration of that shape begins with what the calling thread submits to `s` next, and the one before it ends there. If
 * `s` is NULL or destroyed, that place is not known: the times of both are not reported. */
void spw_steptime_begins_locked(int device, const struct spw_stream *s, uint32_t shape);

/* What has begun is not an iteration after all, or its end is not known: its time is not reported. */
void spw_steptime_broken_locked(int device);

struct spw_steptime {
    uint64_t count;          /* iterations measured since the start; 0: the other members are 0 */
    double last_us, mean_us; /* of the last iteration; of the last SPW_STEPTIME_MEAN_OF, or as many as there are */
    double median_us;        /* of the last SPW_STEPTIME_MEDIAN_OF: one disturbed iteration makes no difference */
};

/* Reads the times of iterations that are complete; spw_steptime_begins_locked() does that, too. */
void spw_steptime_collect_locked(int device);

/* Returns true if iterations of that shape have ended whose times cannot be read yet, since the device is not that far. */
bool spw_steptime_is_pending_locked(int device, uint32_t shape);

/* Returns what was measured for a shape, or for all together (SPW_STEPTIME_ANY). The SPW_STEPTIME_SHAPES shapes that were
 * used last are remembered. */
struct spw_steptime spw_steptime_locked(int device, uint32_t shape);

/* The context is about to be destroyed, and the events with it. */
void spw_steptime_context_gone_locked(CUcontext context);
void spw_steptime_reset(void); /* forgets everything without a driver call: for tests */
#endif
