/* test-course-replays.c - what of a course may be run again: in its graph, in plans that are known to need it, and in what
 * the engine is told of them. */
#include "checked-plan.h"

#include <errno.h>

#include "course/recording.h"
#include "plan/actions.h"
#include "plan/check.h"

enum { R = SPW_COURSE_READS, W = SPW_COURSE_WRITES, RW = R | W };
#define NONE SPW_NO_INDEX
#define KIB  ((uint64_t)1 << 10)

static struct spw_recording *recording;

static void begin(void)
{
    assert_int_equal(spw_recording_create(&recording), 0);
    spw_recording_begin(recording);
}

static void live(uint64_t id, uint64_t bytes)
{
    assert_int_equal(spw_recording_live(recording, id, bytes, true), 0);
}

static void alloc(uint64_t id, uint64_t bytes)
{
    assert_int_equal(spw_recording_alloc(recording, id, bytes, true), 0);
}

static void release(uint64_t id)
{
    assert_int_equal(spw_recording_free(recording, id), 0);
}

#define OP(us, ...) \
    op(us, (struct spw_recording_touch[]){__VA_ARGS__}, \
       sizeof((struct spw_recording_touch[]){__VA_ARGS__}) / sizeof(struct spw_recording_touch))
static uint32_t op(double us, const struct spw_recording_touch *touches, uint32_t count)
{
    uint32_t ordinal;
    assert_int_equal(spw_recording_op(recording, 7, true, touches, count, &ordinal), 0);
    spw_recording_duration(recording, ordinal, us);
    return ordinal;
}

#define SMALL(id, access) \
    { \
        id, access, 0, 64 \
    }

/* The courses here are recorded as what they turn out to be. */
static struct spw_course *end(const uint32_t *replayable, uint32_t count)
{
    struct spw_course *course;
    assert_int_equal(spw_recording_finish(recording, spw_recording_op_count(recording), &course), 0);
    spw_recording_destroy(recording);
    for (uint32_t i = 0; i < count; i++)
        course->ops[replayable[i]].replayable = true;
    return course;
}
#define END(...) end((uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

struct made {
    struct spw_graph *graph;
    uint32_t *tensor_of;
};

static struct made graph_of(const struct spw_course *course, bool may_replay)
{
    const struct spw_course_terms terms = {
        .d2h_bytes_per_us = 1000, .h2d_bytes_per_us = 1000, .working_bytes = 3000 * KIB, .may_replay = may_replay};
    struct spw_graph_problem problem;
    struct made made;
    const int r = spw_course_graph(course, &terms, &made.graph, &made.tensor_of, &problem);
    if (r == -EINVAL)
        fail_msg("%s: %s", problem.path, problem.expected);
    assert_int_equal(r, 0);
    return made;
}

static void destroy(struct made made)
{
    spw_graph_destroy(made.graph);
    free(made.tensor_of);
}

/* How the operation uses the graph's tensor; HELD where it only holds it. */
enum { HELD = 4 };
static uint32_t access_of(const struct spw_graph *graph, uint32_t op, uint32_t tensor)
{
    const struct spw_graph_op *o = &graph->ops[op];
    uint32_t access = 0;
    for (uint32_t i = 0; i < o->read_count + o->write_count; i++)
        if (graph->touched[o->first_read + i].tensor == tensor)
            access |= i >= o->read_count ? W : i >= o->read_count - o->held_count ? HELD : R;
    return access;
}

/* ---- the graph ---- */

