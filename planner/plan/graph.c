/* graph.c - collects an iteration, refuses an invalid one, and derives versions, uses and sums. */
#include "plan/graph.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"

int spw_graph_create(double d2h_bytes_per_us, double h2d_bytes_per_us, struct spw_graph **ret_graph)
{
    struct spw_graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return -ENOMEM;
    graph->d2h_bytes_per_us = d2h_bytes_per_us;
    graph->h2d_bytes_per_us = h2d_bytes_per_us;
    *ret_graph = graph;
    return 0;
}

void spw_graph_destroy(struct spw_graph *graph)
{
    if (!graph)
        return;
    free(graph->tensors);
    free(graph->ops);
    free(graph->touched);
    free(graph->uses);
    free(graph);
}

int spw_graph_add_tensor(struct spw_graph *graph, const struct spw_graph_tensor *tensor)
{
    if (SPW_GROW(graph->tensors, graph->tensor_room, graph->tensor_count + 1) < 0)
        return -ENOMEM;
    graph->tensors[graph->tensor_count++] = *tensor;
    return 0;
}

int spw_graph_add_op(struct spw_graph *graph, const struct spw_graph_op *op, const uint32_t *reads, uint32_t read_count,
                     const uint32_t *writes, uint32_t write_count)
{
    const size_t touched_count = (size_t)graph->touched_count + read_count + write_count;
    if (SPW_GROW(graph->touched, graph->touched_room, touched_count + 1) < 0 ||
        SPW_GROW(graph->ops, graph->op_room, graph->op_count + 1) < 0)
        return -ENOMEM;
    struct spw_graph_op *added = &graph->ops[graph->op_count++];
    *added = *op;
    added->first_read = graph->touched_count;
    added->read_count = read_count;
    added->first_write = graph->touched_count + read_count;
    added->write_count = write_count;
    for (uint32_t i = 0; i < read_count; i++)
        graph->touched[graph->touched_count++] = (struct spw_touched_tensor){.tensor = reads[i]};
    for (uint32_t i = 0; i < write_count; i++)
        graph->touched[graph->touched_count++] = (struct spw_touched_tensor){.tensor = writes[i]};
    return 0;
}

/* ---- refusing an invalid graph ---- */

__attribute__((format(printf, 3, 4))) static int refuse(struct spw_graph_problem *ret_problem, const char *path,
                                                        const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)snprintf(ret_problem->path, sizeof ret_problem->path, "%s", path);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): a false alarm, when several files are analysed in one go */
    (void)vsnprintf(ret_problem->expected, sizeof ret_problem->expected, format, list);
    va_end(list);
    return -EINVAL;
}

static int refuse_tensor(struct spw_graph_problem *ret_problem, uint32_t tensor, const char *field, const char *expected)
{
    char path[64];
    (void)snprintf(path, sizeof path, "tensors[%u]%s%s", tensor, *field ? "." : "", field);
    return refuse(ret_problem, path, "%s", expected);
}

static bool is_number(double value)
{
    return isfinite(value) && value >= 0 && value <= 1e15;
}

static int check_tensor(const struct spw_graph *graph, uint32_t index, struct spw_graph_problem *ret_problem)
{
    const struct spw_graph_tensor *t = &graph->tensors[index];
    if (t->bytes > INT64_MAX / 1024)
        return refuse_tensor(ret_problem, index, "bytes", "a number of bytes that a machine can have");
    if (!(t->d2h_us < 0) && !is_number(t->d2h_us))
        return refuse_tensor(ret_problem, index, "d2h_us", "a finite number of microseconds");
    if (!(t->h2d_us < 0) && !is_number(t->h2d_us))
        return refuse_tensor(ret_problem, index, "h2d_us", "a finite number of microseconds");
    if (t->persistent)
        return 0;
    if (t->alloc_before >= graph->op_count)
        return refuse_tensor(ret_problem, index, "alloc_before", "the index of an operation");
    if (t->free_after >= graph->op_count)
        return refuse_tensor(ret_problem, index, "free_after", "the index of an operation");
    if (t->free_after < t->alloc_before)
        return refuse_tensor(ret_problem, index, "free_after", "an operation that is not before alloc_before");
    return 0;
}

