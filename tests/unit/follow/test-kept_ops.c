/* test-kept_ops.c - a training loop on the fake device whose plan has activations made again: its operations are kept, what
 * is dropped comes back in time, and every byte is what it would have been. */
#include "budget.h"
#include "by-plan.h"
#include "device_loop.h"
#include "verify.h"
#include "launch_class.h"
#include "unmanaged.h"

enum { LAYERS = 8, KNOWN_AFTER = 5 };
enum { LOAD = 100, FORWARD = 200, COUNTING = 250, SQUEEZE = 300, BACKWARD = 400 }; /* functions; the layer is added */

static struct {
    CUdeviceptr weights[LAYERS], activations[LAYERS], batch, counter;
    unsigned char weight_values[LAYERS], counter_value;
    unsigned step;
    bool copies_only;          /* whatever runs may read and write all that it is given, as before anything was learned */
    bool counts;               /* each layer also counts, in a small allocation that it reads and writes */
    unsigned fenced;           /* activations that other streams come behind the launch of */
    CUdeviceptr beside;        /* not 0: a small allocation that another stream writes before each layer */
    unsigned behind, followed; /* layers that came behind that; and that what comes there next comes behind */
} loop;

/* ---- what was learned ---- */

static bool writes_first_only(uint64_t function)
{
    return function < BACKWARD;
}

/* As if it had been tried, and without looking for the best plan for long: what goes forward can be run again, what goes
 * backward updates weights in place. */
static void learn(struct spw_course *course)
{
    for (uint32_t o = 0; o < course->op_count; o++) {
        const struct spw_course_call *call = &course->calls[o];
        uint8_t access[FAKE_RANGES];
        for (uint32_t i = 0; i < call->hit_count; i++)
            access[i] = loop.copies_only ? SPW_COURSE_READS | SPW_COURSE_WRITES
                        : i == 0         ? SPW_COURSE_WRITES
                                         : SPW_COURSE_READS;
        if (!loop.copies_only && loop.counts && call->function >= FORWARD && call->function < SQUEEZE)
            access[1] = SPW_COURSE_WRITES;
        assert_int_equal(
            spw_course_learn(course, o, access, call->hit_count, !loop.copies_only && writes_first_only(call->function)), 0);
    }
}

int __wrap_spw_plan_course(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick,
                           const bool *cancelled, struct spw_course_plan **ret_plan)
{
    struct spw_plan_terms with = *terms;
    learn((struct spw_course *)course);
    with.may_replay = !loop.copies_only;
    with.device_bytes -= 16384;
    return __real_spw_plan_course(course, &with, true, cancelled, ret_plan);
}

static bool unwanted; /* versions are, whatever the plans say */

bool __real_spw_device_loop_want_versions(const struct spw_device_loop *loop);
bool __wrap_spw_device_loop_want_versions(const struct spw_device_loop *loop);
bool __wrap_spw_device_loop_want_versions(const struct spw_device_loop *loop)
{
    return !unwanted && __real_spw_device_loop_want_versions(loop);
}

/* ---- the program ---- */

/* No operation: as if it were another part of the counter. */
static void write_beside(void)
{
    spw_lock();
    struct spw_object *slab = spw_object_at_locked(loop.beside);
    struct spw_stream *record = spw_stream_of_locked(t);
    spw_uses_add_locked(&slab->uses, record, spw_stream_next_locked(record));
    fake_fill(t, loop.beside, SLOT_BYTES, 1);
    spw_unlock();
}

static void note_order(void)
{
    loop.followed += (spw_object_at_locked(loop.beside)->attention & SPW_FENCED) != 0;
    assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    loop.behind += fake_left(t) == 0;
}

