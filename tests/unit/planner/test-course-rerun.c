/* test-course-rerun.c - plans with replays for random courses, carried out as the engine would: every operation finds the
 * bytes that it found when nothing was ever moved, and the budget holds. */
#include "checked-plan.h"

#include <string.h>

#include "course/recording.h"
#include "plan/actions.h"
#include "plan/random.h"

enum { R = SPW_COURSE_READS, W = SPW_COURSE_WRITES, RW = R | W };
enum { PROGRAMS = 120, MOST_OPS = 64, MOST_IDS = 1024, WEIGHTS = 4, SMALLS = 5, FIRST_SMALL = 900, FIRST_ID = 10 };
#define KIB ((uint64_t)1 << 10)

/* ---- a random iteration ---- */

struct program {
    struct spw_recording *recording;
    uint64_t random;
    uint64_t alive[MOST_IDS], next_id, next_small, small[SMALLS];
    uint32_t alive_count, op_count;
    bool replayable[MOST_OPS];
};

static uint32_t draw(struct program *p, uint32_t below)
{
    return (uint32_t)spw_random_below(&p->random, below);
}

static uint64_t any_tensor(struct program *p)
{
    const uint32_t i = draw(p, p->alive_count + WEIGHTS);
    return i < WEIGHTS ? 1 + i : p->alive[i - WEIGHTS];
}

static uint64_t make(struct program *p)
{
    const uint64_t bytes = draw(p, 10) ? (70 + draw(p, 900)) * KIB : (4 + draw(p, 56)) * KIB;
    assert_int_equal(spw_recording_alloc(p->recording, p->next_id, bytes, true), 0);
    return p->next_id++;
}

/* `touches` has room for three more. */
static uint32_t touch_smalls(struct program *p, struct spw_recording_touch *touches, uint32_t count)
{
    for (uint32_t i = 0; i < 2; i++)
        if (!draw(p, 4))
            touches[count++] = (struct spw_recording_touch){p->small[draw(p, SMALLS)], draw(p, 4) ? R : RW, 0, 64};
    return count;
}

static void add_op(struct program *p)
{
    struct spw_recording_touch touches[8];
    const uint32_t kind = draw(p, 20), outputs = kind >= 14 ? 0 : kind ? 1 : 2;
    uint32_t count = 0, ordinal;
    for (uint32_t i = 1 + draw(p, 3); i > 0; i--)
        touches[count++] = (struct spw_recording_touch){any_tensor(p), kind > 17 && i == 1 ? RW : R, 0, 0};
    for (uint32_t i = 0; i < outputs; i++) {
        const uint64_t id = make(p);
        touches[count++] = (struct spw_recording_touch){id, W, 0, 0};
        p->alive[p->alive_count++] = id;
    }
    count = touch_smalls(p, touches, count);
    assert_int_equal(spw_recording_op(p->recording, 7, true, touches, count, &ordinal), 0);
    spw_recording_duration(p->recording, ordinal, 5 + draw(p, 60));
    p->replayable[ordinal] = outputs && draw(p, 10) < 7;
    p->op_count++;
}

static void release(struct program *p, uint32_t i)
{
    assert_int_equal(spw_recording_free(p->recording, p->alive[i]), 0);
    memmove(&p->alive[i], &p->alive[i + 1], (--p->alive_count - i) * sizeof(p->alive[0]));
}

