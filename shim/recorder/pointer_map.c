/* pointer_map.c - addresses by allocation and offset, and what graphs touch by handle. */
#include "pointer_map.h"

#include <stdlib.h>
#include <string.h>

#include "tables.h"
#include "grow.h"

#include "recorder_lock.h"

enum { VARIABLES = 64 };

static uint64_t words;                                /* in all allocations together */
static uint64_t variables[VARIABLES], variable_count; /* where they begin; those beyond the room are only counted */

bool spw_pointer_map_any(void)
{
    return words != 0;
}

/* ---- addresses in allocations ---- */

/* Replaces what stood in the range by the given words; without memory, by none. */
static void replace(struct spw_extent *e, uint64_t offset, uint64_t bytes, const struct spw_stored_word *list,
                    uint32_t count)
{
    const uint32_t before = e->pointers.count;
    (void)spw_stored_words_replace(&e->pointers, offset, offset + bytes, list, count, UINT32_MAX);
    words += e->pointers.count;
    words -= before;
}

void spw_pointer_map_written(struct spw_extent *e, uint64_t offset, uint64_t bytes)
{
    if (e->pointers.count && bytes)
        replace(e, offset, bytes, NULL, 0);
}

static void remember_variable(uint64_t start)
{
    for (uint64_t i = 0; i < variable_count && i < VARIABLES; i++)
        if (variables[i] == start)
            return;
    if (variable_count < VARIABLES)
        variables[variable_count] = start;
    variable_count++;
}

bool spw_pointer_map_each_variable(void (*each)(void *context, uint64_t start), void *context)
{
    for (uint64_t i = 0; i < variable_count && i < VARIABLES; i++)
        each(context, variables[i]);
    return variable_count <= VARIABLES;
}

void spw_pointer_map_reset(void)
{
    words = variable_count = 0;
}

void spw_pointer_map_add(struct spw_extent *e, uint64_t offset, uint64_t target)
{
    if (offset + sizeof(target) > e->bytes)
        return;
    replace(e, offset, sizeof(target), &(struct spw_stored_word){offset, target}, 1);
    if (e->kind == SPW_ALLOC_GLOBAL)
        remember_variable(e->start);
}

void spw_pointer_map_copy(struct spw_extent *to, uint64_t to_offset, const struct spw_extent *from, uint64_t from_offset,
                          uint64_t bytes)
{
    uint32_t count;
    struct spw_stored_word *moved = spw_stored_words_moved(&from->pointers, to_offset, from_offset, bytes, &count);
    spw_pointer_map_written(to, to_offset, bytes);
    for (uint32_t i = 0; moved && i < count; i++)
        spw_pointer_map_add(to, moved[i].place, moved[i].member);
    free(moved);
}

void spw_pointer_map_each(const struct spw_extent *e, void (*each)(void *context, uint64_t target), void *context)
{
    for (uint32_t i = 0; i < e->pointers.count; i++)
        each(context, e->pointers.list[i].member);
}

void spw_pointer_map_forget_all(struct spw_extent *e)
{
    words -= e->pointers.count;
    e->pointers.count = 0;
}

/* ---- graphs ---- */

struct graph {
    const void *handle; /* a graph or an executable graph */
    struct spw_graph_reach reach;
    bool lost;
    UT_hash_handle hh;
};

static struct graph *graphs;
static struct spw_graph_reach capture; /* of all captures in progress together */
static uint32_t capture_room;

void spw_graphs_captured_locked(const struct spw_touch *touches, const uint64_t *addresses, uint32_t count, bool everything)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    capture.everything |= everything;
    if (SPW_GROW(capture.list, capture_room, capture.count + count) < 0) {
        capture.everything = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        capture.list[capture.count++] = (struct spw_graph_touch){addresses[i], touches[i].access & SPW_ACCESS_BOTH};
}

static struct graph *find(const void *handle)
{
    struct graph *g;
    HASH_FIND_PTR(graphs, &handle, g);
    return g;
}

void spw_graphs_gone_locked(const void *handle)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    struct graph *g = find(handle);
    if (!g)
        return;
    free(g->reach.list);
    SPW_TABLE_REMOVE(graphs, g);
}

/* Takes the list over. */
static void keep(const void *handle, struct spw_graph_reach reach)
{
    spw_graphs_gone_locked(handle);
    struct graph *g;
    SPW_TABLE_NEW(graphs, handle, g, .handle = handle, .reach = reach);
    if (!g)
        free(reach.list);
}

void spw_graphs_end_locked(const void *graph)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    if (graph)
        keep(graph, capture);
    else
        free(capture.list);
    capture = (struct spw_graph_reach){0};
    capture_room = 0;
}

void spw_graphs_exec_locked(const void *graph, const void *exec)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    const struct graph *g = find(graph);
    struct spw_graph_reach copy = {.everything = !g || g->reach.everything};
    if (g && g->reach.count) {
        copy.list = malloc(g->reach.count * sizeof(*copy.list));
        copy.count = copy.list ? g->reach.count : 0;
        copy.everything |= !copy.list;
        if (copy.list)
            memcpy(copy.list, g->reach.list, copy.count * sizeof(*copy.list));
    }
    keep(exec, copy);
}

const struct spw_graph_reach *spw_graphs_of_exec_locked(const void *exec)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    const struct graph *g = find(exec);
    return g ? &g->reach : NULL;
}