/* A layer makes something on the way that is freed at once, and that its output is made of. */
static unsigned char forward(unsigned layer, unsigned char from)
{
    const CUdeviceptr input = layer ? loop.activations[layer - 1] : loop.batch, squeezed = allocate(BYTES);
    const unsigned char salt = (unsigned char)(layer + 1), made = fake_mixed(&from, 1, salt);
    launch(SQUEEZE + layer, (CUdeviceptr[]){input, squeezed}, 1, 1, salt);
    loop.activations[layer] = allocate(BYTES);
    const unsigned char values[] = {made, loop.weight_values[layer], loop.counter_value};
    const CUdeviceptr a[] = {squeezed, loop.weights[layer], loop.counter, loop.activations[layer], loop.counter};
    if (loop.beside)
        write_beside();
    launched = loop.beside ? note_order : NULL;
    if (loop.counts)
        launch(COUNTING + layer, a, 3, 2, salt);
    else
        launch(FORWARD + layer, (CUdeviceptr[]){a[0], a[1], a[3]}, 2, 1, salt);
    launched = NULL;
    const struct spw_block *b = block_at(loop.activations[layer]);
    loop.fenced += b->object.attention & SPW_FENCED && b->fence.stream[0] == spw_stream_of_locked(s)->id;
    release(squeezed);
    const unsigned char value = fake_mixed(values, loop.counts ? 3 : 2, salt);
    if (loop.counts)
        loop.counter_value = (unsigned char)(value + 1);
    return value;
}

static void backward(unsigned layer, unsigned char value)
{
    const unsigned char values[] = {loop.weight_values[layer], value};
    launch(BACKWARD + layer, (CUdeviceptr[]){loop.weights[layer], loop.activations[layer], loop.weights[layer]}, 2, 1, 1);
    loop.weight_values[layer] = fake_mixed(values, 2, 1);
    release(loop.activations[layer]);
}

static void (*meanwhile)(unsigned layer); /* behind each layer on the way back; NULL: nothing */

static void step(void)
{
    unsigned char values[LAYERS], from = fake_mixed(NULL, 0, (unsigned char)loop.step);
    loop.batch = allocate(BYTES);
    launch(LOAD, &loop.batch, 0, 1, (unsigned char)loop.step);
    for (unsigned i = 0; i < LAYERS; i++)
        from = values[i] = forward(i, from);
    for (unsigned i = LAYERS; i-- > 0;) {
        backward(i, values[i]);
        if (meanwhile)
            meanwhile(i);
    }
    release(loop.batch);
    loop.step++;
}

static void check(void)
{
    for (unsigned i = 0; i < LAYERS; i++)
        expect(loop.weights[i], loop.weight_values[i]);
    if (loop.counts)
        assert_int_equal(expect_on(s, loop.counter, SLOT_BYTES, loop.counter_value), 0);
    fake_run_all();
    check_needs();
}

/* Copies take so much longer than kernels that making activations again is by far the faster. */
static void start(uint64_t budget, bool counts)
{
    begin_planned(budget);
    fake_slow_copies(40);
    memset(&loop, 0, sizeof(loop));
    loop.counts = counts;
    loop.counter = allocate(SLOT_BYTES);
    for (unsigned i = 0; i <= LAYERS; i++) {
        const CUdeviceptr a = i < LAYERS ? (loop.weights[i] = allocate(BYTES)) : loop.counter;
        launch(LOAD, &a, 0, 1, (unsigned char)(i + 50));
        *(i < LAYERS ? &loop.weight_values[i] : &loop.counter_value) = fake_mixed(NULL, 0, (unsigned char)(i + 50));
    }
}

static void steps(unsigned count)
{
    while (count-- > 0)
        step();
}

static uint64_t replays_in_steps(unsigned count)
{
    const uint64_t before = spw_replayed.count[SPW_REPLAY_PLAN];
    steps(count);
    return spw_replayed.count[SPW_REPLAY_PLAN] - before;
}

static unsigned fenced_in_steps(unsigned count)
{
    loop.fenced = 0;
    steps(count);
    return loop.fenced;
}