/* One tensor in one operation's list; `list` is "reads" or "writes". */
static int check_touch(const struct spw_graph *graph, uint32_t op, const char *list, uint32_t place, uint32_t tensor,
                       struct spw_graph_problem *ret_problem)
{
    char path[64];
    (void)snprintf(path, sizeof path, "ops[%u].%s[%u]", op, list, place);
    if (tensor >= graph->tensor_count)
        return refuse(ret_problem, path, "the id of a tensor that is there");
    const struct spw_graph_tensor *t = &graph->tensors[tensor];
    const unsigned long long id = t->id;
    if (t->persistent)
        return 0;
    if (op < t->alloc_before)
        return refuse(ret_problem, path, "a tensor that is allocated by then: tensor %llu is allocated before ops[%u]", id,
                      t->alloc_before);
    if (op > t->free_after)
        return refuse(ret_problem, path, "a tensor that is still allocated: tensor %llu is freed after ops[%u]", id,
                      t->free_after);
    return 0;
}

static int check_op(const struct spw_graph *graph, uint32_t index, struct spw_graph_problem *ret_problem)
{
    const struct spw_graph_op *op = &graph->ops[index];
    char path[64];
    (void)snprintf(path, sizeof path, "ops[%u].us", index);
    if (!is_number(op->us))
        return refuse(ret_problem, path, "a finite number of microseconds, not negative");
    for (uint32_t i = 0; i < op->read_count; i++) {
        const int r = check_touch(graph, index, "reads", i, graph->touched[op->first_read + i].tensor, ret_problem);
        if (r < 0)
            return r;
    }
    for (uint32_t i = 0; i < op->write_count; i++) {
        const int r = check_touch(graph, index, "writes", i, graph->touched[op->first_write + i].tensor, ret_problem);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- deriving versions, uses and sums ---- */

/* The state of one tensor while its operations are visited in order. */
struct passed {
    uint32_t version;
    uint32_t read_by, written_by; /* the last such operation + 1; 0: none */
    uint32_t uses;
};

static int refuse_place(struct spw_graph_problem *ret_problem, uint32_t op, const char *list, uint32_t place,
                        const char *expected)
{
    char path[64];
    (void)snprintf(path, sizeof path, "ops[%u].%s[%u]", op, list, place);
    return refuse(ret_problem, path, "%s", expected);
}

static int pass_op(struct spw_graph *graph, uint32_t index, struct passed *passed, struct spw_graph_problem *ret_problem)
{
    const struct spw_graph_op *op = &graph->ops[index];
    for (uint32_t i = 0; i < op->read_count; i++) {
        struct spw_touched_tensor *touch = &graph->touched[op->first_read + i];
        const struct spw_graph_tensor *t = &graph->tensors[touch->tensor];
        struct passed *p = &passed[touch->tensor];
        if (p->read_by == index + 1)
            return refuse_place(ret_problem, index, "reads", i, "each tensor once");
        if (!t->persistent && !t->initial && p->version == 0)
            return refuse_place(ret_problem, index, "reads", i,
                                "a tensor that was written before, or is persistent, or initial");
        p->read_by = index + 1;
        p->uses++;
        touch->version = p->version;
    }
    for (uint32_t i = 0; i < op->write_count; i++) {
        struct spw_touched_tensor *touch = &graph->touched[op->first_write + i];
        struct passed *p = &passed[touch->tensor];
        if (p->written_by == index + 1)
            return refuse_place(ret_problem, index, "writes", i, "each tensor once");
        touch->in_place = p->read_by == index + 1;
        touch->side = touch->in_place && graph->tensors[touch->tensor].bytes <= SPW_SIDE_BUFFER_BYTES;
        p->uses += !touch->in_place;
        p->written_by = index + 1;
        touch->version = ++p->version;
    }
    for (uint32_t i = 0; i < op->read_count; i++) {
        struct spw_touched_tensor *touch = &graph->touched[op->first_read + i];
        touch->in_place = passed[touch->tensor].written_by == index + 1;
        touch->side = i >= op->read_count - op->held_count ||
                      (touch->in_place && graph->tensors[touch->tensor].bytes <= SPW_SIDE_BUFFER_BYTES);
    }
    return 0;
}

static void place_uses(struct spw_graph *graph, const struct passed *passed)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        graph->tensors[i].first_use = first;
        graph->tensors[i].use_count = 0;
        graph->tensors[i].last_version = passed[i].version;
        first += passed[i].uses;
    }
    graph->use_count = first;
}

