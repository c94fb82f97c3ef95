/* test-course-programs.c - the graph of a recorded iteration has alive what the program had, and a plan for it, carried out
 * while the program goes through the iteration, keeps the budget and has everything there in time. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "course-follower.h"
#include "plan/actions.h"
#include "checked-plan.h"
#include "random-program.h"

enum { STEPS = 30, PROGRAMS = 200, PLANS = 12 };

static struct follower follower;
static struct random_program random_one;

static struct spw_graph *graph_of(uint64_t granule_bytes, uint32_t **ret_tensor_of)
{
    struct spw_graph *graph;
    struct spw_graph_problem problem;
    const struct spw_course_terms terms = {200, 300, granule_bytes, 1, 0, false};
    const int r = spw_course_graph(follower.course, &terms, &graph, ret_tensor_of, &problem);
    if (r == -EINVAL)
        fail_msg("%s: %s", problem.path, problem.expected);
    assert_int_equal(r, 0);
    return graph;
}

/* The course of a random program's iteration; false: none was found. */
static bool record_random(uint64_t seed, uint32_t ops)
{
    struct program *program = program_create(1 << 14, seed);
    follower_init(&follower, program, 1 << 14);
    random_program_make(&random_one, program, ops);
    follower.silences = 0;
    random_program_setup(&random_one, program);
    for (uint32_t step = 0; step < STEPS && !follower.course; step++)
        random_program_step(&random_one, program, step);
    random_program_finish(&random_one, program);
    return follower.course;
}

static void forget(void)
{
    struct program *program = follower.program;
    follower_finish(&follower);
    program_destroy(program);
}

/* ---- who is alive when ---- */

static void expect_uses_within_lives(const struct spw_graph *graph, const uint32_t *tensor_of)
{
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[i];
        const struct spw_course_tensor *c = &follower.course->tensors[tensor_of[i]];
        assert_int_equal(t->bytes, c->bytes);
        if (c->first_use != SPW_NO_INDEX) {
            assert_true(c->alloc_before <= c->first_use && c->last_use <= c->free_after);
            assert_true(t->use_count > 0 && graph->uses[t->first_use].op == c->first_use);
            assert_true(graph->uses[t->first_use + t->use_count - 1].op >= c->last_use);
        }
        for (uint32_t u = 0; u < t->use_count && !t->persistent; u++) {
            const struct spw_use *use = &graph->uses[t->first_use + u];
            assert_true(t->alloc_before <= use->op && use->op <= t->free_after);
            assert_true(use->reads || (u == 0 && !t->initial));
        }
    }
}

/* Whether somebody lives on of whom nobody knows when it will be freed: it counts from the beginning. */
static bool is_steady(const struct spw_course *course)
{
    for (uint32_t i = 0; i < course->tensor_count; i++)
        if (course->tensors[i].free_after == SPW_NO_INDEX && course->tensors[i].to == SPW_NO_INDEX)
            return false;
    return true;
}

static void expect_alive_what_was_alive(const struct spw_graph *graph)
{
    uint64_t peak = 0;
    for (uint32_t op = 0; op < graph->op_count; op++) {
        uint64_t bytes = graph->persistent_bytes;
        for (uint32_t i = 0; i < graph->tensor_count; i++) {
            const struct spw_graph_tensor *t = &graph->tensors[i];
            bytes += !t->persistent && t->alloc_before <= op && op <= t->free_after ? t->bytes : 0;
        }
        assert_int_equal(bytes, follower.used_at[op]);
        peak = bytes > peak ? bytes : peak;
    }
    assert_int_equal(graph->peak_bytes, peak);
}

