/* course_graph.c - represents a course as a graph: how long each tensor lives in it.
 *
 * Device memory is needed from the first use on, so a tensor that the iteration allocates is born at the first operation
 * that touches it. Its contents before that mean nothing, so that touch counts as a write only, whatever it does. Each later
 * touch that writes may write only a part, so it counts as a read too.
 *
 *     alive throughout                              persistent, touched or not
 *     allocated and freed                           from the first use to the free
 *     freed, from the previous iteration (`from`)   there at the beginning (`initial`), up to the free. If the tensor whose
 *                                                   place it takes is not touched by then: from its own first use
 *     lives on, and has a place in the next one     from the first use to the end
 *     freed, and no tensor takes its place          as above, and not evictable
 *     lives on, and is not known to be freed        persistent, not evictable: it needs memory from the next iteration on
 *
 * Tensors that need no memory in any of these cases are left out.
 *
 * The end of a life. A planner can drop a tensor after its last use at no cost. The engine cannot, as long as the program
 * has not freed the tensor: it would have to copy the bytes out. So a tensor that is freed later than used is *held*: in the
 * graph the last operation of its life reads it (a read that replays of that operation leave out of account). A planner then
 * keeps the tensor, or has it copied out and in again, which is one copy in too many (spw_course_actions() leaves it out).
 * Where many tensors are freed at once, the working set of that operation would become the largest of all, and no plan would
 * fit into a small budget. So no operation holds a tensor if it would then need more than both the caller's limit and the
 * largest need of any operation. An earlier operation holds the tensor instead, or none does. If it is then dropped before
 * it is freed, it is copied out (course_keep.c). A tensor that lives on is always held by the last operation, since it has
 * to be there at the end. Where replays are allowed, a tensor that can be made again all the while is not held for long; the
 * engine may drop it at no cost. The engine need not copy anything in for such a read, so in the graph of a bound no tensor
 * is held.
 *
 * Copies out. A launch that is only believed to read a tensor waits for its copy out (clean_check.h), and a copy out waits
 * for the uses before it in any case. So a tensor with such a reader is copied alone.
 *
 * Replays. An operation that was learned to be replayable is replayable in the graph, unless it updates a tensor that is a
 * side buffer for the graph and not for the engine. A tensor that several operations write has as many versions, and each is
 * made again by replaying its writers in turn. Small tensors are persistent in the graph, have no bytes and are never
 * evicted. An operation that writes one reads it too, so that a replay leaves it out of account. The operation after its
 * free writes it, since whatever takes its place is not reported.
 */
#include <errno.h>
#include <stdlib.h>

#include "course/course_lives.h"

enum {
    MOST_STEPS_BACK = 512,
    SHORT_HOLD = 16, /* operations: no tensor is evicted for a gap shorter than that unless it has to be */
};

struct making {
    const struct spw_course *course;
    const struct spw_course_terms *terms;
    struct spw_graph *graph;
    struct spw_course_life *lives; /* by tensor of the course */
    struct spw_course_replays replays;
    struct spw_course_guards guards;
    uint32_t *tensor_of; /* by tensor of the graph */
    bool *doubted;       /* by tensor: some launch is only believed not to write it */
    uint64_t *needs;     /* by operation: bytes that it needs on the device; one more at the end */
    /* By operation: where the tensors that it holds begin in `held`; one more at the end. */
    uint32_t *held_first;
    uint32_t *held;
    struct spw_course_guard *holds; /* which operation holds which tensor */
    uint32_t hold_count;
    uint32_t *reads, *writes; /* of one operation */
    uint64_t most_bytes;      /* most bytes that one operation may need */
    uint32_t first_small;     /* in the graph */
};

static uint64_t rounded(const struct making *m, uint64_t bytes)
{
    const uint64_t granule_bytes = m->terms->granule_bytes;
    return granule_bytes ? (bytes + granule_bytes - 1) / granule_bytes * granule_bytes : bytes;
}

static bool lives_on(const struct spw_course_tensor *t)
{
    return t->free_after == SPW_NO_INDEX;
}

/* ---- which tensors are copied alone ---- */

/* A launch that is only believed to read a tensor waits for the tensor's copies out (engine.c). */
static void find_doubted(struct making *m)
{
    const struct spw_course *course = m->course;
    for (uint32_t op = 0; op < course->op_count; op++)
        for (uint32_t i = 0; i < course->ops[op].touch_count; i++) {
            const struct spw_course_touch *touch = &course->touches[course->ops[op].first_touch + i];
            m->doubted[touch->tensor] |= (touch->access & SPW_COURSE_BELIEVED) != 0;
        }
}

/* ---- lives ---- */

