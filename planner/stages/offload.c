/* offload.c - finds tensors that could leave, and takes the first ones until memory is short nowhere. */
#include "stages/offload.h"

#include <errno.h>
#include <stdlib.h>

/* ---- what could leave ---- */

static struct spw_leave find_leave(const struct spw_graph *graph, uint32_t tensor, const double *before_us)
{
    const struct spw_graph_tensor *t = &graph->tensors[tensor];
    const struct spw_use *uses = &graph->uses[t->first_use];
    struct spw_leave best = {.tensor = tensor, .idle_us = -1};
    for (uint32_t i = 0; i + 1 < t->use_count; i++) {
        const double idle_us = before_us[uses[i + 1].op] - before_us[uses[i].op + 1];
        if (uses[i + 1].reads && uses[i + 1].op > uses[i].op + 1 && idle_us > best.idle_us)
            best = (struct spw_leave){tensor, uses[i].op + 1, uses[i + 1].op, t->first_use + i, false, idle_us};
    }
    if (t->persistent && t->use_count) {
        const uint32_t first = uses[0].op, last = uses[t->use_count - 1].op;
        const double idle_us = before_us[first] + before_us[graph->op_count] - before_us[last + 1];
        if (idle_us > best.idle_us)
            best = (struct spw_leave){tensor, last + 1, first, t->first_use + t->use_count - 1, true, idle_us};
    }
    return best;
}

struct keyed {
    struct spw_leave leave;
    bool persistent;
    uint32_t made;
};

static int compare(const void *left, const void *right)
{
    const struct keyed *a = left, *b = right;
    if (a->persistent != b->persistent)
        return a->persistent - b->persistent;
    if (a->persistent && a->leave.idle_us != b->leave.idle_us)
        return a->leave.idle_us > b->leave.idle_us ? -1 : 1;
    if (a->made != b->made)
        return a->made < b->made ? -1 : 1;
    return a->leave.tensor < b->leave.tensor ? -1 : 1;
}

/* Returns the time before each operation, and after the last, or NULL. */
static double *sum_times(const struct spw_graph *graph)
{
    double *before_us = malloc(((size_t)graph->op_count + 1) * sizeof *before_us);
    if (!before_us)
        return NULL;
    before_us[0] = 0;
    for (uint32_t i = 0; i < graph->op_count; i++)
        before_us[i + 1] = before_us[i] + graph->ops[i].us;
    return before_us;
}

int spw_offload_leaves(const struct spw_graph *graph, struct spw_leave **ret_leaves, uint32_t *ret_count)
{
    double *before_us = sum_times(graph);
    struct keyed *keyed = malloc(((size_t)graph->tensor_count + 1) * sizeof *keyed);
    struct spw_leave *leaves = malloc(((size_t)graph->tensor_count + 1) * sizeof *leaves);
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->tensor_count && before_us && keyed; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[i];
        if (!t->evictable || t->bytes == 0 || t->use_count == 0)
            continue;
        keyed[count] = (struct keyed){find_leave(graph, i, before_us), t->persistent, graph->uses[t->first_use].op};
        count += keyed[count].leave.idle_us >= 0;
    }
    if (before_us && keyed && leaves) {
        qsort(keyed, count, sizeof *keyed, compare);
        for (uint32_t i = 0; i < count; i++)
            leaves[i] = keyed[i].leave;
        *ret_leaves = leaves;
        *ret_count = count;
    }
    const bool failed = !before_us || !keyed || !leaves;
    free(before_us);
    free(keyed);
    if (failed)
        free(leaves);
    return failed ? -ENOMEM : 0;
}

/* ---- bytes at each operation, with changes over ranges ---- */

struct levels {
    /* A tree: node n has children 2 n and 2 n + 1; the maximum below it, without what is added above. */
    int64_t *most;
    int64_t *added;
    uint32_t leaves; /* a power of two */
};

static void lift(struct levels *l, uint32_t node)
{
    const int64_t left = l->most[2 * node], right = l->most[2 * node + 1];
    l->most[node] = (left > right ? left : right) + l->added[node];
}

