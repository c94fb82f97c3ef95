/* api_device.c - cuInit() and the questions about devices. */
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "memory.h"
#include "pool.h"
#include "sim.h"

SIMGPU_EXPORT CUresult cuInit(unsigned int flags)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuInit", NEEDS_NOTHING);
    if (r == CUDA_SUCCESS && flags != 0)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        bool first = !driver_is_live();
        r = driver_init();
        if (r == CUDA_SUCCESS && first) /* SIMGPU_FAIL was read just now */
            r = settings_fault("cuInit");
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = driver_age;
    return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult cuDeviceGetCount(int *count)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuDeviceGetCount", NEEDS_INIT);
    if (r == CUDA_SUCCESS && !count)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *count = settings.devices;
    return driver_leave(&call, r);
}

/* Enters a call about one device. */
static CUresult enter_device(struct call *call, const char *name, CUdevice ordinal, const void *out)
{
    CUresult r = driver_enter(call, name, NEEDS_INIT);
    if (r == CUDA_SUCCESS && !out)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && !device_find(ordinal))
        r = CUDA_ERROR_INVALID_DEVICE;
    return r;
}

SIMGPU_EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    struct call call;
    CUresult r = enter_device(&call, "cuDeviceGet", ordinal, device);
    if (r == CUDA_SUCCESS)
        *device = ordinal;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    struct call call;
    CUresult r = enter_device(&call, "cuDeviceGetName", device, name);
    if (r == CUDA_SUCCESS && length <= 0)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        snprintf(name, (size_t)length, "%s", settings.profile.name);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    struct call call;
    CUresult r = enter_device(&call, "cuDeviceGetUuid", device, uuid);
    if (r == CUDA_SUCCESS) {
        memcpy(uuid->bytes, "simgpu-device-00", 16);
        uuid->bytes[15] = (char)('0' + device);
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    return cuDeviceGetUuid_v2(uuid, device);
}

SIMGPU_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    struct call call;
    CUresult r = enter_device(&call, "cuDeviceTotalMem", device, bytes);
    if (r == CUDA_SUCCESS)
        *bytes = settings.memory_bytes;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    struct call call;
    CUresult r = enter_device(&call, "cuDeviceComputeCapability", device, major);
    if (r == CUDA_SUCCESS) {
        *major = settings.profile.compute_major;
        *minor = settings.profile.compute_minor;
    }
    return driver_leave(&call, r);
}

/* The attributes that don't come from the profile; all others answer 0. */
static int fixed_attribute(CUdevice_attribute attribute)
{
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
        return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
        return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
        return 0x7fffffff;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
        return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
        return 49152;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
        return 1024;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
        return 65536;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
        return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
        return 0x7fffffff;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
        return 512;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
        return 2;
    case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
        return 0;
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
    case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
        return 1;
    default:
        return 0;
    }
}

static int attribute_of(CUdevice_attribute attribute, CUdevice device)
{
    const struct profile *p = &settings.profile;
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return p->compute_major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        return p->compute_minor;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        return p->multiprocessors;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
        return p->clock_khz;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
        return p->memory_clock_khz;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
        return p->bus_bits;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
        return p->l2_bytes;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
        return p->shared_per_sm_bytes;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        return p->shared_per_block_optin_bytes;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
        return p->threads_per_sm;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        return 1 + device;
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID:
        return 0;
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
        return settings.host_numa;
    default:
        return fixed_attribute(attribute);
    }
}

SIMGPU_EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    struct call call;
    CUresult r = enter_device(&call, "cuDeviceGetAttribute", device, value);
    if (r == CUDA_SUCCESS && (attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *value = attribute_of(attribute, device);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device)
{
    struct call call;
    CUresult r = enter_device(&call, "cuDeviceGetPCIBusId", device, id);
    if (r == CUDA_SUCCESS && length < 13)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        snprintf(id, (size_t)length, "0000:%02x:00.0", 1 + device);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
    struct call call;
    unsigned domain, bus = 0, slot, function;
    CUresult r = driver_enter(&call, "cuDeviceGetByPCIBusId", NEEDS_INIT);
    if (r == CUDA_SUCCESS && (!device || !id || sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && !device_find((int)bus - 1))
        r = CUDA_ERROR_INVALID_DEVICE;
    if (r == CUDA_SUCCESS)
        *device = (int)bus - 1;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    struct call call;
    CUresult r = enter_device(&call, "cuDeviceCanAccessPeer", device, can);
    if (r == CUDA_SUCCESS && !device_find(peer))
        r = CUDA_ERROR_INVALID_DEVICE;
    if (r == CUDA_SUCCESS)
        *can = device != peer;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice source, CUdevice target)
{
    struct call call;
    CUresult r = enter_device(&call, "cuDeviceGetP2PAttribute", source, value);
    if (r == CUDA_SUCCESS && (!device_find(target) || source == target))
        r = CUDA_ERROR_INVALID_DEVICE;
    if (r == CUDA_SUCCESS)
        *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
    struct call call;
    CUresult r = enter_device(&call, "cuDeviceGetDefaultMemPool", device, pool);
    if (r == CUDA_SUCCESS)
        *pool = (CUmemoryPool)devices[device].default_pool;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
    struct call call;
    CUresult r = enter_device(&call, "cuDeviceGetMemPool", device, pool);
    if (r == CUDA_SUCCESS)
        *pool = (CUmemoryPool)devices[device].current_pool;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    struct call call;
    CUresult r = enter_device(&call, "cuDeviceSetMemPool", device, pool);
    if (r == CUDA_SUCCESS && (!handle_is(HANDLE_POOL, pool) || ((struct pool *)pool)->device != &devices[device]))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        devices[device].current_pool = (struct pool *)pool;
    return driver_leave(&call, r);
}
