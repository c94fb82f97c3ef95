/* note_memory.c - what the program's allocations and frees mean for a trace. */
#include "note.h"

#define ALLOC(symbol, kind, params, address, bytes) \
    void spw_noted_##symbol params \
    { \
        spw_recorder_alloc(kind, (CUdeviceptr)(uintptr_t)(address), bytes); \
    }
#define FREE(symbol, params, address, in_stream_order) \
    void spw_noted_##symbol params \
    { \
        spw_recorder_free((CUdeviceptr)(uintptr_t)(address), in_stream_order); \
    }

ALLOC(cuMemAlloc_v2, SPW_ALLOC_PLAIN, (CUdeviceptr * p, size_t n), *p, n)
ALLOC(cuMemAllocManaged, SPW_ALLOC_MANAGED, (CUdeviceptr * p, size_t n, unsigned flags), *p, n)
ALLOC(cuMemAllocPitch_v2, SPW_ALLOC_PLAIN, (CUdeviceptr * p, size_t *pitch, size_t width, size_t height, unsigned element),
      *p, *pitch *height)
FREE(cuMemFree_v2, (CUdeviceptr p), p, false)

/* Memory that a capture allocates comes into being when its graph is launched, at an address that the graph keeps: it
 * counts from here on. */
ALLOC(cuMemAllocAsync, SPW_ALLOC_ASYNC, (CUdeviceptr * p, size_t n, CUstream s), *p, n)
ALLOC(cuMemAllocAsync_ptsz, SPW_ALLOC_ASYNC, (CUdeviceptr * p, size_t n, CUstream s), *p, n)
ALLOC(cuMemAllocFromPoolAsync, SPW_ALLOC_ASYNC, (CUdeviceptr * p, size_t n, CUmemoryPool pool, CUstream s), *p, n)
ALLOC(cuMemAllocFromPoolAsync_ptsz, SPW_ALLOC_ASYNC, (CUdeviceptr * p, size_t n, CUmemoryPool pool, CUstream s), *p, n)
FREE(cuMemFreeAsync, (CUdeviceptr p, CUstream s), p, true)
FREE(cuMemFreeAsync_ptsz, (CUdeviceptr p, CUstream s), p, true)

ALLOC(cuMemHostAlloc, SPW_ALLOC_HOST, (void **p, size_t n, unsigned flags), *p, n)
ALLOC(cuMemAllocHost, SPW_ALLOC_HOST, (void **p, unsigned n), *p, n)
ALLOC(cuMemAllocHost_v2, SPW_ALLOC_HOST, (void **p, size_t n), *p, n)
ALLOC(cuMemHostRegister, SPW_ALLOC_HOST, (void *p, size_t n, unsigned flags), p, n)
ALLOC(cuMemHostRegister_v2, SPW_ALLOC_HOST, (void *p, size_t n, unsigned flags), p, n)
FREE(cuMemFreeHost, (void *p), p, false)
FREE(cuMemHostUnregister, (void *p), p, false)

ALLOC(cuMemMap, SPW_ALLOC_VMM,
      (CUdeviceptr p, size_t n, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags), p, n)

void spw_noted_cuMemUnmap(CUdeviceptr p, size_t n)
{
    spw_record_free_range(p, n);
}

/* A variable that is asked for repeatedly is noted once. */
static void global(const CUdeviceptr *p, const size_t *n)
{
    if (p && n)
        spw_record_alloc_once(SPW_ALLOC_GLOBAL, *p, *n);
}

void spw_noted_cuModuleGetGlobal_v2(CUdeviceptr *p, size_t *n, CUmodule module, const char *name)
{
    global(p, n);
}

void spw_noted_cuLibraryGetGlobal(CUdeviceptr *p, size_t *n, CUlibrary library, const char *name)
{
    global(p, n);
}

ALLOC(cuIpcOpenMemHandle, SPW_ALLOC_IMPORT, (CUdeviceptr * p, CUipcMemHandle handle, unsigned flags), *p, 0)
ALLOC(cuIpcOpenMemHandle_v2, SPW_ALLOC_IMPORT, (CUdeviceptr * p, CUipcMemHandle handle, unsigned flags), *p, 0)
FREE(cuIpcCloseMemHandle, (CUdeviceptr p), p, false)
