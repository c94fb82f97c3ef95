/* opaque.h - kernels that exist as machine code only, which is not carried out: what they write is a function of what they
 * are given instead.
 *
 * A launch digests its name, its grid, the numbers among its parameters, which tensors it was given in which place, and
 * samples of what it reads: some bytes of every 4 KiB, the first and the last. From that it makes the bytes of all that it
 * writes. So the same program has the same results wherever its tensors lie; and a byte that is lost, stale or in another
 * place where it is looked at changes everything that comes after it. What a launch writes and the program had had written
 * before, it reads as well, for it may change in place; but for what it is known to overwrite. What nobody has written since
 * it was allocated is not read, whatever lies there.
 *
 * What a launch touches is settled when the program announces it (../program.h): that decides for all launches with the same
 * parameters, as far as they count, until it is announced again, so that whoever launches it once more gets the same. A
 * launch that nobody has announced, as a program makes it past its runtime, is settled as it arrives, and holds for all with
 * the same parameters until one of its addresses leads to another tensor than then. Where the program's tensors aren't told
 * either, the driver's own blocks are taken for them. */
#ifndef SIMGPU_DRIVER_OPAQUE_H
#define SIMGPU_DRIVER_OPAQUE_H
#include <cuda.h>
#include <stdbool.h>

#include "layouts.h"

/* The image of all machine code: its kernels are those that have layouts. Its globals: none. */
extern const struct simgpu_image opaque_image;
/* Whether this is machine code, or a table of layouts, which is then added. */
bool opaque_takes(const void *candidate);

/* Fills in what the driver calls. */
void opaque_prepare(struct layout *layout);

/* The program is about to launch it; `params` as in cuLaunchKernel(). Other kernels are none of its business. */
CUresult opaque_announce(const struct simgpu_kernel *kernel, const unsigned grid[3], const unsigned block[3], void **params);
#endif
