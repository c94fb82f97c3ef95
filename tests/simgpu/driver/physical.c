/* physical.c - device memory as pieces of a memfd: capacity, poison, and the handles of cuMemCreate(). */
#include "physical.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"
#include "stats.h"
#include "written.h"

static struct {
    int file;
    struct extents free;
} host_store;

static const uint64_t store_bytes = UINT64_C(1)
                                    << 42; /* of addresses in the file, which is sparse; capacity is counted apart */

CUresult physical_init(struct device *device)
{
    int file = memfd_create(device ? "simgpu-device" : "simgpu-host", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)store_bytes) < 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    if (device)
        device->file = file;
    else
        host_store.file = file;
    return extents_init(device ? &device->physical : &host_store.free, 0, store_bytes) == 0 ? CUDA_SUCCESS
                                                                                            : CUDA_ERROR_OUT_OF_MEMORY;
}

static struct extents *store_of(struct device *device)
{
    return device ? &device->physical : &host_store.free;
}

static int file_of(const struct device *device)
{
    return device ? device->file : host_store.file;
}

int physical_take(struct device *device, uint64_t bytes, uint64_t counted, uint64_t *ret_offset)
{
    if (device && (counted > settings.memory_bytes || device->physical_bytes > settings.memory_bytes - counted))
        return -ENOMEM;
    int r = extents_take(store_of(device), bytes, 4096, ret_offset);
    if (r < 0 || !device)
        return r;
    device->physical_bytes += counted;
    if (device->physical_peak < device->physical_bytes)
        device->physical_peak = device->physical_bytes;
    return 0;
}

void physical_give(struct device *device, uint64_t offset, uint64_t bytes, uint64_t counted)
{
    extents_give(store_of(device), offset, bytes);
    if (device)
        device->physical_bytes -= counted;
}

int physical_map(struct device *device, uint64_t offset, uint64_t address, uint64_t bytes, bool writable)
{
    int access = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *at = mmap((void *)(uintptr_t)address, bytes, access, MAP_SHARED | MAP_FIXED, file_of(device), (off_t)offset);
    return at == MAP_FAILED ? -ENOMEM : 0;
}

void address_hide(uint64_t address, uint64_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap((void *)(uintptr_t)address, bytes, PROT_NONE, flags, -1, 0) == MAP_FAILED) {
        fprintf(stderr, "simgpu: the system lets no more mappings be made (vm.max_map_count)\n");
        abort();
    }
}

uint64_t physical_key(const struct device *device, uint64_t offset)
{
    return UINT64_C(1) << 62 | (uint64_t)(device ? device->ordinal + 1 : 0) << 50 | offset;
}

void device_count_mapped(struct device *device, int64_t bytes)
{
    uint64_t sum = 0;
    device->mapped_bytes += (uint64_t)bytes;
    if (device->mapped_peak < device->mapped_bytes)
        device->mapped_peak = device->mapped_bytes;
    for (int d = 0; d < settings.devices; d++)
        sum += devices[d].mapped_bytes;
    if (stats.mapped_peak < sum)
        stats.mapped_peak = sum;
}

void physical_poison(const struct physical *p)
{
    static unsigned char poison[1 << 20];
    if (poison[0] != SIMGPU_POISON)
        memset(poison, SIMGPU_POISON, sizeof poison);
    for (uint64_t done = 0; done < p->bytes;) {
        uint64_t part = p->bytes - done < sizeof poison ? p->bytes - done : sizeof poison;
        ssize_t n = pwrite(file_of(p->device), poison, part, (off_t)(p->offset + done));
        if (n <= 0)
            return;
        done += (uint64_t)n;
    }
}

CUresult physical_create(struct device *device, const CUmemAllocationProp *prop, size_t bytes, struct physical **ret)
{
    struct physical *p = calloc(1, sizeof *p);
    if (!p || physical_take(device, bytes, bytes, &p->offset) < 0) {
        free(p);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    p->device = device;
    p->prop = *prop;
    p->bytes = bytes;
    p->refs = 1;
    if (handle_add(HANDLE_PHYSICAL, p) < 0) {
        physical_give(device, p->offset, bytes, bytes);
        free(p);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    physical_poison(p);
    if (!device)
        stats.host_bytes += bytes;
    stats.live_handles++;
    *ret = p;
    return CUDA_SUCCESS;
}

void physical_drop_if_unused(struct physical *p)
{
    if (p->refs == 0)
        handle_remove(p);
    if (p->refs > 0 || p->mappings > 0)
        return;
    written_forget(physical_key(p->device, p->offset), p->bytes);
    physical_give(p->device, p->offset, p->bytes, p->bytes);
    if (!p->device)
        stats.host_bytes -= p->bytes;
    free(p);
}
