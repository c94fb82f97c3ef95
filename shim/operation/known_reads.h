/* known_reads.h - what the launch of this thread that was submitted last is known to only read, for who writes down what
 * launches touch. Kept where kernels are tried for a trace, and there only. */
#ifndef SPILLWAY_SHIM_KNOWN_READS_H
#define SPILLWAY_SHIM_KNOWN_READS_H
#include "op.h"

/* The launch was submitted; `taken`: and accepted. */
void spw_known_reads_note(const struct spw_op *op, bool taken);

/* A bit for each of the `count` addresses (the first 64) that the launch was given, and was never seen to write through.
 * What was noted is gone then: later launches are others. */
uint64_t spw_known_reads_take(const CUdeviceptr *list, unsigned count);
#endif
