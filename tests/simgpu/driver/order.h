/* order.h - the ordering check: operations that touch the same bytes must be ordered by the program, not by luck. */
#ifndef SIMGPU_DRIVER_ORDER_H
#define SIMGPU_DRIVER_ORDER_H
#include "op.h"

/* Compares a new operation with everything that may still be going on in its bytes, and remembers it. */
void order_check(struct op *op);
/* The kernel may begin before `ahead` has ended, which is ahead of it in the stream. What the program launched itself it
 * knows of; beside a kernel of the library's the program never meant to run. */
void order_overlap(const struct op *op, const struct op *ahead);
/* The bytes lose their memory now: nothing that the host hasn't seen complete may still touch them. `what` is the call. */
void order_end(struct context *context, uint64_t address, uint64_t bytes, const char *what);
/* The bytes begin a new life. */
void order_forget(uint64_t address, uint64_t bytes);
#endif
