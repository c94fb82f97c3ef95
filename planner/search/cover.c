/* cover.c - lists the gaps in which tensors could be evicted, what that costs, and the demand that they have to cover. */
#include "search/cover_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "plan/lineage.h"

size_t spw_cover_gaps(const struct spw_cover *cover, const struct spw_gap **ret_gaps)
{
    *ret_gaps = cover->gaps;
    return cover->gap_count;
}

void spw_cover_destroy(struct spw_cover *cover)
{
    if (!cover)
        return;
    free(cover->gaps);
    free(cover->start_us);
    free(cover->demand);
    free(cover->most);
    free(cover->add);
    free(cover->short_before);
    free(cover->chosen);
    free(cover->ranking.items);
    free(cover->made);
    free(cover->retained);
    free(cover);
}

/* ---- gaps ---- */

static double positive(double us)
{
    return us > 0 ? us : 0;
}

/* Finds how the gap's tensor would be recomputed for that use. Returns false if there is no memory. */
static bool find_replay(struct spw_cover *c, struct spw_lineage *lineage, struct spw_gap *gap, const struct spw_use *next)
{
    const struct spw_lineage_terms terms = {.at = next->op,
                                            .retain_bytes =
                                                (uint64_t)((double)c->graph->tensors[gap->tensor].bytes * SPW_RETAIN_SHARE),
                                            .retain_leaves = true};
    const uint32_t *retained;
    gap->replay_us = spw_lineage_us(lineage, gap->tensor, next->version, &terms);
    if (gap->replay_us < 0)
        return true;
    gap->retained_count = spw_lineage_retained(lineage, &retained);
    gap->first_retained = c->retained_count;
    if (SPW_GROW(c->retained, c->retained_room, c->retained_count + gap->retained_count) < 0)
        return c->is_out_of_memory = true, false;
    for (uint32_t i = 0; i < gap->retained_count; i++)
        c->retained[c->retained_count++] = retained[i];
    return true;
}

static void add_gap(struct spw_cover *c, struct spw_lineage *lineage, uint32_t use)
{
    const struct spw_use *u = &c->graph->uses[use], *next = u + 1;
    struct spw_gap gap = {.choice = use, .from = u->op + 1, .to = next->op, .copy_us = -1, .replay_us = -1};
    /* the caller has set the tensor */
    gap.tensor = c->gaps[c->gap_count].tensor;
    const struct spw_graph_tensor *t = &c->graph->tensors[gap.tensor];
    if (!next->reads || t->bytes == 0 || !t->evictable)
        return;
    if (c->request->may_copy) {
        gap.copy_us = t->d2h_us + t->h2d_us;
        gap.exposed_us = positive(gap.copy_us - (c->start_us[gap.to] - c->start_us[gap.from]));
    }
    if (c->request->may_replay && !find_replay(c, lineage, &gap, next))
        return;
    if (gap.copy_us >= 0 || gap.replay_us >= 0)
        c->gaps[c->gap_count++] = gap;
}

/* Links the gaps that one replay would serve: outputs of one operation that are needed again within a few operations. */
static void link_siblings(struct spw_cover *c)
{
    enum { ABOUT_THE_SAME = 24 };
    memset(c->made, 0xff, c->graph->op_count * sizeof *c->made);
    for (uint32_t i = 0; i < c->gap_count; i++) {
        struct spw_gap *gap = &c->gaps[i];
        gap->sibling = i;
        if (gap->replay_us < 0 || gap->from == gap->to || gap->is_boundary || gap->is_end ||
            gap->choice >= c->graph->use_count)
            continue;
        const uint32_t version = c->graph->uses[gap->choice + 1].version;
        const uint32_t op = spw_graph_producer(c->graph, gap->tensor, version);
        const uint32_t other = c->made[op];
        c->made[op] = i;
        if (other == SPW_NO_INDEX || c->gaps[other].tensor == gap->tensor ||
            (c->gaps[other].to > gap->to ? c->gaps[other].to - gap->to : gap->to - c->gaps[other].to) > ABOUT_THE_SAME)
            continue;
        gap->sibling = c->gaps[other].sibling;
        c->gaps[other].sibling = i;
    }
}

/* Adds the gaps before the first use and around the end of the iteration. */
static void add_persistent_gaps(struct spw_cover *c, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &c->graph->tensors[tensor];
    const double end_us = c->start_us[c->graph->op_count];
    if (!c->request->may_copy || t->bytes == 0 || !t->evictable)
        return;
    const uint32_t first = t->use_count ? c->graph->uses[t->first_use].op : c->graph->op_count;
    const uint32_t last = t->use_count ? c->graph->uses[t->first_use + t->use_count - 1].op : c->graph->op_count - 1;
    const double out_us = t->last_version ? t->d2h_us : 0, in_us = t->use_count ? t->h2d_us : 0;
    const size_t head = (size_t)c->graph->use_count + tensor;
    if (first > 0 && t->use_count)
        c->gaps[c->gap_count++] =
            (struct spw_gap){.choice = head,
                             .tensor = tensor,
                             .from = 0,
                             .to = first,
                             .copy_us = out_us + in_us,
                             .exposed_us = positive(t->d2h_us * (t->last_version > 0) + in_us - c->start_us[first]),
                             .replay_us = -1};
    c->gaps[c->gap_count++] = (struct spw_gap){.choice = t->use_count ? (size_t)t->first_use + t->use_count - 1 : head,
                                               .tensor = tensor,
                                               .from = last + 1,
                                               .to = first,
                                               .is_boundary = true,
                                               .copy_us = out_us + in_us,
                                               .exposed_us = positive(in_us - c->start_us[first]) +
                                                             positive(out_us - (end_us - c->start_us[last + 1])),
                                               .replay_us = -1};
}