static struct spw_course *random_course(uint64_t seed)
{
    struct program p = {.random = seed, .next_id = FIRST_ID, .next_small = FIRST_SMALL};
    struct spw_course *course;
    assert_int_equal(spw_recording_create(&p.recording), 0);
    spw_recording_begin(p.recording);
    for (uint64_t i = 1; i <= WEIGHTS; i++)
        assert_int_equal(spw_recording_live(p.recording, i, (100 + draw(&p, 500)) * KIB, true), 0);
    for (uint32_t i = 0; i < SMALLS; i++)
        p.small[i] = p.next_small++;
    const uint32_t ops = 20 + draw(&p, MOST_OPS - 20), patience = 2 + draw(&p, 20);
    while (p.op_count < ops) {
        add_op(&p);
        if (p.alive_count > patience || (p.alive_count && !draw(&p, 4)))
            release(&p, draw(&p, 2) ? p.alive_count - 1 : draw(&p, p.alive_count));
        if (!draw(&p, 12)) {
            uint64_t *small = &p.small[draw(&p, SMALLS)];
            assert_int_equal(spw_recording_free(p.recording, *small), 0);
            *small = p.next_small++;
        }
    }
    while (p.alive_count)
        release(&p, 0);
    assert_int_equal(spw_recording_finish(p.recording, ops, &course), 0);
    spw_recording_destroy(p.recording);
    for (uint32_t i = 0; i < ops; i++)
        course->ops[i].replayable = p.replayable[i];
    return course;
}

/* ---- as it goes without a plan ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    a = (a ^ b) * 0x9e3779b97f4a7c15u;
    return a ^ a >> 29;
}

struct bytes {
    uint64_t tensor[MOST_IDS], small[MOST_IDS];
};

static void begin_bytes(struct bytes *b)
{
    for (uint64_t i = 0; i < MOST_IDS; i++) {
        b->tensor[i] = mix(1, i);
        b->small[i] = mix(2, i);
    }
}

/* What the operation comes to, of all that it reads; an output that was there is read too, unless it is replayable. */
static uint64_t result_of(const struct spw_course *course, uint32_t op, const struct bytes *b)
{
    const struct spw_course_op *o = &course->ops[op];
    const struct spw_course_call *call = &course->calls[op];
    uint64_t result = op;
    for (uint32_t i = 0; i < o->touch_count; i++) {
        const struct spw_course_touch *touch = &course->touches[o->first_touch + i];
        if (touch->access & R)
            result = mix(result, b->tensor[touch->tensor]);
    }
    for (uint32_t i = 0; i < call->small_count; i++)
        result = mix(result, b->small[course->small_touches[call->first_small + i].tensor]);
    return result;
}

static void write_results(const struct spw_course *course, uint32_t op, uint64_t result, bool is_replay, struct bytes *b)
{
    const struct spw_course_op *o = &course->ops[op];
    const struct spw_course_call *call = &course->calls[op];
    for (uint32_t i = 0; i < o->touch_count; i++) {
        const struct spw_course_touch *touch = &course->touches[o->first_touch + i];
        if (touch->access & W)
            b->tensor[touch->tensor] = mix(result, i);
    }
    for (uint32_t i = 0; !is_replay && i < call->small_count; i++) {
        const struct spw_course_touch *touch = &course->small_touches[call->first_small + i];
        if (touch->access & W)
            b->small[touch->tensor] = mix(result, 100 + i);
    }
}

/* ---- as it goes by a plan ---- */

struct machine {
    const struct spw_course *course;
    const struct spw_course_marks *marks;
    struct bytes now, host, saved[MOST_OPS]; /* saved: the small ones before each operation */
    uint64_t right[MOST_OPS + 1][MOST_IDS];  /* by operations that have run: what each tensor holds without a plan */
    uint64_t results[MOST_OPS];
    bool is_there[MOST_IDS], has_copy[MOST_IDS], is_freed[MOST_IDS], is_lost[MOST_IDS]; /* lost: dropped without a copy */
    bool is_held[MOST_IDS];                                                             /* by some operation of the graph */
    bool holds_all;                                                                     /* but those who can be made again */
    uint32_t maker[MOST_IDS];
    uint64_t used_bytes, budget;
    uint32_t ops;
};

struct made {
    struct spw_graph *graph;
    uint32_t *tensor_of;
    bool holds_all;
};

static struct {
    uint32_t replays, ghosts, never_made, copied_by_engine, left;
} counts;

