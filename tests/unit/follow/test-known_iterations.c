/* test-known_iterations.c - what is told of an operation: where it was given what leads nowhere, that is not trusted again;
 * and what its duration counts for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "device_loop.h"
#include "driver.h"
#include "op.h"
#include "known_iterations.h"
#include "scan.h"
#include "slab.h"
#include "pinning.h"
#include "pointer_tables.h"
#include "training-loop.h"

enum { FUNCTION = 900, PLACE = 20 /* the first hit's; the others' follow */ };

static struct training_loop loop;
static struct spw_known_iterations known;
static _Atomic uint8_t notes[64];
static const struct spw_layout layout = {.known = true, .places = notes};
static struct spw_scan_doubted doubted;

static int begin(void **state)
{
    loop_start(&loop, (uint64_t)LOOP_TENSORS * LOOP_BYTES, SPW_PLAN_OFF);
    assert_int_equal(spw_known_iterations_init(&known, loop.device), 0);
    memset(notes, 0, sizeof(notes));
    return 0;
}

static int end(void **state)
{
    spw_known_iterations_finish(&known);
    return 0;
}

/* A launch was given a structure of so many addresses, among them `stale` ones in places that were doubted before. */
static void give(unsigned count, uint64_t stale)
{
    spw_scan_doubted_init(&doubted);
    doubted.layout = &layout;
    doubted.end = count;
    doubted.bits[0] = stale;
    for (unsigned i = 0; i < count; i++)
        doubted.places[i] = (uint16_t)(PLACE + i);
}

static void tell(CUdeviceptr *hits, unsigned count, uint64_t stale)
{
    give(count, stale);
    struct spw_op op = {.handle = loop.stream,
                        .hits = hits,
                        .count = count,
                        .room = count,
                        .doubted = &doubted,
                        .signature = {SPW_ITERATION_LAUNCH, FUNCTION, 0}};
    assert_int_equal(spw_known_iterations_observe_locked(&known, &op, NULL, 0), 0);
}

static uint64_t doubted_places(void)
{
    uint64_t bits = 0;
    for (unsigned place = 0; place < sizeof(notes); place++)
        bits |= (uint64_t)(notes[place] & SPW_PLACE_DOUBTED) << place;
    return bits >> PLACE;
}

static void what_leads_to_nothing_alive_is_doubted(void **state)
{
    const CUdeviceptr gone = loop_allocate(&loop, LOOP_BYTES);
    loop_free(&loop, gone);
    CUdeviceptr hits[] = {loop.weights[0], gone, loop.weights[1] + 64, spw_arena_high - 8, loop.weights[2]};
    tell(hits, 5, 1 << 4);
    assert_int_equal(doubted_places(), 1 << 1 | 1 << 3);
}

static void nothing_that_is_alive_is_doubted(void **state)
{
    CUdeviceptr hits[LOOP_LAYERS];
    for (unsigned i = 0; i < LOOP_LAYERS; i++)
        hits[i] = loop.weights[i] + LOOP_BYTES - 1;
    tell(hits, LOOP_LAYERS, 0);
    assert_int_equal(doubted_places(), 0);
}

/* Of a slab only what has been handed out is alive. */
static void a_slot_that_is_free_is_doubted(void **state)
{
    const CUdeviceptr kept = loop_allocate(&loop, 256), gone = loop_allocate(&loop, 256);
    assert_int_equal(spw_object_at_locked(kept)->kind, SPW_KIND_SLAB);
    assert_ptr_equal(spw_object_at_locked(kept), spw_object_at_locked(gone));
    loop_free(&loop, gone);
    CUdeviceptr hits[] = {kept, gone};
    tell(hits, 2, 0);
    assert_int_equal(doubted_places(), 1 << 1);
    loop_free(&loop, kept);
}

/* It is somebody's, though this device has no business with it. */
static void what_is_alive_on_another_device_is_not_doubted(void **state)
{
    struct spw_device other = *loop.device;
    other.ordinal++;
    known.device = &other;
    CUdeviceptr hits[] = {loop.weights[0]};
    tell(hits, 1, 0);
    assert_int_equal(doubted_places(), 0);
    known.device = loop.device;
}

/* Where there are pointer tables, objects are told and no hits: who lists these sees what leads nowhere. */
static void what_leads_to_nothing_alive_is_doubted_beside_a_table_of_addresses(void **state)
{
    const CUdeviceptr table = loop_allocate(&loop, LOOP_BYTES), gone = loop_allocate(&loop, LOOP_BYTES);
    spw_pointer_tables_learn(table, &table, sizeof table, &spw_pinning);
    loop_free(&loop, gone);
    CUdeviceptr hits[] = {loop.weights[0], gone, loop.weights[1]};
    give(3, 0);
    loop.doubted = &doubted;
    assert_true(loop_launch(&loop, FUNCTION, hits, 3, 0));
    loop_end_launch(&loop);
    assert_int_equal(doubted_places(), 1 << 1);
    spw_pointer_tables_forget(table, table + LOOP_BYTES);
}

/* ---- durations ---- */

static const struct spw_course *course_of_device(void)
{
    const struct spw_tuned_iterations *iterations = &loop.device->loop->known.iterations;
    assert_int_equal(iterations->count, 1);
    return iterations->list[0].course;
}

static CUresult name_of_collective(const char **name, CUfunction f)
{
    *name = "_Z32ncclDevKernel_AllReduce_Sum_f32_RING_LL";
    return CUDA_SUCCESS;
}

/* What runs beside it has the time to itself, and how long it waits for others says nothing of the next iteration. */
static void a_collective_takes_no_time_of_an_iteration(void **state)
{
    loop_start(&loop, (uint64_t)LOOP_TENSORS * LOOP_BYTES * 6 / 10, SPW_PLAN_WAIT);
    spw_driver.cuFuncGetName = name_of_collective;
    loop.named = LOOP_BACKWARD + 3;
    loop_steps(&loop, 8);
    const struct spw_course *course = course_of_device();
    unsigned collectives = 0;
    for (uint32_t i = 0; i < course->op_count; i++) {
        const bool is_one = course->calls[i].function == loop.named;
        collectives += is_one;
        assert_true(is_one ? course->ops[i].us == 0 : course->ops[i].us > 0);
    }
    assert_int_equal(collectives, 1);
    spw_driver.cuFuncGetName = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_leads_to_nothing_alive_is_doubted, begin, end),
        cmocka_unit_test_setup_teardown(nothing_that_is_alive_is_doubted, begin, end),
        cmocka_unit_test_setup_teardown(a_slot_that_is_free_is_doubted, begin, end),
        cmocka_unit_test_setup_teardown(what_is_alive_on_another_device_is_not_doubted, begin, end),
        cmocka_unit_test_setup_teardown(what_leads_to_nothing_alive_is_doubted_beside_a_table_of_addresses, begin, end),
        cmocka_unit_test(a_collective_takes_no_time_of_an_iteration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