static void a_graph_has_alive_what_the_program_had(void **state)
{
    uint32_t courses = 0, steady = 0, carried = 0;
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        if (record_random(seed, 20 + seed % 300)) {
            uint32_t *tensor_of;
            struct spw_graph *graph = graph_of(0, &tensor_of);
            expect_uses_within_lives(graph, tensor_of);
            if (is_steady(follower.course))
                expect_alive_what_was_alive(graph);
            steady += is_steady(follower.course);
            courses++;
            for (uint32_t i = 0; i < follower.course->live_count; i++)
                carried += follower.course->tensors[i].from != i;
            spw_graph_destroy(graph);
            free(tensor_of);
        }
        forget();
    }
    print_message("# %u iterations, %u of them steady, %u tensors carried over\n", courses, steady, carried);
    assert_true(courses > PROGRAMS * 3 / 4 && steady > courses * 3 / 4 && carried > 0);
}

/* ---- a plan, carried out ---- */

struct machine {
    const struct spw_course *course;
    bool *is_there, *has_copy, *is_freed; /* by tensor; has_copy: a good one on the host */
    uint64_t used_bytes, most_bytes;
    uint64_t leaves, restores;
};

static void take_up(struct machine *m, uint32_t tensor)
{
    m->is_there[tensor] = true;
    m->used_bytes += m->course->tensors[tensor].bytes;
    m->most_bytes = m->used_bytes > m->most_bytes ? m->used_bytes : m->most_bytes;
}

static void give_up(struct machine *m, uint32_t tensor)
{
    m->used_bytes -= m->is_there[tensor] ? m->course->tensors[tensor].bytes : 0;
    m->is_there[tensor] = false;
}

static void act(struct machine *m, const struct spw_action *action)
{
    const uint32_t tensor = action->id;
    assert_true(tensor < m->course->tensor_count);
    assert_true(m->course->tensors[tensor].evictable && !m->is_freed[tensor]);
    if (action->kind == SPW_STEP_D2H) {
        assert_true(m->is_there[tensor]);
        m->has_copy[tensor] = true;
    } else if (action->kind == SPW_STEP_DROP) {
        m->leaves += m->is_there[tensor];
        m->has_copy[tensor] = true; /* the engine makes one where there is none */
        give_up(m, tensor);
    } else {
        assert_int_equal(action->kind, SPW_STEP_H2D);
        assert_true(m->has_copy[tensor] && !m->is_there[tensor]);
        m->restores++;
        take_up(m, tensor);
    }
}

/* Between two operations: the program frees, then the actions are carried out. */
static void go_on(struct machine *m, const struct spw_actions *actions, uint32_t op)
{
    for (uint32_t i = 0; i < m->course->tensor_count; i++)
        if (op > 0 && m->course->tensors[i].free_after == op - 1) {
            give_up(m, i);
            m->is_freed[i] = true;
        }
    for (uint32_t i = actions->first[op]; i < actions->first[op + 1]; i++)
        act(m, &actions->list[i]);
}

/* Whether it has memory at the beginning, of the iteration before. */
static bool is_old(const struct spw_course *course, uint32_t tensor)
{
    const uint32_t from = course->tensors[tensor].from;
    return tensor < course->live_count &&
           (from == tensor || from == SPW_NO_INDEX || course->tensors[from].first_use != SPW_NO_INDEX);
}

static void run_op(struct machine *m, uint32_t op)
{
    const struct spw_course_op *o = &m->course->ops[op];
    for (uint32_t i = 0; i < o->touch_count; i++) {
        const struct spw_course_touch *touch = &m->course->touches[o->first_touch + i];
        const struct spw_course_tensor *t = &m->course->tensors[touch->tensor];
        if (!m->is_there[touch->tensor]) {
            assert_true(!is_old(m->course, touch->tensor) && t->first_use == op);
            take_up(m, touch->tensor);
        }
        m->has_copy[touch->tensor] &= !(touch->access & SPW_COURSE_WRITES);
    }
}

static struct machine machine_of(const struct spw_course *course, const struct spw_actions *actions)
{
    struct machine m = {.course = course};
    m.is_there = calloc(course->tensor_count, sizeof *m.is_there);
    m.has_copy = calloc(course->tensor_count, sizeof *m.has_copy);
    m.is_freed = calloc(course->tensor_count, sizeof *m.is_freed);
    assert_true(m.is_there && m.has_copy && m.is_freed);
    for (uint32_t i = 0; i < course->live_count; i++) {
        m.has_copy[i] = actions->start[i] != SPW_START_DEVICE;
        if (actions->start[i] != SPW_START_HOST && is_old(course, i))
            take_up(&m, i);
    }
    return m;
}

