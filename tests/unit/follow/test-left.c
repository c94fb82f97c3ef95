/* test-left.c - what a plan has done behind an operation, before the program frees what only that one used: what there is no
 * room for is left until the next operation is there, and what the program is about to free is left to the program.
 *
 * In each step of the program something is made of the batch, dropped for something large, and made again for its use. */
#include "by-plan.h"

enum { KNOWN_AFTER = 5, STEPS = 10 };
enum { LOAD = 100, MAKE, FILL, LOOK, JUDGE, USE };

static struct {
    uint64_t again_before; /* the function of the operation before which the plan has it made again */
    bool drops_batch;      /* the plan, there */
    bool holds_large;      /* the program, until the batch is freed as well */
    bool judges_beside;    /* on another stream, and not the batch */
} how;

static struct {
    CUdeviceptr batch, made, large, sum; /* the last of these small */
    unsigned char sum_value;             /* of what all steps made */
    unsigned step;
} program;

/* ---- the plan ---- */

int __wrap_spw_plan_course(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick,
                           const bool *cancelled, struct spw_course_plan **ret_plan)
{
    (void)terms, (void)quick, (void)cancelled;
    struct spw_course_plan *plan = spw_course_plan_none(course);
    assert_non_null(plan);
    const uint32_t make = operation_of(course, MAKE), batch = first_touched_by(course, LOAD);
    const uint32_t again = operation_of(course, how.again_before);
    plan->actions.list = (calloc)(3, sizeof(struct spw_action));
    assert_non_null(plan->actions.list);
    add_action(plan, operation_of(course, FILL), SPW_STEP_DROP, first_touched_by(course, MAKE));
    add_action(plan, again, SPW_STEP_REPLAY, make);
    if (how.drops_batch)
        add_action(plan, again, SPW_STEP_DROP, batch);
    plan->marks.recorded[make] = true;
    plan->marks.ghosts[batch] = again > course->tensors[batch].free_after;
    plan->replay_count = plan->recorded_count = 1;
    plan->predicted_us = plan->compute_us = 1;
    *ret_plan = plan;
    return 0;
}

/* ---- the program ---- */

static struct {
    unsigned left[USE + 1];   /* times, by function of the operation that comes next */
    uint32_t batch_attention; /* when it is freed; of all steps, or-ed */
    unsigned ghosts;          /* times that the batch became one */
    unsigned again;           /* times that something ran again behind JUDGE on the other stream; */
    unsigned waited;          /* of these, in which the first stream's next operation waits for that */
} seen;

static void note_what_is_left(uint64_t next)
{
    spw_lock();
    seen.left[next] += spw_plan_follower_has_left(spw_stream_of_locked(s));
    spw_unlock();
}

/* The program waits for all that it has submitted. */
static void synchronize(void)
{
    let_run();
    spw_lock();
    struct spw_stream *record = spw_stream_of_locked(s);
    const uint64_t begun = record->begun;
    spw_unlock();
    spw_note_stream_done(record, begun);
}

/* The program has freed it: it may be gone. */
static bool is_ghost(const struct spw_block *b)
{
    bool is = false;
    for (uint32_t i = 0; i < device->block_count; i++)
        is |= device->blocks[i] == b && b->object.attention & SPW_RETAINED;
    return is;
}

static void free_batch(void)
{
    struct spw_block *b = block_at(program.batch);
    seen.batch_attention |= b->object.attention;
    release(program.batch);
    seen.ghosts += is_ghost(b);
}

static uint64_t replays_before;
static CUstream first; /* while the program is on the other one */

/* Nothing on the other stream has run. */
static void look_who_waits(void)
{
    if (spw_replayed.submitted_count == replays_before)
        return;
    assert_int_equal(spw_driver.cuStreamSynchronize(first), CUDA_SUCCESS);
    seen.again++;
    seen.waited += fake_left(t) == 0;
}

