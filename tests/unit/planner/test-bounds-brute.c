/* test-bounds-brute.c - holds bounds against all schedules that there are of iterations of a few operations.
 *
 * Schedules are lists of steps: between two operations any copies out, then any drops, then any copies in that make sense,
 * a tensor being dropped as soon as it can, for each way in which the persistent tensors can begin. The time line says what
 * each of them takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "bounds/bounds.h"
#include "plan/random.h"
#include "plan/timeline.h"

enum { OPS = 6, TENSORS = 3, MOST_LISTS = 10000, GRAPHS = 400 };

static const double duplexes[] = {1, 0.8, 0.72, 0.5, 0.3};

/* ---- iterations ---- */

/* Who reads and writes: sets of tensors, a bit for each. */
struct accesses {
    uint32_t reads, writes;
};

/* Something is made, used, and used again later. Returns the number of operations. */
static uint32_t any_accesses(uint64_t *random, uint32_t tensors, uint32_t there, struct accesses *ops)
{
    const uint32_t count = 3 + (uint32_t)spw_random_below(random, OPS - 3);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t t = 0; t < tensors; t++) {
            const bool is_there = there >> t & 1;
            const size_t what = spw_random_below(random, is_there ? 6 : 3);
            ops[i].reads |= (uint32_t)(is_there && what < 2) << t;
            ops[i].writes |= (uint32_t)(what == 0) << t;
            there |= (uint32_t)(what == 0) << t;
        }
    return count;
}

/* Layers one after the other and back again, the persistent tensors among what they read, and each of these updated at the
 * end. */
static uint32_t layers(uint64_t *random, uint32_t tensors, uint32_t persistent, struct accesses *ops)
{
    uint32_t made[TENSORS], count = 0, ops_count = 0;
    for (uint32_t t = 0; t < tensors; t++)
        if (!(persistent >> t & 1))
            made[count++] = t;
    for (uint32_t i = 0; i < count; i++)
        ops[ops_count++] =
            (struct accesses){(i ? 1u << made[i - 1] : 0) | (persistent & (uint32_t)spw_random_next(random)), 1u << made[i]};
    for (uint32_t i = count; i-- > 0;)
        ops[ops_count++].reads = 1u << made[i] | (persistent & (uint32_t)spw_random_next(random));
    for (uint32_t t = 0; t < tensors && ops_count < OPS; t++)
        if (persistent >> t & 1) {
            ops[ops_count].reads = ops[ops_count].writes = 1u << t;
            ops_count++;
        }
    return ops_count;
}

static uint32_t list(uint32_t set, uint32_t *tensors)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < TENSORS; t++)
        if (set >> t & 1)
            tensors[count++] = t;
    return count;
}

