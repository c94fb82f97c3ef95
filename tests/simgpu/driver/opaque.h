/* opaque.h - kernels that exist as machine code only, which is not executed: instead, what they write is a function of what
 * they are given.
 *
 * A launch digests its name, its grid, the numbers among its parameters, which tensors it was given in which place, and
 * samples of what it reads: some bytes of every 4 KiB, the first and the last. From the digest it makes all the bytes that
 * it writes. So the same program has the same results wherever its tensors lie, and a byte that is lost, stale or in the
 * wrong place changes everything after it, if it is sampled. Bytes that a launch writes and that the program had written
 * before count as read too, since it may change them in place, unless it is known to overwrite them. Bytes that are
 * unwritten since their allocation are not read, whatever lies there.
 *
 * What a launch touches is determined when the program announces it (../program.h). This holds for all launches with the
 * same relevant parameters until the next announcement, so that a library that launches it once more gets the same
 * result. A launch that was not announced, as a program makes it past its runtime, is determined when it arrives, and
 * this holds for all with the same parameters until one of its addresses leads to another tensor. If the program's
 * tensors are not known either, the driver's own blocks are used instead. */
#ifndef SIMGPU_DRIVER_OPAQUE_H
#define SIMGPU_DRIVER_OPAQUE_H
#include <cuda.h>
#include <stdbool.h>

#include "layouts.h"

/* The image of all machine code: its kernels are those that have layouts. It has no globals. */
extern const struct simgpu_image opaque_image;
/* Returns true if this is machine code, or a table of layouts, which is then added. */
bool opaque_takes(const void *candidate);

/* Sets the functions that the driver calls. */
void opaque_prepare(struct layout *layout);

/* Announces that the program is about to launch it; `params` as in cuLaunchKernel(). Other kernels are ignored. */
CUresult opaque_announce(const struct simgpu_kernel *kernel, const unsigned grid[3], const unsigned block[3], void **params);
#endif