static void nobody_is_left(void)
{
    steps(1);
    release(loop.counter);
    for (unsigned i = 0; i < LAYERS; i++)
        release(loop.weights[i]);
    for (int i = 0; i < 3; i++) {
        pump();
        sweep();
    }
    for (uint32_t i = 0; i < device->block_count; i++)
        assert_true(!(attention(device->blocks[i]->address) & SPW_RETAINED) || device->blocks[i]->expected);
    assert_int_equal(device->live_count, 0);
    assert_int_equal(device->dropping, 0);
}

/* Once the plan is known, activations are made again by plan, and nothing on demand. */
static void activations_are_made_again_by_plan(void **state)
{
    for (int counts = 0; counts < 2; counts++) {
        start(13 * BYTES, counts);
        steps(KNOWN_AFTER + 3);
        const struct spw_replayed before = spw_replayed;
        assert_true(replays_in_steps(20) >= 20);
        assert_int_equal(spw_replayed.count[SPW_REPLAY_DEMAND], before.count[SPW_REPLAY_DEMAND]);
        assert_int_equal(spw_replayed.count[SPW_REPLAY_RESCUE], before.count[SPW_REPLAY_RESCUE]);
        assert_int_equal(spw_replayed.postponed_count, before.postponed_count);
        assert_int_equal(spw_replayed.failed_count, 0);
        check();
        nobody_is_left();
    }
}

/* What is filled before a launch, another stream may be writing another part of. */
static void other_streams_come_behind_what_is_filled(void **state)
{
    start(13 * BYTES, false);
    steps(KNOWN_AFTER + 3);
    assert_int_equal(fenced_in_steps(4), 0);
    (void)spw_stream_next_locked(spw_stream_of_locked(t)); /* the program has another one */
    assert_true(fenced_in_steps(4) > 0);
    check();
    nobody_is_left();
}

/* All of a small allocation is saved, and another stream may be writing what the layer has nothing to do with. */
static void what_is_saved_is_read_in_no_other_streams_way(void **state)
{
    start(13 * BYTES, true);
    loop.beside = allocate(SLOT_BYTES);
    steps(KNOWN_AFTER + 3);
    loop.behind = loop.followed = 0;
    steps(4);
    assert_true(loop.behind >= 4 && loop.followed >= 4);
    check();
    release(loop.beside);
    loop.beside = 0;
    nobody_is_left();
}

/* Behind an operation the program frees what that was the last to use: what there is no room for before that, since there is
 * less of it than the plan was made for, is run again then. Nothing more leaves for it. */
static void what_runs_again_waits_for_what_the_program_is_about_to_free(void **state)
{
    for (unsigned blocks = 8; blocks <= 11; blocks++) {
        start(blocks * BYTES, false);
        steps(KNOWN_AFTER + 3);
        const uint64_t copies = fake_counts()->copies_out;
        steps(20);
        const uint64_t usual = fake_counts()->copies_out - copies;
        const CUdeviceptr idler = allocate(BYTES / 4);
        launch(LOAD, &idler, 0, 1, 1);
        block_at(idler)->pinned = true;
        steps(KNOWN_AFTER);
        const struct spw_replayed before = spw_replayed;
        const uint64_t copied = fake_counts()->copies_out;
        assert_true(replays_in_steps(20) >= 20);
        assert_int_equal(spw_replayed.postponed_count, before.postponed_count);
        assert_int_equal(fake_counts()->copies_out - copied, usual);
        block_at(idler)->pinned = false;
        release(idler);
        check();
        nobody_is_left();
    }
}

/* A tensor of the program's own is used where the plan knows of nothing, more often than the course stays for. */
static void disturb(unsigned layer)
{
    if (loop.step % 4 != 3 || layer != 1 + loop.step % LAYERS)
        return;
    CUdeviceptr strange = allocate(BYTES);
    for (unsigned i = 0; i < 17; i++)
        launch(LOAD + 50, &strange, 0, 1, 3);
    expect(strange, fake_mixed(NULL, 0, 3));
    release(strange);
}