static void an_operation_may_be_replayed_unless_it_would_update_a_side_buffer(void **state)
{
    begin();
    live(1, 1000 * KIB);
    live(2, KIB);
    for (uint64_t id = 3; id <= 8; id++)
        alloc(id, id == 8 ? KIB : 1000 * KIB);
    OP(10, {3, W}, {1, R});               /* 0 */
    OP(10, {4, RW}, {3, R});              /* 1: what it reads of 4 is undefined */
    OP(10, {5, R}, {6, W});               /* 2: likewise */
    OP(10, {3, RW});                      /* 3: updates what 0 made */
    OP(10, {7, W}, SMALL(9, RW), {4, R}); /* 4 */
    OP(10, {8, W});                       /* 5 */
    OP(10, {8, W});                       /* 6: would be taken for a side buffer */
    OP(10, {3, W});                       /* 7: overwrites */
    for (uint64_t id = 3; id <= 8; id++)
        release(id);
    struct spw_course *course = END(0, 1, 2, 3, 4, 5, 6, 7);
    struct made m = graph_of(course, true);
    const bool expected[] = {true, true, true, true, true, true, false, true};
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(m.graph->ops[i].replayable, expected[i]);
    destroy(m);
    m = graph_of(course, false);
    for (uint32_t i = 0; i < 8; i++)
        assert_false(m.graph->ops[i].replayable);
    destroy(m);
    spw_course_destroy(course);
}

static void what_is_only_read_keeps_its_version(void **state)
{
    begin();
    live(1, 1000 * KIB);
    OP(10, {1, R});
    OP(10, {1, RW});
    OP(10, {1, R});
    struct spw_course *course = END(0);
    struct made m = graph_of(course, true);
    assert_int_equal(m.graph->tensors[0].last_version, 1);
    assert_int_equal(m.graph->uses[m.graph->tensors[0].first_use + 2].version, 1);
    destroy(m);
    spw_course_destroy(course);
}

/* 50 is read by 0, and freed behind 1; 51 is updated by 1. */
static void small_tensors_weigh_nothing_stay_and_end_with_their_free(void **state)
{
    begin();
    live(1, 1000 * KIB);
    OP(10, {1, R}, SMALL(50, R));
    OP(10, {1, R}, SMALL(51, W));
    release(50);
    OP(10, {1, R}, SMALL(51, R));
    struct spw_course *course = END(0);
    struct made m = graph_of(course, true);
    assert_int_equal(m.graph->tensor_count, 3);
    assert_int_equal(m.graph->peak_bytes, 1000 * KIB);
    for (uint32_t i = 1; i < 3; i++) {
        assert_int_equal(m.tensor_of[i], NONE);
        assert_true(m.graph->tensors[i].persistent && !m.graph->tensors[i].evictable && m.graph->tensors[i].bytes == 0);
    }
    assert_int_equal(access_of(m.graph, 0, 1), R);
    assert_int_equal(access_of(m.graph, 1, 2), RW);
    assert_int_equal(access_of(m.graph, 2, 1), RW);
    assert_int_equal(access_of(m.graph, 2, 2), R);
    destroy(m);
    m = graph_of(course, false);
    assert_int_equal(m.graph->tensor_count, 1);
    destroy(m);
    spw_course_destroy(course);
}

/* 2 is used last by 1 and freed behind the last operation, as 3 is; `breaks` says what happens to the input 1 meanwhile. */
enum breaks { NOTHING, WRITTEN, FREED, SMALL_WRITTEN, NOT_REPLAYABLE, UPDATED, UPDATED_FOR_GOOD };
static uint32_t holder(enum breaks breaks, uint32_t ops_between)
{
    uint32_t found = NONE;
    begin();
    live(4, 1000 * KIB);
    alloc(1, 1000 * KIB);
    OP(10, {1, W});
    alloc(2, 1000 * KIB);
    OP(10, {2, W}, {1, R}, SMALL(50, R));
    if (breaks == UPDATED || breaks == UPDATED_FOR_GOOD)
        OP(10, {2, RW}, {1, R});
    else
        OP(10, {2, R});
    if (breaks == FREED)
        release(1);
    for (uint32_t i = 0; i < ops_between; i++) {
        if (i + 1 < ops_between)
            OP(10, {4, R});
        else if (breaks == WRITTEN)
            OP(10, {1, RW});
        else if (breaks == SMALL_WRITTEN)
            OP(10, SMALL(50, RW));
        else
            OP(10, {4, RW});
    }
    release(2);
    OP(10, {4, R});
    if (breaks != FREED)
        release(1);
    struct spw_course *course = breaks == NOT_REPLAYABLE ? END(0) : breaks == UPDATED ? END(0, 1, 2) : END(0, 1);
    struct made m = graph_of(course, true);
    for (uint32_t i = 0; i < course->op_count; i++)
        for (uint32_t t = 0; t < m.graph->tensor_count; t++)
            if (m.tensor_of[t] != NONE && course->tensors[m.tensor_of[t]].id == 2 && access_of(m.graph, i, t) == HELD)
                found = i;
    destroy(m);
    spw_course_destroy(course);
    return found;
}