/* Adds the end of a tensor that replays may read when it is dead. */
static void add_end(struct spw_cover *c, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &c->graph->tensors[tensor];
    if (!c->request->may_replay || t->bytes == 0 || t->use_count == 0)
        return;
    bool is_wanted = false;
    for (uint32_t i = 0; i < t->use_count && !is_wanted; i++) {
        const struct spw_use *use = &c->graph->uses[t->first_use + i];
        is_wanted = use->reads && use->version == t->last_version && c->graph->ops[use->op].replayable &&
                    c->graph->ops[use->op].write_count;
    }
    if (!is_wanted)
        return;
    const uint32_t last = t->first_use + t->use_count - 1;
    c->gaps[c->gap_count++] =
        (struct spw_gap){.choice = last,
                         .tensor = tensor,
                         .from = c->graph->uses[last].op + 1,
                         .to = c->graph->op_count,
                         .is_end = true,
                         .is_leaf = spw_lineage_maker(c->graph, tensor, t->last_version) == SPW_NO_INDEX,
                         .copy_us = c->request->may_copy && t->evictable ? t->d2h_us + t->h2d_us : -1,
                         .replay_us = -1};
}

static int list_gaps(struct spw_cover *c)
{
    struct spw_lineage *lineage;
    const int r = spw_lineage_create(c->graph, &lineage);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < c->graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &c->graph->tensors[i];
        for (uint32_t j = 0; j + 1 < t->use_count; j++) {
            c->gaps[c->gap_count].tensor = i;
            add_gap(c, lineage, t->first_use + j);
        }
        if (t->persistent)
            add_persistent_gaps(c, i);
        else
            add_end(c, i);
    }
    spw_lineage_destroy(lineage);
    link_siblings(c);
    return c->is_out_of_memory ? -ENOMEM : 0;
}

/* ---- demand ---- */

static void find_demand(struct spw_cover *c)
{
    const uint32_t ops = c->graph->op_count;
    memset(c->demand, 0, (ops + 1) * sizeof *c->demand);
    for (uint32_t i = 0; i < c->graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &c->graph->tensors[i];
        if (!t->persistent && t->use_count == 0)
            continue;
        const bool from_start = t->persistent || t->initial;
        const uint32_t from = from_start ? 0 : c->graph->uses[t->first_use].op;
        const uint32_t to = t->persistent ? ops : c->graph->uses[t->first_use + t->use_count - 1].op + 1;
        c->demand[from] += (int64_t)t->bytes;
        c->demand[to] -= (int64_t)t->bytes;
        for (uint32_t j = 0; j + 1 < t->use_count; j++) { /* it need not be there before it is overwritten unread */
            const struct spw_use *u = &c->graph->uses[t->first_use + j];
            if (!u[1].reads && t->evictable) {
                c->demand[u->op + 1] -= (int64_t)t->bytes;
                c->demand[u[1].op] += (int64_t)t->bytes;
            }
        }
    }
    for (uint32_t op = 1; op < ops; op++)
        c->demand[op] += c->demand[op - 1];
    for (uint32_t op = 0; op < ops; op++)
        c->demand[op] -= (int64_t)c->request->device_bytes;
}

int spw_cover_create(const struct spw_plan_request *request, struct spw_cover **ret_cover)
{
    const struct spw_graph *graph = request->graph;
    const size_t most_gaps = (size_t)graph->use_count + 2 * (size_t)graph->tensor_count + 1;
    struct spw_cover *c = calloc(1, sizeof *c);
    if (!c)
        return -ENOMEM;
    c->graph = graph;
    c->request = request;
    for (c->leaves = 1; c->leaves < graph->op_count; c->leaves *= 2)
        ;
    c->gaps = calloc(most_gaps, sizeof *c->gaps);
    c->short_before = malloc(((size_t)graph->op_count + 1) * sizeof *c->short_before);
    c->chosen = malloc(most_gaps * sizeof *c->chosen);
    c->ranking.items = malloc(most_gaps * sizeof *c->ranking.items);
    c->made = malloc(graph->op_count * sizeof *c->made);
    c->start_us = malloc(((size_t)graph->op_count + 1) * sizeof *c->start_us);
    c->demand = malloc(((size_t)graph->op_count + 2) * sizeof *c->demand);
    c->most = malloc(2 * (size_t)c->leaves * sizeof *c->most);
    c->add = malloc(2 * (size_t)c->leaves * sizeof *c->add);
    int r = c->gaps && c->short_before && c->chosen && c->ranking.items && c->made && c->start_us && c->demand && c->most &&
                    c->add
                ? 0
                : -ENOMEM;
    if (r == 0) {
        c->start_us[0] = 0;
        for (uint32_t op = 0; op < graph->op_count; op++)
            c->start_us[op + 1] = c->start_us[op] + graph->ops[op].us;
        find_demand(c);
        r = list_gaps(c);
        spw_cover_find_useful(c);
    }
    if (r < 0)
        spw_cover_destroy(c);
    else
        *ret_cover = c;
    return r;
}
