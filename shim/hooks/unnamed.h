/* unnamed.h - operations of the program that touch pinned memory and do not list it: stream memory operations, and kernels
 * that are launched on several devices at once.
 *
 * It is noted that they run, so that freed memory is not used again before they end. */
#ifndef SPILLWAY_SHIM_UNNAMED_H
#define SPILLWAY_SHIM_UNNAMED_H
#include "op.h"

/* Begins one on `stream`; `name` is static text for messages. Returns false if it is not begun, since the stream captures
 * or does not exist, or it is refused: then spw_unnamed_end() must not be called. The driver is called in either case. Call
 * with no lock held. */
bool spw_unnamed_begin(struct spw_op *op, const char *name, struct spw_signature signature, CUstream stream);

/* Ends it after the driver call. Returns `result`, the driver's answer. */
CUresult spw_unnamed_end(struct spw_op *op, CUresult result);
#endif
