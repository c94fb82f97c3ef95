/* chronicle.h - what the device and the host did when, for SIMGPU_CHRONICLE: a line for each operation and for each call. */
#ifndef SIMGPU_DRIVER_CHRONICLE_H
#define SIMGPU_DRIVER_CHRONICLE_H
#include <cuda.h>

#include "op.h"

/* Opens the file that the settings name, if they do. */
CUresult chronicle_init(void);

/* An operation is complete: from op->ready_ns to op->end_ns it was carried out. */
void chronicle_operation(const struct op *op);
/* A call of the host began with the driver's lock taken, and ends with it about to be given back. */
void chronicle_enter(const char *call);
void chronicle_leave(CUresult result);
#endif
