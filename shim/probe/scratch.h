/* scratch.h - how much memory is put aside while launches are tried (probe.h).
 *
 * A probe keeps copies of all that the launch touches, as it was before and as it left it, in memory that the program's
 * tensors would use. What is found out
 * about one launch is taken to hold for its kind, and each operation is compared when it is replayed first, so the smallest
 * launch of each kind will do. That the largest operation has room beside it is not asked for: an optimizer's launch for all
 * tensors at once may take most of the budget, and scratch memory goes when an operation needs it. Engine lock. */
#ifndef SPILLWAY_SHIM_SCRATCH_H
#define SPILLWAY_SHIM_SCRATCH_H
#include "ledger.h"

struct spw_course;

enum { SPW_SCRATCH_SHARE = 5 }; /* it is at most that part of the budget */

/* The bytes that suffice for the smallest launch of each kind in the course, but for kinds that would take too much, and for
 * small allocations besides. */
uint64_t spw_scratch_bytes_locked(const struct spw_device *d, const struct spw_course *course);

/* False: what learning takes for itself would leave the operations of the course too little memory, scratch or not. */
bool spw_scratch_leaves_room_locked(const struct spw_device *d, const struct spw_course *course);
#endif