static void what_is_dropped_off_the_course_comes_on_demand(void **state)
{
    start(13 * BYTES, true);
    steps(KNOWN_AFTER + 3);
    meanwhile = disturb;
    steps(24);
    meanwhile = NULL;
    assert_true(spw_replayed.count[SPW_REPLAY_DEMAND] > 0);
    check();
    steps(4);
    assert_true(replays_in_steps(4) >= 4);
    check();
    nobody_is_left();
}

static unsigned needed_all, needed_at; /* times; behind which layer, LAYERS: behind the step */

/* What there is room for in the budget, but not beside what is kept for running operations again. */
static size_t all_but_kept(void)
{
    const size_t own = spw_block_mapped_bytes(device, spw_stash_block_locked(device)) + device->workspace.block->size_bytes;
    return device->handles.budget_bytes - spw_reclaim_unmovable_bytes_locked(device) + own;
}

static size_t beside; /* more than that */
static void need_tensor(void)
{
    const CUdeviceptr large = allocate(all_but_kept() + beside);
    launch(LOAD + 60, &large, 0, 1, 3);
    release(large);
}

/* Small allocations beside a tensor that stays. */
static void need_slab(void)
{
    enum { SMALL = BYTES / SLOT_BYTES }; /* more than what is there has room for */
    CUdeviceptr small[SMALL];
    const CUdeviceptr large = allocate(device->handles.budget_bytes - spw_reclaim_unmovable_bytes_locked(device));
    launch(LOAD + 60, &large, 0, 1, 3);
    block_at(large)->pinned = true;
    for (unsigned i = 0; i < SMALL; i++)
        small[i] = allocate(SLOT_BYTES);
    block_at(large)->pinned = false;
    for (unsigned i = 0; i < SMALL; i++)
        release(small[i]);
    release(large);
}

static void need_memory_of_the_driver(void)
{
    const size_t bytes = all_but_kept();
    assert_int_equal(spw_unmanaged_take(device, bytes, "a call"), 0);
    spw_unmanaged_give(device, bytes);
}

static void (*need)(void);

static void need_all(unsigned layer)
{
    if (layer != needed_at)
        return;
    need();
    needed_all++;
}

static void keeps_nothing_from(void (*what)(void), unsigned layer, bool counts)
{
    start(14 * BYTES, counts);
    device->workspace.wanted_bytes = BYTES;
    steps(KNOWN_AFTER + 3);
    need = what;
    needed_at = layer;
    needed_all = 0;
    meanwhile = need_all;
    steps(1);
    meanwhile = NULL;
    need_all(LAYERS);
    assert_int_equal(needed_all, 1);
    check();
    steps(4);
    assert_true(replays_in_steps(4) >= 4);
    assert_int_equal(spw_replayed.failed_count, 0);
    check();
    nobody_is_left();
}

/* What is kept for that is given back for it, with all that is dropped made before, and comes again with the plan. */
/* promise: budget-at-run-time */
static void nothing_that_fits_alone_is_refused_for_what_is_kept_for_replays(void **state)
{
    for (int counts = 0; counts < 2; counts++) {
        keeps_nothing_from(need_tensor, LAYERS / 2, counts);
        keeps_nothing_from(need_memory_of_the_driver, LAYERS / 2, counts);
        keeps_nothing_from(need_slab, LAYERS, counts); /* nothing is dropped: there is no room to make anything */
    }
}

/* Without them nothing runs again, until the budget has room for them. */
static void slots_that_were_given_back_come_back_with_a_larger_budget(void **state)
{
    start(14 * BYTES, false);
    device->workspace.wanted_bytes = BYTES;
    steps(KNOWN_AFTER + 3);
    beside = spw_digests_bytes_locked(device);
    need_tensor();
    beside = 0;
    assert_int_equal(spw_digests_bytes_locked(device), 0);
    spw_verify_reset(); /* and nothing was compared that could run again without */
    steps(KNOWN_AFTER);
    assert_int_equal(replays_in_steps(4), 0);
    assert_int_equal(spw_budget_set(device, spw_budget_locked(device) + 1, &(uint64_t){0}), 0);
    steps(KNOWN_AFTER + 4);
    assert_true(replays_in_steps(10) >= 10);
    assert_true(spw_digests_bytes_locked(device) > 0);
    nobody_is_left();
}