/* Fills in what planners are told about tensor `i`. Returns false if it is left out. */
static bool describe(const struct spw_course *course, uint32_t i, bool copied_alone, struct spw_graph_tensor *ret)
{
    const struct spw_course_tensor *t = &course->tensors[i];
    const bool is_old = i < course->live_count, is_used = t->first_use != SPW_NO_INDEX;
    *ret = (struct spw_graph_tensor){.id = i,
                                     .bytes = t->bytes,
                                     .d2h_us = -1,
                                     .h2d_us = -1,
                                     .alloc_before = is_used ? t->first_use : t->alloc_before,
                                     .free_after = lives_on(t) ? course->op_count - 1 : t->free_after,
                                     .evictable = t->evictable,
                                     .copied_alone = copied_alone};
    if (is_old && lives_on(t)) {
        ret->persistent = true;
    } else if (is_old) {
        const bool is_born = t->from != SPW_NO_INDEX && course->tensors[t->from].first_use == SPW_NO_INDEX;
        ret->initial = !is_born;
        ret->alloc_before = is_born ? ret->alloc_before : 0;
        ret->evictable &= t->from != SPW_NO_INDEX;
        return is_used || !is_born;
    } else if (lives_on(t) && t->to == SPW_NO_INDEX) {
        ret->persistent = true;
        ret->evictable = false;
    }
    return is_used || is_old;
}

static int add_tensors(struct making *m)
{
    const struct spw_course *course = m->course;
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < course->tensor_count; i++) {
        struct spw_graph_tensor tensor;
        m->lives[i] = (struct spw_course_life){.index = SPW_NO_INDEX, .birth = SPW_NO_INDEX, .hold = SPW_NO_INDEX};
        if (!describe(course, i, m->doubted[i], &tensor))
            continue;
        m->lives[i].index = m->graph->tensor_count;
        if (!tensor.persistent && !tensor.initial)
            m->lives[i].birth = tensor.alloc_before;
        m->tensor_of[m->graph->tensor_count] = i;
        r = spw_graph_add_tensor(m->graph, &tensor);
    }
    return r;
}

static int add_smalls(struct making *m)
{
    int r = 0;
    m->first_small = m->graph->tensor_count;
    for (uint32_t i = 0; r == 0 && m->terms->may_replay && i < m->course->small_count; i++) {
        const struct spw_graph_tensor tensor = {
            .id = (uint64_t)m->course->tensor_count + i, .d2h_us = 0, .h2d_us = 0, .persistent = true};
        m->tensor_of[m->graph->tensor_count] = SPW_NO_INDEX;
        r = spw_graph_add_tensor(m->graph, &tensor);
    }
    return r;
}

/* ---- which operation holds which tensor ---- */

static bool is_fixed(const struct making *m, uint32_t tensor)
{
    return m->lives[tensor].index != SPW_NO_INDEX && !m->graph->tensors[m->lives[tensor].index].evictable;
}

/* Computes the needs. A tensor that is not evictable counts from its first use to its last; persistent ones are left out,
 * since they count everywhere. */
static void find_needs(struct making *m)
{
    for (uint32_t i = 0; i < m->course->tensor_count; i++) {
        const struct spw_course_tensor *t = &m->course->tensors[i];
        if (!is_fixed(m, i) || m->graph->tensors[m->lives[i].index].persistent || t->first_use == SPW_NO_INDEX)
            continue;
        m->needs[m->lives[i].birth == SPW_NO_INDEX ? 0 : t->first_use] += rounded(m, t->bytes);
        m->needs[t->last_use + 1] -= rounded(m, t->bytes);
    }
    for (uint32_t op = 1; op < m->course->op_count; op++)
        m->needs[op] += m->needs[op - 1];
    for (uint32_t op = 0; op < m->course->op_count; op++) {
        const struct spw_course_op *o = &m->course->ops[op];
        for (uint32_t i = 0; i < o->touch_count; i++) {
            const uint32_t tensor = m->course->touches[o->first_touch + i].tensor;
            m->needs[op] += is_fixed(m, tensor) ? 0 : rounded(m, m->course->tensors[tensor].bytes);
        }
    }
}

/* Returns the operation up to which the tensor should be present, the last one of its life; SPW_NO_INDEX if that
 * operation uses it anyway. */
static uint32_t end_of(const struct making *m, uint32_t tensor)
{
    const struct spw_course_tensor *t = &m->course->tensors[tensor];
    const struct spw_course_life *life = &m->lives[tensor];
    if (life->index == SPW_NO_INDEX || m->graph->tensors[life->index].persistent)
        return SPW_NO_INDEX;
    const uint32_t end = m->graph->tensors[life->index].free_after;
    return t->last_use == end ? SPW_NO_INDEX : end;
}

