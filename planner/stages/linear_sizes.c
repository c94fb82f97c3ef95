/* linear_sizes.c - finds what the stages of a chain take in and keep, in tensors and in bytes. */
#include <errno.h>
#include <stdlib.h>

#include "stages/linear_parts.h"

/* ---- inputs and records ---- */

/* Finds the stages whose input (`is_record` false) or record contains the tensor: from `first` to `last`; none if first >
 * last. */
static void find_scope(const struct spw_chain *chain, const struct spw_chain_tensor *k, bool is_record, uint32_t *first,
                       uint32_t *last)
{
    *first = 1;
    *last = 0;
    if (k->made == SPW_NO_INDEX)
        return;
    const uint32_t made = spw_chain_stage_of(chain, k->made);
    const bool read_back = k->first_read != SPW_NO_INDEX && k->first_read < chain->tail;
    if (is_record) {
        if (read_back && k->last_read < chain->tail && spw_chain_stage_of(chain, k->last_read) == made)
            *first = *last = made;
        return;
    }
    *first = made + 1;
    *last = spw_chain_stage_of(chain, k->last_walk);
    if (read_back) {
        const uint32_t back = spw_chain_stage_of(chain, k->first_read);
        *last = back > *last ? back : *last;
    }
}

static void count_tensor(struct spw_chain *chain, uint32_t tensor, const struct spw_chain_tensor *k, bool list)
{
    uint32_t first, last;
    const uint64_t bytes = chain->graph->tensors[tensor].bytes;
    find_scope(chain, k, false, &first, &last);
    for (uint32_t s = first; s <= last; s++) {
        struct spw_stage *stage = &chain->stages[s];
        if (list)
            chain->listed[stage->first_input + stage->input_count] = tensor;
        else
            stage->input_bytes += bytes;
        stage->input_count++;
        if (!list && s == first)
            chain->stages[s - 1].record_bytes += bytes;
    }
    const bool in_next = first <= last;
    find_scope(chain, k, true, &first, &last);
    if (first > last)
        return;
    struct spw_stage *stage = &chain->stages[first];
    if (list)
        chain->listed[stage->first_record + stage->record_count] = tensor;
    else if (!in_next)
        stage->record_bytes += bytes;
    stage->record_count++;
}

/* Computes input_since from the bytes of each stage's input by the stage that made them. */
static int sum_inputs(struct spw_chain *chain, const struct spw_chain_tensor *tensors)
{
    const size_t count = chain->count;
    chain->input_since = calloc(count * count + 1, sizeof *chain->input_since);
    if (!chain->input_since)
        return -ENOMEM;
    for (size_t s = 0; s < count; s++) {
        uint64_t *since = &chain->input_since[s * count];
        for (uint32_t i = 0; i < chain->stages[s].input_count; i++) {
            const uint32_t tensor = chain->listed[chain->stages[s].first_input + i];
            since[spw_chain_stage_of(chain, tensors[tensor].made)] += chain->graph->tensors[tensor].bytes;
        }
        for (size_t made = s; made-- > 1;)
            since[made - 1] += since[made];
    }
    return 0;
}

static int list_tensors(struct spw_chain *chain, const struct spw_chain_tensor *tensors)
{
    for (uint32_t i = 0; i < chain->graph->tensor_count; i++) {
        if (spw_chain_moves(chain, i))
            count_tensor(chain, i, &tensors[i], false);
    }
    size_t total = 0;
    for (uint32_t s = 0; s < chain->count; s++) {
        struct spw_stage *stage = &chain->stages[s];
        stage->first_input = (uint32_t)total;
        total += stage->input_count;
        stage->first_record = (uint32_t)total;
        total += stage->record_count;
        stage->input_count = stage->record_count = 0;
    }
    if (total > UINT32_MAX / 2)
        return -ENOMEM;
    chain->listed = calloc(total + 1, sizeof *chain->listed);
    if (!chain->listed)
        return -ENOMEM;
    for (uint32_t i = 0; i < chain->graph->tensor_count; i++) {
        if (spw_chain_moves(chain, i))
            count_tensor(chain, i, &tensors[i], true);
    }
    return sum_inputs(chain, tensors);
}