static void who_can_be_made_again_up_to_its_free_is_not_held(void **state)
{
    assert_int_equal(holder(NOTHING, 30), NONE);
    assert_int_equal(holder(WRITTEN, 30), 32);
    assert_int_equal(holder(FREED, 30), 32);
    assert_int_equal(holder(SMALL_WRITTEN, 30), 32);
    assert_int_equal(holder(NOT_REPLAYABLE, 30), 32);
    assert_int_equal(holder(UPDATED, 30), NONE);
    assert_int_equal(holder(UPDATED_FOR_GOOD, 30), 32);
    assert_int_equal(holder(NOTHING, 16), 18); /* for so short a time it is not worth it */
    assert_int_equal(holder(NOTHING, 17), NONE);
}

static void a_replay_goes_without_what_its_operation_only_holds(void **state)
{
    begin();
    live(1, 1000 * KIB);
    alloc(2, 1000 * KIB);
    OP(10, {2, W}, {1, R});
    alloc(3, 1000 * KIB);
    OP(10, {3, W}, {1, R});
    release(2);
    OP(10, {1, R});
    OP(10, {3, R});
    release(3);
    struct spw_course *course = END(0, 1);
    struct made m = graph_of(course, true);
    assert_int_equal(access_of(m.graph, 1, 1), HELD);
    struct spw_schedule s;
    const struct spw_check_rules rules = {.device_bytes = UINT64_MAX, .host_bytes = UINT64_MAX, .may_replay = true};
    const struct spw_timed_step events[] = {{SPW_STEP_OP, 0, 0},    {SPW_STEP_OP, 1, 10},  {SPW_STEP_DROP, 1, 20},
                                            {SPW_STEP_DROP, 2, 20}, {SPW_STEP_OP, 2, 20},  {SPW_STEP_REPLAY, 1, 30},
                                            {SPW_STEP_OP, 3, 40},   {SPW_STEP_DROP, 2, 50}};
    struct spw_check found;
    assert_int_equal(spw_schedule_init(&s, m.graph), 0);
    assert_int_equal(spw_check_events(m.graph, s.start, events, 8, &rules, &found), 0);
    assert_int_equal(found.fault, SPW_FAULT_NONE);
    spw_schedule_finish(&s);
    destroy(m);
    spw_course_destroy(course);
}

/* ---- plans ---- */

enum { LAYERS = 12 };

/* Forward, cheap, and backward, dear, over a link that is far too slow. `spoil`: the weights change in between.
 * `statistics`: each layer updates a small tensor; `scale`: each reads one, which is freed in between if `is_freed`. */
struct chain {
    bool spoil, statistics, scale, is_freed, is_learned;
};
static struct spw_course *chain(struct chain c)
{
    uint32_t replayable[LAYERS];
    begin();
    live(1, 100 * KIB);
    for (uint32_t i = 0; i < LAYERS; i++) {
        alloc(100 + i, 1000 * KIB);
        const struct spw_recording_touch touches[] = {
            {100 + i, W}, {1, R}, {i ? 99 + i : 1, R}, {50, c.statistics ? RW : R, 0, 64}, {51, R, 0, 64}};
        replayable[i] = op(10, touches, 3 + c.statistics + c.scale);
    }
    if (c.is_freed)
        release(50);
    if (c.spoil)
        OP(10, {1, RW});
    for (uint32_t i = LAYERS; i-- > 0;) {
        OP(300, {1, R}, {100 + i, R});
        release(100 + i);
    }
    OP(10, {1, RW});
    return end(replayable, c.is_learned ? LAYERS : 0);
}

static struct spw_plan_request request_of(const struct spw_graph *graph)
{
    struct spw_plan_request request = planned_request(graph, graph->peak_bytes / 10 * 6);
    request.time_limit_s = 0.02; /* worth of work */
    return request;
}