static void list_uses(struct spw_graph *graph)
{
    for (uint32_t index = 0; index < graph->op_count; index++) {
        const struct spw_graph_op *op = &graph->ops[index];
        for (uint32_t i = 0; i < op->read_count; i++) {
            const struct spw_touched_tensor *touch = &graph->touched[op->first_read + i];
            struct spw_graph_tensor *t = &graph->tensors[touch->tensor];
            graph->uses[t->first_use + t->use_count++] =
                (struct spw_use){.op = index, .version = touch->version, .reads = true, .writes = touch->in_place};
        }
        for (uint32_t i = 0; i < op->write_count; i++) {
            const struct spw_touched_tensor *touch = &graph->touched[op->first_write + i];
            struct spw_graph_tensor *t = &graph->tensors[touch->tensor];
            if (!touch->in_place)
                graph->uses[t->first_use + t->use_count++] =
                    (struct spw_use){.op = index, .version = touch->version - 1, .writes = true};
        }
    }
}

static int find_uses(struct spw_graph *graph, struct spw_graph_problem *ret_problem)
{
    struct passed *passed = calloc((size_t)graph->tensor_count + 1, sizeof *passed);
    if (!passed)
        return -ENOMEM;
    int r = 0;
    for (uint32_t i = 0; i < graph->op_count && r == 0; i++)
        r = pass_op(graph, i, passed, ret_problem);
    if (r == 0) {
        place_uses(graph, passed);
        free(graph->uses);
        graph->uses = malloc(((size_t)graph->use_count + 1) * sizeof *graph->uses);
        r = graph->uses ? 0 : -ENOMEM;
    }
    free(passed);
    if (r == 0)
        list_uses(graph);
    return r;
}

/* Computes the most bytes that are alive at once, and the most that an operation needs, from what begins and ends at each
 * operation. */
static void sum_up(struct spw_graph *graph, int64_t *alive, int64_t *held)
{
    int64_t alive_now = (int64_t)graph->persistent_bytes, held_now = 0;
    for (uint32_t index = 0; index < graph->op_count; index++) {
        const struct spw_graph_op *op = &graph->ops[index];
        alive_now += alive[index];
        held_now += held[index];
        uint64_t needed = (uint64_t)held_now;
        for (uint32_t i = 0; i < op->read_count + op->write_count; i++) {
            const struct spw_touched_tensor *touch = &graph->touched[op->first_read + i];
            const bool counted = i >= op->read_count && touch->in_place;
            if (!counted && graph->tensors[touch->tensor].evictable)
                needed += graph->tensors[touch->tensor].bytes;
        }
        if (needed > graph->least_bytes) {
            graph->least_bytes = needed;
            graph->least_op = index;
        }
        if ((uint64_t)alive_now > graph->peak_bytes)
            graph->peak_bytes = (uint64_t)alive_now;
        graph->compute_us += op->us;
    }
}

/* Marks when the tensor is alive and when it is held. A tensor that may not be evicted is held from the start, or its
 * first use, to its last use; if it is persistent, always. */
static void mark_tensor(const struct spw_graph *graph, const struct spw_graph_tensor *t, int64_t *alive, int64_t *held)
{
    const int64_t bytes = (int64_t)t->bytes;
    if (!t->persistent) {
        alive[t->initial ? 0 : t->alloc_before] += bytes;
        alive[t->free_after + 1] -= bytes;
    }
    if (t->evictable || (!t->persistent && t->use_count == 0))
        return;
    held[t->persistent || t->initial ? 0 : graph->uses[t->first_use].op] += bytes;
    if (!t->persistent)
        held[graph->uses[t->first_use + t->use_count - 1].op + 1] -= bytes;
}

