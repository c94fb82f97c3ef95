/* filled.h - copies the parameters of a launch without the parts of PyTorch's structures that it does not use
 * (structs.h). */
#ifndef SPILLWAY_SHIM_FILLED_H
#define SPILLWAY_SHIM_FILLED_H
#include "layout.h"
#include "scan.h"
#include "structs.h"

/* The parameters of a launch, with zeros in place of what its blocks do not look at. */
struct spw_filled {
    void **params, **extra;          /* as a launch takes them; one of them is NULL */
    CUdeviceptr hits[SPW_SCAN_ROOM]; /* room for the caller's hits */
};

/* Copies a launch's parameters in this way, for a kernel whose layout has such structures. The caller frees the result.
 * Returns NULL if nothing can be left out with certainty, or there is no memory. */
struct spw_filled *spw_structs_filled(const struct spw_layout *layout, const unsigned grid[3], void *const *params,
                                      void *const *extra);
#endif
