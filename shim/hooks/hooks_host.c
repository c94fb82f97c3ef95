/* hooks_host.c - memory that kernels can reach and that does not come from our arenas, such as host memory: notes where it
 * lies, so that its addresses are recognised in what the program copies to the device (outside.h). */
#include "hooks.h"
#include "outside.h"

static CUresult noted(CUresult result, const void *address, size_t bytes)
{
    if (result == CUDA_SUCCESS)
        spw_outside_lies_at((CUdeviceptr)(uintptr_t)address, bytes);
    return result;
}

static CUresult noted_at(CUresult result, const CUdeviceptr *address, size_t bytes)
{
    return result == CUDA_SUCCESS ? noted(result, (const void *)(uintptr_t)*address, bytes) : result;
}

CUresult spw_on_cuMemAllocHost(void **pp, unsigned int bytesize)
{
    CUresult r = SPW_DRIVER(cuMemAllocHost, (pp, bytesize));
    return r == CUDA_SUCCESS ? noted(r, *pp, bytesize) : r;
}

CUresult spw_on_cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    CUresult r = SPW_DRIVER(cuMemAllocHost_v2, (pp, bytesize));
    return r == CUDA_SUCCESS ? noted(r, *pp, bytesize) : r;
}

CUresult spw_on_cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    CUresult r = SPW_DRIVER(cuMemHostAlloc, (pp, bytesize, Flags));
    return r == CUDA_SUCCESS ? noted(r, *pp, bytesize) : r;
}

CUresult spw_on_cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
    return noted(SPW_DRIVER(cuMemHostRegister, (p, bytesize, Flags)), p, bytesize);
}

CUresult spw_on_cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
    return noted(SPW_DRIVER(cuMemHostRegister_v2, (p, bytesize, Flags)), p, bytesize);
}

CUresult spw_on_cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    return noted_at(SPW_DRIVER(cuMemHostGetDevicePointer_v2, (pdptr, p, Flags)), pdptr, 1);
}

/* Only the other process knows its size. */
CUresult spw_on_cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
    return noted_at(SPW_DRIVER(cuIpcOpenMemHandle, (pdptr, handle, Flags)), pdptr, 1);
}

CUresult spw_on_cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
    return noted_at(SPW_DRIVER(cuIpcOpenMemHandle_v2, (pdptr, handle, Flags)), pdptr, 1);
}

CUresult spw_on_cuExternalMemoryGetMappedBuffer(CUdeviceptr *devPtr, CUexternalMemory extMem,
                                                const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *bufferDesc)
{
    return noted_at(SPW_DRIVER(cuExternalMemoryGetMappedBuffer, (devPtr, extMem, bufferDesc)), devPtr,
                    bufferDesc ? bufferDesc->size : 1);
}