/* Checks that no copy takes longer than an operation may. */
static int check_copies(const struct spw_graph *graph, struct spw_graph_problem *ret_problem)
{
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[i];
        const char *path = !is_number(t->d2h_us) ? "copy_bytes_per_us.d2h" : "copy_bytes_per_us.h2d";
        if (!is_number(t->d2h_us) || !is_number(t->h2d_us))
            return refuse(ret_problem, path, "a bandwidth at which tensor %llu is copied in less than years",
                          (unsigned long long)t->id);
    }
    return 0;
}

static int find_sums(struct spw_graph *graph)
{
    int64_t *alive = calloc(2 * ((size_t)graph->op_count + 1), sizeof *alive);
    if (!alive)
        return -ENOMEM;
    int64_t *held = alive + graph->op_count + 1;
    graph->persistent_bytes = graph->peak_bytes = graph->least_bytes = graph->least_op = 0;
    graph->compute_us = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        struct spw_graph_tensor *t = &graph->tensors[i];
        if (t->persistent)
            graph->persistent_bytes += t->bytes;
        if (t->d2h_us < 0)
            t->d2h_us = (double)t->bytes / graph->d2h_bytes_per_us;
        if (t->h2d_us < 0)
            t->h2d_us = (double)t->bytes / graph->h2d_bytes_per_us;
        mark_tensor(graph, t, alive, held);
    }
    sum_up(graph, alive, held);
    free(alive);
    return 0;
}

int spw_graph_finish(struct spw_graph *graph, struct spw_graph_problem *ret_problem)
{
    if (!(graph->d2h_bytes_per_us > 0) || !is_number(graph->d2h_bytes_per_us))
        return refuse(ret_problem, "copy_bytes_per_us.d2h", "a finite number above 0");
    if (!(graph->h2d_bytes_per_us > 0) || !is_number(graph->h2d_bytes_per_us))
        return refuse(ret_problem, "copy_bytes_per_us.h2d", "a finite number above 0");
    if (graph->op_count == 0)
        return refuse(ret_problem, "ops", "at least one operation");
    uint64_t total = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const int r = check_tensor(graph, i, ret_problem);
        if (r < 0)
            return r;
        total += graph->tensors[i].bytes;
        if (total > INT64_MAX / 2)
            return refuse_tensor(ret_problem, i, "bytes", "sizes whose sum is a number of bytes that a machine can have");
    }
    for (uint32_t i = 0; i < graph->op_count; i++) {
        const int r = check_op(graph, i, ret_problem);
        if (r < 0)
            return r;
    }
    int r = find_uses(graph, ret_problem);
    if (r == 0)
        r = find_sums(graph);
    return r < 0 ? r : check_copies(graph, ret_problem);
}

int spw_graph_round_up(struct spw_graph *graph, uint64_t granule_bytes, uint64_t from_bytes)
{
    for (uint32_t i = 0; i < graph->tensor_count && granule_bytes; i++)
        if (graph->tensors[i].bytes >= from_bytes)
            graph->tensors[i].bytes = (graph->tensors[i].bytes + granule_bytes - 1) / granule_bytes * granule_bytes;
    return find_sums(graph);
}

uint32_t spw_graph_use_from(const struct spw_graph *graph, uint32_t tensor, uint32_t op)
{
    const struct spw_graph_tensor *t = &graph->tensors[tensor];
    uint32_t low = 0, high = t->use_count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (graph->uses[t->first_use + middle].op < op)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t spw_graph_producer(const struct spw_graph *graph, uint32_t tensor, uint32_t version)
{
    const struct spw_graph_tensor *t = &graph->tensors[tensor];
    uint32_t low = 0, high = t->use_count; /* the last use with a version below the wanted one is its producer */
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (graph->uses[t->first_use + middle].version < version)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? graph->uses[t->first_use + low - 1].op : SPW_NO_INDEX;
}

bool spw_graph_can_replay(const struct spw_graph *graph, uint32_t op)
{
    const struct spw_graph_op *o = &graph->ops[op];
    bool can = o->replayable;
    for (uint32_t i = o->first_read; i < o->first_read + o->read_count; i++) {
        const struct spw_touched_tensor *touch = &graph->touched[i];
        can = can && !(touch->in_place && !touch->side && graph->tensors[touch->tensor].persistent);
    }
    return can;
}
