/* fake-engine.h - an engine that only notes what it is asked to pin, for tests of the hooks. */
#ifndef SPILLWAY_TESTS_FAKE_ENGINE_H
#define SPILLWAY_TESTS_FAKE_ENGINE_H
#include "fake-versions.h"
#include "graph_memory.h"
#include "pin.h"
#include "unmanaged.h"
#include "unnamed.h"
#include <errno.h>

static CUdeviceptr pinned[64];
static unsigned pinned_count;
static unsigned pinned_everything;
static bool no_room; /* pinning fails */
_Thread_local int spw_pin_failure;

void spw_pin_address(CUdeviceptr address, const char *why)
{
    if (no_room)
        spw_pin_failure = -ENOMEM;
    if (why && pinned_count < 64)
        pinned[pinned_count++] = address;
}

static unsigned lasting; /* so many of them by addresses that last */

void spw_pin_lasting(CUdeviceptr address, const char *why)
{
    lasting++;
    spw_pin_address(address, why);
}

void spw_pin_addresses(const CUdeviceptr *list, size_t count, const char *why)
{
    for (size_t i = 0; i < count; i++)
        spw_pin_address(list[i], why);
}

void spw_pin_of_node(const CUdeviceptr *list, size_t count, const char *why)
{
    spw_pin_addresses(list, count, why);
}

void spw_pin_of_kernel_node(const CUdeviceptr *list, size_t count, const char *why)
{
    for (size_t i = 0; i < count; i++)
        if (why && pinned_count < 64)
            pinned[pinned_count++] = list[i];
}

void spw_pin_all_of_nodes(void)
{
    lasting++;
}

void spw_pin_everything(const char *why)
{
    pinned_everything += why != NULL;
}

static unsigned unnamed; /* begun and not ended */
static CUstream unnamed_on;
static bool no_stream; /* operations cannot be begun */

bool spw_unnamed_begin(struct spw_op *op, const char *name, struct spw_signature signature, CUstream stream)
{
    unnamed += !no_stream;
    unnamed_on = stream;
    return !no_stream;
}

CUresult spw_unnamed_end(struct spw_op *op, CUresult result)
{
    unnamed--;
    return result;
}

static CUmemGenericAllocationHandle retained; /* the last one, or 0 */

void spw_unmanaged_retained(CUmemGenericAllocationHandle handle)
{
    retained = handle;
}

int spw_graph_memory_promise_node(struct spw_graph_promise *p, const CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    *p = (struct spw_graph_promise){0};
    return no_room && params ? -ENOMEM : 0;
}

void spw_graph_memory_answered(const struct spw_graph_promise *p, CUgraph graph, bool made)
{
}

CUgraph spw_graph_memory_captured_into(CUstream stream)
{
    return NULL;
}

void spw_graph_memory_forget(const void *graph)
{
}

void spw_graph_memory_settle(void)
{
}

/* True when exactly this was pinned since the last question. */
static inline bool pinned_only(CUdeviceptr address)
{
    bool only = pinned_count == 1 && pinned[0] == address && !pinned_everything;
    pinned_count = pinned_everything = 0;
    return only;
}

static inline bool pinned_nothing(void)
{
    bool nothing = pinned_count == 0 && !pinned_everything;
    pinned_count = pinned_everything = 0;
    return nothing;
}
#endif
