/* exec.h - executes an operation: runs the kernel, moves the bytes, and catches a fault on the way. */
#ifndef SIMGPU_DRIVER_EXEC_H
#define SIMGPU_DRIVER_EXEC_H
#include "op.h"

/* Executes anything but host functions. A fault becomes the context's sticky error. */
void exec_run(struct op *op);
/* A kernel that meets others (../image.h) offers them what it reads, at op->ready_ns. Faults as above. */
void exec_arrive(struct op *op);
/* Restores the program's own signal handlers; to be called before the lock is released. */
void exec_close(void);
/* Reads memory that may not be readable. Returns false on a fault. */
bool exec_read(void *target, uint64_t source, size_t bytes);
/* Returns true if the awaited value is there. */
bool exec_value_is_there(const struct value *value);
#endif
