/* hooks_pin.c - calls that keep an address for use without a launch that shows it: what lies there is pinned first.
 *
 * Stream memory operations (somebody else polls or writes the word), textures (the address is hidden behind a handle), and
 * all calls that show memory to other processes and devices (they hold on to its physical memory of that moment). */
#include "unmanaged.h"
#include "hooks.h"

#include "arena.h"
#include "pin.h"
#include "hooks_pin.h"
#include "hooks_wait.h"
#include "log.h"
#include "twins.h"
#include "unnamed.h"
#include "versions.h"

static const char why_memop[] = "a stream memory operation uses it";
static const char why_unknown[] = "a stream memory operation is of a kind that is not known";
static const char why_written[] = "a stream memory operation wrote its address";
static const char why_texture[] = "a texture reads it";
static const char why_shared[] = "it is shared with another process or device";

static void pin(CUdeviceptr address, const char *why)
{
    if (spw_in_arena(address))
        spw_pin_lasting(address, why);
}

/* They have the memory, not the address: it is no longer theirs once it is freed. */
static void pin_shared(CUdeviceptr address)
{
    if (spw_in_arena(address))
        spw_pin_address(address, why_shared);
}

/* ---- stream memory operations, and semaphores ---- */

/* A stream writes a word there, or a graph does whenever it is launched. If that is a constant of a module, what its
 * kernels read is not known any more. */
static void pin_written(CUdeviceptr address)
{
    pin(address, why_memop);
    if (spw_in_arena(address))
        return;
    spw_twins_copied(address, sizeof(cuuint64_t));
    const int r = spw_versions_break_for(address);
    spw_pin_failure = r < 0 ? r : spw_pin_failure;
}

void spw_pin_order_is_unseen(void)
{
    const int r = spw_versions_order_is_unseen();
    spw_pin_failure = r < 0 ? r : spw_pin_failure;
}

enum { ATOMIC_REDUCTION = 8 }; /* CU_STREAM_MEM_OP_ATOMIC_REDUCTION, since 13.1 */

void spw_pin_memop(const CUstreamBatchMemOpParams *p)
{
    switch ((unsigned)p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        pin(p->waitValue.address, why_memop);
        spw_pin_order_is_unseen();
        break;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        pin_written(p->writeValue.address);
        break;
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        pin_written(p->writeValue.address);
        pin(p->writeValue.value64, why_written); /* kernels may follow it */
        break;
    case ATOMIC_REDUCTION: /* the operation, flags, kind and type of the reduction, 4 bytes each, then the address */
        pin_written(p->pad[2]);
        break;
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        break;
    default: /* newer than this library */
        spw_pin_everything(why_unknown);
        spw_pin_order_is_unseen();
        break;
    }
}

/* The stream's number for the operation tells that the word may still be written. */
#define SUBMIT(symbol, s, args, waits) \
    struct spw_op op; \
    static const char name[] = #symbol; \
    if (spw_pin_failure < 0) \
        return CUDA_ERROR_OUT_OF_MEMORY; \
    const bool noted = \
        spw_unnamed_begin(&op, name, (struct spw_signature){SPW_ITERATION_SET, (uint64_t)(uintptr_t)name, 0}, s); \
    CUresult r = SPW_DRIVER(symbol, args); \
    r = noted ? spw_unnamed_end(&op, r) : r; \
    return (waits) ? spw_waits_for_the_program(s, r) : r

#define VALUE(symbol, type, s) \
    CUresult spw_on_##symbol(CUstream stream, CUdeviceptr addr, type value, unsigned int flags) \
    { \
        spw_pin_failure = 0; \
        pin_written(addr); \
        pin(value, why_written); \
        SUBMIT(symbol, s, (stream, addr, value, flags), false); \
    }

#define WAIT(symbol, type, s) \
    CUresult spw_on_##symbol(CUstream stream, CUdeviceptr addr, type value, unsigned int flags) \
    { \
        return spw_waits_for_the_program( \
            s, SPW_PIN_THEN((pin(addr, why_memop), spw_pin_order_is_unseen()), symbol, (stream, addr, value, flags))); \
    }