static void add(struct levels *l, uint32_t node, uint32_t low, uint32_t high, uint32_t from, uint32_t to, int64_t bytes)
{
    if (from >= high || to <= low || from >= to)
        return;
    if (from <= low && high <= to) {
        l->most[node] += bytes;
        l->added[node] += bytes;
        return;
    }
    const uint32_t middle = (low + high) / 2;
    add(l, 2 * node, low, middle, from, to, bytes);
    add(l, 2 * node + 1, middle, high, from, to, bytes);
    lift(l, node);
}

static int64_t most_in(const struct levels *l, uint32_t node, uint32_t low, uint32_t high, uint32_t from, uint32_t to)
{
    if (from >= high || to <= low || from >= to)
        return INT64_MIN;
    if (from <= low && high <= to)
        return l->most[node];
    const uint32_t middle = (low + high) / 2;
    const int64_t left = most_in(l, 2 * node, low, middle, from, to),
                  right = most_in(l, 2 * node + 1, middle, high, from, to);
    const int64_t most = left > right ? left : right;
    return most == INT64_MIN ? most : most + l->added[node];
}

static void add_absence(struct levels *l, const struct spw_graph *graph, const struct spw_leave *leave, int64_t bytes)
{
    if (leave->wraps) {
        add(l, 1, 0, l->leaves, 0, leave->to, bytes);
        add(l, 1, 0, l->leaves, leave->from, graph->op_count, bytes);
    } else {
        add(l, 1, 0, l->leaves, leave->from, leave->to, bytes);
    }
}

/* Returns the most bytes at an operation during which the tensor would be absent. */
static int64_t most_during(const struct levels *l, const struct spw_graph *graph, const struct spw_leave *leave)
{
    if (!leave->wraps)
        return most_in(l, 1, 0, l->leaves, leave->from, leave->to);
    const int64_t before = most_in(l, 1, 0, l->leaves, 0, leave->to),
                  behind = most_in(l, 1, 0, l->leaves, leave->from, graph->op_count);
    return before > behind ? before : behind;
}

static int make_levels(const struct spw_graph *graph, struct levels *l)
{
    for (l->leaves = 1; l->leaves < graph->op_count;)
        l->leaves *= 2;
    l->most = calloc(2 * (size_t)l->leaves, sizeof *l->most);
    l->added = calloc(2 * (size_t)l->leaves, sizeof *l->added);
    if (!l->most || !l->added)
        return -ENOMEM;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[i];
        const struct spw_use *uses = &graph->uses[t->first_use];
        if (t->persistent)
            add(l, 1, 0, l->leaves, 0, graph->op_count, (int64_t)t->bytes);
        else if (t->use_count)
            add(l, 1, 0, l->leaves, t->initial ? 0 : uses[0].op, uses[t->use_count - 1].op + 1, (int64_t)t->bytes);
    }
    return 0;
}

/* ---- greedy ---- */

/* Gives leaves back, last first, where there is room without them. */
static void give_back(struct levels *l, const struct spw_graph *graph, int64_t budget, const struct spw_leave *leaves,
                      uint32_t count, bool *taken)
{
    for (uint32_t i = count; i-- > 0;) {
        const int64_t bytes = (int64_t)graph->tensors[leaves[i].tensor].bytes;
        if (!taken[i] || most_during(l, graph, &leaves[i]) + bytes > budget)
            continue;
        taken[i] = false;
        add_absence(l, graph, &leaves[i], bytes);
    }
}

int spw_offload_greedy(const struct spw_graph *graph, uint64_t device_bytes, const struct spw_leave *leaves, uint32_t count,
                       bool *taken)
{
    const int64_t budget = device_bytes < INT64_MAX ? (int64_t)device_bytes : INT64_MAX;
    struct levels l;
    const int r = make_levels(graph, &l);
    for (uint32_t i = 0; i < count && r == 0; i++) {
        if (taken[i])
            add_absence(&l, graph, &leaves[i], -(int64_t)graph->tensors[leaves[i].tensor].bytes);
    }
    for (uint32_t i = 0; i < count && r == 0 && l.most[1] > budget; i++) {
        if (taken[i] || most_during(&l, graph, &leaves[i]) <= budget)
            continue;
        taken[i] = true;
        add_absence(&l, graph, &leaves[i], -(int64_t)graph->tensors[leaves[i].tensor].bytes);
    }
    if (r == 0)
        give_back(&l, graph, budget, leaves, count, taken);
    free(l.most);
    free(l.added);
    return r;
}