static void give_what_is_in_use(unsigned layer)
{
    if (layer != LAYERS / 2)
        return;
    device->workspace.users++;
    spw_lock();
    assert_false(spw_own_memory_give_unlocking(device, UINT64_MAX)); /* contents of the counter are in the stash */
    spw_unlock();
    device->workspace.users--;
    assert_non_null(device->workspace.block);
    assert_non_null(spw_stash_block_locked(device));
}

static void what_is_kept_for_replays_stays_while_they_need_it(void **state)
{
    start(14 * BYTES, true);
    device->workspace.wanted_bytes = BYTES;
    steps(KNOWN_AFTER + 3);
    meanwhile = give_what_is_in_use;
    steps(2);
    meanwhile = NULL;
    check();
    nobody_is_left();
}

static void nobody_knows(unsigned layer)
{
    if (layer == 1 + loop.step % LAYERS)
        assert_int_equal(spw_versions_break(), 0);
}

/* Before something happens that may change what any operation does, all that is dropped is made. */
static void nothing_is_dropped_when_operations_may_change(void **state)
{
    start(13 * BYTES, true);
    steps(KNOWN_AFTER + 3);
    meanwhile = nobody_knows;
    steps(12);
    meanwhile = NULL;
    assert_true(spw_replayed.count[SPW_REPLAY_RESCUE] > 12);
    check();
    nobody_is_left();
}

/* What is made again for the first time is compared before it is used: of what never was, nothing wrong is. */
static void what_is_made_wrong_is_restored(void **state)
{
    for (int counts = 0; counts < 2; counts++) {
        start(13 * BYTES, counts);
        spw_verify_reset();
        spoils = 1;
        steps(KNOWN_AFTER + 12);
        check();
        assert_true(spw_verified.mismatch_count > 0);
        assert_true(spw_verified.repaired_count >= spw_verified.mismatch_count);
        assert_int_equal(spw_verified.equal_count, 0);
        assert_int_equal(spw_verified.lost_count, 0);
        spoils = 0;
        nobody_is_left();
    }
}

/* Each operation once, and no more before many iterations have gone by. */
static void what_is_made_right_is_compared_once(void **state)
{
    start(13 * BYTES, false);
    spw_verify_reset();
    struct spw_settings settings = *spw_settings_get();
    settings.verify_every = 1000000;
    spw_settings_use(&settings);
    steps(KNOWN_AFTER + 3);
    const uint64_t compared = spw_verified.equal_count, again = spw_replayed.count[SPW_REPLAY_PLAN];
    assert_true(compared > 0);
    steps(10);
    assert_int_equal(spw_verified.equal_count, compared);
    assert_int_equal(spw_verified.mismatch_count + spw_verified.unanswered_count, 0);
    assert_true(spw_replayed.count[SPW_REPLAY_PLAN] >= again + 10);
    check();
    nobody_is_left();
}

/* Whatever the budget, every byte is what it would have been. */
static void any_budget_will_do(void **state)
{
    for (uint64_t tensors = 9; tensors <= 17; tensors += 4) {
        start(tensors * BYTES, tensors % 8 == 1);
        steps(KNOWN_AFTER + 3);
        check();
        nobody_is_left();
    }
}

static void plan_anew(void)
{
    const struct spw_recorded_op none = {0};
    spw_lock();
    spw_follower->condemned(device, &none);
    spw_unlock();
}

