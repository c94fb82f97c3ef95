/* order.h - the ordering check: the program, not luck, must order operations that touch the same bytes. */
#ifndef SIMGPU_DRIVER_ORDER_H
#define SIMGPU_DRIVER_ORDER_H
#include "op.h"

/* Compares a new operation with all operations that may still use its bytes, and remembers it. */
void order_check(struct op *op);
/* The kernel may begin before `ahead`, an earlier one in the stream, has ended. For its own launches the program knows
 * that; it never meant a kernel to overlap with one of the library. */
void order_overlap(const struct op *op, const struct op *ahead);
/* The bytes lose their memory now: no operation may still touch them unless the host has seen it complete. `what` is the
 * call. */
void order_end(struct context *context, uint64_t address, uint64_t bytes, const char *what);
/* Forgets the bytes, which are used anew. */
void order_forget(uint64_t address, uint64_t bytes);
#endif