WAIT(cuStreamWaitValue32, cuuint32_t, stream)
WAIT(cuStreamWaitValue32_ptsz, cuuint32_t, spw_per_thread(stream))
WAIT(cuStreamWaitValue32_v2, cuuint32_t, stream)
WAIT(cuStreamWaitValue32_v2_ptsz, cuuint32_t, spw_per_thread(stream))
WAIT(cuStreamWaitValue64, cuuint64_t, stream)
WAIT(cuStreamWaitValue64_ptsz, cuuint64_t, spw_per_thread(stream))
WAIT(cuStreamWaitValue64_v2, cuuint64_t, stream)
WAIT(cuStreamWaitValue64_v2_ptsz, cuuint64_t, spw_per_thread(stream))
VALUE(cuStreamWriteValue32, cuuint32_t, stream)
VALUE(cuStreamWriteValue32_ptsz, cuuint32_t, spw_per_thread(stream))
VALUE(cuStreamWriteValue32_v2, cuuint32_t, stream)
VALUE(cuStreamWriteValue32_v2_ptsz, cuuint32_t, spw_per_thread(stream))
VALUE(cuStreamWriteValue64, cuuint64_t, stream)
VALUE(cuStreamWriteValue64_ptsz, cuuint64_t, spw_per_thread(stream))
VALUE(cuStreamWriteValue64_v2, cuuint64_t, stream)
VALUE(cuStreamWriteValue64_v2_ptsz, cuuint64_t, spw_per_thread(stream))

static void pin_batch(const CUstreamBatchMemOpParams *list, unsigned count)
{
    for (unsigned i = 0; list && i < count; i++)
        spw_pin_memop(&list[i]);
}

static bool batch_waits(const CUstreamBatchMemOpParams *list, unsigned count)
{
    for (unsigned i = 0; list && i < count; i++)
        if (list[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || list[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_64)
            return true;
    return false;
}

#define BATCH(symbol, s) \
    CUresult spw_on_##symbol(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray, unsigned int flags) \
    { \
        spw_pin_failure = 0; \
        pin_batch(paramArray, count); \
        SUBMIT(symbol, s, (stream, count, paramArray, flags), batch_waits(paramArray, count)); \
    }

BATCH(cuStreamBatchMemOp, stream)
BATCH(cuStreamBatchMemOp_ptsz, spw_per_thread(stream))
BATCH(cuStreamBatchMemOp_v2, stream)
BATCH(cuStreamBatchMemOp_v2_ptsz, spw_per_thread(stream))

#define WAIT_FOR_SEMAPHORES(symbol, s) \
    CUresult spw_on_##symbol(const CUexternalSemaphore *list, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params, \
                             unsigned int count, CUstream stream) \
    { \
        return spw_waits_for_the_program(s, \
                                         SPW_PIN_THEN(spw_pin_order_is_unseen(), symbol, (list, params, count, stream))); \
    }

WAIT_FOR_SEMAPHORES(cuWaitExternalSemaphoresAsync, stream)
WAIT_FOR_SEMAPHORES(cuWaitExternalSemaphoresAsync_ptsz, spw_per_thread(stream))

/* ---- textures ---- */

static void pin_resource(const CUDA_RESOURCE_DESC *p)
{
    if (p && p->resType == CU_RESOURCE_TYPE_LINEAR)
        pin(p->res.linear.devPtr, why_texture);
    if (p && p->resType == CU_RESOURCE_TYPE_PITCH2D)
        pin(p->res.pitch2D.devPtr, why_texture);
}

CUresult spw_on_cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
                                  const CUDA_TEXTURE_DESC *pTexDesc, const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
    return SPW_PIN_THEN(pin_resource(pResDesc), cuTexObjectCreate, (pTexObject, pResDesc, pTexDesc, pResViewDesc));
}