/* ---- working memory of the forward operations ---- */

static uint64_t bytes_of(const struct spw_chain *chain, uint32_t first, uint32_t count, const bool *made_here)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (made_here[chain->listed[first + i]])
            bytes += chain->graph->tensors[chain->listed[first + i]].bytes;
    }
    return bytes;
}

/* Returns true if the stage has to keep the tensor beyond `op`: to the end, or for a read of its own. */
static bool is_needed_on(const struct spw_chain *chain, const struct spw_stage *stage, uint32_t tensor, uint32_t op)
{
    const struct spw_graph_tensor *t = &chain->graph->tensors[tensor];
    const uint32_t next = spw_graph_use_from(chain->graph, tensor, op + 1);
    if (next >= t->use_count)
        return false;
    const struct spw_use *use = &chain->graph->uses[t->first_use + next];
    return use->op < stage->end_op && use->reads;
}

/* Returns the peak of the bytes that the stage itself makes while it runs, if it keeps what `keep` marks. */
static uint64_t forward_peak(const struct spw_chain *chain, const struct spw_stage *stage, const bool *made_here,
                             const bool *keep, bool *alive)
{
    const struct spw_graph *graph = chain->graph;
    uint64_t now = 0, most = 0;
    for (uint32_t op = stage->first_op; op < stage->end_op; op++) {
        const struct spw_graph_op *o = &graph->ops[op];
        for (uint32_t i = 0; i < o->write_count; i++) {
            const uint32_t tensor = graph->touched[o->first_write + i].tensor;
            if (made_here[tensor] && !alive[tensor]) {
                alive[tensor] = true;
                now += graph->tensors[tensor].bytes;
            }
        }
        most = now > most ? now : most;
        for (uint32_t i = 0; i < o->read_count + o->write_count; i++) {
            const uint32_t tensor = graph->touched[o->first_read + i].tensor;
            if (alive[tensor] && !keep[tensor] && !is_needed_on(chain, stage, tensor, op)) {
                alive[tensor] = false;
                now -= graph->tensors[tensor].bytes;
            }
        }
    }
    return most;
}

/* Sets `mark` to `value` for each tensor that the stage writes and the chain may move. */
static void mark_made(const struct spw_chain *chain, const struct spw_stage *stage, bool value, bool *mark)
{
    const struct spw_graph *graph = chain->graph;
    for (uint32_t op = stage->first_op; op < stage->end_op; op++) {
        const struct spw_graph_op *o = &graph->ops[op];
        for (uint32_t i = 0; i < o->write_count; i++) {
            const uint32_t tensor = graph->touched[o->first_write + i].tensor;
            mark[tensor] = value && spw_chain_moves(chain, tensor);
        }
    }
}

static void mark_listed(const struct spw_chain *chain, uint32_t first, uint32_t count, bool *mark)
{
    for (uint32_t i = 0; i < count; i++)
        mark[chain->listed[first + i]] = true;
}

static void measure_forward(struct spw_chain *chain, uint32_t index, bool *scratch[3])
{
    bool *made_here = scratch[0], *keep = scratch[1], *alive = scratch[2];
    struct spw_stage *stage = &chain->stages[index];
    const struct spw_stage *next = index + 1 < chain->count ? stage + 1 : NULL;
    mark_made(chain, stage, true, made_here);
    if (next)
        mark_listed(chain, next->first_input, next->input_count, keep);
    const uint64_t out = next ? bytes_of(chain, next->first_input, next->input_count, made_here) : 0;
    const uint64_t walk = forward_peak(chain, stage, made_here, keep, alive);
    mark_made(chain, stage, false, alive);

    uint64_t kept = out;
    for (uint32_t i = 0; i < stage->record_count; i++) {
        const uint32_t tensor = chain->listed[stage->first_record + i];
        kept += keep[tensor] ? 0 : chain->graph->tensors[tensor].bytes;
        keep[tensor] = true;
    }
    const uint64_t save = forward_peak(chain, stage, made_here, keep, alive);
    mark_made(chain, stage, false, alive);
    stage->walk_extra_bytes = walk > out ? walk - out : 0;
    stage->forward_extra_bytes = save > kept ? save - kept : 0;

    mark_made(chain, stage, false, made_here);
    for (uint32_t i = 0; i < stage->record_count; i++)
        keep[chain->listed[stage->first_record + i]] = false;
    for (uint32_t i = 0; next && i < next->input_count; i++)
        keep[chain->listed[next->first_input + i]] = false;
}

