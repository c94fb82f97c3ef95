/* chronicle.h - logs what the device and the host did when, for SIMGPU_CHRONICLE: a line for each operation and for each
 * call. */
#ifndef SIMGPU_DRIVER_CHRONICLE_H
#define SIMGPU_DRIVER_CHRONICLE_H
#include <cuda.h>

#include "op.h"

/* Opens the file that the settings name, if any. */
CUresult chronicle_init(void);

/* Logs a complete operation, which was executed from op->ready_ns to op->end_ns. */
void chronicle_operation(const struct op *op);
/* Log the beginning of a host call, when the driver's lock has been taken, and its end, before the lock is released. */
void chronicle_enter(const char *call);
void chronicle_leave(CUresult result);
#endif