/* Operations are looked at for the sake of versions only while a plan has use for them. */
static void versions_are_kept_only_while_a_plan_has_use_for_them(void **state)
{
    start(13 * BYTES, false);
    steps(KNOWN_AFTER + 20);
    assert_true(spw_versions_kept && kept_count > 0);
    assert_true(spw_stream_of_locked(s)->place->look);
    loop.copies_only = true;
    plan_anew();
    steps(2);
    assert_false(spw_versions_kept);
    assert_int_equal(kept_count, 0);
    assert_int_equal(device->dropping, 0);
    assert_false(spw_stream_of_locked(s)->place->look);
    const uint64_t again = spw_replayed.submitted_count, copies = fake_counts()->copies_out;
    steps(10);
    assert_int_equal(spw_replayed.submitted_count, again);
    assert_true(fake_counts()->copies_out > copies);
    check();
    loop.copies_only = false;
    loop.counts = true; /* that is another iteration, and its plan has replays */
    steps(KNOWN_AFTER + 10);
    assert_true(spw_versions_kept);
    assert_true(spw_replayed.submitted_count >= again + 10);
    check();
    nobody_is_left();
}

/* Where nothing runs again, tensors may still leave without a copy since what used them only read them. */
static void versions_are_kept_for_plans_that_rely_on_what_is_only_read(void **state)
{
    for (int how = 0; how < 4; how++) {
        start(13 * BYTES, false);
        struct spw_settings settings = *spw_settings_get();
        settings.recompute = how & 1;
        spw_settings_use(&settings);
        struct spw_course_plan plan = {.marks.believes = how >> 1};
        struct spw_tuned_iteration tuned = {.plan = &plan};
        struct spw_plan_executor on = {.device = device, .now = &tuned};
        pthread_mutex_lock(&device->slow);
        spw_lock();
        spw_plan_executor_keep_operations_unlocking(&on);
        spw_unlock();
        pthread_mutex_unlock(&device->slow);
        assert_int_equal(spw_versions_kept, how == 3);
    }
}

static void want_none(unsigned layer)
{
    if (!device->dropping)
        return;
    pthread_mutex_lock(&device->slow);
    spw_lock();
    spw_plan_follower_spare_versions_unlocking(device, spw_stream_of_locked(s));
    assert_true(spw_versions_kept); /* the plan has use for them */
    unwanted = true;
    spw_plan_follower_spare_versions_unlocking(device, spw_stream_of_locked(s));
    unwanted = false;
    assert_false(spw_versions_kept);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    assert_int_equal(device->dropping, 0);
    meanwhile = NULL;
}

/* What was dropped could not be made again once nobody counts who writes what it is made of. */
static void all_that_is_dropped_is_made_before_versions_are_kept_no_more(void **state)
{
    start(13 * BYTES, true);
    steps(KNOWN_AFTER + 3);
    const uint64_t rescued = spw_replayed.count[SPW_REPLAY_RESCUE];
    meanwhile = want_none;
    steps(1);
    assert_null(meanwhile);
    assert_true(spw_replayed.count[SPW_REPLAY_RESCUE] > rescued);
    check();
    nobody_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations_are_made_again_by_plan),
        cmocka_unit_test(other_streams_come_behind_what_is_filled),
        cmocka_unit_test(what_is_saved_is_read_in_no_other_streams_way),
        cmocka_unit_test(what_runs_again_waits_for_what_the_program_is_about_to_free),
        cmocka_unit_test(what_is_dropped_off_the_course_comes_on_demand),
        cmocka_unit_test(nothing_that_fits_alone_is_refused_for_what_is_kept_for_replays),
        cmocka_unit_test(slots_that_were_given_back_come_back_with_a_larger_budget),
        cmocka_unit_test(what_is_kept_for_replays_stays_while_they_need_it),
        cmocka_unit_test(nothing_is_dropped_when_operations_may_change),
        cmocka_unit_test(what_is_made_wrong_is_restored),
        cmocka_unit_test(what_is_made_right_is_compared_once),
        cmocka_unit_test(any_budget_will_do),
        cmocka_unit_test(versions_are_kept_only_while_a_plan_has_use_for_them),
        cmocka_unit_test(versions_are_kept_for_plans_that_rely_on_what_is_only_read),
        cmocka_unit_test(all_that_is_dropped_is_made_before_versions_are_kept_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