CUresult spw_on_cuTexRefSetAddress_v2(size_t *ByteOffset, CUtexref hTexRef, CUdeviceptr dptr, size_t bytes)
{
    return SPW_PIN_THEN(pin(dptr, why_texture), cuTexRefSetAddress_v2, (ByteOffset, hTexRef, dptr, bytes));
}

CUresult spw_on_cuTexRefSetAddress2D_v2(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr dptr, size_t Pitch)
{
    return SPW_PIN_THEN(pin(dptr, why_texture), cuTexRefSetAddress2D_v2, (hTexRef, desc, dptr, Pitch));
}

CUresult spw_on_cuTexRefSetAddress2D_v3(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr dptr, size_t Pitch)
{
    return SPW_PIN_THEN(pin(dptr, why_texture), cuTexRefSetAddress2D_v3, (hTexRef, desc, dptr, Pitch));
}

/* ---- other processes and devices ---- */

/* The driver may refuse to share memory that is mapped like ours, although it would have accepted the program's own. */
static CUresult shared(CUresult result, CUdeviceptr address, const char *call)
{
    static int warned;
    if (result != CUDA_SUCCESS && spw_in_arena(address) && spw_pin_failure == 0)
        spw_warn_once(
            &warned,
            "%s: the driver refused (error %d) to share memory that spillway allocated; with SPILLWAY_MODE=off the "
            "program allocates it itself" SPW_SEE("sharing-refused"),
            call, (int)result);
    return result;
}

CUresult spw_on_cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    return shared(SPW_PIN_THEN(pin_shared(dptr), cuIpcGetMemHandle, (pHandle, dptr)), dptr, "cuIpcGetMemHandle");
}

CUresult spw_on_cuMemPoolExportPointer(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr)
{
    return shared(SPW_PIN_THEN(pin_shared(ptr), cuMemPoolExportPointer, (shareData_out, ptr)), ptr,
                  "cuMemPoolExportPointer");
}

CUresult spw_on_cuMemGetHandleForAddressRange(void *handle, CUdeviceptr dptr, size_t size, CUmemRangeHandleType handleType,
                                              unsigned long long flags)
{
    return shared(SPW_PIN_THEN(pin_shared(dptr), cuMemGetHandleForAddressRange, (handle, dptr, size, handleType, flags)),
                  dptr, "cuMemGetHandleForAddressRange");
}

/* The program has not mapped what lies at our addresses, so it gets the driver's answer for memory that nobody mapped. The
 * memory there is in pieces, which change each time it is brought in, and would belong to two programs if it were held for
 * longer. */
CUresult spw_on_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    if (spw_in_arena((CUdeviceptr)(uintptr_t)addr))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = spw_driver.cuMemRetainAllocationHandle(handle, addr);
    if (r == CUDA_SUCCESS)
        spw_unmanaged_retained(*handle);
    return r;
}

CUresult spw_on_cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset, CUdeviceptr memptr, size_t size,
                                    unsigned long long flags)
{
    return shared(SPW_PIN_THEN(pin_shared(memptr), cuMulticastBindAddr, (mcHandle, mcOffset, memptr, size, flags)), memptr,
                  "cuMulticastBindAddr");
}

CUresult spw_on_cuMulticastBindAddr_v2(CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset,
                                       CUdeviceptr memptr, size_t size, unsigned long long flags)
{
    return shared(SPW_PIN_THEN(pin_shared(memptr), cuMulticastBindAddr_v2, (mcHandle, dev, mcOffset, memptr, size, flags)),
                  memptr, "cuMulticastBindAddr");
}

CUresult spw_on_cuLogicalEndpointBindAddr(CUlogicalEndpointId leId, CUdevice dev, cuuint64_t offset, void *ptr,
                                          cuuint64_t size, unsigned long long flags)
{
    const CUdeviceptr address = (CUdeviceptr)(uintptr_t)ptr;
    return shared(SPW_PIN_THEN(pin_shared(address), cuLogicalEndpointBindAddr, (leId, dev, offset, ptr, size, flags)),
                  address, "cuLogicalEndpointBindAddr");
}
