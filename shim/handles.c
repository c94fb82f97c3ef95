/* handles.c - the pool of physical memory handles of one device. */
#include "handles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "log.h"
#include "result.h"

static uint32_t bin_position(const struct spw_handles *h, uint64_t bytes)
{
    uint32_t low = 0, high = h->bin_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (h->bins[middle].bytes < bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct spw_handle_bin *bin_of(struct spw_handles *h, uint64_t bytes)
{
    uint32_t i = bin_position(h, bytes);
    return i < h->bin_count && h->bins[i].bytes == bytes ? &h->bins[i] : NULL;
}

static struct spw_handle_bin *bin_make(struct spw_handles *h, uint64_t bytes)
{
    uint32_t i = bin_position(h, bytes);
    struct spw_handle_bin *grown = realloc(h->bins, (h->bin_count + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    h->bins = grown;
    memmove(&grown[i + 1], &grown[i], (h->bin_count - i) * sizeof(*grown));
    grown[i] = (struct spw_handle_bin){.bytes = bytes};
    h->bin_count++;
    return &grown[i];
}

static void release(struct spw_handles *h, uint64_t bytes, CUmemGenericAllocationHandle handle)
{
    static int warned;
    CUresult r = spw_driver.cuMemRelease(handle);
    if (r != CUDA_SUCCESS) {
        /* The memory may still be taken: it stays on the bill. */
        spw_warn_once(&warned, "the driver refused to release %llu bytes of device memory (error %d); they count as used",
                      (unsigned long long)bytes, (int)r);
        return;
    }
    h->made_bytes -= bytes;
    h->made_count--;
}

static void release_one_of(struct spw_handles *h, struct spw_handle_bin *bin)
{
    CUmemGenericAllocationHandle handle = bin->handles[--bin->count];
    h->pooled_bytes -= bin->bytes;
    release(h, bin->bytes, handle);
}

/* The largest pooled handles go first: few calls make much room. */
static void release_until(struct spw_handles *h, uint64_t made_limit, uint64_t pooled_limit)
{
    for (uint32_t i = h->bin_count; i > 0; i--) {
        struct spw_handle_bin *bin = &h->bins[i - 1];
        while (bin->count && (h->made_bytes > made_limit || h->pooled_bytes > pooled_limit))
            release_one_of(h, bin);
    }
}

static int make(struct spw_handles *h, uint64_t bytes, CUmemGenericAllocationHandle *ret_handle)
{
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof(prop));
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = h->device;
    CUmemGenericAllocationHandle handle = 0;
    int r = spw_result(spw_driver.cuMemCreate(&handle, bytes, &prop, 0));
    if (r < 0)
        return r;
    h->made_bytes += bytes;
    h->made_count++;
    if (h->made_bytes_peak < h->made_bytes)
        h->made_bytes_peak = h->made_bytes;
    *ret_handle = handle;
    return 0;
}

/* Others have taken memory on the device: what we have made is all there is for us. */
static void learn_what_lacks(struct spw_handles *h)
{
    static int warned;
    if (h->made_bytes == 0 || h->made_bytes >= h->budget_bytes)
        return;
    spw_warn_once(&warned,
                  "device %d has less memory left than the budget says: %llu bytes are used from here on, and more when "
                  "nothing else helps",
                  h->device, (unsigned long long)h->made_bytes);
    h->lacking_bytes += h->budget_bytes - h->made_bytes;
    h->budget_bytes = h->made_bytes;
}

int spw_handles_take_locked(struct spw_handles *h, uint64_t bytes, CUmemGenericAllocationHandle *ret_handle)
{
    struct spw_handle_bin *bin = bin_of(h, bytes);
    if (bin && bin->count) {
        *ret_handle = bin->handles[--bin->count];
        h->pooled_bytes -= bytes;
        return 0;
    }
    if (bytes > h->budget_bytes)
        return -ENOMEM;
    if (h->made_bytes + bytes > h->budget_bytes)
        release_until(h, h->budget_bytes - bytes, UINT64_MAX);
    if (h->made_bytes + bytes > h->budget_bytes)
        return -ENOMEM;
    int r = make(h, bytes, ret_handle);
    if (r < 0 && h->pooled_bytes) { /* the device has less than the budget says: what we hoard may be what is missing */
        release_until(h, 0, 0);
        r = make(h, bytes, ret_handle);
    }
    if (r == -ENOMEM)
        learn_what_lacks(h);
    return r;
}

bool spw_handles_ask_again_locked(struct spw_handles *h)
{
    bool any = h->lacking_bytes > 0;
    h->budget_bytes += h->lacking_bytes;
    h->lacking_bytes = 0;
    return any;
}

uint64_t spw_handles_room_locked(const struct spw_handles *h)
{
    uint64_t used = h->made_bytes - h->pooled_bytes;
    return h->budget_bytes > used ? h->budget_bytes - used : 0;
}

void spw_handles_give_locked(struct spw_handles *h, uint64_t bytes, CUmemGenericAllocationHandle handle)
{
    struct spw_handle_bin *bin = bin_of(h, bytes);
    if (!bin)
        bin = bin_make(h, bytes);
    if (bin && bin->count == bin->room) {
        uint32_t room = bin->room ? bin->room * 2 : 8;
        CUmemGenericAllocationHandle *grown = realloc(bin->handles, room * sizeof(*grown));
        if (grown) {
            bin->handles = grown;
            bin->room = room;
        }
    }
    if (!bin || bin->count == bin->room) { /* no memory to remember it by */
        release(h, bytes, handle);
        return;
    }
    bin->handles[bin->count++] = handle;
    h->pooled_bytes += bytes;
}

void spw_handles_fit_locked(struct spw_handles *h)
{
    release_until(h, h->budget_bytes, UINT64_MAX);
}

void spw_handles_trim_locked(struct spw_handles *h, uint64_t keep_bytes)
{
    release_until(h, UINT64_MAX, keep_bytes);
}
