/* test-recorder-streams.c - a trace has the streams, contexts, durations and captured graphs of a run. */
#include "recorded.h"

/* ---- what is tested ---- */

/* A handle that the driver gives out again is a new stream. */
static void forgets_streams_that_are_gone(void **state)
{
    launch(STREAM(2), 0, NULL, 0);
    spw_record_stream_gone(STREAM(2));
    launch(STREAM(2), 0, NULL, 0);
    assert_int_not_equal(find(SPW_RECORD_OP, 0)->record.op.stream, find(SPW_RECORD_OP, 1)->record.op.stream);
}

/* A context takes its allocations along, not those of others. */
static void ends_what_goes_with_a_context(void **state)
{
    allocate(0, 4096);
    current = CONTEXT(1);
    spw_record_context_changed();
    allocate(1, 4096);
    spw_note_begin(NULL, NULL, false);
    spw_record_context_gone(CONTEXT(1));
    spw_note_end();
    assert_int_equal(count(SPW_RECORD_FREE), 1);
    assert_int_equal(find(SPW_RECORD_FREE, 0)->record.free.id, 2);
}

/* Where an allocation is seen on top of another, the end of the other was missed. */
static void ends_allocations_whose_end_was_missed(void **state)
{
    allocate(0, 4096);
    allocate(0, 4096);
    assert_int_equal(find(SPW_RECORD_FREE, 0)->record.free.id, 1);
    assert_int_equal(count(SPW_RECORD_ALLOC), 2);
}

/* With timing on each operation gets the time between its two events; off, no event is made. */
static void times_operations_when_asked(void **state)
{
    launch(STREAM(0), 0, NULL, 0);
    assert_int_equal(events_made, 0);
    spw_timing_set(true);
    launch(STREAM(0), 0, NULL, 0);
    launch(STREAM(0), 0, NULL, 0);
    spw_timing_set(false);
    spw_note_begin(STREAM(0), NULL, true);
    spw_recorder_wait(SPW_WAIT_STREAM, NULL);
    spw_note_end();
    assert_int_equal(count(SPW_RECORD_DURATION), 2);
    assert_int_equal(find(SPW_RECORD_DURATION, 0)->record.duration.op, 1);
    assert_int_equal(find(SPW_RECORD_DURATION, 0)->record.duration.duration_ns, 3000000);
    assert_int_equal(find(SPW_RECORD_DURATION, 1)->record.duration.start_ns, 3000000);
}

/* Events are used again: as many as operations under way at once, and one that start times count from. */
static void reuses_events(void **state)
{
    spw_timing_set(true);
    for (unsigned i = 0; i < 50; i++)
        launch(STREAM(0), 0, NULL, 0);
    spw_timing_set(false);
    assert_in_range(events_made, 3, 7);
}

/* Until the device has done it, an operation has no duration. */
static void waits_for_durations(void **state)
{
    events_happened = false;
    spw_timing_set(true);
    launch(STREAM(0), 0, NULL, 0);
    launch(STREAM(0), 0, NULL, 0);
    assert_int_equal(count(SPW_RECORD_DURATION), 0);
    events_happened = true;
    launch(STREAM(0), 0, NULL, 0);
    spw_timing_set(false);
    assert_int_equal(count(SPW_RECORD_DURATION), 2);
}

/* Captured operations are marked and not timed; launching what became of them touches what they touch. */
static void knows_what_a_captured_graph_touches(void **state)
{
    CUgraph graph = (CUgraph)(uintptr_t)0x5000;
    CUgraphExec exec = (CUgraphExec)(uintptr_t)0x6000, other = (CUgraphExec)(uintptr_t)0x6100;
    allocate(0, 4096);
    allocate(1, 4096);
    spw_timing_set(true);
    spw_captures_active = 1;
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(1) + 8}, 1);
    spw_captures_active = 0;
    assert_int_equal(events_made, 0);
    spw_timing_set(false);
    assert_true(find(SPW_RECORD_OP, 0)->record.op.captured);
    spw_record_captured(graph);
    spw_record_instantiated(graph, exec);
    spw_record_graph_gone(graph);
    spw_note_begin(STREAM(0), NULL, false);
    spw_record_graph_launch(exec);
    spw_record_graph_launch(other);
    spw_record_graph_gone(exec);
    spw_note_end();
    struct kept *k = find(SPW_RECORD_OP, 1);
    assert_int_equal(k->record.op.kind, SPW_OP_GRAPH);
    assert_false(k->record.op.everything);
    assert_int_equal(k->touches[0].alloc, 2);
    assert_int_equal(k->touches[0].offset, 8);
    assert_true(find(SPW_RECORD_OP, 2)->record.op.everything);
}

/* A table that is filled after the capture leads to what it holds at the launch. */
static void follows_a_graphs_pointers_when_it_is_launched(void **state)
{
    CUgraph graph = (CUgraph)(uintptr_t)0x5000;
    CUgraphExec exec = (CUgraphExec)(uintptr_t)0x6000;
    CUdeviceptr address = ADDRESS(1);
    allocate(0, 4096);
    allocate(1, 4096);
    spw_captures_active = 1;
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(0)}, 1);
    spw_captures_active = 0;
    spw_record_captured(graph);
    spw_record_instantiated(graph, exec);
    copy(ADDRESS(0), (CUdeviceptr)(uintptr_t)&address, sizeof(address));
    spw_note_begin(STREAM(0), NULL, false);
    spw_record_graph_launch(exec);
    spw_note_end();
    spw_record_graph_gone(exec);
    spw_record_graph_gone(graph);
    struct kept *k = find(SPW_RECORD_OP, 2);
    assert_int_equal(k->record.op.touch_count, 2);
    assert_int_equal(k->touches[1].alloc, 2);
}

/* A disk that is full ends the trace, not the program. */
static void stops_when_nothing_can_be_written(void **state)
{
    put_result = -28; /* ENOSPC */
    launch(STREAM(0), 0, NULL, 0);
    assert_int_equal(spw_recording, 0);
    put_result = 0;
    launch(STREAM(0), 0, NULL, 0);
    assert_int_equal(kept_count, 1);
}

/* A record that the trace cannot hold is missing, and that is said. */
static void says_what_is_lost(void **state)
{
    put_result = -22; /* EINVAL */
    launch(STREAM(0), 0, NULL, 0);
    assert_int_equal(spw_recording, 0); /* not even the note of the loss could be written */
}

/* Before the program waits, what happened until then is in the file. */
static void flushes_before_waiting(void **state)
{
    unsigned before = flushes;
    launch(STREAM(0), 0, NULL, 0);
    usleep(60000);
    spw_note_begin(STREAM(0), NULL, true);
    assert_int_equal(flushes, before + 1);
    spw_note_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(forgets_streams_that_are_gone),
        TEST(ends_what_goes_with_a_context),
        TEST(ends_allocations_whose_end_was_missed),
        TEST(times_operations_when_asked),
        TEST(reuses_events),
        TEST(waits_for_durations),
        TEST(knows_what_a_captured_graph_touches),
        TEST(follows_a_graphs_pointers_when_it_is_launched),
        TEST(stops_when_nothing_can_be_written),
        TEST(says_what_is_lost),
        TEST(flushes_before_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
