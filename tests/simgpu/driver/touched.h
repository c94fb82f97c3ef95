/* touched.h - which pages of device memory each kernel touches, for SIMGPU_TOUCHED: what the memory itself saw, whatever
 * was declared or guessed.
 *
 * While a kernel is watched nothing of the devices' memory can be accessed. The first access to a page is a fault, which
 * opens the page for as much as was tried, and as the memory allows. The driver's lock is held throughout. */
#ifndef SIMGPU_DRIVER_TOUCHED_H
#define SIMGPU_DRIVER_TOUCHED_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "op.h"

/* Opens the file that the settings name, if they do. */
CUresult touched_init(void);
bool touched_wanted(void);

/* Around a kernel: closes all memory of the devices that the host can't access; opens it again exactly as it was, and
 * writes the kernel's line. */
void touched_begin(void);
void touched_end(const struct op *op);

/* For the handler of faults; `context` is its third argument. True: the page is open now, try again. False: nothing is
 * watched, or the memory does not allow this access in any case. */
bool touched_open(uint64_t address, const void *context);
#endif
