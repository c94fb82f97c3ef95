/* touched.h - records which pages of device memory each kernel touches, for SIMGPU_TOUCHED: what the memory itself
 * observes, whatever was declared or guessed.
 *
 * While a kernel is observed, the devices' memory cannot be accessed. The first access to a page is a fault, which opens
 * the page for that kind of access, as far as the memory allows it. The driver's lock is held throughout. */
#ifndef SIMGPU_DRIVER_TOUCHED_H
#define SIMGPU_DRIVER_TOUCHED_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "op.h"

/* Opens the file that the settings name, if any. */
CUresult touched_init(void);
bool touched_wanted(void);

/* To be called around a kernel: closes all memory of the devices that the host cannot access; restores it exactly, and
 * writes the kernel's line. */
void touched_begin(void);
void touched_end(const struct op *op);

/* For the fault handler; `context` is its third argument. Returns true if the page is open now and the access can be
 * retried. False: no kernel is observed, or the memory does not allow this access in any case. */
bool touched_open(uint64_t address, const void *context);
#endif
