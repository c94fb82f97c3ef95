/* graph_writes.c - reads graphs node by node, and keeps a list of writes that matter for each executable graph. */
#include "graph_writes.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "ask.h"
#include "graph_nodes.h"
#include "grow.h"
#include "lock.h"
#include "result.h"
#include "tables.h"

struct record {
    CUgraphExec exec;
    struct spw_graph_writes writes;
    bool was_updated; /* its nodes are known by the handles of the graph that it was updated with, while the program may use
                       * others */
    bool lost;        /* out of memory while adding: it is in no table */
    UT_hash_handle hh;
};

/* Guarded by the engine lock. */
static struct record *records;
static bool some_are_lost; /* there was no memory for a record */

static atomic_bool any; /* a node that matters has come */

/* ---- reading a graph ---- */

static bool matters(const struct spw_box *box)
{
    return !spw_in_arena(box->to.at) || (box->from.at && !spw_in_arena(box->from.at));
}

void spw_graph_writes_meet(const struct spw_box *box)
{
    if (!box || matters(box))
        atomic_store_explicit(&any, true, memory_order_relaxed);
}

struct spw_box spw_graph_writes_set_box(const CUDA_MEMSET_NODE_PARAMS *p)
{
    return (struct spw_box){{p->dst, p->pitch, p->height}, {0}, p->width * p->elementSize, p->height, 1};
}

static int add(struct spw_graph_writes *w, CUgraphNode node, const struct spw_box *box)
{
    if (!matters(box))
        return 0;
    if (SPW_GROW(w->list, w->room, w->count + 1) < 0)
        return -ENOMEM;
    w->list[w->count++] = (struct spw_graph_write){.node = node, .box = *box};
    return 0;
}

static int add_copy(struct spw_graph_writes *w, CUgraphNode node)
{
    CUDA_MEMCPY3D p;
    const int r = spw_result(SPW_ASK(cuGraphMemcpyNodeGetParams, node, &p));
    const struct spw_box box = spw_box_3d(r < 0 ? NULL : &p);
    return r < 0 ? r : add(w, node, &box);
}

static int add_set(struct spw_graph_writes *w, CUgraphNode node)
{
    CUDA_MEMSET_NODE_PARAMS p = {0};
    const int r = spw_result(SPW_ASK(cuGraphMemsetNodeGetParams, node, &p));
    const struct spw_box box = spw_graph_writes_set_box(&p);
    return r < 0 ? r : add(w, node, &box);
}

static int read_node(CUgraphNode node, CUgraphNodeType type, void *writes)
{
    struct spw_graph_writes *w = writes;
    switch (type) {
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return add_copy(w, node);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return add_set(w, node);
    case CU_GRAPH_NODE_TYPE_HOST:
        w->calls_host = true;
        return 0;
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return 0;
    default: /* no call reports the graphs in conditional nodes; and what is newer than this library */
        return -ENOTSUP;
    }
}

/* Returns 0, or a negative result: it is not known what the graph writes. */
static int read_graph(struct spw_graph_writes *w, CUgraph graph)
{
    return spw_graph_nodes_each(graph, read_node, w);
}

/* ---- the records ---- */

static struct record *find_locked(CUgraphExec exec)
{
    struct record *o;
    HASH_FIND_PTR(records, &exec, o);
    return o;
}

static void forget_locked(CUgraphExec exec)
{
    struct record *o = find_locked(exec);
    if (!o)
        return;
    free(o->writes.list);
    SPW_TABLE_REMOVE(records, o);
}

/* Replaces what was known about the graph; takes ownership of the list. */
static void keep(CUgraphExec exec, const struct spw_graph_writes *w, bool was_updated)
{
    struct record *o = NULL;
    spw_lock();
    forget_locked(exec);
    if (w->count || w->is_unknown)
        SPW_TABLE_NEW(records, exec, o, .exec = exec, .writes = *w, .was_updated = was_updated);
    if (!o) {
        some_are_lost |= w->count || w->is_unknown;
        free(w->list);
    }
    spw_unlock();
}

