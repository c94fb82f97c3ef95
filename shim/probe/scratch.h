/* scratch.h - computes how much memory is set aside while launches are tried (probe.h).
 *
 * A trial keeps copies of everything that the launch touches, as it was before and as the launch left it, in memory that
 * the program's tensors would use. What is found out about one launch is taken to hold for its kind, and each operation is
 * compared when it is first replayed; so a trial of the smallest launch of each kind is enough. It is not required that the
 * largest operation has room beside scratch memory: an optimizer's launch for all tensors at once may take most of the
 * budget, and scratch memory is given back when an operation needs it. Engine lock. */
#ifndef SPILLWAY_SHIM_SCRATCH_H
#define SPILLWAY_SHIM_SCRATCH_H
#include "ledger.h"

struct spw_course;

enum { SPW_SCRATCH_SHARE = 5 }; /* at most one part in so many of the budget */

/* Returns the bytes that are enough for the smallest launch of each kind in the course, without kinds that would take too
 * much, plus some for small allocations. */
uint64_t spw_scratch_bytes_locked(const struct spw_device *d, const struct spw_course *course);

/* Returns false if what learning takes for itself would leave the operations of the course too little memory, with or
 * without scratch memory. */
bool spw_scratch_leaves_room_locked(const struct spw_device *d, const struct spw_course *course);
#endif
