/* calls.h - the single list of driver calls that spillway handles.
 *
 *     kind  symbol            asked for as      parameters                 arguments
 *     HOOK, cuMemAlloc_v2,    "cuMemAlloc",     (CUdeviceptr *p, size_t n), (p, n)
 *
 * kind HOOK: goes to spw_on_<symbol>(), written by hand in hooks_*.c, while spillway is live; else to the driver
 *      PASS: goes straight to the driver and is counted
 *      HOOK_THEN_NOTE, PASS_THEN_NOTE: the same, then it is reported to the recorder: spw_noted_<symbol>(), note_*.c
 *      NOTE_THEN_HOOK, NOTE_THEN_PASS: it is reported first, because afterwards the call's handles are invalid
 *      EDGE: written by hand in edge.c, because it must work before cuInit() and without a driver
 * "asked for as" is the name by which cuGetProcAddress() knows the call; _v2 and per-thread forms share it.
 *
 * The same list exports our symbol (api.c), finds the driver's (driver.c), counts (api.c), and answers cuGetProcAddress()
 * (resolve.c): one more call is one more line, and a function if it is a HOOK. Every other driver symbol is a forwarder,
 * made from forward.list.
 *
 * cuda.h renames calls by macros (cuMemAlloc means cuMemAlloc_v2). Here a name is exactly the symbol, which needs
 * __CUDA_API_VERSION_INTERNAL; meson's shim_headers defines it for every file that includes this. */
#ifndef SPILLWAY_SHIM_CALLS_H
#define SPILLWAY_SHIM_CALLS_H
#ifndef __CUDA_API_VERSION_INTERNAL
#error "calls.h needs -D__CUDA_API_VERSION_INTERNAL (use shim_headers in meson)"
#endif
#include "newer.h"
#include <cuda.h>

