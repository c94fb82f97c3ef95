/* graph_pins.c - reads the addresses of graphs, and keeps them for each executable graph. */
#include "graph_pins.h"

#include <errno.h>
#include <stdlib.h>

#include "arena.h"
#include "ask.h"
#include "graph_nodes.h"
#include "grow.h"
#include "lock.h"
#include "pin.h"
#include "result.h"
#include "scan.h"
#include "tables.h"

static const char why[] = "a graph uses it";

/* ---- reading a graph ---- */

struct addresses {
    CUdeviceptr *list;
    size_t count, room;
};

static int add(struct addresses *a, CUdeviceptr address)
{
    if (!spw_in_arena(address) || (a->count && a->list[a->count - 1] == address))
        return 0;
    if (SPW_GROW(a->list, a->room, a->count + 1) < 0)
        return -ENOMEM;
    a->list[a->count++] = address;
    return 0;
}

static int add_kernel(struct addresses *a, CUgraphNode node)
{
    CUDA_KERNEL_NODE_PARAMS p = {0};
    CUdeviceptr hits[SPW_SCAN_ROOM];
    if (!spw_driver.cuGraphKernelNodeGetParams_v2)
        return -ENOTSUP;
    int r = spw_result(SPW_ASK(cuGraphKernelNodeGetParams_v2, node, &p));
    if (r < 0)
        return r;
    const int n = spw_scan_launch(spw_layout_of(p.func ? p.func : (CUfunction)p.kern), p.kernelParams, p.extra,
                                  spw_arena_low, spw_arena_high, hits, SPW_SCAN_ROOM, NULL);
    r = n < 0 ? n : 0;
    for (int i = 0; i < n && r == 0; i++)
        r = add(a, hits[i]);
    return r;
}

static int add_copy(struct addresses *a, CUgraphNode node)
{
    CUDA_MEMCPY3D p = {0};
    int r = spw_result(SPW_ASK(cuGraphMemcpyNodeGetParams, node, &p));
    const CUdeviceptr ends[] = {p.srcDevice, p.dstDevice, (CUdeviceptr)(uintptr_t)p.srcHost,
                                (CUdeviceptr)(uintptr_t)p.dstHost};
    for (int i = 0; i < 4 && r == 0; i++)
        r = add(a, ends[i]);
    return r;
}

static int add_set(struct addresses *a, CUgraphNode node)
{
    CUDA_MEMSET_NODE_PARAMS p = {0};
    const int r = spw_result(SPW_ASK(cuGraphMemsetNodeGetParams, node, &p));
    return r < 0 ? r : add(a, p.dst);
}

static int add_node(CUgraphNode node, CUgraphNodeType type, void *addresses)
{
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return add_kernel(addresses, node);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return add_copy(addresses, node);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return add_set(addresses, node);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: /* these last for good (hooks_pin.c) */
    case CU_GRAPH_NODE_TYPE_HOST:         /* no addresses, or memory of the graph's own */
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return 0;
    default: /* no call tells the graphs in conditional nodes */
        return -ENOTSUP;
    }
}

/* ---- before and after the driver's call ---- */

/* Pins what the graph uses. What was freed since its node was made, and allocated anew, is not pinned any more by then.
 * Returns 0, or the last failure. */
static int pin_all(const struct addresses *a, bool are_all)
{
    spw_pin_failure = 0;
    if (!are_all)
        spw_pin_all_of_nodes();
    spw_pin_addresses(a->list, a->count, why);
    return spw_pin_failure;
}

int spw_graph_pins_begin(struct spw_lasting *held, CUgraph graph)
{
    struct addresses a = {0};
    *held = (struct spw_lasting){0};
    if (!graph || spw_arena_low == spw_arena_high)
        return 0;
    int r = spw_graph_nodes_each(graph, add_node, &a);
    spw_lock();
    if (r == 0)
        r = spw_lasting_hold_locked(a.list, a.count, held);
    spw_unlock();
    r = pin_all(&a, r == 0);
    free(a.list);
    if (r < 0)
        spw_graph_pins_end(held, NULL, false);
    return r;
}

/* ---- the records ---- */

struct held {
    CUgraphNode node; /* NULL: of the whole graph */
    struct spw_lasting addresses;
};

struct record {
    CUgraphExec exec;
    struct held *list;
    size_t count, room;
    bool lost; /* no memory to add it: it is in no table */
    UT_hash_handle hh;
};

static struct record *records; /* engine lock */

static struct record *record_of_locked(CUgraphExec exec)
{
    struct record *o;
    HASH_FIND_PTR(records, &exec, o);
    return o;
}

static void empty_locked(struct record *o)
{
    while (o->count)
        spw_lasting_let_go_locked(&o->list[--o->count].addresses);
}

static void empty_of_node_locked(struct record *o, CUgraphNode node)
{
    for (size_t i = o->count; i-- > 0;)
        if (o->list[i].node == node) {
            spw_lasting_let_go_locked(&o->list[i].addresses);
            o->list[i] = o->list[--o->count];
        }
}

/* Without memory for the record, the addresses are held for good. */
static void keep_locked(const struct spw_lasting *held, CUgraphExec exec, CUgraphNode node, bool instead)
{
    struct record *o = record_of_locked(exec);
    if (!o)
        SPW_TABLE_NEW(records, exec, o, .exec = exec);
    if (o && instead)
        empty_locked(o);
    if (o && node)
        empty_of_node_locked(o, node);
    if (o && SPW_GROW(o->list, o->room, o->count + 1) == 0)
        o->list[o->count++] = (struct held){node, *held};
}

static void end(struct spw_lasting *held, CUgraphExec exec, CUgraphNode node, bool instead)
{
    if (!held->spans)
        return;
    spw_lock();
    if (exec)
        keep_locked(held, exec, node, instead);
    else
        spw_lasting_let_go_locked(held);
    spw_unlock();
}

void spw_graph_pins_end(struct spw_lasting *held, CUgraphExec exec, bool instead)
{
    end(held, exec, NULL, instead);
}

void spw_graph_pins_end_node(struct spw_lasting *held, CUgraphExec exec, CUgraphNode node)
{
    end(held, exec, node, false);
}

void spw_graph_pins_forget(CUgraphExec exec)
{
    spw_lock();
    struct record *o = record_of_locked(exec);
    if (o) {
        empty_locked(o);
        free(o->list);
        SPW_TABLE_REMOVE(records, o);
    }
    spw_unlock();
}

/* ---- a node of an executable graph ---- */

static _Thread_local struct addresses gathered;
static _Thread_local struct spw_lasting told;

/* Without memory for it, the address lasts for good. */
void spw_graph_pins_gather(CUdeviceptr address)
{
    if (add(&gathered, address) < 0)
        spw_pin_lasting(address, why);
}

void spw_graph_pins_tell(void)
{
    spw_lock();
    const bool are_held = spw_lasting_hold_locked(gathered.list, gathered.count, &told) == 0;
    spw_unlock();
    if (are_held)
        spw_pin_addresses(gathered.list, gathered.count, why);
    for (size_t i = 0; i < gathered.count && !are_held; i++)
        spw_pin_lasting(gathered.list[i], why);
    free(gathered.list);
    gathered = (struct addresses){0};
}

CUresult spw_graph_pins_told(CUgraphExec exec, CUgraphNode node, CUresult answer)
{
    spw_graph_pins_end_node(&told, answer == CUDA_SUCCESS ? exec : NULL, node);
    told = (struct spw_lasting){0};
    return answer;
}