/* ---- working memory of the backward operations, of held tensors, and of the tail ---- */

/* Bytes at each operation: of records after the turn, of gradients, of those whose last use it is, of what is left for
 * the tail, of all held tensors, of all tensors. First changes, then sums. */
struct curves {
    int64_t *record, *gradient, *left, *held, *alive;
    int64_t *gradient_ends; /* not a change */
};

static void add_span(int64_t *curve, uint32_t first, uint32_t last, uint64_t bytes)
{
    curve[first] += (int64_t)bytes;
    curve[last + 1] -= (int64_t)bytes;
}

static void add_tensor(const struct spw_chain *chain, uint32_t tensor, const struct spw_chain_tensor *k,
                       struct curves *curves)
{
    const struct spw_graph_tensor *t = &chain->graph->tensors[tensor];
    if (t->persistent || t->use_count == 0)
        return;
    const uint32_t first_use = t->initial ? 0 : chain->graph->uses[t->first_use].op;
    add_span(curves->alive, first_use, k->last_use, t->bytes);
    uint32_t first, last;
    if (chain->held[tensor]) { /* as long as its last reader's stage may run again */
        last = k->last_walk == SPW_NO_INDEX ? 0 : chain->stages[spw_chain_stage_of(chain, k->last_walk)].end_back - 1;
        add_span(curves->held, first_use, last > k->last_use ? last : k->last_use, t->bytes);
        return;
    }
    find_scope(chain, k, true, &first, &last);
    if (first <= last)
        add_span(curves->record, chain->turn, k->last_read, t->bytes);
    if (k->first_gradient == SPW_NO_INDEX || k->first_gradient >= chain->tail)
        return;
    if (k->last_use >= chain->tail) {
        add_span(curves->left, k->first_gradient, k->last_use, t->bytes);
        return;
    }
    add_span(curves->gradient, k->first_gradient, k->last_use, t->bytes);
    curves->gradient_ends[k->last_use] += (int64_t)t->bytes;
}

static uint64_t over(int64_t bytes)
{
    return bytes > 0 ? (uint64_t)bytes : 0;
}

/* The curve contains the records of earlier stages from the turn on; they are subtracted to get the stage's own. */
static void measure_backward(struct spw_chain *chain, const struct curves *curves)
{
    int64_t left = 0, gradient = 0, earlier = curves->record[chain->turn];
    for (uint32_t s = chain->count; s-- > 0;) {
        struct spw_stage *stage = &chain->stages[s];
        for (uint32_t i = 0; i < stage->record_count; i++)
            earlier -= (int64_t)chain->graph->tensors[chain->listed[stage->first_record + i]].bytes;
        int64_t most = 0;
        for (uint32_t op = stage->first_back; op < stage->end_back; op++) {
            const int64_t now = curves->record[op] - earlier + curves->gradient[op] + curves->left[op] - left;
            most = now > most ? now : most;
        }
        stage->backward_extra_bytes = over(most - (int64_t)stage->record_bytes - gradient);
        const uint32_t last = stage->end_back - 1;
        stage->left_bytes = over(curves->left[last] - left);
        gradient = curves->gradient[last] - curves->gradient_ends[last];
        stage->gradient_bytes = over(gradient);
        left = curves->left[last];
    }
}

static void sum_curve(int64_t *curve, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        curve[i] += curve[i - 1];
}

