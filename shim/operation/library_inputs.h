/* library_inputs.h - what a library's documentation says of a call under way: at these addresses its kernels only read.
 *
 * Kernels of cuBLAS get their matrices in structures whose types say nothing, so of their launches alone it could only be
 * believed that they leave A and B alike. The call that launches them names both as input. That is a promise, not an
 * observation: nothing has to be shown before a tensor made of A is dropped, and none has to be back for such a launch.
 *
 * A launch is given an input where one of its parameters is exactly that address. What is given to it elsewhere, in the same
 * allocation or not, is as it would be without the call. */
#ifndef SPILLWAY_SHIM_LIBRARY_INPUTS_H
#define SPILLWAY_SHIM_LIBRARY_INPUTS_H
#include <cuda.h>
#include <stdint.h>

enum { SPW_LIBRARY_INPUTS = 3 };

struct spw_library_inputs {
    CUdeviceptr address[SPW_LIBRARY_INPUTS]; /* of device memory; 0: none */
};

/* The calling thread enters a call that only reads at these addresses; answers those of the call around it, which come back
 * with spw_library_inputs_leave(). One that is written as well is not among them: that is for the caller to see to. */
struct spw_library_inputs spw_library_inputs_enter(const struct spw_library_inputs *inputs);
void spw_library_inputs_leave(const struct spw_library_inputs *around);

/* A bit for each of the first `count` hits, 64 at most, that the call which the thread is in promises to only read. */
uint64_t spw_library_inputs_among(const CUdeviceptr *hits, unsigned count);
#endif
