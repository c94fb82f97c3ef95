/* graph_call.h - the beginning that the calls of graphs share. */
#ifndef SIMGPU_DRIVER_GRAPH_CALL_H
#define SIMGPU_DRIVER_GRAPH_CALL_H
#include "driver.h"

/* Calls driver_enter(). Returns CUDA_ERROR_INVALID_VALUE for anything but a live handle of that kind. */
static inline CUresult enter_with(struct call *call, const char *name, enum handle kind, const void *handle)
{
    CUresult r = driver_enter(call, name, NEEDS_CONTEXT);
    return r == CUDA_SUCCESS && !handle_is(kind, handle) ? CUDA_ERROR_INVALID_VALUE : r;
}
#endif