/* Once through the iteration. */
static void carry_out(const struct spw_actions *actions, uint64_t budget)
{
    const struct spw_course *course = follower.course;
    struct machine m = machine_of(course, actions);
    for (uint32_t op = 0; op < course->op_count; op++) {
        go_on(&m, actions, op);
        run_op(&m, op);
        assert_true(m.used_bytes <= budget);
    }
    go_on(&m, actions, course->op_count);
    for (uint32_t i = 0; i < course->tensor_count; i++) {
        const struct spw_course_tensor *t = &course->tensors[i];
        assert_false(m.is_there[i] && t->free_after != SPW_NO_INDEX);
        if (i < course->live_count && t->from == i)
            assert_int_equal(m.is_there[i], actions->start[i] != SPW_START_HOST);
        else if (t->to != SPW_NO_INDEX && t->first_use != SPW_NO_INDEX)
            assert_true(m.is_there[i]);
    }
    assert_true(m.most_bytes <= budget);
    assert_true(m.leaves > 0 && m.restores > 0);
    free(m.is_there);
    free(m.has_copy);
    free(m.is_freed);
}

/* False: nothing fits into 60 % of the peak. */
static bool plan_and_carry_out(void)
{
    uint32_t *tensor_of;
    struct spw_graph *graph = graph_of(512, &tensor_of);
    struct spw_plan_request request = planned_request(graph, graph->peak_bytes / 10 * 6);
    struct spw_plan plan;
    struct spw_actions actions;
    struct spw_course_marks marks;
    request.may_replay = false;
    const bool fits = graph->least_bytes <= request.device_bytes;
    if (fits) {
        assert_int_equal(planned_make("auto", &request, &plan), 0);
        assert_int_equal(spw_actions_of(graph, &plan.schedule, UINT64_MAX, &actions), 0);
        assert_int_equal(spw_course_actions(follower.course, graph, tensor_of, &actions, &marks), 0);
        spw_course_marks_finish(&marks);
        carry_out(&actions, request.device_bytes);
        spw_actions_finish(&actions);
        spw_plan_finish(&plan);
    }
    spw_graph_destroy(graph);
    free(tensor_of);
    return fits;
}

static void a_plan_keeps_the_budget_and_has_everything_there_when_the_program_frees_as_it_does(void **state)
{
    uint32_t planned = 0;
    for (uint64_t seed = 1; planned < PLANS && seed <= 10 * PLANS; seed++) {
        if (record_random(seed, 20 + seed % 100))
            planned += plan_and_carry_out();
        forget();
    }
    assert_int_equal(planned, PLANS);
}

static void train(struct model model)
{
    struct program *program = program_create(1 << 14, 1);
    follower_init(&follower, program, 1 << 14);
    follower.silences = 0;
    model_setup(program, &model);
    for (uint32_t step = 0; step < 8; step++)
        model_train(program, &model);
    model_free(program, &model);
    assert_non_null(follower.course);
}

static void training_is_planned_at_60_percent(void **state)
{
    const struct model models[] = {
        {.layers = 8, .seed = 3, .batch = 64, .times = 1, .momentum = true, .input = true},
        {.layers = 8, .seed = 4, .batch = 64, .times = 1, .momentum = true, .input = true, .loader = true},
        {.layers = 6, .seed = 5, .batch = 32, .times = 3, .momentum = true, .input = true, .grads_stay = true}};
    for (int i = 0; i < 3; i++) {
        train(models[i]);
        assert_true(plan_and_carry_out());
        forget();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_has_alive_what_the_program_had),
        cmocka_unit_test(a_plan_keeps_the_budget_and_has_everything_there_when_the_program_frees_as_it_does),
        cmocka_unit_test(training_is_planned_at_60_percent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
