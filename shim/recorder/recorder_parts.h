/* recorder_parts.h - what the parts of the recorder share: recorder_memory.c knows the program's allocations,
 * recorder_touches.c finds out which of them an operation touches, recorder.c writes the file and informs the other
 * parts. */
#ifndef SPILLWAY_SHIM_RECORDER_PARTS_H
#define SPILLWAY_SHIM_RECORDER_PARTS_H
#include <stdbool.h>
#include <stdint.h>

#include "../../trace/follow.h"
#include "extents.h"
#include "ours.h"
#include "recorder_lock.h"

/* ---- recorder_memory.c ---- */

struct spw_status_page;

extern struct spw_extents spw_recorder_extents SPW_OURS; /* the program's allocations */
uint64_t spw_recorder_allocs_locked(void);               /* the number of allocations recorded */
void spw_recorder_fill_live_bytes(struct spw_status_page *page);
void spw_recorder_memory_reset(void); /* for tests */

static inline bool spw_recorder_is_of_device(enum spw_alloc_kind kind)
{
    return kind != SPW_ALLOC_HOST;
}

/* True for memory of a device, as far as we know: an address that nobody allocated counts as the host's. */
static inline bool spw_recorder_on_device(const struct spw_extent *e)
{
    return e && spw_recorder_is_of_device((enum spw_alloc_kind)e->kind);
}

/* ---- recorder_touches.c ---- */

extern uint32_t spw_recorder_last_function SPW_OURS; /* of the last operation; 0: it was no launch */

/* ---- recorder.c ---- */

/* Completes an operation: gives it its number, and passes it to the trace and to the search for the iteration, with its
 * touches as spw_iteration_finder_op() wants them. */
void spw_record_op_locked(const struct spw_record *operation, const struct spw_iteration_touch *touches);
#endif
