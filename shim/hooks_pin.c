/* hooks_pin.c - calls after which an address is used where no launch tells it: what lies there is pinned, then they pass.
 *
 * Stream memory operations (someone else polls or writes the word), textures (the address hides behind a handle), and all
 * that shows memory to other processes and devices (they hold on to the physical memory of that moment). */
#include "hooks.h"

#include "access.h"
#include "graph.h"
#include "log.h"

static const char why_memop[] = "a stream memory operation uses it";
static const char why_texture[] = "a texture reads it";
static const char why_shared[] = "it is shared with another process or device";

static bool pin(CUdeviceptr address, const char *why)
{
    bool ours = spw_in_arena(address);
    if (ours)
        spw_pin_address(address, why);
    return ours;
}

/* ---- stream memory operations ---- */

void spw_pin_memop(const CUstreamBatchMemOpParams *p)
{
    switch (p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        pin(p->waitValue.address, why_memop);
        break;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        pin(p->writeValue.address, why_memop);
        break;
    default: /* barriers and flushes have no address */
        break;
    }
}

#define VALUE(symbol, type) \
    CUresult spw_on_##symbol(CUstream stream, CUdeviceptr addr, type value, unsigned int flags) \
    { \
        pin(addr, why_memop); \
        return SPW_DRIVER(symbol, (stream, addr, value, flags)); \
    }

VALUE(cuStreamWaitValue32, cuuint32_t)
VALUE(cuStreamWaitValue32_ptsz, cuuint32_t)
VALUE(cuStreamWaitValue32_v2, cuuint32_t)
VALUE(cuStreamWaitValue32_v2_ptsz, cuuint32_t)
VALUE(cuStreamWaitValue64, cuuint64_t)
VALUE(cuStreamWaitValue64_ptsz, cuuint64_t)
VALUE(cuStreamWaitValue64_v2, cuuint64_t)
VALUE(cuStreamWaitValue64_v2_ptsz, cuuint64_t)
VALUE(cuStreamWriteValue32, cuuint32_t)
VALUE(cuStreamWriteValue32_ptsz, cuuint32_t)
VALUE(cuStreamWriteValue32_v2, cuuint32_t)
VALUE(cuStreamWriteValue32_v2_ptsz, cuuint32_t)
VALUE(cuStreamWriteValue64, cuuint64_t)
VALUE(cuStreamWriteValue64_ptsz, cuuint64_t)
VALUE(cuStreamWriteValue64_v2, cuuint64_t)
VALUE(cuStreamWriteValue64_v2_ptsz, cuuint64_t)

#define BATCH(symbol) \
    CUresult spw_on_##symbol(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray, unsigned int flags) \
    { \
        for (unsigned i = 0; paramArray && i < count; i++) \
            spw_pin_memop(&paramArray[i]); \
        return SPW_DRIVER(symbol, (stream, count, paramArray, flags)); \
    }

BATCH(cuStreamBatchMemOp)
BATCH(cuStreamBatchMemOp_ptsz)
BATCH(cuStreamBatchMemOp_v2)
BATCH(cuStreamBatchMemOp_v2_ptsz)

/* ---- textures ---- */

CUresult spw_on_cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
                                  const CUDA_TEXTURE_DESC *pTexDesc, const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
    if (pResDesc && pResDesc->resType == CU_RESOURCE_TYPE_LINEAR)
        pin(pResDesc->res.linear.devPtr, why_texture);
    if (pResDesc && pResDesc->resType == CU_RESOURCE_TYPE_PITCH2D)
        pin(pResDesc->res.pitch2D.devPtr, why_texture);
    return SPW_DRIVER(cuTexObjectCreate, (pTexObject, pResDesc, pTexDesc, pResViewDesc));
}

CUresult spw_on_cuTexRefSetAddress_v2(size_t *ByteOffset, CUtexref hTexRef, CUdeviceptr dptr, size_t bytes)
{
    pin(dptr, why_texture);
    return SPW_DRIVER(cuTexRefSetAddress_v2, (ByteOffset, hTexRef, dptr, bytes));
}

CUresult spw_on_cuTexRefSetAddress2D_v2(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr dptr, size_t Pitch)
{
    pin(dptr, why_texture);
    return SPW_DRIVER(cuTexRefSetAddress2D_v2, (hTexRef, desc, dptr, Pitch));
}

CUresult spw_on_cuTexRefSetAddress2D_v3(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr dptr, size_t Pitch)
{
    pin(dptr, why_texture);
    return SPW_DRIVER(cuTexRefSetAddress2D_v3, (hTexRef, desc, dptr, Pitch));
}

/* ---- other processes and devices ---- */

/* Sharing may be refused for memory that is mapped as ours is, where the program's own allocation would have been accepted.
 */
static CUresult shared(CUresult result, bool ours, const char *call)
{
    static int warned;
    if (ours && result != CUDA_SUCCESS)
        spw_warn_once(
            &warned,
            "%s: the driver refused (error %d) to share memory that spillway allocated; SPILLWAY_MODE=off lets the "
            "program allocate it itself",
            call, (int)result);
    return result;
}

CUresult spw_on_cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    bool ours = pin(dptr, why_shared);
    return shared(SPW_DRIVER(cuIpcGetMemHandle, (pHandle, dptr)), ours, "cuIpcGetMemHandle");
}

CUresult spw_on_cuMemPoolExportPointer(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr)
{
    bool ours = pin(ptr, why_shared);
    return shared(SPW_DRIVER(cuMemPoolExportPointer, (shareData_out, ptr)), ours, "cuMemPoolExportPointer");
}

CUresult spw_on_cuMemGetHandleForAddressRange(void *handle, CUdeviceptr dptr, size_t size, CUmemRangeHandleType handleType,
                                              unsigned long long flags)
{
    bool ours = pin(dptr, why_shared);
    return shared(SPW_DRIVER(cuMemGetHandleForAddressRange, (handle, dptr, size, handleType, flags)), ours,
                  "cuMemGetHandleForAddressRange");
}

CUresult spw_on_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    bool ours = pin((CUdeviceptr)(uintptr_t)addr, why_shared);
    return shared(SPW_DRIVER(cuMemRetainAllocationHandle, (handle, addr)), ours, "cuMemRetainAllocationHandle");
}

CUresult spw_on_cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset, CUdeviceptr memptr, size_t size,
                                    unsigned long long flags)
{
    bool ours = pin(memptr, why_shared);
    return shared(SPW_DRIVER(cuMulticastBindAddr, (mcHandle, mcOffset, memptr, size, flags)), ours, "cuMulticastBindAddr");
}

CUresult spw_on_cuMulticastBindAddr_v2(CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset,
                                       CUdeviceptr memptr, size_t size, unsigned long long flags)
{
    bool ours = pin(memptr, why_shared);
    return shared(SPW_DRIVER(cuMulticastBindAddr_v2, (mcHandle, dev, mcOffset, memptr, size, flags)), ours,
                  "cuMulticastBindAddr");
}