static size_t replays_of(struct chain c, double *ret_us)
{
    struct spw_course *course = chain(c);
    struct made m = graph_of(course, true);
    const struct spw_plan_request request = request_of(m.graph);
    struct spw_plan plan;
    assert_int_equal(planned_make("auto", &request, &plan), 0);
    const size_t replays = plan.timing.replays;
    *ret_us = plan.timing.time_us;
    spw_plan_finish(&plan);
    destroy(m);
    spw_course_destroy(course);
    return replays;
}

static void a_chain_of_cheap_operations_is_run_again_where_the_link_is_slow(void **state)
{
    double with_us, without_us;
    assert_int_equal(replays_of((struct chain){.is_learned = false}, &without_us), 0);
    assert_true(replays_of((struct chain){.is_learned = true}, &with_us) >= 4);
    assert_true(with_us < 3900 && without_us > 2 * with_us);
}

static void nothing_is_run_again_once_what_it_read_was_written(void **state)
{
    double us;
    assert_int_equal(replays_of((struct chain){.is_learned = true, .spoil = true}, &us), 0);
    assert_true(us > 7800);
}

static void side_buffers_are_left_out_and_small_inputs_must_still_be_there(void **state)
{
    double us;
    assert_true(replays_of((struct chain){.is_learned = true, .statistics = true}, &us) >= 4);
    assert_true(us < 3900);
    assert_true(replays_of((struct chain){.is_learned = true, .scale = true}, &us) >= 4);
    assert_true(us < 3900);
    assert_int_equal(replays_of((struct chain){.is_learned = true, .scale = true, .is_freed = true}, &us), 0);
    assert_true(replays_of((struct chain){.is_learned = true, .statistics = true, .is_freed = true}, &us) >= 4);
}

/* ---- what the engine is told ---- */

struct planned {
    uint32_t op, kind, id;
};

static struct spw_actions actions_of(const struct spw_graph *graph, const struct planned *list, uint32_t count)
{
    struct spw_actions a = {.op_count = graph->op_count, .count = count};
    a.list = malloc((count + 1) * sizeof *a.list);
    a.first = malloc((graph->op_count + 2) * sizeof *a.first);
    a.start = calloc(graph->tensor_count + 1, 1);
    assert_true(a.list && a.first && a.start);
    for (uint32_t op = 0, i = 0; op <= graph->op_count; op++) {
        a.first[op] = i;
        for (; i < count && list[i].op == op; i++)
            a.list[i] = (struct spw_action){list[i].kind, list[i].id};
        a.first[op + 1] = i;
    }
    return a;
}

static void expect_actions(const struct spw_actions *a, const struct planned *expected, uint32_t count)
{
    assert_int_equal(a->count, count);
    for (uint32_t op = 0, i = 0; op <= a->op_count; op++)
        for (; i < a->first[op + 1]; i++)
            if (expected[i].op != op || expected[i].kind != a->list[i].kind || expected[i].id != a->list[i].id)
                fail_msg("before %u: %s of %u", op, spw_step_name(a->list[i].kind), a->list[i].id);
}