static void take_up(struct machine *m, uint32_t tensor)
{
    m->used_bytes += m->is_there[tensor] ? 0 : m->course->tensors[tensor].bytes;
    m->is_there[tensor] = true;
    m->is_lost[tensor] = false;
}

static void give_up(struct machine *m, uint32_t tensor)
{
    m->used_bytes -= m->is_there[tensor] ? m->course->tensors[tensor].bytes : 0;
    m->is_there[tensor] = false;
}

static void replay(struct machine *m, uint32_t op)
{
    const struct spw_course_op *o = &m->course->ops[op];
    const struct spw_course_call *call = &m->course->calls[op];
    struct bytes seen = m->now;
    assert_true(op < m->ops && o->replayable && m->marks->recorded[op]);
    for (uint32_t i = 0; i < o->touch_count; i++) {
        const struct spw_course_touch *touch = &m->course->touches[o->first_touch + i];
        assert_true(!m->is_freed[touch->tensor] || m->marks->ghosts[touch->tensor]);
        assert_true(touch->access & W || m->is_there[touch->tensor]);
        if (touch->access & W)
            take_up(m, touch->tensor);
    }
    for (uint32_t i = 0; i < call->small_count; i++) {
        const struct spw_course_touch *touch = &m->course->small_touches[call->first_small + i];
        if (touch->access & W)
            seen.small[touch->tensor] = m->saved[op].small[touch->tensor];
    }
    const uint64_t result = result_of(m->course, op, &seen);
    if (result != m->results[op])
        fail_msg("operation %u again before %u: something else comes of it", op, m->ops);
    write_results(m->course, op, result, true, &m->now);
    counts.replays++;
}

static void drop(struct machine *m, uint32_t tensor)
{
    const struct spw_course_tensor *t = &m->course->tensors[tensor];
    if (!m->is_there[tensor])
        fail_msg("before %u: tensor %u (used %u to %u, freed behind %u) is dropped, but is not there, ghost %d", m->ops,
                 tensor, t->first_use, t->last_use, t->free_after, m->marks->ghosts[tensor]);
    give_up(m, tensor);
    if (m->has_copy[tensor] || m->is_freed[tensor])
        return;
    m->is_lost[tensor] = m->marks->recorded[m->maker[tensor]] && tensor >= m->course->live_count;
    if (!m->is_lost[tensor]) { /* the engine makes a copy where it can't be made again */
        counts.copied_by_engine++;
        m->has_copy[tensor] = true;
        m->host.tensor[tensor] = m->now.tensor[tensor];
    }
}

static void act(struct machine *m, const struct spw_action *action)
{
    if (action->kind == SPW_STEP_REPLAY) {
        replay(m, action->id);
        return;
    }
    const uint32_t tensor = action->id;
    assert_true(tensor < m->course->tensor_count);
    assert_true(!m->is_freed[tensor] || m->marks->ghosts[tensor]);
    if (action->kind == SPW_STEP_D2H) {
        assert_true(m->is_there[tensor]);
        m->has_copy[tensor] = true;
        m->host.tensor[tensor] = m->now.tensor[tensor];
    } else if (action->kind == SPW_STEP_DROP) {
        drop(m, tensor);
    } else {
        const struct spw_course_tensor *t = &m->course->tensors[tensor];
        if (action->kind != SPW_STEP_H2D || !m->has_copy[tensor] || m->is_there[tensor])
            fail_msg("before %u: tensor %u (used %u to %u, freed behind %u): %s there, %s copy", m->ops, tensor,
                     t->first_use, t->last_use, t->free_after, m->is_there[tensor] ? "is" : "not",
                     m->has_copy[tensor] ? "a" : "no");
        take_up(m, tensor);
        m->now.tensor[tensor] = m->host.tensor[tensor];
    }
}