static void hold(struct making *m, uint32_t tensor, uint32_t op)
{
    m->lives[tensor].hold = op;
    m->holds[m->hold_count++] = (struct spw_course_guard){op, tensor};
    m->needs[op] += rounded(m, m->course->tensors[tensor].bytes);
    m->held_first[op + 1]++;
}

static void hold_what_lives_on(struct making *m)
{
    for (uint32_t i = 0; i < m->course->tensor_count; i++)
        if (lives_on(&m->course->tensors[i]) && end_of(m, i) != SPW_NO_INDEX)
            hold(m, i, m->course->op_count - 1);
}

/* Returns true if the tensor is not held, since it can be made again at any time up to its end, and that is not soon. */
static bool can_wait(const struct making *m, uint32_t tensor, uint32_t end)
{
    const uint32_t last_use = m->course->tensors[tensor].last_use;
    return m->replays.again_until && last_use != SPW_NO_INDEX && end - last_use > SHORT_HOLD &&
           m->replays.again_until[tensor] > end && m->guards.behind[tensor] > end;
}

static void hold_what_is_freed(struct making *m)
{
    for (uint32_t op = 0; op < m->course->op_count; op++)
        m->most_bytes = m->needs[op] > m->most_bytes ? m->needs[op] : m->most_bytes;
    for (uint32_t i = 0; i < m->course->tensor_count; i++) {
        const struct spw_course_tensor *t = &m->course->tensors[i];
        const uint32_t end = end_of(m, i), first = t->last_use == SPW_NO_INDEX ? 0 : t->last_use + 1;
        if (lives_on(t) || end == SPW_NO_INDEX || can_wait(m, i, end))
            continue;
        for (uint32_t back = 0; back < MOST_STEPS_BACK && end - back >= first && end - back <= end; back++)
            if (m->needs[end - back] + rounded(m, t->bytes) <= m->most_bytes) {
                hold(m, i, end - back);
                break;
            }
    }
}

/* Where there is no room for a guard, the engine makes the tensor again at the last moment. */
static void hold_what_is_guarded(struct making *m)
{
    for (uint32_t i = 0; i < m->guards.count; i++) {
        const struct spw_course_guard *g = &m->guards.list[i];
        if (m->lives[g->tensor].index != SPW_NO_INDEX && m->lives[g->tensor].hold != g->op &&
            m->needs[g->op] + rounded(m, m->course->tensors[g->tensor].bytes) <= m->most_bytes)
            hold(m, g->tensor, g->op);
    }
}

static void list_held(struct making *m)
{
    for (uint32_t op = 0; op < m->course->op_count; op++)
        m->held_first[op + 1] += m->held_first[op];
    for (uint32_t i = 0; i < m->hold_count; i++)
        m->held[m->held_first[m->holds[i].op]++] = m->lives[m->holds[i].tensor].index;
    for (uint32_t op = m->course->op_count; op > 0; op--)
        m->held_first[op] = m->held_first[op - 1];
    m->held_first[0] = 0;
}

/* ---- operations ---- */

/* Adds the touches of small tensors. An operation that writes one reads it too, so that its replays leave it alone. */
static void add_small_touches(struct making *m, uint32_t op, uint32_t *reads, uint32_t *writes)
{
    const struct spw_course_call *call = &m->course->calls[op];
    for (uint32_t i = 0; i < call->small_count; i++) {
        const struct spw_course_touch *touch = &m->course->small_touches[call->first_small + i];
        if (spw_course_is_scratch(touch))
            continue;
        m->reads[(*reads)++] = m->first_small + touch->tensor;
        if (touch->access & SPW_COURSE_WRITES)
            m->writes[(*writes)++] = m->first_small + touch->tensor;
    }
    for (uint32_t small = m->replays.first_freed[op]; small != SPW_NO_INDEX; small = m->replays.next_freed[small])
        m->reads[(*reads)++] = m->writes[(*writes)++] = m->first_small + small;
}

/* Adds the tensors that the operation uses as scratch, which have to be present for it, but not for its replays. `own`:
 * where the reads begin that only hold tensors. */
static uint32_t add_scratch(struct making *m, uint32_t op, uint32_t reads, uint32_t own)
{
    const struct spw_course_op *o = &m->course->ops[op];
    for (uint32_t i = 0; i < o->touch_count; i++) {
        const struct spw_course_touch *touch = &m->course->touches[o->first_touch + i];
        const struct spw_course_life *life = &m->lives[touch->tensor];
        uint32_t at = own;
        while (at < reads && m->reads[at] != life->index)
            at++;
        if (life->birth != op && spw_course_is_scratch(touch) && at == reads)
            m->reads[reads++] = life->index;
    }
    return reads;
}

