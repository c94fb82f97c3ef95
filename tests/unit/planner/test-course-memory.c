/* test-course-memory.c - where memory runs out, whoever records, makes a course or follows one says so, and leaves nothing
 * behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "course/cursor.h"
#include "course/recording.h"
#include "plan/actions.h"

static bool are_counted;
static size_t made, live, failing = SIZE_MAX;

static bool fails(void)
{
    return are_counted && made++ == failing;
}

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *memory);
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *memory);

void *__wrap_malloc(size_t size)
{
    void *memory = fails() ? NULL : __real_malloc(size);
    live += are_counted && memory;
    return memory;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *memory = fails() ? NULL : __real_calloc(count, size);
    live += are_counted && memory;
    return memory;
}

void *__wrap_realloc(void *old, size_t size)
{
    void *memory = fails() ? NULL : __real_realloc(old, size);
    live += are_counted && memory && !old;
    return memory;
}

void __wrap_free(void *memory)
{
    live -= are_counted && memory;
    __real_free(memory);
}

/* ---- */

enum { LIVE = 300, OPS = 200 }; /* more than any array has at first */

static int record(struct spw_recording *r)
{
    int result = 0;
    spw_recording_begin(r);
    for (uint64_t i = 1; i <= LIVE && result == 0; i++)
        result = spw_recording_live(r, i, i, true);
    for (uint64_t i = 1; i <= OPS && result == 0; i++) {
        const struct spw_recording_touch touches[] = {
            {i, SPW_COURSE_READS, 0}, {1000 + i, SPW_COURSE_WRITES, 0}, {2000 + i, SPW_COURSE_WRITES, 0, 64}};
        result = spw_recording_alloc(r, 1000 + i, 64, true);
        if (result == 0)
            result = spw_recording_op(r, i, true, touches, 3, NULL);
        if (result == 0)
            result = spw_recording_free(r, 1000 + i);
    }
    return result;
}

static int record_course(struct spw_course **ret_course)
{
    struct spw_recording *r;
    int result = spw_recording_create(&r);
    if (result < 0)
        return result;
    result = record(r);
    const int again = spw_recording_finish(r, result == 0 ? OPS : 1, ret_course);
    if (result < 0)
        assert_int_equal(again, -ENOMEM); /* it remains broken */
    spw_recording_destroy(r);
    return again;
}

static void heard_alloc(void *context, uint64_t id, uint64_t bytes)
{
}
static void heard_free(void *context, uint64_t id)
{
}
static void heard_op(void *context, const struct spw_course_op *op, const struct spw_iteration_op *call)
{
}

static int follow(struct spw_cursor *c)
{
    const struct spw_iteration_touch touched = {.alloc = 1, .bytes = 1};
    const struct spw_iteration_op extra = {.kind = SPW_ITERATION_COPY_D2H, .touch_count = 1, .touches = &touched};
    const struct spw_cursor_listener listener = {heard_alloc, heard_free, heard_op, NULL};
    for (uint64_t i = 1; i <= OPS; i++) {
        (void)spw_cursor_alloc(c, 10000 + i, 64);
        (void)spw_cursor_alloc(c, 20000 + i, 7);
        spw_cursor_note_extra(c, &extra);
        assert_int_equal(spw_cursor_op(c, i, true), SPW_CURSOR_EXPECTED);
    }
    spw_cursor_rewind(c);
    return spw_cursor_tell(c, &listener);
}

static int make_graph(const struct spw_course *course)
{
    struct spw_graph *graph;
    struct spw_graph_problem problem;
    uint32_t *tensor_of;
    const struct spw_course_terms terms = {1, 1, 1, 1, 0, true};
    struct spw_course_marks marks = {0};
    int r = spw_course_graph(course, &terms, &graph, &tensor_of, &problem);
    if (r < 0)
        return r;
    struct spw_actions actions = {.op_count = OPS};
    actions.start = calloc(graph->tensor_count + 1, 1);
    actions.first = calloc(OPS + 2, sizeof *actions.first);
    r = actions.start && actions.first ? spw_course_actions(course, graph, tensor_of, &actions, &marks) : -ENOMEM;
    spw_course_marks_finish(&marks);
    spw_actions_finish(&actions);
    spw_graph_destroy(graph);
    free(tensor_of);
    return r;
}

/* All of it. */
static int go(void)
{
    struct spw_course *recorded, *course;
    struct spw_cursor cursor;
    int r = record_course(&recorded);
    if (r < 0)
        return r;
    r = spw_course_copy(recorded, &course);
    spw_course_destroy(recorded);
    if (r < 0)
        return r;
    r = make_graph(course);
    if (r == 0)
        r = spw_cursor_init(&cursor, course);
    if (r == 0) {
        r = follow(&cursor);
        spw_cursor_finish(&cursor);
    }
    spw_course_destroy(course);
    return r;
}

static void whatever_allocation_fails_is_said_and_leaves_nothing(void **state)
{
    int r = -ENOMEM;
    for (failing = 0; r != 0; failing++) {
        made = live = 0;
        are_counted = true;
        r = go();
        are_counted = false;
        if (live != 0 || (r != 0 && r != -ENOMEM))
            fail_msg("allocation %zu: %d, %zu left", failing, r, live);
        assert_true(failing < 1000);
    }
    assert_true(failing > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_allocation_fails_is_said_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