/* One line per call, however long. */
/* clang-format off */
#define SPW_DRIVER_CALLS(X) \
    /* start, look-ups and messages */ \
    X(EDGE, cuDriverGetVersion, "cuDriverGetVersion", (int *driverVersion), (driverVersion)) \
    X(EDGE, cuGetErrorName, "cuGetErrorName", (CUresult error, const char **pStr), (error, pStr)) \
    X(EDGE, cuGetErrorString, "cuGetErrorString", (CUresult error, const char **pStr), (error, pStr)) \
    X(EDGE, cuGetProcAddress, "cuGetProcAddress", (const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags), (symbol, pfn, cudaVersion, flags)) \
    X(EDGE, cuGetProcAddress_v2, "cuGetProcAddress", (const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags, CUdriverProcAddressQueryResult *symbolStatus), (symbol, pfn, cudaVersion, flags, symbolStatus)) \
    X(EDGE, cuGetProcAddress_v2_ptsz, "cuGetProcAddress", (const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags, CUdriverProcAddressQueryResult *symbolStatus), (symbol, pfn, cudaVersion, flags, symbolStatus)) \
    X(EDGE, cuInit, "cuInit", (unsigned int Flags), (Flags)) \
    /* undocumented tables: observed only */ \
    X(PASS, cuGetExportTable, "cuGetExportTable", (const void **ppExportTable, const CUuuid *pExportTableId), (ppExportTable, pExportTableId)) \
    /* devices */ \
    X(PASS, cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer", (int *canAccessPeer, CUdevice dev, CUdevice peerDev), (canAccessPeer, dev, peerDev)) \
    X(PASS, cuDeviceComputeCapability, "cuDeviceComputeCapability", (int *major, int *minor, CUdevice dev), (major, minor, dev)) \
    X(PASS, cuDeviceGet, "cuDeviceGet", (CUdevice *device, int ordinal), (device, ordinal)) \
    X(PASS, cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *pi, CUdevice_attribute attrib, CUdevice dev), (pi, attrib, dev)) \
    X(PASS, cuDeviceGetByPCIBusId, "cuDeviceGetByPCIBusId", (CUdevice *dev, const char *pciBusId), (dev, pciBusId)) \
    X(PASS, cuDeviceGetCount, "cuDeviceGetCount", (int *count), (count)) \
    X(PASS, cuDeviceGetHostAtomicCapabilities, "cuDeviceGetHostAtomicCapabilities", (unsigned int *capabilities, const CUatomicOperation *operations, unsigned int count, CUdevice dev), (capabilities, operations, count, dev)) \
    X(PASS, cuDeviceGetName, "cuDeviceGetName", (char *name, int len, CUdevice dev), (name, len, dev)) \
    X(PASS, cuDeviceGetP2PAtomicCapabilities, "cuDeviceGetP2PAtomicCapabilities", (unsigned int *capabilities, const CUatomicOperation *operations, unsigned int count, CUdevice srcDevice, CUdevice dstDevice), (capabilities, operations, count, srcDevice, dstDevice)) \
    X(PASS, cuDeviceGetP2PAttribute, "cuDeviceGetP2PAttribute", (int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice, CUdevice dstDevice), (value, attrib, srcDevice, dstDevice)) \
    X(PASS, cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char *pciBusId, int len, CUdevice dev), (pciBusId, len, dev)) \
    X(PASS, cuDeviceGetUuid, "cuDeviceGetUuid", (CUuuid *uuid, CUdevice dev), (uuid, dev)) \
    X(PASS, cuDeviceGetUuid_v2, "cuDeviceGetUuid", (CUuuid *uuid, CUdevice dev), (uuid, dev)) \
    X(PASS, cuDeviceTotalMem, "cuDeviceTotalMem", (unsigned int *bytes, CUdevice dev), (bytes, dev)) \
    X(PASS, cuDeviceTotalMem_v2, "cuDeviceTotalMem", (size_t *bytes, CUdevice dev), (bytes, dev)) \
    /* contexts */ \
    X(HOOK, cuCtxAttach, "cuCtxAttach", (CUcontext *pctx, unsigned int flags), (pctx, flags)) \
    X(PASS_THEN_NOTE, cuCtxCreate, "cuCtxCreate", (CUcontext *pctx, unsigned int flags, CUdevice dev), (pctx, flags, dev)) \
    X(PASS_THEN_NOTE, cuCtxCreate_v2, "cuCtxCreate", (CUcontext *pctx, unsigned int flags, CUdevice dev), (pctx, flags, dev)) \
    X(PASS_THEN_NOTE, cuCtxCreate_v3, "cuCtxCreate", (CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams, unsigned int flags, CUdevice dev), (pctx, paramsArray, numParams, flags, dev)) \
    X(PASS_THEN_NOTE, cuCtxCreate_v4, "cuCtxCreate", (CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags, CUdevice dev), (pctx, ctxCreateParams, flags, dev)) \
    X(NOTE_THEN_HOOK, cuCtxDestroy, "cuCtxDestroy", (CUcontext ctx), (ctx)) \
    X(NOTE_THEN_HOOK, cuCtxDestroy_v2, "cuCtxDestroy", (CUcontext ctx), (ctx)) \
    X(HOOK, cuCtxDetach, "cuCtxDetach", (CUcontext ctx), (ctx)) \
    X(PASS, cuCtxDisablePeerAccess, "cuCtxDisablePeerAccess", (CUcontext peerContext), (peerContext)) \
    X(HOOK, cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", (CUcontext peerContext, unsigned int Flags), (peerContext, Flags)) \
    X(PASS, cuCtxFromGreenCtx, "cuCtxFromGreenCtx", (CUcontext *pContext, CUgreenCtx hCtx), (pContext, hCtx)) \
    X(PASS, cuCtxGetApiVersion, "cuCtxGetApiVersion", (CUcontext ctx, unsigned int *version), (ctx, version)) \
    X(PASS, cuCtxGetCurrent, "cuCtxGetCurrent", (CUcontext *pctx), (pctx)) \
    X(PASS, cuCtxGetDevice, "cuCtxGetDevice", (CUdevice *device), (device)) \
    X(PASS, cuCtxGetDevice_v2, "cuCtxGetDevice", (CUdevice *device, CUcontext ctx), (device, ctx)) \
    X(PASS, cuCtxGetFlags, "cuCtxGetFlags", (unsigned int *flags), (flags)) \
    X(PASS, cuCtxGetId, "cuCtxGetId", (CUcontext ctx, unsigned long long *ctxId), (ctx, ctxId)) \
    X(PASS, cuCtxGetLimit, "cuCtxGetLimit", (size_t *pvalue, CUlimit limit), (pvalue, limit)) \
    X(PASS_THEN_NOTE, cuCtxPopCurrent, "cuCtxPopCurrent", (CUcontext *pctx), (pctx)) \
    X(PASS_THEN_NOTE, cuCtxPopCurrent_v2, "cuCtxPopCurrent", (CUcontext *pctx), (pctx)) \
    X(PASS_THEN_NOTE, cuCtxPushCurrent, "cuCtxPushCurrent", (CUcontext ctx), (ctx)) \
    X(PASS_THEN_NOTE, cuCtxPushCurrent_v2, "cuCtxPushCurrent", (CUcontext ctx), (ctx)) \
    X(PASS, cuCtxRecordEvent, "cuCtxRecordEvent", (CUcontext hCtx, CUevent hEvent), (hCtx, hEvent)) \
    X(PASS_THEN_NOTE, cuCtxSetCurrent, "cuCtxSetCurrent", (CUcontext ctx), (ctx)) \
    X(PASS, cuCtxSetFlags, "cuCtxSetFlags", (unsigned int flags), (flags)) \
    X(PASS, cuCtxSetLimit, "cuCtxSetLimit", (CUlimit limit, size_t value), (limit, value)) \
    X(HOOK_THEN_NOTE, cuCtxSynchronize, "cuCtxSynchronize", (void), ()) \
    X(HOOK_THEN_NOTE, cuCtxSynchronize_v2, "cuCtxSynchronize", (CUcontext ctx), (ctx)) \
    X(PASS, cuCtxWaitEvent, "cuCtxWaitEvent", (CUcontext hCtx, CUevent hEvent), (hCtx, hEvent)) \
    X(PASS, cuDevicePrimaryCtxGetState, "cuDevicePrimaryCtxGetState", (CUdevice dev, unsigned int *flags, int *active), (dev, flags, active)) \
    X(HOOK, cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", (CUdevice dev), (dev)) \
    X(HOOK, cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", (CUdevice dev), (dev)) \
    X(NOTE_THEN_HOOK, cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset", (CUdevice dev), (dev)) \
    X(NOTE_THEN_HOOK, cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", (CUdevice dev), (dev)) \
    X(HOOK, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext *pctx, CUdevice dev), (pctx, dev)) \
    X(PASS, cuDevicePrimaryCtxSetFlags, "cuDevicePrimaryCtxSetFlags", (CUdevice dev, unsigned int flags), (dev, flags)) \
    X(PASS, cuDevicePrimaryCtxSetFlags_v2, "cuDevicePrimaryCtxSetFlags", (CUdevice dev, unsigned int flags), (dev, flags)) \
    X(HOOK, cuGreenCtxCreate, "cuGreenCtxCreate", (CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags), (phCtx, desc, dev, flags)) \
    X(HOOK, cuGreenCtxDestroy, "cuGreenCtxDestroy", (CUgreenCtx hCtx), (hCtx)) \
    X(PASS, cuGreenCtxGetDevResource, "cuGreenCtxGetDevResource", (CUgreenCtx hCtx, CUdevResource *resource, CUdevResourceType type), (hCtx, resource, type)) \
    X(PASS, cuGreenCtxGetId, "cuGreenCtxGetId", (CUgreenCtx greenCtx, unsigned long long *greenCtxId), (greenCtx, greenCtxId)) \
    X(PASS, cuGreenCtxRecordEvent, "cuGreenCtxRecordEvent", (CUgreenCtx hCtx, CUevent hEvent), (hCtx, hEvent)) \
    X(PASS, cuGreenCtxStreamCreate, "cuGreenCtxStreamCreate", (CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags, int priority), (phStream, greenCtx, flags, priority)) \
    X(PASS, cuGreenCtxWaitEvent, "cuGreenCtxWaitEvent", (CUgreenCtx hCtx, CUevent hEvent), (hCtx, hEvent)) \
    /* allocate and free: plain, pitched, managed */ \
    X(PASS, cuMemAlloc, "cuMemAlloc", (CUdeviceptr_v1 *dptr, unsigned int bytesize), (dptr, bytesize)) \
    X(HOOK_THEN_NOTE, cuMemAllocManaged, "cuMemAllocManaged", (CUdeviceptr *dptr, size_t bytesize, unsigned int flags), (dptr, bytesize, flags)) \
    X(PASS, cuMemAllocPitch, "cuMemAllocPitch", (CUdeviceptr_v1 *dptr, unsigned int *pPitch, unsigned int WidthInBytes, unsigned int Height, unsigned int ElementSizeBytes), (dptr, pPitch, WidthInBytes, Height, ElementSizeBytes)) \
    X(HOOK_THEN_NOTE, cuMemAllocPitch_v2, "cuMemAllocPitch", (CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height, unsigned int ElementSizeBytes), (dptr, pPitch, WidthInBytes, Height, ElementSizeBytes)) \
    X(HOOK_THEN_NOTE, cuMemAlloc_v2, "cuMemAlloc", (CUdeviceptr *dptr, size_t bytesize), (dptr, bytesize)) \
    X(PASS, cuMemFree, "cuMemFree", (CUdeviceptr_v1 dptr), (dptr)) \
    X(NOTE_THEN_HOOK, cuMemFree_v2, "cuMemFree", (CUdeviceptr dptr), (dptr)) \
    /* host memory */ \
    X(HOOK_THEN_NOTE, cuMemAllocHost, "cuMemAllocHost", (void **pp, unsigned int bytesize), (pp, bytesize)) \
    X(HOOK_THEN_NOTE, cuMemAllocHost_v2, "cuMemAllocHost", (void **pp, size_t bytesize), (pp, bytesize)) \
    X(NOTE_THEN_PASS, cuMemFreeHost, "cuMemFreeHost", (void *p), (p)) \
    X(HOOK_THEN_NOTE, cuMemHostAlloc, "cuMemHostAlloc", (void **pp, size_t bytesize, unsigned int Flags), (pp, bytesize, Flags)) \
    X(PASS, cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer", (CUdeviceptr_v1 *pdptr, void *p, unsigned int Flags), (pdptr, p, Flags)) \
    X(HOOK, cuMemHostGetDevicePointer_v2, "cuMemHostGetDevicePointer", (CUdeviceptr *pdptr, void *p, unsigned int Flags), (pdptr, p, Flags)) \
    X(PASS, cuMemHostGetFlags, "cuMemHostGetFlags", (unsigned int *pFlags, void *p), (pFlags, p)) \
    X(HOOK_THEN_NOTE, cuMemHostRegister, "cuMemHostRegister", (void *p, size_t bytesize, unsigned int Flags), (p, bytesize, Flags)) \
    X(HOOK_THEN_NOTE, cuMemHostRegister_v2, "cuMemHostRegister", (void *p, size_t bytesize, unsigned int Flags), (p, bytesize, Flags)) \
    X(NOTE_THEN_PASS, cuMemHostUnregister, "cuMemHostUnregister", (void *p), (p)) \
    /* allocate and free in stream order */ \
    X(HOOK_THEN_NOTE, cuMemAllocAsync, "cuMemAllocAsync", (CUdeviceptr *dptr, size_t bytesize, CUstream hStream), (dptr, bytesize, hStream)) \
    X(HOOK_THEN_NOTE, cuMemAllocAsync_ptsz, "cuMemAllocAsync", (CUdeviceptr *dptr, size_t bytesize, CUstream hStream), (dptr, bytesize, hStream)) \
    X(HOOK_THEN_NOTE, cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", (CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream), (dptr, bytesize, pool, hStream)) \
    X(HOOK_THEN_NOTE, cuMemAllocFromPoolAsync_ptsz, "cuMemAllocFromPoolAsync", (CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream), (dptr, bytesize, pool, hStream)) \
    X(NOTE_THEN_HOOK, cuMemFreeAsync, "cuMemFreeAsync", (CUdeviceptr dptr, CUstream hStream), (dptr, hStream)) \
    X(NOTE_THEN_HOOK, cuMemFreeAsync_ptsz, "cuMemFreeAsync", (CUdeviceptr dptr, CUstream hStream), (dptr, hStream)) \
    /* pools */ \
    X(HOOK, cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool", (CUmemoryPool *pool_out, CUdevice dev), (pool_out, dev)) \
    X(PASS, cuDeviceGetGraphMemAttribute, "cuDeviceGetGraphMemAttribute", (CUdevice device, CUgraphMem_attribute attr, void *value), (device, attr, value)) \
    X(HOOK, cuDeviceGetMemPool, "cuDeviceGetMemPool", (CUmemoryPool *pool, CUdevice dev), (pool, dev)) \
    X(HOOK, cuDeviceGraphMemTrim, "cuDeviceGraphMemTrim", (CUdevice device), (device)) \
    X(PASS, cuDeviceSetGraphMemAttribute, "cuDeviceSetGraphMemAttribute", (CUdevice device, CUgraphMem_attribute attr, void *value), (device, attr, value)) \
    X(HOOK, cuDeviceSetMemPool, "cuDeviceSetMemPool", (CUdevice dev, CUmemoryPool pool), (dev, pool)) \
    X(HOOK, cuMemGetDefaultMemPool, "cuMemGetDefaultMemPool", (CUmemoryPool *pool_out, CUmemLocation *location, CUmemAllocationType type), (pool_out, location, type)) \
    X(HOOK, cuMemGetMemPool, "cuMemGetMemPool", (CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type), (pool, location, type)) \
    X(HOOK, cuMemPoolCreate, "cuMemPoolCreate", (CUmemoryPool *pool, const CUmemPoolProps *poolProps), (pool, poolProps)) \
    X(HOOK, cuMemPoolDestroy, "cuMemPoolDestroy", (CUmemoryPool pool), (pool)) \
    X(HOOK, cuMemPoolExportPointer, "cuMemPoolExportPointer", (CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr), (shareData_out, ptr)) \
    X(PASS, cuMemPoolExportToShareableHandle, "cuMemPoolExportToShareableHandle", (void *handle_out, CUmemoryPool pool, CUmemAllocationHandleType handleType, unsigned long long flags), (handle_out, pool, handleType, flags)) \
    X(PASS, cuMemPoolGetAccess, "cuMemPoolGetAccess", (CUmemAccess_flags *flags, CUmemoryPool memPool, CUmemLocation *location), (flags, memPool, location)) \
    X(HOOK, cuMemPoolGetAttribute, "cuMemPoolGetAttribute", (CUmemoryPool pool, CUmemPool_attribute attr, void *value), (pool, attr, value)) \
    X(HOOK, cuMemPoolImportFromShareableHandle, "cuMemPoolImportFromShareableHandle", (CUmemoryPool *pool_out, void *handle, CUmemAllocationHandleType handleType, unsigned long long flags), (pool_out, handle, handleType, flags)) \
    X(PASS, cuMemPoolImportPointer, "cuMemPoolImportPointer", (CUdeviceptr *ptr_out, CUmemoryPool pool, CUmemPoolPtrExportData *shareData), (ptr_out, pool, shareData)) \
    X(HOOK, cuMemPoolSetAccess, "cuMemPoolSetAccess", (CUmemoryPool pool, const CUmemAccessDesc *map, size_t count), (pool, map, count)) \
    X(HOOK, cuMemPoolSetAttribute, "cuMemPoolSetAttribute", (CUmemoryPool pool, CUmemPool_attribute attr, void *value), (pool, attr, value)) \
    X(HOOK, cuMemPoolTrimTo, "cuMemPoolTrimTo", (CUmemoryPool pool, size_t minBytesToKeep), (pool, minBytesToKeep)) \
    X(HOOK, cuMemSetMemPool, "cuMemSetMemPool", (CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool), (location, type, pool)) \
    /* arrays, textures, surfaces */ \
    X(PASS, cuArray3DCreate, "cuArray3DCreate", (CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR_v1 *pAllocateArray), (pHandle, pAllocateArray)) \
    X(PASS, cuArray3DCreate_v2, "cuArray3DCreate", (CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray), (pHandle, pAllocateArray)) \
    X(PASS, cuArray3DGetDescriptor, "cuArray3DGetDescriptor", (CUDA_ARRAY3D_DESCRIPTOR_v1 *pArrayDescriptor, CUarray hArray), (pArrayDescriptor, hArray)) \
    X(PASS, cuArray3DGetDescriptor_v2, "cuArray3DGetDescriptor", (CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor, CUarray hArray), (pArrayDescriptor, hArray)) \
    X(PASS, cuArrayCreate, "cuArrayCreate", (CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR_v1 *pAllocateArray), (pHandle, pAllocateArray)) \
    X(PASS, cuArrayCreate_v2, "cuArrayCreate", (CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray), (pHandle, pAllocateArray)) \
    X(PASS, cuArrayDestroy, "cuArrayDestroy", (CUarray hArray), (hArray)) \
    X(PASS, cuArrayGetDescriptor, "cuArrayGetDescriptor", (CUDA_ARRAY_DESCRIPTOR_v1 *pArrayDescriptor, CUarray hArray), (pArrayDescriptor, hArray)) \
    X(PASS, cuArrayGetDescriptor_v2, "cuArrayGetDescriptor", (CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray), (pArrayDescriptor, hArray)) \
    X(PASS, cuArrayGetMemoryRequirements, "cuArrayGetMemoryRequirements", (CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements, CUarray array, CUdevice device), (memoryRequirements, array, device)) \
    X(PASS, cuArrayGetPlane, "cuArrayGetPlane", (CUarray *pPlaneArray, CUarray hArray, unsigned int planeIdx), (pPlaneArray, hArray, planeIdx)) \
    X(PASS, cuArrayGetSparseProperties, "cuArrayGetSparseProperties", (CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties, CUarray array), (sparseProperties, array)) \
    X(PASS, cuMipmappedArrayCreate, "cuMipmappedArrayCreate", (CUmipmappedArray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc, unsigned int numMipmapLevels), (pHandle, pMipmappedArrayDesc, numMipmapLevels)) \
    X(PASS, cuMipmappedArrayDestroy, "cuMipmappedArrayDestroy", (CUmipmappedArray hMipmappedArray), (hMipmappedArray)) \
    X(PASS, cuMipmappedArrayGetLevel, "cuMipmappedArrayGetLevel", (CUarray *pLevelArray, CUmipmappedArray hMipmappedArray, unsigned int level), (pLevelArray, hMipmappedArray, level)) \
    X(PASS, cuMipmappedArrayGetMemoryRequirements, "cuMipmappedArrayGetMemoryRequirements", (CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements, CUmipmappedArray mipmap, CUdevice device), (memoryRequirements, mipmap, device)) \
    X(PASS, cuMipmappedArrayGetSparseProperties, "cuMipmappedArrayGetSparseProperties", (CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties, CUmipmappedArray mipmap), (sparseProperties, mipmap)) \
    X(PASS, cuSurfObjectCreate, "cuSurfObjectCreate", (CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc), (pSurfObject, pResDesc)) \
    X(PASS, cuSurfObjectDestroy, "cuSurfObjectDestroy", (CUsurfObject surfObject), (surfObject)) \
    X(PASS, cuSurfObjectGetResourceDesc, "cuSurfObjectGetResourceDesc", (CUDA_RESOURCE_DESC *pResDesc, CUsurfObject surfObject), (pResDesc, surfObject)) \
    X(HOOK, cuTexObjectCreate, "cuTexObjectCreate", (CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc, const CUDA_TEXTURE_DESC *pTexDesc, const CUDA_RESOURCE_VIEW_DESC *pResViewDesc), (pTexObject, pResDesc, pTexDesc, pResViewDesc)) \
    X(PASS, cuTexObjectDestroy, "cuTexObjectDestroy", (CUtexObject texObject), (texObject)) \
    X(PASS, cuTexObjectGetResourceDesc, "cuTexObjectGetResourceDesc", (CUDA_RESOURCE_DESC *pResDesc, CUtexObject texObject), (pResDesc, texObject)) \
    X(PASS, cuTexObjectGetResourceViewDesc, "cuTexObjectGetResourceViewDesc", (CUDA_RESOURCE_VIEW_DESC *pResViewDesc, CUtexObject texObject), (pResViewDesc, texObject)) \
    X(PASS, cuTexObjectGetTextureDesc, "cuTexObjectGetTextureDesc", (CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject), (pTexDesc, texObject)) \
    X(PASS, cuTexRefSetAddress, "cuTexRefSetAddress", (unsigned int *ByteOffset, CUtexref hTexRef, CUdeviceptr_v1 dptr, unsigned int bytes), (ByteOffset, hTexRef, dptr, bytes)) \
    X(PASS, cuTexRefSetAddress2D, "cuTexRefSetAddress2D", (CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR_v1 *desc, CUdeviceptr_v1 dptr, unsigned int Pitch), (hTexRef, desc, dptr, Pitch)) \
    X(HOOK, cuTexRefSetAddress2D_v2, "cuTexRefSetAddress2D", (CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr dptr, size_t Pitch), (hTexRef, desc, dptr, Pitch)) \
    X(HOOK, cuTexRefSetAddress2D_v3, "cuTexRefSetAddress2D", (CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr dptr, size_t Pitch), (hTexRef, desc, dptr, Pitch)) \
    X(PASS, cuTexRefSetAddressMode, "cuTexRefSetAddressMode", (CUtexref hTexRef, int dim, CUaddress_mode am), (hTexRef, dim, am)) \
    X(HOOK, cuTexRefSetAddress_v2, "cuTexRefSetAddress", (size_t *ByteOffset, CUtexref hTexRef, CUdeviceptr dptr, size_t bytes), (ByteOffset, hTexRef, dptr, bytes)) \
    X(PASS, cuTexRefSetArray, "cuTexRefSetArray", (CUtexref hTexRef, CUarray hArray, unsigned int Flags), (hTexRef, hArray, Flags)) \
    X(PASS, cuTexRefSetMipmappedArray, "cuTexRefSetMipmappedArray", (CUtexref hTexRef, CUmipmappedArray hMipmappedArray, unsigned int Flags), (hTexRef, hMipmappedArray, Flags)) \
    /* external and graphics memory */ \
    X(PASS, cuDestroyExternalMemory, "cuDestroyExternalMemory", (CUexternalMemory extMem), (extMem)) \
    X(HOOK, cuExternalMemoryGetMappedBuffer, "cuExternalMemoryGetMappedBuffer", (CUdeviceptr *devPtr, CUexternalMemory extMem, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *bufferDesc), (devPtr, extMem, bufferDesc)) \
    X(PASS, cuExternalMemoryGetMappedMipmappedArray, "cuExternalMemoryGetMappedMipmappedArray", (CUmipmappedArray *mipmap, CUexternalMemory extMem, const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *mipmapDesc), (mipmap, extMem, mipmapDesc)) \
    X(PASS, cuGraphicsResourceGetMappedPointer, "cuGraphicsResourceGetMappedPointer", (CUdeviceptr_v1 *pDevPtr, unsigned int *pSize, CUgraphicsResource resource), (pDevPtr, pSize, resource)) \
    X(PASS, cuGraphicsResourceGetMappedPointer_v2, "cuGraphicsResourceGetMappedPointer", (CUdeviceptr *pDevPtr, size_t *pSize, CUgraphicsResource resource), (pDevPtr, pSize, resource)) \
    X(PASS, cuImportExternalMemory, "cuImportExternalMemory", (CUexternalMemory *extMem_out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *memHandleDesc), (extMem_out, memHandleDesc)) \
    /* the program's own virtual memory management */ \
    X(PASS, cuMemAddressFree, "cuMemAddressFree", (CUdeviceptr ptr, size_t size), (ptr, size)) \
    X(PASS, cuMemAddressReserve, "cuMemAddressReserve", (CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr, unsigned long long flags), (ptr, size, alignment, addr, flags)) \
    X(HOOK, cuMemCreate, "cuMemCreate", (CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop, unsigned long long flags), (handle, size, prop, flags)) \
    X(PASS, cuMemExportToShareableHandle, "cuMemExportToShareableHandle", (void *shareableHandle, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType handleType, unsigned long long flags), (shareableHandle, handle, handleType, flags)) \
    X(PASS, cuMemGetAccess, "cuMemGetAccess", (unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr), (flags, location, ptr)) \
    X(PASS, cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity", (size_t *granularity, const CUmemAllocationProp *prop, CUmemAllocationGranularity_flags option), (granularity, prop, option)) \
    X(PASS, cuMemGetAllocationPropertiesFromHandle, "cuMemGetAllocationPropertiesFromHandle", (CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle), (prop, handle)) \
    X(HOOK, cuMemGetHandleForAddressRange, "cuMemGetHandleForAddressRange", (void *handle, CUdeviceptr dptr, size_t size, CUmemRangeHandleType handleType, unsigned long long flags), (handle, dptr, size, handleType, flags)) \
    X(PASS, cuMemImportFromShareableHandle, "cuMemImportFromShareableHandle", (CUmemGenericAllocationHandle *handle, void *osHandle, CUmemAllocationHandleType shHandleType), (handle, osHandle, shHandleType)) \
    X(HOOK_THEN_NOTE, cuMemMap, "cuMemMap", (CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags), (ptr, size, offset, handle, flags)) \
    X(PASS, cuMemMapArrayAsync, "cuMemMapArrayAsync", (CUarrayMapInfo *mapInfoList, unsigned int count, CUstream hStream), (mapInfoList, count, hStream)) \
    X(PASS, cuMemMapArrayAsync_ptsz, "cuMemMapArrayAsync", (CUarrayMapInfo *mapInfoList, unsigned int count, CUstream hStream), (mapInfoList, count, hStream)) \
    X(HOOK, cuMemRelease, "cuMemRelease", (CUmemGenericAllocationHandle handle), (handle)) \
    X(HOOK, cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", (CUmemGenericAllocationHandle *handle, void *addr), (handle, addr)) \
    X(PASS, cuMemSetAccess, "cuMemSetAccess", (CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count), (ptr, size, desc, count)) \
    X(NOTE_THEN_HOOK, cuMemUnmap, "cuMemUnmap", (CUdeviceptr ptr, size_t size), (ptr, size)) \
    X(PASS, cuMulticastAddDevice, "cuMulticastAddDevice", (CUmemGenericAllocationHandle mcHandle, CUdevice dev), (mcHandle, dev)) \
    X(HOOK, cuMulticastBindAddr, "cuMulticastBindAddr", (CUmemGenericAllocationHandle mcHandle, size_t mcOffset, CUdeviceptr memptr, size_t size, unsigned long long flags), (mcHandle, mcOffset, memptr, size, flags)) \
    X(HOOK, cuMulticastBindAddr_v2, "cuMulticastBindAddr", (CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset, CUdeviceptr memptr, size_t size, unsigned long long flags), (mcHandle, dev, mcOffset, memptr, size, flags)) \
    X(PASS, cuMulticastBindMem, "cuMulticastBindMem", (CUmemGenericAllocationHandle mcHandle, size_t mcOffset, CUmemGenericAllocationHandle memHandle, size_t memOffset, size_t size, unsigned long long flags), (mcHandle, mcOffset, memHandle, memOffset, size, flags)) \
    X(PASS, cuMulticastBindMem_v2, "cuMulticastBindMem", (CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset, CUmemGenericAllocationHandle memHandle, size_t memOffset, size_t size, unsigned long long flags), (mcHandle, dev, mcOffset, memHandle, memOffset, size, flags)) \
    X(PASS, cuMulticastCreate, "cuMulticastCreate", (CUmemGenericAllocationHandle *mcHandle, const CUmulticastObjectProp *prop), (mcHandle, prop)) \
    X(PASS, cuMulticastGetGranularity, "cuMulticastGetGranularity", (size_t *granularity, const CUmulticastObjectProp *prop, CUmulticastGranularity_flags option), (granularity, prop, option)) \
    X(PASS, cuMulticastUnbind, "cuMulticastUnbind", (CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset, size_t size), (mcHandle, dev, mcOffset, size)) \
    X(HOOK, cuLogicalEndpointBindAddr, "cuLogicalEndpointBindAddr", (CUlogicalEndpointId leId, CUdevice dev, cuuint64_t offset, void *ptr, cuuint64_t size, unsigned long long flags), (leId, dev, offset, ptr, size, flags)) \
    X(PASS, cuLogicalEndpointBindMem, "cuLogicalEndpointBindMem", (CUlogicalEndpointId leId, CUdevice dev, cuuint64_t offset, CUmemGenericAllocationHandle memHandle, cuuint64_t memOffset, cuuint64_t size, unsigned long long flags), (leId, dev, offset, memHandle, memOffset, size, flags)) \
    /* modules, libraries, kernels */ \
    X(PASS, cuFuncGetAttribute, "cuFuncGetAttribute", (int *pi, CUfunction_attribute attrib, CUfunction hfunc), (pi, attrib, hfunc)) \
    X(PASS, cuFuncGetModule, "cuFuncGetModule", (CUmodule *hmod, CUfunction hfunc), (hmod, hfunc)) \
    X(PASS, cuFuncGetName, "cuFuncGetName", (const char **name, CUfunction hfunc), (name, hfunc)) \
    X(PASS, cuFuncGetParamCount, "cuFuncGetParamCount", (CUfunction func, size_t *paramCount), (func, paramCount)) \
    X(PASS, cuFuncGetParamInfo, "cuFuncGetParamInfo", (CUfunction func, size_t paramIndex, size_t *paramOffset, size_t *paramSize), (func, paramIndex, paramOffset, paramSize)) \
    X(PASS, cuFuncIsLoaded, "cuFuncIsLoaded", (CUfunctionLoadingState *state, CUfunction function), (state, function)) \
    X(PASS, cuFuncLoad, "cuFuncLoad", (CUfunction function), (function)) \
    X(HOOK, cuFuncSetAttribute, "cuFuncSetAttribute", (CUfunction hfunc, CUfunction_attribute attrib, int value), (hfunc, attrib, value)) \
    X(PASS, cuFuncSetBlockShape, "cuFuncSetBlockShape", (CUfunction hfunc, int x, int y, int z), (hfunc, x, y, z)) \
    X(HOOK, cuFuncSetCacheConfig, "cuFuncSetCacheConfig", (CUfunction hfunc, CUfunc_cache config), (hfunc, config)) \
    X(HOOK, cuFuncSetSharedMemConfig, "cuFuncSetSharedMemConfig", (CUfunction hfunc, CUsharedconfig config), (hfunc, config)) \
    X(PASS, cuFuncSetSharedSize, "cuFuncSetSharedSize", (CUfunction hfunc, unsigned int bytes), (hfunc, bytes)) \
    X(PASS, cuKernelGetAttribute, "cuKernelGetAttribute", (int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev), (pi, attrib, kernel, dev)) \
    X(HOOK, cuKernelGetFunction, "cuKernelGetFunction", (CUfunction *pFunc, CUkernel kernel), (pFunc, kernel)) \
    X(PASS, cuKernelGetLibrary, "cuKernelGetLibrary", (CUlibrary *pLib, CUkernel kernel), (pLib, kernel)) \
    X(PASS, cuKernelGetName, "cuKernelGetName", (const char **name, CUkernel hfunc), (name, hfunc)) \
    X(PASS, cuKernelGetParamCount, "cuKernelGetParamCount", (CUkernel kernel, size_t *paramCount), (kernel, paramCount)) \
    X(PASS, cuKernelGetParamInfo, "cuKernelGetParamInfo", (CUkernel kernel, size_t paramIndex, size_t *paramOffset, size_t *paramSize), (kernel, paramIndex, paramOffset, paramSize)) \
    X(HOOK, cuKernelSetAttribute, "cuKernelSetAttribute", (CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev), (attrib, val, kernel, dev)) \
    X(HOOK, cuKernelSetCacheConfig, "cuKernelSetCacheConfig", (CUkernel kernel, CUfunc_cache config, CUdevice dev), (kernel, config, dev)) \
    X(HOOK, cuLibraryEnumerateKernels, "cuLibraryEnumerateKernels", (CUkernel *kernels, unsigned int numKernels, CUlibrary lib), (kernels, numKernels, lib)) \
    X(HOOK_THEN_NOTE, cuLibraryGetGlobal, "cuLibraryGetGlobal", (CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name), (dptr, bytes, library, name)) \
    X(HOOK, cuLibraryGetKernel, "cuLibraryGetKernel", (CUkernel *pKernel, CUlibrary library, const char *name), (pKernel, library, name)) \
    X(PASS, cuLibraryGetKernelCount, "cuLibraryGetKernelCount", (unsigned int *count, CUlibrary lib), (count, lib)) \
    X(HOOK, cuLibraryGetManaged, "cuLibraryGetManaged", (CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name), (dptr, bytes, library, name)) \
    X(HOOK, cuLibraryGetModule, "cuLibraryGetModule", (CUmodule *pMod, CUlibrary library), (pMod, library)) \
    X(HOOK, cuLibraryGetUnifiedFunction, "cuLibraryGetUnifiedFunction", (void **fptr, CUlibrary library, const char *symbol), (fptr, library, symbol)) \
    X(HOOK, cuLibraryLoadData, "cuLibraryLoadData", (CUlibrary *library, const void *code, CUjit_option *jitOptions, void **jitOptionsValues, unsigned int numJitOptions, CUlibraryOption *libraryOptions, void** libraryOptionValues, unsigned int numLibraryOptions), (library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues, numLibraryOptions)) \
    X(HOOK, cuLibraryLoadFromFile, "cuLibraryLoadFromFile", (CUlibrary *library, const char *fileName, CUjit_option *jitOptions, void **jitOptionsValues, unsigned int numJitOptions, CUlibraryOption *libraryOptions, void **libraryOptionValues, unsigned int numLibraryOptions), (library, fileName, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues, numLibraryOptions)) \
    X(NOTE_THEN_HOOK, cuLibraryUnload, "cuLibraryUnload", (CUlibrary library), (library)) \
    X(HOOK, cuModuleEnumerateFunctions, "cuModuleEnumerateFunctions", (CUfunction *functions, unsigned int numFunctions, CUmodule mod), (functions, numFunctions, mod)) \
    X(HOOK, cuModuleGetFunction, "cuModuleGetFunction", (CUfunction *hfunc, CUmodule hmod, const char *name), (hfunc, hmod, name)) \
    X(PASS, cuModuleGetFunctionCount, "cuModuleGetFunctionCount", (unsigned int *count, CUmodule mod), (count, mod)) \
    X(HOOK, cuModuleGetGlobal, "cuModuleGetGlobal", (CUdeviceptr_v1 *dptr, unsigned int *bytes, CUmodule hmod, const char *name), (dptr, bytes, hmod, name)) \
    X(HOOK_THEN_NOTE, cuModuleGetGlobal_v2, "cuModuleGetGlobal", (CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name), (dptr, bytes, hmod, name)) \
    X(PASS, cuModuleGetLoadingMode, "cuModuleGetLoadingMode", (CUmoduleLoadingMode *mode), (mode)) \
    X(HOOK, cuModuleGetSurfRef, "cuModuleGetSurfRef", (CUsurfref *pSurfRef, CUmodule hmod, const char *name), (pSurfRef, hmod, name)) \
    X(HOOK, cuModuleGetTexRef, "cuModuleGetTexRef", (CUtexref *pTexRef, CUmodule hmod, const char *name), (pTexRef, hmod, name)) \
    X(HOOK, cuModuleLoad, "cuModuleLoad", (CUmodule *module, const char *fname), (module, fname)) \
    X(HOOK, cuModuleLoadData, "cuModuleLoadData", (CUmodule *module, const void *image), (module, image)) \
    X(HOOK, cuModuleLoadDataEx, "cuModuleLoadDataEx", (CUmodule *module, const void *image, unsigned int numOptions, CUjit_option *options, void **optionValues), (module, image, numOptions, options, optionValues)) \
    X(HOOK, cuModuleLoadFatBinary, "cuModuleLoadFatBinary", (CUmodule *module, const void *fatCubin), (module, fatCubin)) \
    X(NOTE_THEN_HOOK, cuModuleUnload, "cuModuleUnload", (CUmodule hmod), (hmod)) \
    /* copies, complete when they return */ \
    X(HOOK_THEN_NOTE, cuMemcpy, "cuMemcpy", (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount), (dst, src, ByteCount)) \
    X(PASS, cuMemcpy2D, "cuMemcpy2D", (const CUDA_MEMCPY2D_v1 *pCopy), (pCopy)) \
    X(PASS, cuMemcpy2DUnaligned, "cuMemcpy2DUnaligned", (const CUDA_MEMCPY2D_v1 *pCopy), (pCopy)) \
    X(HOOK_THEN_NOTE, cuMemcpy2DUnaligned_v2, "cuMemcpy2DUnaligned", (const CUDA_MEMCPY2D *pCopy), (pCopy)) \
    X(HOOK_THEN_NOTE, cuMemcpy2DUnaligned_v2_ptds, "cuMemcpy2DUnaligned", (const CUDA_MEMCPY2D *pCopy), (pCopy)) \
    X(HOOK_THEN_NOTE, cuMemcpy2D_v2, "cuMemcpy2D", (const CUDA_MEMCPY2D *pCopy), (pCopy)) \
    X(HOOK_THEN_NOTE, cuMemcpy2D_v2_ptds, "cuMemcpy2D", (const CUDA_MEMCPY2D *pCopy), (pCopy)) \
    X(PASS, cuMemcpy3D, "cuMemcpy3D", (const CUDA_MEMCPY3D_v1 *pCopy), (pCopy)) \
    X(HOOK_THEN_NOTE, cuMemcpy3DPeer, "cuMemcpy3DPeer", (const CUDA_MEMCPY3D_PEER *pCopy), (pCopy)) \
    X(HOOK_THEN_NOTE, cuMemcpy3DPeer_ptds, "cuMemcpy3DPeer", (const CUDA_MEMCPY3D_PEER *pCopy), (pCopy)) \
    X(HOOK_THEN_NOTE, cuMemcpy3D_v2, "cuMemcpy3D", (const CUDA_MEMCPY3D *pCopy), (pCopy)) \
    X(HOOK_THEN_NOTE, cuMemcpy3D_v2_ptds, "cuMemcpy3D", (const CUDA_MEMCPY3D *pCopy), (pCopy)) \
    X(PASS, cuMemcpyAtoA, "cuMemcpyAtoA", (CUarray dstArray, unsigned int dstOffset, CUarray srcArray, unsigned int srcOffset, unsigned int ByteCount), (dstArray, dstOffset, srcArray, srcOffset, ByteCount)) \
    X(PASS, cuMemcpyAtoA_v2, "cuMemcpyAtoA", (CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset, size_t ByteCount), (dstArray, dstOffset, srcArray, srcOffset, ByteCount)) \
    X(PASS, cuMemcpyAtoA_v2_ptds, "cuMemcpyAtoA", (CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset, size_t ByteCount), (dstArray, dstOffset, srcArray, srcOffset, ByteCount)) \
    X(PASS, cuMemcpyAtoD, "cuMemcpyAtoD", (CUdeviceptr_v1 dstDevice, CUarray srcArray, unsigned int srcOffset, unsigned int ByteCount), (dstDevice, srcArray, srcOffset, ByteCount)) \
    X(HOOK_THEN_NOTE, cuMemcpyAtoD_v2, "cuMemcpyAtoD", (CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount), (dstDevice, srcArray, srcOffset, ByteCount)) \
    X(HOOK_THEN_NOTE, cuMemcpyAtoD_v2_ptds, "cuMemcpyAtoD", (CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount), (dstDevice, srcArray, srcOffset, ByteCount)) \
    X(PASS, cuMemcpyAtoH, "cuMemcpyAtoH", (void *dstHost, CUarray srcArray, unsigned int srcOffset, unsigned int ByteCount), (dstHost, srcArray, srcOffset, ByteCount)) \
    X(PASS, cuMemcpyAtoH_v2, "cuMemcpyAtoH", (void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount), (dstHost, srcArray, srcOffset, ByteCount)) \
    X(PASS, cuMemcpyAtoH_v2_ptds, "cuMemcpyAtoH", (void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount), (dstHost, srcArray, srcOffset, ByteCount)) \
    X(PASS, cuMemcpyDtoA, "cuMemcpyDtoA", (CUarray dstArray, unsigned int dstOffset, CUdeviceptr_v1 srcDevice, unsigned int ByteCount), (dstArray, dstOffset, srcDevice, ByteCount)) \
    X(HOOK_THEN_NOTE, cuMemcpyDtoA_v2, "cuMemcpyDtoA", (CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount), (dstArray, dstOffset, srcDevice, ByteCount)) \
    X(HOOK_THEN_NOTE, cuMemcpyDtoA_v2_ptds, "cuMemcpyDtoA", (CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount), (dstArray, dstOffset, srcDevice, ByteCount)) \
    X(PASS, cuMemcpyDtoD, "cuMemcpyDtoD", (CUdeviceptr_v1 dstDevice, CUdeviceptr_v1 srcDevice, unsigned int ByteCount), (dstDevice, srcDevice, ByteCount)) \
    X(HOOK_THEN_NOTE, cuMemcpyDtoD_v2, "cuMemcpyDtoD", (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount), (dstDevice, srcDevice, ByteCount)) \
    X(HOOK_THEN_NOTE, cuMemcpyDtoD_v2_ptds, "cuMemcpyDtoD", (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount), (dstDevice, srcDevice, ByteCount)) \
    X(PASS, cuMemcpyDtoH, "cuMemcpyDtoH", (void *dstHost, CUdeviceptr_v1 srcDevice, unsigned int ByteCount), (dstHost, srcDevice, ByteCount)) \
    X(HOOK_THEN_NOTE, cuMemcpyDtoH_v2, "cuMemcpyDtoH", (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount), (dstHost, srcDevice, ByteCount)) \
    X(HOOK_THEN_NOTE, cuMemcpyDtoH_v2_ptds, "cuMemcpyDtoH", (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount), (dstHost, srcDevice, ByteCount)) \
    X(PASS, cuMemcpyHtoA, "cuMemcpyHtoA", (CUarray dstArray, unsigned int dstOffset, const void *srcHost, unsigned int ByteCount), (dstArray, dstOffset, srcHost, ByteCount)) \
    X(PASS, cuMemcpyHtoA_v2, "cuMemcpyHtoA", (CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount), (dstArray, dstOffset, srcHost, ByteCount)) \
    X(PASS, cuMemcpyHtoA_v2_ptds, "cuMemcpyHtoA", (CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount), (dstArray, dstOffset, srcHost, ByteCount)) \
    X(PASS, cuMemcpyHtoD, "cuMemcpyHtoD", (CUdeviceptr_v1 dstDevice, const void *srcHost, unsigned int ByteCount), (dstDevice, srcHost, ByteCount)) \
    X(HOOK_THEN_NOTE, cuMemcpyHtoD_v2, "cuMemcpyHtoD", (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount), (dstDevice, srcHost, ByteCount)) \
    X(HOOK_THEN_NOTE, cuMemcpyHtoD_v2_ptds, "cuMemcpyHtoD", (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount), (dstDevice, srcHost, ByteCount)) \
    X(HOOK_THEN_NOTE, cuMemcpyPeer, "cuMemcpyPeer", (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount), (dstDevice, dstContext, srcDevice, srcContext, ByteCount)) \
    X(HOOK_THEN_NOTE, cuMemcpyPeer_ptds, "cuMemcpyPeer", (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount), (dstDevice, dstContext, srcDevice, srcContext, ByteCount)) \
    X(HOOK_THEN_NOTE, cuMemcpy_ptds, "cuMemcpy", (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount), (dst, src, ByteCount)) \
    /* copies in stream order */ \
    X(PASS, cuMemcpy2DAsync, "cuMemcpy2DAsync", (const CUDA_MEMCPY2D_v1 *pCopy, CUstream hStream), (pCopy, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpy2DAsync_v2, "cuMemcpy2DAsync", (const CUDA_MEMCPY2D *pCopy, CUstream hStream), (pCopy, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpy2DAsync_v2_ptsz, "cuMemcpy2DAsync", (const CUDA_MEMCPY2D *pCopy, CUstream hStream), (pCopy, hStream)) \
    X(PASS, cuMemcpy3DAsync, "cuMemcpy3DAsync", (const CUDA_MEMCPY3D_v1 *pCopy, CUstream hStream), (pCopy, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpy3DAsync_v2, "cuMemcpy3DAsync", (const CUDA_MEMCPY3D *pCopy, CUstream hStream), (pCopy, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpy3DAsync_v2_ptsz, "cuMemcpy3DAsync", (const CUDA_MEMCPY3D *pCopy, CUstream hStream), (pCopy, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpy3DPeerAsync, "cuMemcpy3DPeerAsync", (const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream), (pCopy, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpy3DPeerAsync_ptsz, "cuMemcpy3DPeerAsync", (const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream), (pCopy, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpyAsync, "cuMemcpyAsync", (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), (dst, src, ByteCount, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpyAsync_ptsz, "cuMemcpyAsync", (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), (dst, src, ByteCount, hStream)) \
    X(PASS, cuMemcpyAtoHAsync, "cuMemcpyAtoHAsync", (void *dstHost, CUarray srcArray, unsigned int srcOffset, unsigned int ByteCount, CUstream hStream), (dstHost, srcArray, srcOffset, ByteCount, hStream)) \
    X(PASS, cuMemcpyAtoHAsync_v2, "cuMemcpyAtoHAsync", (void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount, CUstream hStream), (dstHost, srcArray, srcOffset, ByteCount, hStream)) \
    X(PASS, cuMemcpyAtoHAsync_v2_ptsz, "cuMemcpyAtoHAsync", (void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount, CUstream hStream), (dstHost, srcArray, srcOffset, ByteCount, hStream)) \
    X(PASS, cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync", (CUdeviceptr_v1 dstDevice, CUdeviceptr_v1 srcDevice, unsigned int ByteCount, CUstream hStream), (dstDevice, srcDevice, ByteCount, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync", (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream), (dstDevice, srcDevice, ByteCount, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpyDtoDAsync_v2_ptsz, "cuMemcpyDtoDAsync", (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream), (dstDevice, srcDevice, ByteCount, hStream)) \
    X(PASS, cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync", (void *dstHost, CUdeviceptr_v1 srcDevice, unsigned int ByteCount, CUstream hStream), (dstHost, srcDevice, ByteCount, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync", (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream), (dstHost, srcDevice, ByteCount, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpyDtoHAsync_v2_ptsz, "cuMemcpyDtoHAsync", (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream), (dstHost, srcDevice, ByteCount, hStream)) \
    X(PASS, cuMemcpyHtoAAsync, "cuMemcpyHtoAAsync", (CUarray dstArray, unsigned int dstOffset, const void *srcHost, unsigned int ByteCount, CUstream hStream), (dstArray, dstOffset, srcHost, ByteCount, hStream)) \
    X(PASS, cuMemcpyHtoAAsync_v2, "cuMemcpyHtoAAsync", (CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount, CUstream hStream), (dstArray, dstOffset, srcHost, ByteCount, hStream)) \
    X(PASS, cuMemcpyHtoAAsync_v2_ptsz, "cuMemcpyHtoAAsync", (CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount, CUstream hStream), (dstArray, dstOffset, srcHost, ByteCount, hStream)) \
    X(PASS, cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync", (CUdeviceptr_v1 dstDevice, const void *srcHost, unsigned int ByteCount, CUstream hStream), (dstDevice, srcHost, ByteCount, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync", (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream), (dstDevice, srcHost, ByteCount, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpyHtoDAsync_v2_ptsz, "cuMemcpyHtoDAsync", (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream), (dstDevice, srcHost, ByteCount, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpyPeerAsync, "cuMemcpyPeerAsync", (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount, CUstream hStream), (dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpyPeerAsync_ptsz, "cuMemcpyPeerAsync", (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount, CUstream hStream), (dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream)) \
    /* copies in batches (12.8: with failIdx; 13.0: _v2 without) and with attributes (13.2) */ \
    X(HOOK_THEN_NOTE, cuMemcpy3DBatchAsync, "cuMemcpy3DBatchAsync", (size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx, unsigned long long flags, CUstream hStream), (numOps, opList, failIdx, flags, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpy3DBatchAsync_ptsz, "cuMemcpy3DBatchAsync", (size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx, unsigned long long flags, CUstream hStream), (numOps, opList, failIdx, flags, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpy3DBatchAsync_v2, "cuMemcpy3DBatchAsync", (size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, unsigned long long flags, CUstream hStream), (numOps, opList, flags, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpy3DBatchAsync_v2_ptsz, "cuMemcpy3DBatchAsync", (size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, unsigned long long flags, CUstream hStream), (numOps, opList, flags, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpy3DWithAttributesAsync, "cuMemcpy3DWithAttributesAsync", (CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags, CUstream hStream), (op, flags, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpy3DWithAttributesAsync_ptsz, "cuMemcpy3DWithAttributesAsync", (CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags, CUstream hStream), (op, flags, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpyBatchAsync, "cuMemcpyBatchAsync", (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx, CUstream hStream), (dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpyBatchAsync_ptsz, "cuMemcpyBatchAsync", (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx, CUstream hStream), (dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpyBatchAsync_v2, "cuMemcpyBatchAsync", (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, CUstream hStream), (dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpyBatchAsync_v2_ptsz, "cuMemcpyBatchAsync", (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, CUstream hStream), (dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpyWithAttributesAsync, "cuMemcpyWithAttributesAsync", (CUdeviceptr dst, CUdeviceptr src, size_t size, CUmemcpyAttributes *attr, CUstream hStream), (dst, src, size, attr, hStream)) \
    X(HOOK_THEN_NOTE, cuMemcpyWithAttributesAsync_ptsz, "cuMemcpyWithAttributesAsync", (CUdeviceptr dst, CUdeviceptr src, size_t size, CUmemcpyAttributes *attr, CUstream hStream), (dst, src, size, attr, hStream)) \
    /* fills, complete when they return */ \
    X(PASS, cuMemsetD16, "cuMemsetD16", (CUdeviceptr_v1 dstDevice, unsigned short us, unsigned int N), (dstDevice, us, N)) \
    X(HOOK_THEN_NOTE, cuMemsetD16_v2, "cuMemsetD16", (CUdeviceptr dstDevice, unsigned short us, size_t N), (dstDevice, us, N)) \
    X(HOOK_THEN_NOTE, cuMemsetD16_v2_ptds, "cuMemsetD16", (CUdeviceptr dstDevice, unsigned short us, size_t N), (dstDevice, us, N)) \
    X(PASS, cuMemsetD2D16, "cuMemsetD2D16", (CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned short us, unsigned int Width, unsigned int Height), (dstDevice, dstPitch, us, Width, Height)) \
    X(HOOK_THEN_NOTE, cuMemsetD2D16_v2, "cuMemsetD2D16", (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height), (dstDevice, dstPitch, us, Width, Height)) \
    X(HOOK_THEN_NOTE, cuMemsetD2D16_v2_ptds, "cuMemsetD2D16", (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height), (dstDevice, dstPitch, us, Width, Height)) \
    X(PASS, cuMemsetD2D32, "cuMemsetD2D32", (CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned int ui, unsigned int Width, unsigned int Height), (dstDevice, dstPitch, ui, Width, Height)) \
    X(HOOK_THEN_NOTE, cuMemsetD2D32_v2, "cuMemsetD2D32", (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height), (dstDevice, dstPitch, ui, Width, Height)) \
    X(HOOK_THEN_NOTE, cuMemsetD2D32_v2_ptds, "cuMemsetD2D32", (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height), (dstDevice, dstPitch, ui, Width, Height)) \
    X(PASS, cuMemsetD2D8, "cuMemsetD2D8", (CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned char uc, unsigned int Width, unsigned int Height), (dstDevice, dstPitch, uc, Width, Height)) \
    X(HOOK_THEN_NOTE, cuMemsetD2D8_v2, "cuMemsetD2D8", (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height), (dstDevice, dstPitch, uc, Width, Height)) \
    X(HOOK_THEN_NOTE, cuMemsetD2D8_v2_ptds, "cuMemsetD2D8", (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height), (dstDevice, dstPitch, uc, Width, Height)) \
    X(PASS, cuMemsetD32, "cuMemsetD32", (CUdeviceptr_v1 dstDevice, unsigned int ui, unsigned int N), (dstDevice, ui, N)) \
    X(HOOK_THEN_NOTE, cuMemsetD32_v2, "cuMemsetD32", (CUdeviceptr dstDevice, unsigned int ui, size_t N), (dstDevice, ui, N)) \
    X(HOOK_THEN_NOTE, cuMemsetD32_v2_ptds, "cuMemsetD32", (CUdeviceptr dstDevice, unsigned int ui, size_t N), (dstDevice, ui, N)) \
    X(PASS, cuMemsetD8, "cuMemsetD8", (CUdeviceptr_v1 dstDevice, unsigned char uc, unsigned int N), (dstDevice, uc, N)) \
    X(HOOK_THEN_NOTE, cuMemsetD8_v2, "cuMemsetD8", (CUdeviceptr dstDevice, unsigned char uc, size_t N), (dstDevice, uc, N)) \
    X(HOOK_THEN_NOTE, cuMemsetD8_v2_ptds, "cuMemsetD8", (CUdeviceptr dstDevice, unsigned char uc, size_t N), (dstDevice, uc, N)) \
    /* fills in stream order */ \
    X(HOOK_THEN_NOTE, cuMemsetD16Async, "cuMemsetD16Async", (CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream), (dstDevice, us, N, hStream)) \
    X(HOOK_THEN_NOTE, cuMemsetD16Async_ptsz, "cuMemsetD16Async", (CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream), (dstDevice, us, N, hStream)) \
    X(HOOK_THEN_NOTE, cuMemsetD2D16Async, "cuMemsetD2D16Async", (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height, CUstream hStream), (dstDevice, dstPitch, us, Width, Height, hStream)) \
    X(HOOK_THEN_NOTE, cuMemsetD2D16Async_ptsz, "cuMemsetD2D16Async", (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height, CUstream hStream), (dstDevice, dstPitch, us, Width, Height, hStream)) \
    X(HOOK_THEN_NOTE, cuMemsetD2D32Async, "cuMemsetD2D32Async", (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height, CUstream hStream), (dstDevice, dstPitch, ui, Width, Height, hStream)) \
    X(HOOK_THEN_NOTE, cuMemsetD2D32Async_ptsz, "cuMemsetD2D32Async", (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height, CUstream hStream), (dstDevice, dstPitch, ui, Width, Height, hStream)) \
    X(HOOK_THEN_NOTE, cuMemsetD2D8Async, "cuMemsetD2D8Async", (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height, CUstream hStream), (dstDevice, dstPitch, uc, Width, Height, hStream)) \
    X(HOOK_THEN_NOTE, cuMemsetD2D8Async_ptsz, "cuMemsetD2D8Async", (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height, CUstream hStream), (dstDevice, dstPitch, uc, Width, Height, hStream)) \
    X(HOOK_THEN_NOTE, cuMemsetD32Async, "cuMemsetD32Async", (CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream), (dstDevice, ui, N, hStream)) \
    X(HOOK_THEN_NOTE, cuMemsetD32Async_ptsz, "cuMemsetD32Async", (CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream), (dstDevice, ui, N, hStream)) \
    X(HOOK_THEN_NOTE, cuMemsetD8Async, "cuMemsetD8Async", (CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream), (dstDevice, uc, N, hStream)) \
    X(HOOK_THEN_NOTE, cuMemsetD8Async_ptsz, "cuMemsetD8Async", (CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream), (dstDevice, uc, N, hStream)) \
    /* managed memory: advice, prefetch, discard; decompression */ \
    X(PASS, cuMemAdvise, "cuMemAdvise", (CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device), (devPtr, count, advice, device)) \
    X(PASS, cuMemAdvise_v2, "cuMemAdvise", (CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location), (devPtr, count, advice, location)) \
    X(HOOK_THEN_NOTE, cuMemBatchDecompressAsync, "cuMemBatchDecompressAsync", (CUmemDecompressParams *paramsArray, size_t count, unsigned int flags, size_t *errorIndex, CUstream stream), (paramsArray, count, flags, errorIndex, stream)) \
    X(HOOK_THEN_NOTE, cuMemBatchDecompressAsync_ptsz, "cuMemBatchDecompressAsync", (CUmemDecompressParams *paramsArray, size_t count, unsigned int flags, size_t *errorIndex, CUstream stream), (paramsArray, count, flags, errorIndex, stream)) \
    X(PASS, cuMemDiscardAndPrefetchBatchAsync, "cuMemDiscardAndPrefetchBatchAsync", (CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags, CUstream hStream), (dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, hStream)) \
    X(PASS, cuMemDiscardAndPrefetchBatchAsync_ptsz, "cuMemDiscardAndPrefetchBatchAsync", (CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags, CUstream hStream), (dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, hStream)) \
    X(PASS, cuMemDiscardBatchAsync, "cuMemDiscardBatchAsync", (CUdeviceptr *dptrs, size_t *sizes, size_t count, unsigned long long flags, CUstream hStream), (dptrs, sizes, count, flags, hStream)) \
    X(PASS, cuMemDiscardBatchAsync_ptsz, "cuMemDiscardBatchAsync", (CUdeviceptr *dptrs, size_t *sizes, size_t count, unsigned long long flags, CUstream hStream), (dptrs, sizes, count, flags, hStream)) \
    X(PASS, cuMemPrefetchAsync, "cuMemPrefetchAsync", (CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream), (devPtr, count, dstDevice, hStream)) \
    X(PASS, cuMemPrefetchAsync_ptsz, "cuMemPrefetchAsync", (CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream), (devPtr, count, dstDevice, hStream)) \
    X(PASS, cuMemPrefetchAsync_v2, "cuMemPrefetchAsync", (CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags, CUstream hStream), (devPtr, count, location, flags, hStream)) \
    X(PASS, cuMemPrefetchAsync_v2_ptsz, "cuMemPrefetchAsync", (CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags, CUstream hStream), (devPtr, count, location, flags, hStream)) \
    X(PASS, cuMemPrefetchBatchAsync, "cuMemPrefetchBatchAsync", (CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags, CUstream hStream), (dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, hStream)) \
    X(PASS, cuMemPrefetchBatchAsync_ptsz, "cuMemPrefetchBatchAsync", (CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags, CUstream hStream), (dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, hStream)) \
    X(PASS, cuMemRangeGetAttribute, "cuMemRangeGetAttribute", (void *data, size_t dataSize, CUmem_range_attribute attribute, CUdeviceptr devPtr, size_t count), (data, dataSize, attribute, devPtr, count)) \
    X(PASS, cuMemRangeGetAttributes, "cuMemRangeGetAttributes", (void **data, size_t *dataSizes, CUmem_range_attribute *attributes, size_t numAttributes, CUdeviceptr devPtr, size_t count), (data, dataSizes, attributes, numAttributes, devPtr, count)) \
    X(PASS, cuStreamAttachMemAsync, "cuStreamAttachMemAsync", (CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags), (hStream, dptr, length, flags)) \
    X(PASS, cuStreamAttachMemAsync_ptsz, "cuStreamAttachMemAsync", (CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags), (hStream, dptr, length, flags)) \
    /* launches */ \
    X(HOOK_THEN_NOTE, cuLaunch, "cuLaunch", (CUfunction f), (f)) \
    X(HOOK_THEN_NOTE, cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream, void **kernelParams), (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream, kernelParams)) \
    X(HOOK, cuLaunchCooperativeKernelMultiDevice, "cuLaunchCooperativeKernelMultiDevice", (CUDA_LAUNCH_PARAMS *launchParamsList, unsigned int numDevices, unsigned int flags), (launchParamsList, numDevices, flags)) \
    X(HOOK_THEN_NOTE, cuLaunchCooperativeKernel_ptsz, "cuLaunchCooperativeKernel", (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream, void **kernelParams), (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream, kernelParams)) \
    X(HOOK_THEN_NOTE, cuLaunchGrid, "cuLaunchGrid", (CUfunction f, int grid_width, int grid_height), (f, grid_width, grid_height)) \
    X(HOOK_THEN_NOTE, cuLaunchGridAsync, "cuLaunchGridAsync", (CUfunction f, int grid_width, int grid_height, CUstream hStream), (f, grid_width, grid_height, hStream)) \
    X(HOOK_THEN_NOTE, cuLaunchHostFunc, "cuLaunchHostFunc", (CUstream hStream, CUhostFn fn, void *userData), (hStream, fn, userData)) \
    X(HOOK_THEN_NOTE, cuLaunchHostFunc_ptsz, "cuLaunchHostFunc", (CUstream hStream, CUhostFn fn, void *userData), (hStream, fn, userData)) \
    X(HOOK_THEN_NOTE, cuLaunchHostFunc_v2, "cuLaunchHostFunc", (CUstream hStream, CUhostFn fn, void *userData, unsigned int syncMode), (hStream, fn, userData, syncMode)) \
    X(HOOK_THEN_NOTE, cuLaunchHostFunc_v2_ptsz, "cuLaunchHostFunc", (CUstream hStream, CUhostFn fn, void *userData, unsigned int syncMode), (hStream, fn, userData, syncMode)) \
    X(HOOK_THEN_NOTE, cuLaunchKernel, "cuLaunchKernel", (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra), (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream, kernelParams, extra)) \
    X(HOOK_THEN_NOTE, cuLaunchKernelEx, "cuLaunchKernelEx", (const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra), (config, f, kernelParams, extra)) \
    X(HOOK_THEN_NOTE, cuLaunchKernelEx_ptsz, "cuLaunchKernelEx", (const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra), (config, f, kernelParams, extra)) \
    X(HOOK_THEN_NOTE, cuLaunchKernel_ptsz, "cuLaunchKernel", (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra), (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream, kernelParams, extra)) \
    X(PASS, cuParamSetSize, "cuParamSetSize", (CUfunction hfunc, unsigned int numbytes), (hfunc, numbytes)) \
    X(PASS, cuParamSetTexRef, "cuParamSetTexRef", (CUfunction hfunc, int texunit, CUtexref hTexRef), (hfunc, texunit, hTexRef)) \
    X(PASS, cuParamSetf, "cuParamSetf", (CUfunction hfunc, int offset, float value), (hfunc, offset, value)) \
    X(PASS, cuParamSeti, "cuParamSeti", (CUfunction hfunc, int offset, unsigned int value), (hfunc, offset, value)) \
    X(PASS, cuParamSetv, "cuParamSetv", (CUfunction hfunc, int offset, void *ptr, unsigned int numbytes), (hfunc, offset, ptr, numbytes)) \
    /* capture */ \
    X(HOOK_THEN_NOTE, cuStreamBeginCapture, "cuStreamBeginCapture", (CUstream hStream), (hStream)) \
    X(HOOK_THEN_NOTE, cuStreamBeginCaptureToCig, "cuStreamBeginCaptureToCig", (CUstream hStream, CUstreamCigCaptureParams *streamCigCaptureParams), (hStream, streamCigCaptureParams)) \
    X(HOOK_THEN_NOTE, cuStreamBeginCaptureToCig_ptsz, "cuStreamBeginCaptureToCig", (CUstream hStream, CUstreamCigCaptureParams *streamCigCaptureParams), (hStream, streamCigCaptureParams)) \
    X(HOOK_THEN_NOTE, cuStreamBeginCaptureToGraph, "cuStreamBeginCaptureToGraph", (CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData, size_t numDependencies, CUstreamCaptureMode mode), (hStream, hGraph, dependencies, dependencyData, numDependencies, mode)) \
    X(HOOK_THEN_NOTE, cuStreamBeginCaptureToGraph_ptsz, "cuStreamBeginCaptureToGraph", (CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData, size_t numDependencies, CUstreamCaptureMode mode), (hStream, hGraph, dependencies, dependencyData, numDependencies, mode)) \
    X(HOOK_THEN_NOTE, cuStreamBeginCapture_ptsz, "cuStreamBeginCapture", (CUstream hStream), (hStream)) \
    X(HOOK_THEN_NOTE, cuStreamBeginCapture_v2, "cuStreamBeginCapture", (CUstream hStream, CUstreamCaptureMode mode), (hStream, mode)) \
    X(HOOK_THEN_NOTE, cuStreamBeginCapture_v2_ptsz, "cuStreamBeginCapture", (CUstream hStream, CUstreamCaptureMode mode), (hStream, mode)) \
    X(HOOK_THEN_NOTE, cuStreamBeginRecaptureToGraph, "cuStreamBeginRecaptureToGraph", (CUstream hStream, CUstreamCaptureMode mode, CUgraph hGraph, CUgraphRecaptureCallback callbackFunc, void *userData), (hStream, mode, hGraph, callbackFunc, userData)) \
    X(HOOK_THEN_NOTE, cuStreamBeginRecaptureToGraph_ptsz, "cuStreamBeginRecaptureToGraph", (CUstream hStream, CUstreamCaptureMode mode, CUgraph hGraph, CUgraphRecaptureCallback callbackFunc, void *userData), (hStream, mode, hGraph, callbackFunc, userData)) \
    X(HOOK_THEN_NOTE, cuStreamEndCapture, "cuStreamEndCapture", (CUstream hStream, CUgraph *phGraph), (hStream, phGraph)) \
    X(HOOK_THEN_NOTE, cuStreamEndCaptureToCig, "cuStreamEndCaptureToCig", (CUstream hStream), (hStream)) \
    X(HOOK_THEN_NOTE, cuStreamEndCaptureToCig_ptsz, "cuStreamEndCaptureToCig", (CUstream hStream), (hStream)) \
    X(HOOK_THEN_NOTE, cuStreamEndCapture_ptsz, "cuStreamEndCapture", (CUstream hStream, CUgraph *phGraph), (hStream, phGraph)) \
    X(PASS, cuStreamGetCaptureInfo, "cuStreamGetCaptureInfo", (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out), (hStream, captureStatus_out, id_out)) \
    X(PASS, cuStreamGetCaptureInfo_ptsz, "cuStreamGetCaptureInfo", (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out), (hStream, captureStatus_out, id_out)) \
    X(PASS, cuStreamGetCaptureInfo_v2, "cuStreamGetCaptureInfo", (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out, CUgraph *graph_out, const CUgraphNode **dependencies_out, size_t *numDependencies_out), (hStream, captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out)) \
    X(PASS, cuStreamGetCaptureInfo_v2_ptsz, "cuStreamGetCaptureInfo", (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out, CUgraph *graph_out, const CUgraphNode **dependencies_out, size_t *numDependencies_out), (hStream, captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out)) \
    X(PASS, cuStreamGetCaptureInfo_v3, "cuStreamGetCaptureInfo", (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out, CUgraph *graph_out, const CUgraphNode **dependencies_out, const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out), (hStream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out)) \
    X(PASS, cuStreamGetCaptureInfo_v3_ptsz, "cuStreamGetCaptureInfo", (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out, CUgraph *graph_out, const CUgraphNode **dependencies_out, const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out), (hStream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out)) \
    X(PASS, cuStreamIsCapturing, "cuStreamIsCapturing", (CUstream hStream, CUstreamCaptureStatus *captureStatus), (hStream, captureStatus)) \
    X(PASS, cuStreamIsCapturing_ptsz, "cuStreamIsCapturing", (CUstream hStream, CUstreamCaptureStatus *captureStatus), (hStream, captureStatus)) \
    X(PASS, cuStreamUpdateCaptureDependencies, "cuStreamUpdateCaptureDependencies", (CUstream hStream, CUgraphNode *dependencies, size_t numDependencies, unsigned int flags), (hStream, dependencies, numDependencies, flags)) \
    X(PASS, cuStreamUpdateCaptureDependencies_ptsz, "cuStreamUpdateCaptureDependencies", (CUstream hStream, CUgraphNode *dependencies, size_t numDependencies, unsigned int flags), (hStream, dependencies, numDependencies, flags)) \
    X(PASS, cuStreamUpdateCaptureDependencies_v2, "cuStreamUpdateCaptureDependencies", (CUstream hStream, CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData, size_t numDependencies, unsigned int flags), (hStream, dependencies, dependencyData, numDependencies, flags)) \
    X(PASS, cuStreamUpdateCaptureDependencies_v2_ptsz, "cuStreamUpdateCaptureDependencies", (CUstream hStream, CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData, size_t numDependencies, unsigned int flags), (hStream, dependencies, dependencyData, numDependencies, flags)) \
    X(PASS, cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", (CUstreamCaptureMode *mode), (mode)) \
    /* graphs */ \
    X(HOOK, cuGraphAddBatchMemOpNode, "cuGraphAddBatchMemOpNode", (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies, const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams), (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) \
    X(PASS, cuGraphAddChildGraphNode, "cuGraphAddChildGraphNode", (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies, CUgraph childGraph), (phGraphNode, hGraph, dependencies, numDependencies, childGraph)) \
    X(PASS, cuGraphAddDependencies, "cuGraphAddDependencies", (CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, size_t numDependencies), (hGraph, from, to, numDependencies)) \
    X(PASS, cuGraphAddDependencies_v2, "cuGraphAddDependencies", (CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edgeData, size_t numDependencies), (hGraph, from, to, edgeData, numDependencies)) \
    X(PASS, cuGraphAddEmptyNode, "cuGraphAddEmptyNode", (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies), (phGraphNode, hGraph, dependencies, numDependencies)) \
    X(PASS, cuGraphAddEventRecordNode, "cuGraphAddEventRecordNode", (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies, CUevent event), (phGraphNode, hGraph, dependencies, numDependencies, event)) \
    X(PASS, cuGraphAddEventWaitNode, "cuGraphAddEventWaitNode", (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies, CUevent event), (phGraphNode, hGraph, dependencies, numDependencies, event)) \
    X(PASS, cuGraphAddExternalSemaphoresSignalNode, "cuGraphAddExternalSemaphoresSignalNode", (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *nodeParams), (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) \
    X(HOOK, cuGraphAddExternalSemaphoresWaitNode, "cuGraphAddExternalSemaphoresWaitNode", (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *nodeParams), (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) \
    X(HOOK, cuGraphAddHostNode, "cuGraphAddHostNode", (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies, const CUDA_HOST_NODE_PARAMS *nodeParams), (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) \
    X(HOOK, cuGraphAddKernelNode, "cuGraphAddKernelNode", (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams), (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) \
    X(HOOK, cuGraphAddKernelNode_v2, "cuGraphAddKernelNode", (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS *nodeParams), (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) \
    X(HOOK, cuGraphAddMemAllocNode, "cuGraphAddMemAllocNode", (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams), (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) \
    X(PASS, cuGraphAddMemFreeNode, "cuGraphAddMemFreeNode", (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies, CUdeviceptr dptr), (phGraphNode, hGraph, dependencies, numDependencies, dptr)) \
    X(HOOK, cuGraphAddMemcpyNode, "cuGraphAddMemcpyNode", (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies, const CUDA_MEMCPY3D *copyParams, CUcontext ctx), (phGraphNode, hGraph, dependencies, numDependencies, copyParams, ctx)) \
    X(HOOK, cuGraphAddMemsetNode, "cuGraphAddMemsetNode", (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies, const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx), (phGraphNode, hGraph, dependencies, numDependencies, memsetParams, ctx)) \
    X(HOOK, cuGraphAddNode, "cuGraphAddNode", (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies, CUgraphNodeParams *nodeParams), (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) \
    X(HOOK, cuGraphAddNode_v2, "cuGraphAddNode", (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData, size_t numDependencies, CUgraphNodeParams *nodeParams), (phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams)) \
    X(HOOK, cuGraphAddNode_v3, "cuGraphAddNode", (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData, size_t numDependencies, CUgraphNodeParams *nodeParams), (phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams)) \
    X(PASS, cuGraphBatchMemOpNodeGetParams, "cuGraphBatchMemOpNodeGetParams", (CUgraphNode hNode, CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out), (hNode, nodeParams_out)) \
    X(HOOK, cuGraphBatchMemOpNodeSetParams, "cuGraphBatchMemOpNodeSetParams", (CUgraphNode hNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams), (hNode, nodeParams)) \
    X(PASS, cuGraphChildGraphNodeGetGraph, "cuGraphChildGraphNodeGetGraph", (CUgraphNode hNode, CUgraph *phGraph), (hNode, phGraph)) \
    X(PASS, cuGraphClone, "cuGraphClone", (CUgraph *phGraphClone, CUgraph originalGraph), (phGraphClone, originalGraph)) \
    X(PASS, cuGraphConditionalHandleCreate, "cuGraphConditionalHandleCreate", (CUgraphConditionalHandle *pHandle_out, CUgraph hGraph, CUcontext ctx, unsigned int defaultLaunchValue, unsigned int flags), (pHandle_out, hGraph, ctx, defaultLaunchValue, flags)) \
    X(PASS, cuGraphCreate, "cuGraphCreate", (CUgraph *phGraph, unsigned int flags), (phGraph, flags)) \
    X(PASS, cuGraphDebugDotPrint, "cuGraphDebugDotPrint", (CUgraph hGraph, const char *path, unsigned int flags), (hGraph, path, flags)) \
    X(NOTE_THEN_HOOK, cuGraphDestroy, "cuGraphDestroy", (CUgraph hGraph), (hGraph)) \
    X(PASS, cuGraphDestroyNode, "cuGraphDestroyNode", (CUgraphNode hNode), (hNode)) \
    X(PASS, cuGraphEventRecordNodeGetEvent, "cuGraphEventRecordNodeGetEvent", (CUgraphNode hNode, CUevent *event_out), (hNode, event_out)) \
    X(PASS, cuGraphEventRecordNodeSetEvent, "cuGraphEventRecordNodeSetEvent", (CUgraphNode hNode, CUevent event), (hNode, event)) \
    X(PASS, cuGraphEventWaitNodeGetEvent, "cuGraphEventWaitNodeGetEvent", (CUgraphNode hNode, CUevent *event_out), (hNode, event_out)) \
    X(PASS, cuGraphEventWaitNodeSetEvent, "cuGraphEventWaitNodeSetEvent", (CUgraphNode hNode, CUevent event), (hNode, event)) \
    X(HOOK, cuGraphExecBatchMemOpNodeSetParams, "cuGraphExecBatchMemOpNodeSetParams", (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams), (hGraphExec, hNode, nodeParams)) \
    X(HOOK, cuGraphExecChildGraphNodeSetParams, "cuGraphExecChildGraphNodeSetParams", (CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph), (hGraphExec, hNode, childGraph)) \
    X(NOTE_THEN_HOOK, cuGraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec hGraphExec), (hGraphExec)) \
    X(PASS, cuGraphExecEventRecordNodeSetEvent, "cuGraphExecEventRecordNodeSetEvent", (CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event), (hGraphExec, hNode, event)) \
    X(PASS, cuGraphExecEventWaitNodeSetEvent, "cuGraphExecEventWaitNodeSetEvent", (CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event), (hGraphExec, hNode, event)) \
    X(PASS, cuGraphExecExternalSemaphoresSignalNodeSetParams, "cuGraphExecExternalSemaphoresSignalNodeSetParams", (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *nodeParams), (hGraphExec, hNode, nodeParams)) \
    X(PASS, cuGraphExecExternalSemaphoresWaitNodeSetParams, "cuGraphExecExternalSemaphoresWaitNodeSetParams", (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *nodeParams), (hGraphExec, hNode, nodeParams)) \
    X(PASS, cuGraphExecGetFlags, "cuGraphExecGetFlags", (CUgraphExec hGraphExec, cuuint64_t *flags), (hGraphExec, flags)) \
    X(PASS, cuGraphExecHostNodeSetParams, "cuGraphExecHostNodeSetParams", (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams), (hGraphExec, hNode, nodeParams)) \
    X(HOOK_THEN_NOTE, cuGraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams", (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams), (hGraphExec, hNode, nodeParams)) \
    X(HOOK_THEN_NOTE, cuGraphExecKernelNodeSetParams_v2, "cuGraphExecKernelNodeSetParams", (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS *nodeParams), (hGraphExec, hNode, nodeParams)) \
    X(HOOK_THEN_NOTE, cuGraphExecMemcpyNodeSetParams, "cuGraphExecMemcpyNodeSetParams", (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMCPY3D *copyParams, CUcontext ctx), (hGraphExec, hNode, copyParams, ctx)) \
    X(HOOK_THEN_NOTE, cuGraphExecMemsetNodeSetParams, "cuGraphExecMemsetNodeSetParams", (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx), (hGraphExec, hNode, memsetParams, ctx)) \
    X(HOOK_THEN_NOTE, cuGraphExecNodeSetParams, "cuGraphExecNodeSetParams", (CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams *nodeParams), (hGraphExec, hNode, nodeParams)) \
    X(HOOK_THEN_NOTE, cuGraphExecUpdate, "cuGraphExecUpdate", (CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out, CUgraphExecUpdateResult *updateResult_out), (hGraphExec, hGraph, hErrorNode_out, updateResult_out)) \
    X(HOOK_THEN_NOTE, cuGraphExecUpdate_v2, "cuGraphExecUpdate", (CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo *resultInfo), (hGraphExec, hGraph, resultInfo)) \
    X(PASS, cuGraphExternalSemaphoresSignalNodeGetParams, "cuGraphExternalSemaphoresSignalNodeGetParams", (CUgraphNode hNode, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *params_out), (hNode, params_out)) \
    X(PASS, cuGraphExternalSemaphoresSignalNodeSetParams, "cuGraphExternalSemaphoresSignalNodeSetParams", (CUgraphNode hNode, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *nodeParams), (hNode, nodeParams)) \
    X(PASS, cuGraphExternalSemaphoresWaitNodeGetParams, "cuGraphExternalSemaphoresWaitNodeGetParams", (CUgraphNode hNode, CUDA_EXT_SEM_WAIT_NODE_PARAMS *params_out), (hNode, params_out)) \
    X(PASS, cuGraphExternalSemaphoresWaitNodeSetParams, "cuGraphExternalSemaphoresWaitNodeSetParams", (CUgraphNode hNode, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *nodeParams), (hNode, nodeParams)) \
    X(PASS, cuGraphGetEdges, "cuGraphGetEdges", (CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges), (hGraph, from, to, numEdges)) \
    X(PASS, cuGraphGetEdges_v2, "cuGraphGetEdges", (CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edgeData, size_t *numEdges), (hGraph, from, to, edgeData, numEdges)) \
    X(PASS, cuGraphGetNodes, "cuGraphGetNodes", (CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes), (hGraph, nodes, numNodes)) \
    X(PASS, cuGraphGetRootNodes, "cuGraphGetRootNodes", (CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes), (hGraph, rootNodes, numRootNodes)) \
    X(PASS, cuGraphHostNodeGetParams, "cuGraphHostNodeGetParams", (CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams), (hNode, nodeParams)) \
    X(PASS, cuGraphHostNodeSetParams, "cuGraphHostNodeSetParams", (CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams), (hNode, nodeParams)) \
    X(HOOK_THEN_NOTE, cuGraphInstantiate, "cuGraphInstantiate", (CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize), (phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize)) \
    X(HOOK_THEN_NOTE, cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", (CUgraphExec *phGraphExec, CUgraph hGraph, unsigned long long flags), (phGraphExec, hGraph, flags)) \
    X(HOOK_THEN_NOTE, cuGraphInstantiateWithParams, "cuGraphInstantiateWithParams", (CUgraphExec *phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams), (phGraphExec, hGraph, instantiateParams)) \
    X(HOOK_THEN_NOTE, cuGraphInstantiateWithParams_ptsz, "cuGraphInstantiateWithParams", (CUgraphExec *phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams), (phGraphExec, hGraph, instantiateParams)) \
    X(HOOK_THEN_NOTE, cuGraphInstantiate_v2, "cuGraphInstantiate", (CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize), (phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize)) \
    X(PASS, cuGraphKernelNodeCopyAttributes, "cuGraphKernelNodeCopyAttributes", (CUgraphNode dst, CUgraphNode src), (dst, src)) \
    X(PASS, cuGraphKernelNodeGetAttribute, "cuGraphKernelNodeGetAttribute", (CUgraphNode hNode, CUkernelNodeAttrID attr, CUkernelNodeAttrValue *value_out), (hNode, attr, value_out)) \
    X(PASS, cuGraphKernelNodeGetParams, "cuGraphKernelNodeGetParams", (CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams), (hNode, nodeParams)) \
    X(PASS, cuGraphKernelNodeGetParams_v2, "cuGraphKernelNodeGetParams", (CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams), (hNode, nodeParams)) \
    X(HOOK, cuGraphKernelNodeSetAttribute, "cuGraphKernelNodeSetAttribute", (CUgraphNode hNode, CUkernelNodeAttrID attr, const CUkernelNodeAttrValue *value), (hNode, attr, value)) \
    X(HOOK, cuGraphKernelNodeSetParams, "cuGraphKernelNodeSetParams", (CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams), (hNode, nodeParams)) \
    X(HOOK, cuGraphKernelNodeSetParams_v2, "cuGraphKernelNodeSetParams", (CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS *nodeParams), (hNode, nodeParams)) \
    X(HOOK_THEN_NOTE, cuGraphLaunch, "cuGraphLaunch", (CUgraphExec hGraph, CUstream hStream), (hGraph, hStream)) \
    X(HOOK_THEN_NOTE, cuGraphLaunch_ptsz, "cuGraphLaunch", (CUgraphExec hGraphExec, CUstream hStream), (hGraphExec, hStream)) \
    X(PASS, cuGraphMemAllocNodeGetParams, "cuGraphMemAllocNodeGetParams", (CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out), (hNode, params_out)) \
    X(PASS, cuGraphMemFreeNodeGetParams, "cuGraphMemFreeNodeGetParams", (CUgraphNode hNode, CUdeviceptr *dptr_out), (hNode, dptr_out)) \
    X(PASS, cuGraphMemcpyNodeGetParams, "cuGraphMemcpyNodeGetParams", (CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams), (hNode, nodeParams)) \
    X(HOOK, cuGraphMemcpyNodeSetParams, "cuGraphMemcpyNodeSetParams", (CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams), (hNode, nodeParams)) \
    X(PASS, cuGraphMemsetNodeGetParams, "cuGraphMemsetNodeGetParams", (CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams), (hNode, nodeParams)) \
    X(HOOK, cuGraphMemsetNodeSetParams, "cuGraphMemsetNodeSetParams", (CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *nodeParams), (hNode, nodeParams)) \
    X(PASS, cuGraphNodeFindInClone, "cuGraphNodeFindInClone", (CUgraphNode *phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph), (phNode, hOriginalNode, hClonedGraph)) \
    X(PASS, cuGraphNodeGetDependencies, "cuGraphNodeGetDependencies", (CUgraphNode hNode, CUgraphNode *dependencies, size_t *numDependencies), (hNode, dependencies, numDependencies)) \
    X(PASS, cuGraphNodeGetDependencies_v2, "cuGraphNodeGetDependencies", (CUgraphNode hNode, CUgraphNode *dependencies, CUgraphEdgeData *edgeData, size_t *numDependencies), (hNode, dependencies, edgeData, numDependencies)) \
    X(PASS, cuGraphNodeGetDependentNodes, "cuGraphNodeGetDependentNodes", (CUgraphNode hNode, CUgraphNode *dependentNodes, size_t *numDependentNodes), (hNode, dependentNodes, numDependentNodes)) \
    X(PASS, cuGraphNodeGetDependentNodes_v2, "cuGraphNodeGetDependentNodes", (CUgraphNode hNode, CUgraphNode *dependentNodes, CUgraphEdgeData *edgeData, size_t *numDependentNodes), (hNode, dependentNodes, edgeData, numDependentNodes)) \
    X(PASS, cuGraphNodeGetEnabled, "cuGraphNodeGetEnabled", (CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int *isEnabled), (hGraphExec, hNode, isEnabled)) \
    X(PASS, cuGraphNodeGetType, "cuGraphNodeGetType", (CUgraphNode hNode, CUgraphNodeType *type), (hNode, type)) \
    X(HOOK, cuGraphNodeSetEnabled, "cuGraphNodeSetEnabled", (CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled), (hGraphExec, hNode, isEnabled)) \
    X(HOOK, cuGraphNodeSetParams, "cuGraphNodeSetParams", (CUgraphNode hNode, CUgraphNodeParams *nodeParams), (hNode, nodeParams)) \
    X(HOOK, cuGraphNodeSetParams_v2, "cuGraphNodeSetParams", (CUgraphNode hNode, CUgraphNodeParams *nodeParams), (hNode, nodeParams)) \
    X(PASS, cuGraphReleaseUserObject, "cuGraphReleaseUserObject", (CUgraph graph, CUuserObject object, unsigned int count), (graph, object, count)) \
    X(PASS, cuGraphRemoveDependencies, "cuGraphRemoveDependencies", (CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, size_t numDependencies), (hGraph, from, to, numDependencies)) \
    X(PASS, cuGraphRemoveDependencies_v2, "cuGraphRemoveDependencies", (CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edgeData, size_t numDependencies), (hGraph, from, to, edgeData, numDependencies)) \
    X(PASS, cuGraphRetainUserObject, "cuGraphRetainUserObject", (CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags), (graph, object, count, flags)) \
    X(HOOK, cuGraphUpload, "cuGraphUpload", (CUgraphExec hGraph, CUstream hStream), (hGraph, hStream)) \
    X(HOOK, cuGraphUpload_ptsz, "cuGraphUpload", (CUgraphExec hGraphExec, CUstream hStream), (hGraphExec, hStream)) \
    /* memory operations on streams */ \
    X(HOOK_THEN_NOTE, cuStreamBatchMemOp, "cuStreamBatchMemOp", (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray, unsigned int flags), (stream, count, paramArray, flags)) \
    X(HOOK_THEN_NOTE, cuStreamBatchMemOp_ptsz, "cuStreamBatchMemOp", (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray, unsigned int flags), (stream, count, paramArray, flags)) \
    X(HOOK_THEN_NOTE, cuStreamBatchMemOp_v2, "cuStreamBatchMemOp", (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray, unsigned int flags), (stream, count, paramArray, flags)) \
    X(HOOK_THEN_NOTE, cuStreamBatchMemOp_v2_ptsz, "cuStreamBatchMemOp", (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray, unsigned int flags), (stream, count, paramArray, flags)) \
    X(HOOK_THEN_NOTE, cuStreamWaitValue32, "cuStreamWaitValue32", (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(HOOK_THEN_NOTE, cuStreamWaitValue32_ptsz, "cuStreamWaitValue32", (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(HOOK_THEN_NOTE, cuStreamWaitValue32_v2, "cuStreamWaitValue32", (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(HOOK_THEN_NOTE, cuStreamWaitValue32_v2_ptsz, "cuStreamWaitValue32", (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(HOOK_THEN_NOTE, cuStreamWaitValue64, "cuStreamWaitValue64", (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(HOOK_THEN_NOTE, cuStreamWaitValue64_ptsz, "cuStreamWaitValue64", (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(HOOK_THEN_NOTE, cuStreamWaitValue64_v2, "cuStreamWaitValue64", (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(HOOK_THEN_NOTE, cuStreamWaitValue64_v2_ptsz, "cuStreamWaitValue64", (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(HOOK_THEN_NOTE, cuStreamWriteValue32, "cuStreamWriteValue32", (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(HOOK_THEN_NOTE, cuStreamWriteValue32_ptsz, "cuStreamWriteValue32", (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(HOOK_THEN_NOTE, cuStreamWriteValue32_v2, "cuStreamWriteValue32", (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(HOOK_THEN_NOTE, cuStreamWriteValue32_v2_ptsz, "cuStreamWriteValue32", (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(HOOK_THEN_NOTE, cuStreamWriteValue64, "cuStreamWriteValue64", (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(HOOK_THEN_NOTE, cuStreamWriteValue64_ptsz, "cuStreamWriteValue64", (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(HOOK_THEN_NOTE, cuStreamWriteValue64_v2, "cuStreamWriteValue64", (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(HOOK_THEN_NOTE, cuStreamWriteValue64_v2_ptsz, "cuStreamWriteValue64", (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), (stream, addr, value, flags)) \
    X(HOOK, cuWaitExternalSemaphoresAsync, "cuWaitExternalSemaphoresAsync", (const CUexternalSemaphore *extSemArray, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *paramsArray, unsigned int numExtSems, CUstream stream), (extSemArray, paramsArray, numExtSems, stream)) \
    X(HOOK, cuWaitExternalSemaphoresAsync_ptsz, "cuWaitExternalSemaphoresAsync", (const CUexternalSemaphore *extSemArray, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *paramsArray, unsigned int numExtSems, CUstream stream), (extSemArray, paramsArray, numExtSems, stream)) \
    /* streams */ \
    X(HOOK_THEN_NOTE, cuStreamAddCallback, "cuStreamAddCallback", (CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags), (hStream, callback, userData, flags)) \
    X(HOOK_THEN_NOTE, cuStreamAddCallback_ptsz, "cuStreamAddCallback", (CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags), (hStream, callback, userData, flags)) \
    X(PASS, cuStreamCopyAttributes, "cuStreamCopyAttributes", (CUstream dstStream, CUstream srcStream), (dstStream, srcStream)) \
    X(PASS, cuStreamCopyAttributes_ptsz, "cuStreamCopyAttributes", (CUstream dst, CUstream src), (dst, src)) \
    X(PASS, cuStreamCreate, "cuStreamCreate", (CUstream *phStream, unsigned int Flags), (phStream, Flags)) \
    X(PASS, cuStreamCreateWithPriority, "cuStreamCreateWithPriority", (CUstream *phStream, unsigned int flags, int priority), (phStream, flags, priority)) \
    X(NOTE_THEN_HOOK, cuStreamDestroy, "cuStreamDestroy", (CUstream hStream), (hStream)) \
    X(NOTE_THEN_HOOK, cuStreamDestroy_v2, "cuStreamDestroy", (CUstream hStream), (hStream)) \
    X(PASS, cuStreamGetAttribute, "cuStreamGetAttribute", (CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value), (hStream, attr, value)) \
    X(PASS, cuStreamGetAttribute_ptsz, "cuStreamGetAttribute", (CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value_out), (hStream, attr, value_out)) \
    X(PASS, cuStreamGetCtx, "cuStreamGetCtx", (CUstream hStream, CUcontext *pctx), (hStream, pctx)) \
    X(PASS, cuStreamGetCtx_ptsz, "cuStreamGetCtx", (CUstream hStream, CUcontext *pctx), (hStream, pctx)) \
    X(PASS, cuStreamGetCtx_v2, "cuStreamGetCtx", (CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx), (hStream, pCtx, pGreenCtx)) \
    X(PASS, cuStreamGetCtx_v2_ptsz, "cuStreamGetCtx", (CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx), (hStream, pCtx, pGreenCtx)) \
    X(PASS, cuStreamGetDevice, "cuStreamGetDevice", (CUstream hStream, CUdevice *device), (hStream, device)) \
    X(PASS, cuStreamGetDevice_ptsz, "cuStreamGetDevice", (CUstream hStream, CUdevice *device), (hStream, device)) \
    X(PASS, cuStreamGetFlags, "cuStreamGetFlags", (CUstream hStream, unsigned int *flags), (hStream, flags)) \
    X(PASS, cuStreamGetFlags_ptsz, "cuStreamGetFlags", (CUstream hStream, unsigned int *flags), (hStream, flags)) \
    X(PASS, cuStreamGetGreenCtx, "cuStreamGetGreenCtx", (CUstream hStream, CUgreenCtx *phCtx), (hStream, phCtx)) \
    X(PASS, cuStreamGetId, "cuStreamGetId", (CUstream hStream, unsigned long long *streamId), (hStream, streamId)) \
    X(PASS, cuStreamGetId_ptsz, "cuStreamGetId", (CUstream hStream, unsigned long long *streamId), (hStream, streamId)) \
    X(PASS, cuStreamGetPriority, "cuStreamGetPriority", (CUstream hStream, int *priority), (hStream, priority)) \
    X(PASS, cuStreamGetPriority_ptsz, "cuStreamGetPriority", (CUstream hStream, int *priority), (hStream, priority)) \
    X(HOOK, cuStreamQuery, "cuStreamQuery", (CUstream hStream), (hStream)) \
    X(HOOK, cuStreamQuery_ptsz, "cuStreamQuery", (CUstream hStream), (hStream)) \
    X(PASS, cuStreamSetAttribute, "cuStreamSetAttribute", (CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *param), (hStream, attr, param)) \
    X(PASS, cuStreamSetAttribute_ptsz, "cuStreamSetAttribute", (CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *value), (hStream, attr, value)) \
    X(HOOK_THEN_NOTE, cuStreamSynchronize, "cuStreamSynchronize", (CUstream hStream), (hStream)) \
    X(HOOK_THEN_NOTE, cuStreamSynchronize_ptsz, "cuStreamSynchronize", (CUstream hStream), (hStream)) \
    X(HOOK_THEN_NOTE, cuStreamWaitEvent, "cuStreamWaitEvent", (CUstream hStream, CUevent hEvent, unsigned int Flags), (hStream, hEvent, Flags)) \
    X(HOOK_THEN_NOTE, cuStreamWaitEvent_ptsz, "cuStreamWaitEvent", (CUstream hStream, CUevent hEvent, unsigned int Flags), (hStream, hEvent, Flags)) \
    /* events */ \
    X(PASS, cuEventCreate, "cuEventCreate", (CUevent *phEvent, unsigned int Flags), (phEvent, Flags)) \
    X(NOTE_THEN_PASS, cuEventDestroy, "cuEventDestroy", (CUevent hEvent), (hEvent)) \
    X(NOTE_THEN_PASS, cuEventDestroy_v2, "cuEventDestroy", (CUevent hEvent), (hEvent)) \
    X(PASS, cuEventElapsedTime, "cuEventElapsedTime", (float *pMilliseconds, CUevent hStart, CUevent hEnd), (pMilliseconds, hStart, hEnd)) \
    X(PASS, cuEventElapsedTime_v2, "cuEventElapsedTime", (float *pMilliseconds, CUevent hStart, CUevent hEnd), (pMilliseconds, hStart, hEnd)) \
    X(HOOK, cuEventQuery, "cuEventQuery", (CUevent hEvent), (hEvent)) \
    X(PASS_THEN_NOTE, cuEventRecord, "cuEventRecord", (CUevent hEvent, CUstream hStream), (hEvent, hStream)) \
    X(PASS_THEN_NOTE, cuEventRecordWithFlags, "cuEventRecordWithFlags", (CUevent hEvent, CUstream hStream, unsigned int flags), (hEvent, hStream, flags)) \
    X(PASS_THEN_NOTE, cuEventRecordWithFlags_ptsz, "cuEventRecordWithFlags", (CUevent hEvent, CUstream hStream, unsigned int flags), (hEvent, hStream, flags)) \
    X(PASS_THEN_NOTE, cuEventRecord_ptsz, "cuEventRecord", (CUevent hEvent, CUstream hStream), (hEvent, hStream)) \
    X(HOOK_THEN_NOTE, cuEventSynchronize, "cuEventSynchronize", (CUevent hEvent), (hEvent)) \
    /* tensor maps */ \
    X(HOOK, cuTensorMapEncodeIm2col, "cuTensorMapEncodeIm2col", (CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank, void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides, const int *pixelBoxLowerCorner, const int *pixelBoxUpperCorner, cuuint32_t channelsPerPixel, cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill), (tensorMap, tensorDataType, tensorRank, globalAddress, globalDim, globalStrides, pixelBoxLowerCorner, pixelBoxUpperCorner, channelsPerPixel, pixelsPerColumn, elementStrides, interleave, swizzle, l2Promotion, oobFill)) \
    X(HOOK, cuTensorMapEncodeIm2colWide, "cuTensorMapEncodeIm2colWide", (CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank, void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides, int pixelBoxLowerCornerWidth, int pixelBoxUpperCornerWidth, cuuint32_t channelsPerPixel, cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave, CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill), (tensorMap, tensorDataType, tensorRank, globalAddress, globalDim, globalStrides, pixelBoxLowerCornerWidth, pixelBoxUpperCornerWidth, channelsPerPixel, pixelsPerColumn, elementStrides, interleave, mode, swizzle, l2Promotion, oobFill)) \
    X(HOOK, cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled", (CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank, void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides, const cuuint32_t *boxDim, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill), (tensorMap, tensorDataType, tensorRank, globalAddress, globalDim, globalStrides, boxDim, elementStrides, interleave, swizzle, l2Promotion, oobFill)) \
    X(HOOK, cuTensorMapReplaceAddress, "cuTensorMapReplaceAddress", (CUtensorMap *tensorMap, void *globalAddress), (tensorMap, globalAddress)) \
    /* questions about addresses */ \
    X(PASS, cuMemGetAddressRange, "cuMemGetAddressRange", (CUdeviceptr_v1 *pbase, unsigned int *psize, CUdeviceptr_v1 dptr), (pbase, psize, dptr)) \
    X(HOOK, cuMemGetAddressRange_v2, "cuMemGetAddressRange", (CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr), (pbase, psize, dptr)) \
    X(PASS, cuMemGetInfo, "cuMemGetInfo", (unsigned int *free, unsigned int *total), (free, total)) \
    X(HOOK, cuMemGetInfo_v2, "cuMemGetInfo", (size_t *free, size_t *total), (free, total)) \
    X(HOOK, cuPointerGetAttribute, "cuPointerGetAttribute", (void *data, CUpointer_attribute attribute, CUdeviceptr ptr), (data, attribute, ptr)) \
    X(HOOK, cuPointerGetAttributes, "cuPointerGetAttributes", (unsigned int numAttributes, CUpointer_attribute *attributes, void **data, CUdeviceptr ptr), (numAttributes, attributes, data, ptr)) \
    X(HOOK, cuPointerSetAttribute, "cuPointerSetAttribute", (const void *value, CUpointer_attribute attribute, CUdeviceptr ptr), (value, attribute, ptr)) \
    /* sharing with other processes and devices */ \
    X(NOTE_THEN_PASS, cuIpcCloseMemHandle, "cuIpcCloseMemHandle", (CUdeviceptr dptr), (dptr)) \
    X(PASS, cuIpcGetEventHandle, "cuIpcGetEventHandle", (CUipcEventHandle *pHandle, CUevent event), (pHandle, event)) \
    X(HOOK, cuIpcGetMemHandle, "cuIpcGetMemHandle", (CUipcMemHandle *pHandle, CUdeviceptr dptr), (pHandle, dptr)) \
    X(PASS, cuIpcOpenEventHandle, "cuIpcOpenEventHandle", (CUevent *phEvent, CUipcEventHandle handle), (phEvent, handle)) \
    X(HOOK_THEN_NOTE, cuIpcOpenMemHandle, "cuIpcOpenMemHandle", (CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags), (pdptr, handle, Flags)) \
    X(HOOK_THEN_NOTE, cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", (CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags), (pdptr, handle, Flags))
/* clang-format on */

#endif