static void run(struct machine *m, uint32_t op)
{
    const struct spw_course_op *o = &m->course->ops[op];
    m->saved[op] = m->now;
    for (uint32_t i = 0; i < o->touch_count; i++) {
        const struct spw_course_touch *touch = &m->course->touches[o->first_touch + i];
        if (m->course->tensors[touch->tensor].first_use == op && touch->tensor >= m->course->live_count)
            take_up(m, touch->tensor);
        if (!m->is_there[touch->tensor])
            fail_msg("operation %u: tensor %u is not there", op, touch->tensor);
        if (touch->access & W) {
            m->maker[touch->tensor] = op;
            m->has_copy[touch->tensor] = false;
        }
    }
    const uint64_t result = result_of(m->course, op, &m->now);
    if (result != m->results[op])
        fail_msg("operation %u finds something else", op);
    write_results(m->course, op, result, false, &m->now);
    m->ops++;
    assert_true(m->used_bytes <= m->budget);
}

/* Whether the maker of what was dropped could still run again, if somebody asked for it. */
static bool can_be_made(const struct machine *m, uint32_t tensor)
{
    const uint32_t op = m->maker[tensor];
    const struct spw_course_op *o = &m->course->ops[op];
    for (uint32_t i = 0; i < o->touch_count; i++) {
        const struct spw_course_touch *touch = &m->course->touches[o->first_touch + i];
        if (touch->access & R &&
            (m->is_freed[touch->tensor] || m->right[op][touch->tensor] != m->right[m->ops][touch->tensor]))
            return false;
    }
    return true;
}

/* Behind operation `op`, and what was planned there. */
static void free_some(struct machine *m, uint32_t op)
{
    for (uint32_t i = 0; i < m->course->tensor_count; i++)
        if (m->is_lost[i] && m->course->tensors[i].free_after == op) {
            counts.never_made += !m->marks->ghosts[i];
            if (!m->marks->ghosts[i] && !m->is_held[i] && m->holds_all && !can_be_made(m, i))
                fail_msg("tensor %u was dropped and could not be made again", i);
        }
    for (uint32_t i = 0; i < m->course->tensor_count; i++) {
        if (m->course->tensors[i].free_after != op)
            continue;
        m->is_freed[i] = true;
        m->is_lost[i] &= m->marks->ghosts[i];
        if (!m->marks->ghosts[i])
            give_up(m, i);
        counts.ghosts += m->marks->ghosts[i];
    }
    assert_true(m->used_bytes <= m->budget);
}

/* The actions say where each tensor is that the program has by now. */
static void expect_away(const struct machine *m, const struct spw_actions *actions, uint32_t done)
{
    uint8_t away[MOST_IDS];
    spw_course_find_away(m->course, actions, done, away);
    for (uint32_t i = 0; i < m->course->tensor_count; i++)
        if (m->course->tensors[i].first_use < m->ops && !m->is_freed[i])
            assert_int_equal(away[i], !m->is_there[i]);
}

static void find_what_is_right(struct machine *m)
{
    struct bytes b;
    begin_bytes(&b);
    memcpy(m->right[0], b.tensor, sizeof(b.tensor));
    for (uint32_t op = 0; op < m->course->op_count; op++) {
        m->results[op] = result_of(m->course, op, &b);
        write_results(m->course, op, m->results[op], false, &b);
        memcpy(m->right[op + 1], b.tensor, sizeof(b.tensor));
    }
}

/* Whoever is held is not dropped early, but for what is done behind the operation that holds it. */
static void find_held(const struct spw_graph *graph, const uint32_t *tensor_of, bool *is_held)
{
    for (uint32_t op = 0; op < graph->op_count; op++) {
        const struct spw_graph_op *o = &graph->ops[op];
        for (uint32_t i = o->read_count - o->held_count; i < o->read_count; i++)
            is_held[tensor_of[graph->touched[o->first_read + i].tensor]] = true;
    }
}

/* What is planned before operation `op`. Where there is no room for a replay before the program's frees, it is left until
 * these are done, with all behind it. */
