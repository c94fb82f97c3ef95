/* beside.c - memory that is no tensor, beside tensors: managed memory, physical memory that the program maps itself, host
 * memory that the device sees. It comes, grows and goes while the tensors are in use; each keeps its bytes. */
#include "driver.h"

#include <string.h>

enum { PIECE = 256 << 10, TENSORS = 4, CROWD = 12, STEPS = 4, TIMES = 3 };

static CUdevice device;
static CUdeviceptr tensor[TENSORS];
static struct crowd crowd;

static void use_tensors(const char *when)
{
    uint64_t sum = 0;
    crowd_press(&crowd);
    for (unsigned i = 0; i < TENSORS; i++)
        sum = sum * 31 + device_sum(tensor[i], PIECE);
    printf("%s: %016llx\n", when, (unsigned long long)sum);
}

static void memory_info(const char *when)
{
    size_t left, total;
    CHECK(cuMemGetInfo(&left, &total));
    printf("%s: what is free is part of the whole: %s\n", when, left <= total ? "yes" : "NO");
}

/* Reached by the host and by copies of the device. */
static void managed(void)
{
    CUdeviceptr a, b;
    CHECK(cuMemAllocManaged(&a, 2 * PIECE, CU_MEM_ATTACH_GLOBAL));
    pattern((void *)(uintptr_t)a, 2 * PIECE, 40);
    use_tensors("with managed memory");
    CHECK(cuMemcpyDtoD(tensor[0], a + PIECE / 2, PIECE));
    CHECK(cuMemAllocManaged(&b, PIECE, CU_MEM_ATTACH_GLOBAL));
    use_tensors("with more of it");
    CHECK(cuMemcpyDtoD(b, tensor[1], PIECE));
    CHECK(cuMemsetD32(b + 400, 0x5555aaaa, 1000));
    CHECK(cuCtxSynchronize());
    print_sum("managed, seen by the host", (void *)(uintptr_t)b, PIECE);
    print_sum("managed, untouched", (void *)(uintptr_t)a, 2 * PIECE);
    memory_info("with managed memory");
    CHECK(cuMemFree(a));
    use_tensors("with less of it");
    CHECK(cuMemFree(b));
}

struct mapped { /* the program's own piece of device memory */
    CUdeviceptr address;
    CUmemGenericAllocationHandle handle;
    size_t bytes;
};

static struct mapped map(size_t bytes, CUdeviceptr at)
{
    struct mapped m = {.address = at, .bytes = bytes};
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CHECK(cuMemCreate(&m.handle, bytes, &prop, 0));
    CHECK(cuMemMap(at, bytes, 0, m.handle, 0));
    CHECK(cuMemSetAccess(at, bytes, &access, 1));
    return m;
}

static void unmap(struct mapped *m)
{
    CHECK(cuMemUnmap(m->address, m->bytes));
    CHECK(cuMemRelease(m->handle));
}

static size_t granule(void)
{
    size_t bytes;
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    CHECK(cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    return bytes;
}

/* A segment that grows and shrinks at its end, as allocators with expandable segments do. */
static void segment(void)
{
    const size_t step = (PIECE + granule() - 1) / granule() * granule();
    struct mapped part[STEPS];
    CUdeviceptr base;
    char text[80];
    CHECK(cuMemAddressReserve(&base, STEPS * step, 0, 0, 0));
    for (unsigned i = 0; i < STEPS; i++) {
        part[i] = map(step, base + i * step);
        fill_device(base + i * step, PIECE, 50 + i);
        snprintf(text, sizeof text, "with a segment of %u parts", i + 1);
        use_tensors(text);
        printf("%s, the segment: %016llx\n", text, (unsigned long long)device_sum(base, i * step + PIECE));
    }
    CHECK(cuMemcpyDtoD(tensor[2], base + step - 100, PIECE)); /* over the seam of two parts */
    CHECK(cuMemcpyDtoD(base + 2 * step - 77, tensor[3], PIECE));
    use_tensors("after copies over a seam");
    printf("the segment: %016llx\n", (unsigned long long)device_sum(base, STEPS * step));
    unmap(&part[STEPS - 1]);
    use_tensors("with a segment that has shrunk");
    part[STEPS - 1] = map(step, base + (STEPS - 1) * step);
    CHECK(cuMemsetD8(base + (STEPS - 1) * step, 0x66, step));
    use_tensors("and grown again");
    for (unsigned i = 0; i < STEPS; i++)
        unmap(&part[i]);
    CHECK(cuMemAddressFree(base, STEPS * step));
}

/* Released while it is mapped, held once more by its address, then mapped at another one. */
static void held_in_many_ways(void)
{
    const size_t bytes = (2 * PIECE + granule() - 1) / granule() * granule();
    CUmemGenericAllocationHandle again;
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr one, two;
    CHECK(cuMemAddressReserve(&one, bytes, 0, 0, 0));
    CHECK(cuMemAddressReserve(&two, bytes, 0, 0, 0));
    struct mapped m = map(bytes, one);
    CHECK(cuMemRelease(m.handle));
    fill_device(one, bytes, 60);
    use_tensors("with memory whose handle was released");
    CHECK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)one));
    CHECK(cuMemUnmap(one, bytes));
    use_tensors("with memory that is mapped nowhere");
    CHECK(cuMemMap(two, bytes, 0, again, 0));
    CHECK(cuMemSetAccess(two, bytes, &access, 1));
    use_tensors("with memory that has moved");
    printf("at its second address: %016llx\n", (unsigned long long)device_sum(two, bytes));
    CHECK(cuMemUnmap(two, bytes));
    use_tensors("with memory that is mapped nowhere again");
    CHECK(cuMemRelease(again));
    CHECK(cuMemAddressFree(one, bytes));
    CHECK(cuMemAddressFree(two, bytes));
}

static void host_memory(void)
{
    unsigned char *mapped, *plain;
    CUdeviceptr seen;
    unsigned flags;
    CHECK(cuMemHostAlloc((void **)&mapped, PIECE, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
    CHECK(cuMemAllocHost((void **)&plain, PIECE));
    CHECK(cuMemHostGetFlags(&flags, mapped));
    printf("flags: %u\n", flags);
    CHECK(cuMemHostGetDevicePointer(&seen, mapped, 0));
    memset(mapped, 0x31, PIECE);
    CHECK(cuMemcpyDtoD(seen + 1000, tensor[0], PIECE - 1000));
    CHECK(cuMemsetD8(seen + PIECE - 10, 0x32, 10));
    CHECK(cuMemcpyDtoH(plain, tensor[1], PIECE));
    CHECK(cuCtxSynchronize());
    use_tensors("with host memory");
    print_sum("mapped host memory", mapped, PIECE);
    print_sum("host memory", plain, PIECE);
    CHECK(cuMemcpyDtoD(tensor[1], seen, PIECE));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemFreeHost(plain));
    CHECK(cuMemFreeHost(mapped));
}

int main(void)
{
    device = start();
    crowd_make(&crowd, CROWD, PIECE);
    for (unsigned i = 0; i < TENSORS; i++) {
        CHECK(cuMemAlloc(&tensor[i], PIECE));
        fill_device(tensor[i], PIECE, i);
    }
    use_tensors("alone");
    for (unsigned i = 0; i < TIMES; i++) {
        managed();
        use_tensors("alone again");
        segment();
        use_tensors("alone once more");
        held_in_many_ways();
    }
    host_memory();
    use_tensors("at the end");
    crowd_free(&crowd);
    for (unsigned i = 0; i < TENSORS; i++)
        CHECK(cuMemFree(tensor[i]));
    memory_info("at the end");
    return 0;
}