static void judge(void)
{
    if (!how.judges_beside) {
        launch(JUDGE, &program.batch, 1, 0, 0);
        return;
    }
    first = s;
    s = t;
    launched = look_who_waits;
    replays_before = spw_replayed.submitted_count;
    launch(JUDGE, &program.sum, 1, 0, 0);
    launched = NULL;
    s = first;
}

static void step(void)
{
    const unsigned char salt = (unsigned char)program.step++, loaded = fake_mixed(NULL, 0, salt);
    program.batch = allocate(BYTES);
    launch(LOAD, &program.batch, 0, 1, salt);
    program.made = allocate(BYTES);
    launch(MAKE, (CUdeviceptr[]){program.batch, program.made}, 1, 1, salt);
    program.large = allocate(2 * BYTES);
    launch(FILL, &program.large, 0, 1, salt);
    if (!how.holds_large)
        release(program.large);
    note_what_is_left(LOOK);
    launch(LOOK, &program.sum, 1, 0, 0);
    synchronize();
    judge();
    free_batch();
    if (how.holds_large)
        release(program.large);
    note_what_is_left(USE);
    launch(USE, (CUdeviceptr[]){program.made, program.sum, program.sum}, 2, 1, 0);
    program.sum_value = fake_mixed((unsigned char[]){fake_mixed(&loaded, 1, salt), program.sum_value}, 2, 0);
    release(program.made);
}

static void steps(unsigned count)
{
    while (count-- > 0)
        step();
}

/* By plan, in each step what was dropped is made again by it, and nothing on demand. */
static void go_by_plan(uint64_t again_before, bool drops_batch, bool holds_large)
{
    how.again_before = again_before;
    how.drops_batch = drops_batch;
    how.holds_large = holds_large;
    begin_planned(4 * BYTES); /* a quarter of it for small allocations */
    program.sum = allocate(SLOT_BYTES);
    launch(LOAD, &program.sum, 0, 1, 1);
    program.sum_value = fake_mixed(NULL, 0, 1);
    steps(KNOWN_AFTER + 3);
    memset(&seen, 0, sizeof(seen));
    const struct spw_replayed before = spw_replayed;
    steps(STEPS);
    assert_int_equal(spw_replayed.count[SPW_REPLAY_PLAN] - before.count[SPW_REPLAY_PLAN], STEPS);
    assert_int_equal(spw_replayed.count[SPW_REPLAY_DEMAND], before.count[SPW_REPLAY_DEMAND]);
    assert_int_equal(spw_replayed.postponed_count, before.postponed_count);
    assert_int_equal(expect_on(s, program.sum, SLOT_BYTES, program.sum_value), 0);
    fake_run_all();
}

/* Though that operation needs none of it, and would need no closer look. */
static void what_was_left_is_done_before_the_next_operation(void **state)
{
    go_by_plan(LOOK, false, false);
    assert_int_equal(seen.left[LOOK], STEPS);
}

/* It is neither dropped before, which costs unmapping it, nor kept as a retained block until the iteration ends. */
static void what_the_plan_is_done_with_is_the_programs_to_free(void **state)
{
    go_by_plan(USE, true, false);
    assert_int_equal(seen.left[USE], 0);
    assert_int_equal(seen.batch_attention, 0);
    assert_int_equal(seen.ghosts, 0);
}

static void what_is_freed_and_still_wanted_is_a_ghost(void **state)
{
    go_by_plan(USE, true, true);
    assert_int_equal(seen.left[USE], STEPS);
    assert_int_equal(seen.ghosts, STEPS);
}

/* What that was given may not end before the program goes on. */
static void what_runs_again_does_not_wait_for_the_stream_of_the_operation_before(void **state)
{
    how.judges_beside = true;
    go_by_plan(USE, true, false);
    how.judges_beside = false;
    assert_int_equal(seen.again, STEPS);
    assert_int_equal(seen.waited, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_left_is_done_before_the_next_operation),
        cmocka_unit_test(what_the_plan_is_done_with_is_the_programs_to_free),
        cmocka_unit_test(what_runs_again_does_not_wait_for_the_stream_of_the_operation_before),
        cmocka_unit_test(what_is_freed_and_still_wanted_is_a_ghost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
