/* handles.h - physical device memory: made, recycled by size, and never more of it than the budget.
 *
 * Making memory is the dearest call of the driver's virtual memory management, so handles are kept when they come back and
 * given out again for the same size. Everything made counts against the budget, in use or not. */
#ifndef SPILLWAY_SHIM_HANDLES_H
#define SPILLWAY_SHIM_HANDLES_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct spw_handle_bin {
    uint64_t bytes;
    CUmemGenericAllocationHandle *handles;
    uint32_t count, room;
};

struct spw_handles {
    int device;
    uint64_t budget_bytes;  /* for made_bytes */
    uint64_t lacking_bytes; /* taken off the budget since the device turned out not to have them */
    uint64_t made_bytes;    /* all physical memory of ours on this device */
    uint64_t made_bytes_peak;
    uint64_t pooled_bytes; /* the part of it that nobody uses */
    uint64_t made_count;   /* handles that exist */
    uint32_t bin_count;
    struct spw_handle_bin *bins; /* by size, ascending */
};

/* A handle of exactly `bytes` (a multiple of the granularity): a pooled one, else a new one; pooled ones of other sizes are
 * released if that makes room for it. -ENOMEM: the budget or the device has no room, the pool then being empty of what could
 * have made room; where it is the device that has none, the budget is lowered to what there is. */
int spw_handles_take_locked(struct spw_handles *h, uint64_t bytes, CUmemGenericAllocationHandle *ret_handle);

/* Puts back on the budget what the device lacked, since it may have it by now. False when there is nothing to put back. */
bool spw_handles_ask_again_locked(struct spw_handles *h);

/* What spw_handles_take_locked() could hand out at most now without anybody giving something back. */
uint64_t spw_handles_room_locked(const struct spw_handles *h);

/* Keeps the handle for the next taker. It is mapped nowhere. */
void spw_handles_give_locked(struct spw_handles *h, uint64_t bytes, CUmemGenericAllocationHandle handle);

/* Releases pooled handles until what was made is within the budget, which has been lowered. */
void spw_handles_fit_locked(struct spw_handles *h);

/* Releases pooled handles until at most `keep_bytes` are pooled. */
void spw_handles_trim_locked(struct spw_handles *h, uint64_t keep_bytes);
#endif