static void read_anew(CUgraphExec exec, CUgraph graph, bool was_updated)
{
    struct spw_graph_writes w = {0};
    if (atomic_load_explicit(&any, memory_order_relaxed))
        w.is_unknown = read_graph(&w, graph) < 0;
    keep(exec, &w, was_updated);
}

void spw_graph_writes_made(CUgraphExec exec, CUgraph graph)
{
    read_anew(exec, graph, false);
}

/* It is not known any more what the graph writes. */
static void lose(CUgraphExec exec)
{
    keep(exec, &(struct spw_graph_writes){.is_unknown = true}, false);
}

static bool has_disabled_locked(const struct record *o)
{
    bool has = false;
    for (size_t i = 0; o && i < o->writes.count; i++)
        has |= o->writes.list[i].is_off;
    return has;
}

void spw_graph_writes_updated(CUgraphExec exec, CUgraph graph)
{
    spw_lock();
    const bool has_disabled = has_disabled_locked(find_locked(exec)); /* disabled nodes stay disabled, under unknown
                                                                       * handles */
    spw_unlock();
    if (has_disabled)
        lose(exec);
    else
        read_anew(exec, graph, true);
}

void spw_graph_writes_exchange(CUgraphExec exec, CUgraph child)
{
    struct spw_graph_writes w = {0};
    if (!atomic_load_explicit(&any, memory_order_relaxed))
        return;
    bool is_lost = read_graph(&w, child) < 0 || w.count;
    free(w.list);
    spw_lock();
    is_lost |= find_locked(exec) != NULL;
    spw_unlock();
    if (is_lost)
        lose(exec);
}

/* NULL: the node is not in the list. */
static struct spw_graph_write *write_of_locked(const struct record *o, CUgraphNode node)
{
    for (size_t i = 0; o && i < o->writes.count; i++)
        if (o->writes.list[i].node == node)
            return &o->writes.list[i];
    return NULL;
}

void spw_graph_writes_change(CUgraphExec exec, CUgraphNode node, const struct spw_box *box)
{
    struct spw_graph_writes fresh = {0};
    bool is_lost = false;
    if (!atomic_load_explicit(&any, memory_order_relaxed))
        return;
    spw_lock();
    struct record *o = find_locked(exec);
    struct spw_graph_write *w = write_of_locked(o, node);
    if (w)
        w->box = *box;
    else if (o)
        is_lost = o->was_updated || add(&o->writes, node, box) < 0;
    else
        is_lost = add(&fresh, node, box) < 0;
    spw_unlock();
    if (is_lost)
        lose(exec);
    else if (fresh.count)
        keep(exec, &fresh, false);
}

void spw_graph_writes_enable(CUgraphExec exec, CUgraphNode node, bool on)
{
    spw_lock();
    struct record *o = find_locked(exec);
    struct spw_graph_write *w = write_of_locked(o, node);
    const bool is_lost = o && !w && o->was_updated;
    if (w)
        w->is_off = !on;
    spw_unlock();
    if (is_lost)
        lose(exec);
}

void spw_graph_writes_forget(CUgraphExec exec)
{
    spw_lock();
    forget_locked(exec);
    spw_unlock();
}

struct spw_graph_writes spw_graph_writes_of(CUgraphExec exec)
{
    struct spw_graph_writes w = {0};
    if (!atomic_load_explicit(&any, memory_order_relaxed))
        return w;
    spw_lock();
    const struct record *o = find_locked(exec);
    if (o)
        w = o->writes;
    w.is_unknown |= some_are_lost;
    w.room = w.count;
    w.list = w.count ? malloc(w.count * sizeof(*w.list)) : NULL;
    if (w.list)
        memcpy(w.list, o->writes.list, w.count * sizeof(*w.list));
    spw_unlock();
    return w.count && !w.list ? (struct spw_graph_writes){.is_unknown = true} : w;
}

void spw_graph_writes_reset(void)
{
    struct record *o, *next;
    spw_lock();
    HASH_ITER(hh, records, o, next)
    {
        forget_locked(o->exec);
    }
    some_are_lost = false;
    spw_unlock();
    atomic_store_explicit(&any, false, memory_order_relaxed);
}