/* One byte takes a us out, and half of one in, or as long. */
static struct spw_graph *make_graph(uint64_t *random)
{
    const uint32_t tensors = 2 + (uint32_t)spw_random_below(random, TENSORS - 1);
    const bool is_layers = spw_random_below(random, 4) > 0;
    const bool is_even = spw_random_below(random, 2); /* what has to be absent is then often whole tensors */
    uint32_t persistent = 0, initial = 0;
    struct accesses ops[OPS + TENSORS] = {0};
    struct spw_graph_problem problem;
    struct spw_graph *graph;
    for (uint32_t t = 0; t < tensors; t++) {
        const size_t kind = spw_random_below(random, 8);
        persistent |= (uint32_t)(kind < 3) << t;
        initial |= (uint32_t)(kind == 3 && !is_layers) << t;
    }
    const uint32_t count =
        is_layers ? layers(random, tensors, persistent, ops) : any_accesses(random, tensors, persistent | initial, ops);
    assert_int_equal(spw_graph_create(1, 1 + (double)spw_random_below(random, 2), &graph), 0);
    for (uint32_t t = 0; t < tensors; t++) {
        const struct spw_graph_tensor tensor = {.id = t,
                                                .bytes = is_even ? 4 : 1 + spw_random_below(random, 6),
                                                .d2h_us = -1,
                                                .h2d_us = -1,
                                                .free_after = count ? count - 1 : 0,
                                                .persistent = persistent >> t & 1,
                                                .initial = initial >> t & 1,
                                                .evictable = spw_random_below(random, 12) > 0};
        assert_int_equal(spw_graph_add_tensor(graph, &tensor), 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct spw_graph_op op = {.us = (double)spw_random_below(random, 7)};
        uint32_t reads[TENSORS], writes[TENSORS];
        const uint32_t read_count = list(ops[i].reads, reads), write_count = list(ops[i].writes, writes);
        assert_int_equal(spw_graph_add_op(graph, &op, reads, read_count, writes, write_count), 0);
    }
    assert_int_equal(spw_graph_finish(graph, &problem), 0);
    return graph;
}

/* ---- all schedules ---- */

enum phase { OUTS, DROPS, INS };

/* Where a list has come to. */
struct state {
    uint32_t next_op;
    enum phase phase;
    uint32_t last_drop; /* drops of one phase come in the order of their tensors */
    uint64_t used_bytes;
    bool there[TENSORS], copied[TENSORS]; /* on the device; with a good host copy */
    bool fresh[TENSORS]; /* used by the operation before, or copied out since: dropped now or not before the next time */
};

struct search {
    const struct spw_graph *graph;
    struct spw_timer *timer;
    uint64_t budget_bytes, *random;
    struct spw_schedule schedule;
    double best_us;
    size_t lists;
};

/* What the next use needs of it; at the end, whether it carries over. */
static bool is_wanted(const struct spw_graph *graph, uint32_t tensor, uint32_t op)
{
    const struct spw_graph_tensor *t = &graph->tensors[tensor];
    const uint32_t use = spw_graph_use_from(graph, tensor, op);
    return use < t->use_count ? graph->uses[t->first_use + use].reads : t->persistent;
}

/* Whether the step makes sense; then it is done. */
static bool step(const struct search *s, struct state *at, enum spw_step_kind kind, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &s->graph->tensors[tensor];
    const bool wanted = is_wanted(s->graph, tensor, at->next_op);
    if (kind == SPW_STEP_D2H) {
        if (at->phase > OUTS || !at->there[tensor] || at->copied[tensor] || !wanted || !t->evictable)
            return false;
        at->copied[tensor] = at->fresh[tensor] = true;
    } else if (kind == SPW_STEP_DROP) {
        const bool has_use = spw_graph_use_from(s->graph, tensor, at->next_op) < t->use_count;
        if (at->phase > DROPS || (at->phase == DROPS && tensor <= at->last_drop) || !at->there[tensor] ||
            !at->fresh[tensor] || (wanted && !at->copied[tensor]) || (!t->evictable && (has_use || t->persistent)))
            return false;
        at->phase = DROPS;
        at->last_drop = tensor;
        at->there[tensor] = false;
        at->used_bytes -= t->bytes;
    } else {
        if (at->there[tensor] || !at->copied[tensor] || !wanted || at->used_bytes + t->bytes > s->budget_bytes)
            return false;
        at->phase = INS;
        at->there[tensor] = true;
        at->fresh[tensor] = false;
        at->used_bytes += t->bytes;
    }
    return true;
}

static bool run_op(const struct search *s, struct state *at)
{
    const struct spw_graph_op *op = &s->graph->ops[at->next_op];
    const struct spw_touched_tensor *touched = &s->graph->touched[op->first_read];
    memset(at->fresh, 0, sizeof at->fresh);
    for (uint32_t i = 0; i < op->read_count + op->write_count; i++) {
        const uint32_t tensor = touched[i].tensor;
        if (i < op->read_count && !at->there[tensor])
            return false;
        at->used_bytes += at->there[tensor] ? 0 : s->graph->tensors[tensor].bytes;
        at->there[tensor] = true;
        at->fresh[tensor] = true;
        at->copied[tensor] = at->copied[tensor] && i < op->read_count;
    }
    at->next_op++;
    at->phase = OUTS;
    return at->used_bytes <= s->budget_bytes;
}

static bool is_at_end(const struct search *s, const struct state *at)
{
    for (uint32_t i = 0; i < s->graph->tensor_count; i++) {
        const uint8_t start = s->schedule.start[i];
        const bool persistent = s->graph->tensors[i].persistent;
        if (at->there[i] != (persistent && start != SPW_START_HOST) || (start != SPW_START_DEVICE && !at->copied[i]))
            return false;
    }
    return true;
}

static void time_list(struct search *s)
{
    struct spw_timing timing;
    s->lists++;
    assert_int_equal(spw_timer_run(s->timer, &s->schedule, s->budget_bytes, NULL, &timing, NULL), 0);
    s->best_us = fmin(s->best_us, timing.time_us);
}

static void go_on(struct search *s, const struct state *at)
{
    static const enum spw_step_kind kinds[] = {SPW_STEP_D2H, SPW_STEP_DROP, SPW_STEP_H2D};
    const uint32_t ways = 3 * s->graph->tensor_count + 1, first = (uint32_t)spw_random_below(s->random, ways);
    if (at->next_op == s->graph->op_count && is_at_end(s, at))
        time_list(s);
    for (uint32_t i = 0; i < ways && s->lists < MOST_LISTS; i++) {
        const uint32_t way = (first + i) % ways;
        struct state next = *at;
        const bool is_op = way + 1 == ways;
        if (is_op ? at->next_op == s->graph->op_count || !run_op(s, &next) : !step(s, &next, kinds[way % 3], way / 3))
            continue;
        assert_int_equal(spw_schedule_add(&s->schedule, is_op ? SPW_STEP_OP : kinds[way % 3], is_op ? at->next_op : way / 3),
                         0);
        go_on(s, &next);
        s->schedule.count--;
    }
}

/* The least time of all schedules, or of the first few thousand, which is no less. */
static double least_us(const struct spw_graph *graph, uint64_t budget_bytes, double duplex, uint64_t *random)
{
    const struct spw_machine machine = {.duplex = duplex};
    struct search s = {.graph = graph, .budget_bytes = budget_bytes, .random = random, .best_us = INFINITY};
    size_t ways = 1;
    assert_int_equal(spw_schedule_init(&s.schedule, graph), 0);
    assert_int_equal(spw_timer_create(graph, &machine, &s.timer), 0);
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        ways *= 3;
    for (size_t way = 0; way < ways; way++) {
        struct state at = {0};
        bool makes_sense = true;
        for (size_t i = 0, rest = way; i < graph->tensor_count; i++, rest /= 3) {
            const struct spw_graph_tensor *t = &graph->tensors[i];
            const uint8_t start = (uint8_t)(rest % 3);
            makes_sense = makes_sense && (start == SPW_START_DEVICE || (t->persistent && t->evictable));
            s.schedule.start[i] = start;
            at.there[i] = t->persistent ? start != SPW_START_HOST : t->initial;
            at.fresh[i] = true;
            at.copied[i] = start != SPW_START_DEVICE;
            at.used_bytes += at.there[i] ? t->bytes : 0;
        }
        s.lists = 0;
        if (makes_sense && at.used_bytes <= budget_bytes)
            go_on(&s, &at);
    }
    spw_timer_destroy(s.timer);
    spw_schedule_finish(&s.schedule);
    return s.best_us;
}

/* ---- the tests ---- */

/* Graphs where copies cost time; where a bound is that time; where a span is more than any cut. */
struct found {
    size_t compared, reached, spans;
};

static void compare(uint64_t seed, struct found *found)
{
    uint64_t random = seed;
    struct spw_graph *graph = make_graph(&random);
    const uint64_t range = graph->peak_bytes > graph->least_bytes ? graph->peak_bytes - graph->least_bytes : 0;
    const uint64_t budget_bytes = graph->least_bytes + spw_random_below(&random, range + 1);
    const double duplex = duplexes[spw_random_below(&random, sizeof duplexes / sizeof duplexes[0])];
    const struct spw_bounds_terms terms = {.duplex = duplex};
    struct spw_bounds bounds, unhindered;
    assert_int_equal(spw_bounds_within(graph, budget_bytes, true, false, &terms, &bounds), 0);
    assert_int_equal(spw_bounds_find(graph, budget_bytes, true, false, &unhindered), 0);
    assert_true(unhindered.best_us <= bounds.best_us);
    const double least = least_us(graph, budget_bytes, duplex, &random);
    if (!isinf(least)) {
        if (!bounds.feasible || bounds.best_us > least * (1 + 1e-5))
            fail_msg("seed %llu: %g us within %llu bytes at duplex %g, and the bound \"%s\" is %g us",
                     (unsigned long long)seed, least, (unsigned long long)budget_bytes, duplex, bounds.best, bounds.best_us);
        const bool costs = least > graph->compute_us * (1 + 1e-6), is_reached = bounds.best_us > least * (1 - 1e-6);
        found->compared += costs;
        found->reached += costs && is_reached;
        found->spans += costs && bounds.span_us > fmax(bounds.cut_us, bounds.persistent_us) * (1 + 1e-6);
    }
    spw_graph_destroy(graph);
}

static void no_bound_exceeds_the_best_of_all_schedules(void **state)
{
    struct found found = {0};
    for (uint64_t seed = 1; seed <= GRAPHS; seed++)
        compare(seed, &found);
    assert_true(found.compared > GRAPHS / 5 && found.reached > 0 && found.spans > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_bound_exceeds_the_best_of_all_schedules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