static int add_op(struct making *m, uint32_t op)
{
    const struct spw_course_op *o = &m->course->ops[op];
    uint32_t reads = 0, writes = 0;
    for (uint32_t i = 0; i < o->touch_count; i++) {
        const struct spw_course_touch *touch = &m->course->touches[o->first_touch + i];
        const struct spw_course_life *life = &m->lives[touch->tensor];
        if (life->birth != op && !spw_course_is_scratch(touch))
            m->reads[reads++] = life->index;
        if (life->birth == op || touch->access & SPW_COURSE_WRITES)
            m->writes[writes++] = life->index;
    }
    if (m->terms->may_replay)
        add_small_touches(m, op, &reads, &writes);
    const uint32_t own = reads;
    for (uint32_t i = m->held_first[op]; i < m->held_first[op + 1]; i++)
        m->reads[reads++] = m->held[i];
    reads = add_scratch(m, op, reads, own);
    const struct spw_graph_op added = {.us = o->us < 0 ? m->terms->unknown_us : o->us,
                                       .replayable = m->terms->may_replay && !m->guards.barred[op] &&
                                                     spw_course_may_run_again(m->course, m->lives, op),
                                       .held_count = reads - own};
    return spw_graph_add_op(m->graph, &added, m->reads, reads, m->writes, writes);
}

static int guard(struct making *m)
{
    const int r = spw_course_find_guards(m->course, m->lives, &m->guards);
    for (uint32_t i = 0; r == 0 && i < m->course->tensor_count; i++)
        if (m->guards.stays[i] && m->lives[i].index != SPW_NO_INDEX)
            m->graph->tensors[m->lives[i].index].evictable = false;
    return r;
}

static int fill(struct making *m, struct spw_graph_problem *ret_problem)
{
    find_doubted(m);
    int r = add_tensors(m);
    if (r == 0)
        r = add_smalls(m);
    if (r == 0 && m->terms->may_replay)
        r = spw_course_find_replays(m->course, m->lives, &m->replays);
    if (r == 0 && m->terms->may_replay)
        r = guard(m);
    if (r < 0)
        return r;
    if (!m->terms->holds_nothing) {
        find_needs(m);
        hold_what_lives_on(m);
        hold_what_is_freed(m);
        hold_what_is_guarded(m);
        list_held(m);
    }
    for (uint32_t op = 0; op < m->course->op_count && r == 0; op++)
        r = add_op(m, op);
    if (r == 0)
        r = spw_graph_finish(m->graph, ret_problem);
    return r == 0 ? spw_graph_round_up(m->graph, m->terms->granule_bytes, 0) : r;
}

/* ---- */

static int make_room(struct making *m)
{
    const size_t tensors = (size_t)m->course->tensor_count + m->course->small_count + 1;
    const size_t ops = (size_t)m->course->op_count + 1;
    m->lives = calloc(tensors, sizeof *m->lives);
    m->tensor_of = malloc(tensors * sizeof *m->tensor_of);
    m->doubted = calloc(tensors, sizeof *m->doubted);
    m->needs = calloc(ops, sizeof *m->needs);
    m->held_first = calloc(ops, sizeof *m->held_first);
    m->held = malloc((tensors + m->course->touch_count) * sizeof *m->held);
    m->holds = calloc(tensors + m->course->touch_count, sizeof *m->holds);
    m->reads = malloc(tensors * sizeof *m->reads);
    m->writes = malloc(tensors * sizeof *m->writes);
    return m->lives && m->tensor_of && m->doubted && m->needs && m->held_first && m->held && m->holds && m->reads &&
                   m->writes
               ? 0
               : -ENOMEM;
}

int spw_course_graph(const struct spw_course *course, const struct spw_course_terms *terms, struct spw_graph **ret_graph,
                     uint32_t **ret_tensor_of, struct spw_graph_problem *ret_problem)
{
    struct making m = {.course = course, .terms = terms, .most_bytes = terms->working_bytes};
    int r = spw_graph_create(terms->d2h_bytes_per_us, terms->h2d_bytes_per_us, &m.graph);
    if (r == 0)
        r = make_room(&m);
    if (r == 0)
        r = fill(&m, ret_problem);
    spw_course_replays_finish(&m.replays);
    spw_course_guards_finish(&m.guards);
    free(m.lives);
    free(m.doubted);
    free(m.needs);
    free(m.held_first);
    free(m.held);
    free(m.holds);
    free(m.reads);
    free(m.writes);
    if (r < 0) {
        spw_graph_destroy(m.graph);
        free(m.tensor_of);
        return r;
    }
    *ret_graph = m.graph;
    *ret_tensor_of = m.tensor_of;
    return 0;
}
