/* profile.h - the properties and costs of one kind of device, read from a data file of `key = value` lines. */
#ifndef SIMGPU_DRIVER_PROFILE_H
#define SIMGPU_DRIVER_PROFILE_H
#include <stddef.h>
#include <stdint.h>

/* X(type, field, meaning). The file must contain every field; the profiles say where each figure comes from. */
#define SIMGPU_PROFILE_FIELDS(X) \
    X(INT, compute_major, "compute capability, first part") \
    X(INT, compute_minor, "compute capability, second part") \
    X(INT, multiprocessors, "number of SMs") \
    X(INT, clock_khz, "SM clock, kHz") \
    X(INT, memory_clock_khz, "memory clock, kHz") \
    X(INT, bus_bits, "width of the memory bus") \
    X(INT, l2_bytes, "size of the second-level cache") \
    X(INT, shared_per_sm_bytes, "shared memory of an SM") \
    X(INT, shared_per_block_optin_bytes, "most shared memory of a block, after opting in") \
    X(INT, threads_per_sm, "most resident threads of an SM") \
    X(NUMBER, memory_bytes, "capacity") \
    X(NUMBER, flops, "effective arithmetic rate, 1/s") \
    X(NUMBER, memory_gbps, "device memory, 1e9 bytes/s, effective") \
    X(NUMBER, h2d_gbps, "host to device alone, pinned, 1e9 bytes/s") \
    X(NUMBER, d2h_gbps, "device to host alone, pinned, 1e9 bytes/s") \
    X(NUMBER, duplex, "rate of either direction while both are busy, as a part of its rate alone") \
    X(NUMBER, pageable_gbps, "through pageable host memory, 1e9 bytes/s") \
    X(NUMBER, link_gbps, "from device to device, one direction, 1e9 bytes/s, effective") \
    X(NUMBER, link_ns, "fixed part of an exchange between devices") \
    X(NUMBER, pin_gbps, "pinning host memory, 1e9 bytes/s") \
    X(NUMBER, call_ns, "any call, on the host") \
    X(NUMBER, launch_ns, "a launch, on the host") \
    X(NUMBER, copy_ns, "an asynchronous copy or set, on the host") \
    X(NUMBER, event_ns, "recording or waiting for an event, on the host") \
    X(NUMBER, kernel_min_ns, "shortest kernel") \
    X(NUMBER, copy_latency_ns, "fixed part of a copy, on its lane") \
    X(NUMBER, host_function_ns, "a host function") \
    X(NUMBER, alloc_ns, "cuMemAlloc") \
    X(NUMBER, free_ns, "cuMemFree") \
    X(NUMBER, pool_ns, "a stream-ordered allocation or free") \
    X(NUMBER, reserve_ns, "cuMemAddressReserve and cuMemAddressFree") \
    X(NUMBER, create_ns, "cuMemCreate, fixed part") \
    X(NUMBER, create_gbps, "cuMemCreate, clearing, 1e9 bytes/s") \
    X(NUMBER, release_ns, "cuMemRelease of the last reference, fixed part") \
    X(NUMBER, release_gbps, "cuMemRelease of the last reference, 1e9 bytes/s") \
    X(NUMBER, map_ns, "cuMemMap") \
    X(NUMBER, unmap_ns, "cuMemUnmap, for each mapping") \
    X(NUMBER, set_access_ns, "cuMemSetAccess, for each mapping") \
    X(NUMBER, access_wait_ns, "cuMemSetAccess, the same again while bytes go from the device to the host")

struct profile {
    char name[96]; /* the result of cuDeviceGetName() */
#define SIMGPU_INT              int
#define SIMGPU_NUMBER           double
#define X(type, field, meaning) SIMGPU_##type field;
    SIMGPU_PROFILE_FIELDS(X)
#undef X
#undef SIMGPU_INT
#undef SIMGPU_NUMBER
};

/* Reads `wanted` (the name of a profile next to this library, or a path; NULL is h200). If no file is found, the profile
 * compiled in by the build is used for "h200". Returns 0, or -ENOENT/-EINVAL with a sentence in ret_message. */
int profile_read(const char *wanted, struct profile *ret_profile, char *ret_message, size_t size);
#endif
