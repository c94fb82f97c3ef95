/* known_reads.h - remembers which addresses the thread's last launch is known to only read, for the recorder. Kept only
 * where kernels are tried for a trace. */
#ifndef SPILLWAY_SHIM_KNOWN_READS_H
#define SPILLWAY_SHIM_KNOWN_READS_H
#include "op.h"

/* Notes a launch that was submitted; `taken`: the driver accepted it. */
void spw_known_reads_note(const struct spw_op *op, bool taken);

/* Returns a bit for each of the first 64 of the `count` addresses that the launch was given and is known not to write
 * through. Forgets the note, since later launches are others. */
uint64_t spw_known_reads_take(const CUdeviceptr *list, unsigned count);
#endif