static void act_before(struct machine *m, const struct spw_actions *actions, uint32_t op, bool lacks_room)
{
    uint32_t i = actions->first[op];
    while (i < actions->first[op + 1] && !(lacks_room && actions->list[i].kind == SPW_STEP_REPLAY))
        act(m, &actions->list[i++]);
    expect_away(m, actions, i);
    if (op > 0)
        free_some(m, op - 1);
    counts.left += i < actions->first[op + 1];
    while (i < actions->first[op + 1])
        act(m, &actions->list[i++]);
}

static void carry_out(const struct spw_course *course, const struct made *made, const struct spw_actions *actions,
                      const struct spw_course_marks *marks, uint64_t budget, bool lacks_room)
{
    static struct machine m;
    m = (struct machine){.course = course, .marks = marks, .budget = budget, .holds_all = made->holds_all};
    find_held(made->graph, made->tensor_of, m.is_held);
    assert_true(course->tensor_count <= MOST_IDS && course->small_count <= MOST_IDS && course->op_count <= MOST_OPS);
    find_what_is_right(&m);
    begin_bytes(&m.now);
    begin_bytes(&m.host);
    for (uint32_t i = 0; i < course->live_count; i++) {
        m.has_copy[i] = actions->start[i] != SPW_START_DEVICE;
        if (actions->start[i] != SPW_START_HOST)
            take_up(&m, i);
    }
    for (uint32_t op = 0; op <= course->op_count; op++) {
        act_before(&m, actions, op, lacks_room);
        if (op < course->op_count)
            run(&m, op);
    }
    for (uint32_t i = 0; i < course->tensor_count; i++)
        assert_int_equal(m.is_there[i], i < course->live_count && actions->start[i] != SPW_START_HOST);
}

static void plan_and_carry_out(const struct spw_course *course, uint64_t seed)
{
    const bool holds_all = seed / 4 % 2;
    const struct spw_course_terms terms = {.d2h_bytes_per_us = 2000,
                                           .h2d_bytes_per_us = 2500,
                                           .working_bytes = holds_all ? UINT64_MAX / 4 : 2000 * KIB,
                                           .may_replay = true};
    struct spw_graph_problem problem;
    struct spw_actions actions;
    struct spw_course_marks marks;
    struct spw_plan plan;
    struct made made = {.holds_all = holds_all};
    if (spw_course_graph(course, &terms, &made.graph, &made.tensor_of, &problem) < 0)
        fail_msg("%s: %s", problem.path, problem.expected);
    const struct spw_graph *graph = made.graph;
    struct spw_plan_request request =
        planned_request(graph, graph->least_bytes + (graph->peak_bytes - graph->least_bytes) / 4 * (seed % 4));
    request.time_limit_s = 0.001;
    if (planned_make("auto", &request, &plan) == 0) {
        assert_int_equal(spw_actions_of(graph, &plan.schedule, UINT64_MAX, &actions), 0);
        assert_int_equal(spw_course_actions(course, graph, made.tensor_of, &actions, &marks), 0);
        for (int lacks_room = 0; lacks_room < 2; lacks_room++)
            carry_out(course, &made, &actions, &marks, request.device_bytes, lacks_room);
        spw_course_marks_finish(&marks);
        spw_actions_finish(&actions);
        spw_plan_finish(&plan);
    }
    spw_graph_destroy(made.graph);
    free(made.tensor_of);
}

static void by_a_plan_with_replays_every_operation_finds_what_it_found_without(void **state)
{
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        struct spw_course *course = random_course(seed);
        planned_says("random course %llu", (unsigned long long)seed);
        plan_and_carry_out(course, seed);
        spw_course_destroy(course);
    }
    print_message("# %u replays, %u ghosts; %u dropped and never made again, %u copied out by the engine, %u left\n",
                  counts.replays, counts.ghosts, counts.never_made, counts.copied_by_engine, counts.left);
    assert_true(counts.replays > 2 * PROGRAMS && counts.ghosts > PROGRAMS && counts.never_made > 0 &&
                counts.left > PROGRAMS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_a_plan_with_replays_every_operation_finds_what_it_found_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