static void what_replays_touch_after_its_free_is_a_ghost_until_it_is_dropped(void **state)
{
    enum { INPUT = 1, SHORT, OUTPUT, GONE, SIDE_OUTPUT };
    begin();
    live(1, 1000 * KIB);
    for (uint64_t id = INPUT + 1; id <= SIDE_OUTPUT + 1; id++)
        alloc(id, 1000 * KIB);
    OP(10, {INPUT + 1, W}, {1, R});                                        /* 0 */
    OP(10, {SHORT + 1, W}, {1, R});                                        /* 1 */
    OP(10, {OUTPUT + 1, W}, {INPUT + 1, R}, {SIDE_OUTPUT + 1, W}, {1, R}); /* 2 */
    OP(10, {GONE + 1, W}, {SHORT + 1, R});                                 /* 3 */
    release(INPUT + 1);
    release(SIDE_OUTPUT + 1);
    release(SHORT + 1);
    OP(10, {1, R});          /* 4 */
    OP(10, {GONE + 1, R});   /* 5 */
    OP(10, {OUTPUT + 1, R}); /* 6 */
    release(OUTPUT + 1);
    release(GONE + 1);
    OP(10, {1, R}); /* 7 */
    struct spw_course *course = END(0, 1, 2, 3);
    struct made m = graph_of(course, true);
    const struct planned list[] = {
        {3, SPW_STEP_DROP, SIDE_OUTPUT}, /* to be made again */
        {3, SPW_STEP_DROP, OUTPUT},      {4, SPW_STEP_DROP, GONE},
        {4, SPW_STEP_REPLAY, 3}, /* SHORT is freed behind 3, and this may be carried out just after that */
        {4, SPW_STEP_DROP, SHORT},       {5, SPW_STEP_D2H, INPUT},
        {5, SPW_STEP_DROP, INPUT},       {6, SPW_STEP_H2D, INPUT},
        {6, SPW_STEP_REPLAY, 2},         {6, SPW_STEP_DROP, INPUT},
        {6, SPW_STEP_DROP, SIDE_OUTPUT}, {7, SPW_STEP_DROP, OUTPUT}, /* freed here */
        {7, SPW_STEP_DROP, GONE},
    };
    struct spw_actions a = actions_of(m.graph, list, sizeof list / sizeof *list);
    struct spw_course_marks marks;
    assert_int_equal(spw_course_actions(course, m.graph, m.tensor_of, &a, &marks), 0);
    const struct planned expected[] = {
        {3, SPW_STEP_DROP, SIDE_OUTPUT}, {3, SPW_STEP_DROP, OUTPUT},     {4, SPW_STEP_DROP, GONE},
        {4, SPW_STEP_REPLAY, 3},         {4, SPW_STEP_DROP, SHORT},      {5, SPW_STEP_D2H, INPUT},
        {5, SPW_STEP_DROP, INPUT},       {6, SPW_STEP_H2D, INPUT},       {6, SPW_STEP_REPLAY, 2},
        {6, SPW_STEP_DROP, INPUT},       {6, SPW_STEP_DROP, SIDE_OUTPUT}};
    expect_actions(&a, expected, sizeof expected / sizeof *expected);
    const bool ghosts[] = {false, true, true, false, false, true};
    const bool recorded[] = {false, false, true, true, false, false, false, false};
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(marks.ghosts[i], ghosts[i]);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(marks.recorded[i], recorded[i]);
    spw_course_marks_finish(&marks);
    spw_actions_finish(&a);
    destroy(m);
    spw_course_destroy(course);
}

/* 2 is used last by 1 and freed much later; nobody makes it again, but whoever drops it has to be able to. */
static void who_is_dropped_before_its_free_without_a_copy_has_a_recorded_maker(void **state)
{
    for (int is_copied = 0; is_copied < 2; is_copied++) {
        begin();
        live(1, 1000 * KIB);
        alloc(2, 1000 * KIB);
        OP(10, {2, W}, {1, R});
        for (int i = 0; i < 30; i++)
            OP(10, {i ? 1 : 2, R});
        release(2);
        OP(10, {1, R});
        struct spw_course *course = END(0);
        struct made m = graph_of(course, true);
        const struct planned list[] = {{1, SPW_STEP_D2H, 1}, {2, SPW_STEP_DROP, 1}};
        struct spw_actions a = actions_of(m.graph, is_copied ? list : list + 1, is_copied ? 2 : 1);
        struct spw_course_marks marks;
        assert_int_equal(spw_course_actions(course, m.graph, m.tensor_of, &a, &marks), 0);
        assert_int_equal(a.count, is_copied ? 2 : 1);
        assert_int_equal(marks.recorded[0], !is_copied);
        assert_false(marks.recorded[1]);
        assert_false(marks.ghosts[1]);
        spw_course_marks_finish(&marks);
        spw_actions_finish(&a);
        destroy(m);
        spw_course_destroy(course);
    }
}

