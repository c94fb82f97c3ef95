/* unnamed.h - operations of the program that touch pinned memory and do not list it: stream memory operations, and kernels
 * that are launched on several devices at once.
 *
 * That they run is noted, so that memory which is freed is not used again before their end. */
#ifndef SPILLWAY_SHIM_UNNAMED_H
#define SPILLWAY_SHIM_UNNAMED_H
#include "op.h"

/* Begins one on `stream`; `name` is static text for messages. False: it is not begun, since the stream captures or is none,
 * and spw_unnamed_end() has nothing to end. The driver is called in either case. No lock held. */
bool spw_unnamed_begin(struct spw_op *op, const char *name, struct spw_signature signature, CUstream stream);

/* Ends it behind the driver's call. `result`, as that answered. */
CUresult spw_unnamed_end(struct spw_op *op, CUresult result);
#endif
