/* graph_memory.c - counts what graphs have reserved and what unlaunched graphs may still reserve, and charges both. */
#include "graph_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "ask.h"
#include "unmanaged.h"
#include "devices.h"
#include "lock.h"
#include "log.h"
#include "tables.h"

/* What the nodes of a graph, or of an executable graph, allocate on one device. */
struct share {
    struct {
        const void *graph;
        struct spw_device *device;
    } key;
    uint64_t bytes;
    uint64_t promised_bytes; /* of these, the bytes that are not reserved yet */
    bool lost;
    UT_hash_handle hh;
};

/* Guarded by the engine lock. */
static struct share *shares;

static const char what_grew[] = "memory that graphs allocate";

/* Returns false if the driver does not say, as those before 11.4, which have no such memory. */
static bool ask_reserved(const struct spw_device *d, uint64_t *ret_bytes)
{
    cuuint64_t bytes = 0;
    if (!spw_driver.cuDeviceGetGraphMemAttribute ||
        SPW_ASK(cuDeviceGetGraphMemAttribute, d->ordinal, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes) != CUDA_SUCCESS)
        return false;
    *ret_bytes = bytes;
    return true;
}

/* If the driver has reserved more than was promised, makes room for it late. Without an answer the charge stays. */
static void settle(struct spw_device *d)
{
    uint64_t reserved;
    spw_lock();
    const uint64_t missing = ask_reserved(d, &reserved) ? spw_reserve_settle_locked(d, &d->graphs, reserved) : 0;
    spw_unlock();
    if (!missing || spw_unmanaged_take(d, missing, what_grew) < 0)
        return;
    spw_lock();
    d->graphs.billed_bytes += missing;
    spw_unlock();
}

static struct share *find(const void *graph, struct spw_device *d)
{
    struct share *s = NULL;
    const __typeof__(s->key) key = {graph, d};
    /* The analyzer does not see that two pointers leave no gap.
     * NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
    HASH_FIND(hh, shares, &key, sizeof(key), s);
    return s;
}

/* NULL: there is no memory for the record; what the graph was promised stays charged. */
static struct share *find_or_add(const void *graph, struct spw_device *d)
{
    struct share *s = find(graph, d);
    if (!s && graph)
        SPW_TABLE_NEW(shares, key, s, .key = {graph, d});
    return s;
}

static void stop_waiting_locked(struct share *s)
{
    s->key.device->graphs.promised_bytes -= s->promised_bytes;
    s->promised_bytes = 0;
}

/* ---- nodes ---- */

int spw_graph_memory_promise(struct spw_graph_promise *p, struct spw_device *d, uint64_t bytes, const char *call)
{
    const uint64_t granule = d ? (uint64_t)1 << d->granule_shift : 1;
    *p = (struct spw_graph_promise){0};
    if (!d || __builtin_add_overflow(bytes, granule - 1, &bytes))
        return 0; /* of the overflow, the driver says itself what is wrong */
    bytes &= ~(granule - 1);
    const int r = spw_unmanaged_take(d, bytes, call);
    if (r < 0)
        return r;
    *p = (struct spw_graph_promise){.device = d, .bytes = bytes};
    spw_lock();
    d->graphs.billed_bytes += bytes;
    d->graphs.asking_bytes += bytes;
    p->launches = d->graph_launches;
    if (!ask_reserved(d, &p->reserved_bytes))
        p->reserved_bytes = UINT64_MAX;
    spw_unlock();
    return 0;
}

/* True if the driver has reserved memory for the node already. A launch meanwhile may look like that. */
static bool is_reserved(const struct spw_graph_promise *p)
{
    uint64_t now;
    return p->launches == p->device->graph_launches && ask_reserved(p->device, &now) && now >= p->bytes &&
           now - p->bytes >= p->reserved_bytes;
}

void spw_graph_memory_answered(const struct spw_graph_promise *p, CUgraph graph, bool made)
{
    if (!p->device)
        return;
    spw_lock();
    struct spw_reserve *a = &p->device->graphs;
    a->asking_bytes -= p->bytes;
    if (made && !is_reserved(p)) {
        struct share *s = find_or_add(graph, p->device);
        a->promised_bytes += p->bytes;
        if (s) {
            s->bytes += p->bytes;
            s->promised_bytes += p->bytes;
        }
    }
    spw_unlock();
    settle(p->device);
}

CUgraph spw_graph_memory_captured_into(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = NULL;
    if (spw_driver.cuStreamGetCaptureInfo_v2)
        (void)SPW_ASK_QUIETLY(cuStreamGetCaptureInfo_v2, stream, &status, NULL, &graph, NULL, NULL);
    return status == CU_STREAM_CAPTURE_STATUS_NONE ? NULL : graph;
}

/* ---- executable graphs ---- */

/* A graph that was instantiated before may be launched again after its memory was given back. */
static int promise_again(CUgraph graph, struct spw_device *d)
{
    spw_lock();
    const struct share *s = find(graph, d);
    const uint64_t bytes = s ? s->bytes - s->promised_bytes : 0;
    spw_unlock();
    const int r = bytes ? spw_unmanaged_take(d, bytes, what_grew) : 0;
    if (r < 0 || !bytes)
        return r;
    spw_lock();
    struct share *again = find(graph, d);
    d->graphs.billed_bytes += bytes;
    if (again && again->promised_bytes + bytes <= again->bytes) {
        d->graphs.promised_bytes += bytes;
        again->promised_bytes += bytes;
    }
    spw_unlock();
    return 0;
}

int spw_graph_memory_before_instance(CUgraph graph)
{
    int r = 0;
    for (int i = 0; i < SPW_MAX_DEVICES && r == 0; i++)
        r = promise_again(graph, &spw_devices[i]);
    return r;
}

void spw_graph_memory_instance(CUgraph graph, CUgraphExec exec)
{
    spw_lock();
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        struct share *from = find(graph, &spw_devices[i]);
        struct share *to = from && from->promised_bytes ? find_or_add(exec, &spw_devices[i]) : NULL;
        if (!to)
            continue;
        stop_waiting_locked(to); /* a handle that the driver gives out again */
        to->promised_bytes = from->promised_bytes;
        from->promised_bytes = 0;
    }
    spw_unlock();
}

void spw_graph_memory_launched(CUgraphExec exec)
{
    spw_lock();
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        struct spw_device *d = &spw_devices[i];
        struct share *s = d->graphs.promised_bytes ? find(exec, d) : NULL;
        d->graph_launches++;
        if (s)
            stop_waiting_locked(s);
    }
    spw_unlock();
    spw_graph_memory_settle();
}

void spw_graph_memory_forget(const void *graph)
{
    spw_lock();
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        struct share *s = find(graph, &spw_devices[i]);
        if (!s)
            continue;
        stop_waiting_locked(s);
        SPW_TABLE_REMOVE(shares, s);
    }
    spw_unlock();
}

void spw_graph_memory_settle(void)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (__atomic_load_n(&spw_devices[i].graphs.billed_bytes, __ATOMIC_RELAXED))
            settle(&spw_devices[i]);
}

void spw_graph_memory_reset(void)
{
    SPW_TABLE_FREE(shares);
}

int spw_graph_memory_promise_node(struct spw_graph_promise *p, const CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    struct spw_device *d = params && params->poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE
                               ? spw_device_billed_as(params->poolProps.location.id)
                               : NULL;
    return spw_graph_memory_promise(p, d, d ? params->bytesize : 0, "an allocation node of a graph");
}
