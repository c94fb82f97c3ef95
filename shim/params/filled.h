/* filled.h - the parameters of a launch without what it leaves unused of PyTorch's structures (structs.h). */
#ifndef SPILLWAY_SHIM_FILLED_H
#define SPILLWAY_SHIM_FILLED_H
#include "layout.h"
#include "scan.h"
#include "structs.h"

/* What a launch passes, with zeros where its blocks look at nothing. */
struct spw_filled {
    void **params, **extra;          /* as given to a launch; one of them is NULL */
    CUdeviceptr hits[SPW_SCAN_ROOM]; /* for the caller */
};

/* The launch's parameters filled in so, of a kernel whose layout has such structures; free() it. NULL: there is nothing
 * certain to leave out, or no memory. */
struct spw_filled *spw_structs_filled(const struct spw_layout *layout, const unsigned grid[3], void *const *params,
                                      void *const *extra);
#endif
