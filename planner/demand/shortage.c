/* shortage.c - a tree over the operations: the maximum in each node's range, and what to add to all of that range. */
#include "demand/shortage.h"

#include <errno.h>
#include <stdlib.h>

struct spw_shortage {
    uint32_t leaves, op_count;
    int64_t *most, *add; /* node 1 is the root, nodes 2i and 2i+1 are below node i */
};

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add_to(struct spw_shortage *s, uint32_t node, uint32_t low, uint32_t high, uint32_t from, uint32_t to,
                   int64_t bytes)
{
    if (to <= low || high <= from)
        return;
    if (from <= low && high <= to) {
        s->most[node] += bytes;
        s->add[node] += bytes;
        return;
    }
    const uint32_t middle = (low + high) / 2;
    add_to(s, 2 * node, low, middle, from, to, bytes);
    add_to(s, 2 * node + 1, middle, high, from, to, bytes);
    s->most[node] = greater(s->most[2 * node], s->most[2 * node + 1]) + s->add[node];
}

static int64_t most_in(const struct spw_shortage *s, uint32_t node, uint32_t low, uint32_t high, uint32_t from, uint32_t to)
{
    if (to <= low || high <= from)
        return INT64_MIN / 4;
    if (from <= low && high <= to)
        return s->most[node];
    const uint32_t middle = (low + high) / 2;
    return greater(most_in(s, 2 * node, low, middle, from, to), most_in(s, 2 * node + 1, middle, high, from, to)) +
           s->add[node];
}

static void build(struct spw_shortage *s, const struct spw_graph *graph, uint64_t budget_bytes)
{
    int64_t *change = s->most + s->leaves, now = -(int64_t)(budget_bytes < INT64_MAX / 2 ? budget_bytes : INT64_MAX / 2);
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[i];
        if (!t->persistent && t->use_count == 0)
            continue;
        change[t->persistent || t->initial ? 0 : graph->uses[t->first_use].op] += (int64_t)t->bytes;
        const uint32_t end = t->persistent ? s->leaves : graph->uses[t->first_use + t->use_count - 1].op + 1;
        if (end < s->leaves)
            change[end] -= (int64_t)t->bytes;
    }
    for (uint32_t i = 0; i < s->leaves; i++) {
        now += change[i];
        change[i] = i < graph->op_count ? now : INT64_MIN / 4;
    }
    for (uint32_t i = s->leaves - 1; i > 0; i--)
        s->most[i] = greater(s->most[2 * i], s->most[2 * i + 1]);
}

int spw_shortage_create(const struct spw_graph *graph, uint64_t budget_bytes, struct spw_shortage **ret_shortage)
{
    struct spw_shortage *s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->op_count = graph->op_count;
    for (s->leaves = 1; s->leaves < graph->op_count; s->leaves *= 2)
        ;
    s->most = calloc(2 * (size_t)s->leaves, sizeof *s->most);
    s->add = calloc(2 * (size_t)s->leaves, sizeof *s->add);
    if (!s->most || !s->add) {
        spw_shortage_destroy(s);
        return -ENOMEM;
    }
    build(s, graph, budget_bytes);
    *ret_shortage = s;
    return 0;
}

void spw_shortage_destroy(struct spw_shortage *s)
{
    if (!s)
        return;
    free(s->most);
    free(s->add);
    free(s);
}

void spw_shortage_relieve(struct spw_shortage *s, uint32_t from, uint32_t to, uint64_t bytes)
{
    add_to(s, 1, 0, s->leaves, from, to, -(int64_t)bytes);
}

int64_t spw_shortage_most(const struct spw_shortage *s, uint32_t from, uint32_t to)
{
    return most_in(s, 1, 0, s->leaves, from, to);
}