static int measure_curves(struct spw_chain *chain, const struct spw_chain_tensor *tensors)
{
    const struct spw_graph *graph = chain->graph;
    const size_t room = (size_t)graph->op_count + 1;
    int64_t *memory = calloc(6 * room, sizeof *memory);
    if (!memory)
        return -ENOMEM;
    struct curves curves = {memory,           memory + room, memory + 2 * room, memory + 3 * room, memory + 4 * room,
                            memory + 5 * room};
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        add_tensor(chain, i, &tensors[i], &curves);
    for (int i = 0; i < 5; i++)
        sum_curve(memory + (size_t)i * room, graph->op_count);
    measure_backward(chain, &curves);
    int64_t held = 0, tail = 0;
    for (uint32_t op = 0; op < chain->tail; op++)
        held = curves.held[op] > held ? curves.held[op] : held;
    for (uint32_t op = chain->tail; op < graph->op_count; op++)
        tail = curves.alive[op] > tail ? curves.alive[op] : tail;
    chain->resident_bytes = graph->persistent_bytes + (uint64_t)held;
    chain->tail_bytes = graph->persistent_bytes + (uint64_t)tail;
    free(memory);
    return 0;
}

/* ---- branches ---- */

/* Returns the branch of what the stage's operations read from other stages; SPW_NO_INDEX: of several; `none`: they read
 * nothing. */
static uint32_t branch_of_reads(const struct spw_chain *chain, const struct spw_chain_tensor *tensors, uint32_t index,
                                uint32_t none)
{
    const struct spw_graph *graph = chain->graph;
    uint32_t branch = none;
    for (uint32_t op = chain->stages[index].first_op; op < chain->stages[index].end_op; op++) {
        const struct spw_graph_op *o = &graph->ops[op];
        for (uint32_t i = 0; i < o->read_count; i++) {
            const struct spw_touched_tensor *touch = &graph->touched[o->first_read + i];
            const uint32_t made = tensors[touch->tensor].made;
            if (graph->tensors[touch->tensor].persistent || made >= chain->stages[index].first_op ||
                !graph->ops[made].replayable)
                continue; /* its own, or from outside */
            const uint32_t from = chain->stages[spw_chain_stage_of(chain, made)].branch;
            branch = branch == none || branch == from ? from : SPW_NO_INDEX;
        }
    }
    return branch;
}

/* Returns true if a later stage reads what this one makes. */
static bool leads_on(const struct spw_chain *chain, const struct spw_chain_tensor *tensors, uint32_t index)
{
    if (index + 1 >= chain->count)
        return false;
    const struct spw_stage *next = &chain->stages[index + 1];
    for (uint32_t i = 0; i < next->input_count; i++) {
        if (tensors[chain->listed[next->first_input + i]].made >= chain->stages[index].first_op)
            return true;
    }
    return false;
}

static void find_branches(struct spw_chain *chain, const struct spw_chain_tensor *tensors)
{
    const uint32_t none = SPW_NO_INDEX - 1;
    bool pending = false; /* the newest branch so far has only stages that lead nowhere */
    for (uint32_t s = 0; s < chain->count; s++) {
        uint32_t branch = branch_of_reads(chain, tensors, s, none);
        if (branch == none) {
            chain->branches += !pending;
            branch = chain->branches - 1;
            pending = !leads_on(chain, tensors, s);
        }
        chain->stages[s].branch = branch;
    }
}

int spw_chain_measure(struct spw_chain *chain, const struct spw_chain_tensor *tensors)
{
    int r = list_tensors(chain, tensors);
    if (r < 0)
        return r;
    const size_t room = (size_t)chain->graph->tensor_count + 1;
    bool *marks = calloc(3 * room, sizeof *marks);
    if (!marks)
        return -ENOMEM;
    bool *scratch[3] = {marks, marks + room, marks + 2 * room};
    for (uint32_t s = 0; s < chain->count; s++)
        measure_forward(chain, s, scratch);
    free(marks);
    find_branches(chain, tensors);
    return measure_curves(chain, tensors);
}
