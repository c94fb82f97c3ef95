/* count.h - counts the call of a wrapper; for api.c only, others read counters.h. */
#ifndef SPILLWAY_SHIM_COUNT_H
#define SPILLWAY_SHIM_COUNT_H
#include "counters.h"

static inline void spw_count(enum spw_call call, size_t bytes)
{
    __atomic_fetch_add(&spw_counts[call].calls, 1, __ATOMIC_RELAXED);
    if (bytes)
        __atomic_fetch_add(&spw_counts[call].bytes, bytes, __ATOMIC_RELAXED);
}

/* The bytes of a call are recognised by the parameter names in cuda.h: inside a wrapper the parameter hides the constant of
 * that name here. A wrapper without such a parameter sees 0, which the compiler drops. */
static const size_t ByteCount = 0, bytesize = 0;
static const void *const pCopy = NULL;

static inline size_t spw_bytes_2d(const CUDA_MEMCPY2D *copy)
{
    return copy->WidthInBytes * copy->Height;
}

static inline size_t spw_bytes_3d(const CUDA_MEMCPY3D *copy)
{
    return copy->WidthInBytes * copy->Height * copy->Depth;
}

static inline size_t spw_bytes_3d_peer(const CUDA_MEMCPY3D_PEER *copy)
{
    return copy->WidthInBytes * copy->Height * copy->Depth;
}

static inline size_t spw_bytes_unknown(const void *copy)
{
    return 0;
}

#define SPW_BYTES \
    (ByteCount + bytesize + \
     _Generic(pCopy, const CUDA_MEMCPY2D *: spw_bytes_2d, const CUDA_MEMCPY3D *: spw_bytes_3d, \
         const CUDA_MEMCPY3D_PEER *: spw_bytes_3d_peer, default: spw_bytes_unknown)(pCopy))
#endif