/* 2 is copied out before operation `copied`, used by 2, where that writes it by 3 as well, and leaves before 4. */
static void who_leaves_without_a_copy_is_believed_to_be_only_read_by_launches_since(void **state)
{
    for (uint32_t copied = 1; copied <= 4; copied++)
        for (uint32_t kind = SPW_ITERATION_LAUNCH; kind <= SPW_ITERATION_COPY_D2D; kind += SPW_ITERATION_COPY_D2D)
            for (int is_written = 0; is_written < 2; is_written++) {
                begin();
                live(1, 1000 * KIB);
                alloc(2, 1000 * KIB);
                OP(10, {2, W}, {1, R});
                OP(10, {1, R});
                OP(10, {2, is_written ? RW : R});
                OP(10, {is_written ? 2 : 1, R});
                for (int i = 0; i < 3; i++)
                    OP(10, {1, R});
                OP(10, {2, R});
                release(2);
                struct spw_course *course = END(0);
                course->calls[2].kind = kind;
                struct made m = graph_of(course, true);
                const struct planned list[] = {{copied, SPW_STEP_D2H, 1}, {4, SPW_STEP_DROP, 1}, {7, SPW_STEP_H2D, 1}};
                struct spw_actions a = actions_of(m.graph, list, 3);
                struct spw_course_marks marks;
                assert_int_equal(spw_course_actions(course, m.graph, m.tensor_of, &a, &marks), 0);
                assert_int_equal(marks.believes, is_written ? copied == 3 : copied <= 2 && kind == SPW_ITERATION_LAUNCH);
                for (uint32_t t = 0; t < course->tensor_count; t++)
                    assert_int_equal(marks.believed[t], marks.believes && t == m.tensor_of[1]);
                spw_course_marks_finish(&marks);
                spw_actions_finish(&a);
                destroy(m);
                spw_course_destroy(course);
            }
}

/* What is away at the beginning, or clean, is so since an iteration that nobody looks at here. */
static void who_was_on_the_host_at_the_beginning_is_believed_to_be_as_it_was(void **state)
{
    for (int comes_back = 0; comes_back < 2; comes_back++) {
        begin();
        live(1, 1000 * KIB);
        live(2, 1000 * KIB);
        OP(10, {2, R});
        OP(10, {2, R});
        OP(10, {1, R});
        struct spw_course *course = END(0);
        struct made m = graph_of(course, true);
        const struct planned list[] = {{0, SPW_STEP_DROP, 0}, {2, SPW_STEP_H2D, 0}};
        struct spw_actions a = actions_of(m.graph, list + comes_back, 2 - comes_back);
        a.start[0] = comes_back ? SPW_START_HOST : SPW_START_CLEAN;
        struct spw_course_marks marks;
        assert_int_equal(spw_course_actions(course, m.graph, m.tensor_of, &a, &marks), 0);
        assert_int_equal(marks.believes, !comes_back);
        assert_int_equal(marks.believed[0], !comes_back);
        spw_course_marks_finish(&marks);
        spw_actions_finish(&a);
        destroy(m);
        spw_course_destroy(course);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_may_be_replayed_unless_it_would_update_a_side_buffer),
        cmocka_unit_test(what_is_only_read_keeps_its_version),
        cmocka_unit_test(small_tensors_weigh_nothing_stay_and_end_with_their_free),
        cmocka_unit_test(who_can_be_made_again_up_to_its_free_is_not_held),
        cmocka_unit_test(a_replay_goes_without_what_its_operation_only_holds),
        cmocka_unit_test(a_chain_of_cheap_operations_is_run_again_where_the_link_is_slow),
        cmocka_unit_test(nothing_is_run_again_once_what_it_read_was_written),
        cmocka_unit_test(side_buffers_are_left_out_and_small_inputs_must_still_be_there),
        cmocka_unit_test(what_replays_touch_after_its_free_is_a_ghost_until_it_is_dropped),
        cmocka_unit_test(who_is_dropped_before_its_free_without_a_copy_has_a_recorded_maker),
        cmocka_unit_test(who_leaves_without_a_copy_is_believed_to_be_only_read_by_launches_since),
        cmocka_unit_test(who_was_on_the_host_at_the_beginning_is_believed_to_be_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
