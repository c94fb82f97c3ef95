/* course-follower.c - what course-follower.h says. */
#include "course-follower.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "detect/history.h"

/* ---- the detector that is told now and then ---- */

static void tell_alloc(void *context, uint64_t id, uint64_t bytes)
{
    struct follower *f = context;
    assert_int_equal(spw_iteration_alloc(f->detector, id, bytes, 0), 0);
}

static void tell_free(void *context, uint64_t id)
{
    struct follower *f = context;
    (void)spw_iteration_free(f->detector, id);
}

static void tell_op(struct follower *f, const struct spw_iteration_op *op)
{
    assert_int_equal(spw_iteration_add(f->detector, op, &f->place), 0);
}

static void tell_op_again(void *context, const struct spw_course_op *op, const struct spw_iteration_op *call)
{
    (void)op;
    tell_op(context, call);
}

/* ---- recording ---- */

static uint64_t key_of(const struct spw_iteration_op *op)
{
    return spw_stir(spw_stir(op->kind, op->function), op->geometry);
}

static bool is_backbone(const struct spw_iteration_op *op)
{
    return op->kind < SPW_ITERATION_COPY_H2D;
}

static void begin_recording(struct follower *f)
{
    if (!f->recording)
        assert_int_equal(spw_recording_create(&f->recording), 0);
    spw_recording_begin(f->recording);
    for (uint64_t id = 1; id <= f->program->next_id; id++)
        if (f->bytes[id])
            assert_int_equal(spw_recording_live(f->recording, id, f->bytes[id], true), 0);
    f->is_recording = true;
}

static void record_op(struct follower *f, const struct spw_iteration_op *op, uint64_t label)
{
    struct spw_recording_touch touches[16];
    uint32_t ordinal;
    assert_true(op->touch_count <= 16);
    for (uint32_t i = 0; i < op->touch_count; i++)
        touches[i] = (struct spw_recording_touch){
            .id = op->touches[i].alloc, .access = 1 + (op->function + i) % 3, .offset = op->touches[i].offset};
    assert_int_equal(spw_recording_op(f->recording, key_of(op), is_backbone(op), touches, op->touch_count, &ordinal), 0);
    spw_recording_call(f->recording, ordinal, op);
    spw_recording_duration(f->recording, ordinal, (double)(1 + op->function % 50));
    assert_true(ordinal < FOLLOWER_OPS);
    f->op_labels[ordinal] = label;
    f->used_at[ordinal] = f->used_bytes;
}

static void make_course(struct follower *f, uint32_t length)
{
    assert_int_equal(spw_recording_finish(f->recording, length, &f->course), 0);
    assert_int_equal(spw_cursor_init(&f->cursor, f->course), 0);
    assert_true(f->course->tensor_count < FOLLOWER_OPS);
    for (uint32_t i = 0; i < f->course->tensor_count; i++)
        f->labels[i] = f->program->labels[f->course->tensors[i].id % PROGRAM_LIVE];
    f->is_recording = f->is_complete = false;
}

/* ---- the engine's part ---- */

static void set_cursor(struct follower *f)
{
    spw_cursor_begin(&f->cursor);
    f->is_silent = true;
    if (!f->shortest || f->course->op_count < f->shortest)
        f->shortest = f->course->op_count;
    f->silent_now = f->told_now = 0;
    for (uint64_t id = 1; id <= f->program->next_id; id++)
        f->tensor[id] = SPW_NO_INDEX;
    for (uint32_t i = 0; i < f->course->live_count; i++)
        if (f->cursor.id[i])
            f->tensor[f->cursor.id[i]] = i;
}

static bool knows_shape(const struct follower *f, uint32_t id)
{
    struct spw_iteration_shape shape;
    for (size_t i = 0; spw_iteration_shape_at(f->detector, i, &shape); i++)
        if (shape.id == id)
            return true;
    return false;
}

static void forget_course(struct follower *f)
{
    if (f->course)
        spw_cursor_finish(&f->cursor);
    spw_course_destroy(f->course);
    f->course = NULL;
}

/* The iteration is over, and the detector knows it. */
static void end_iteration(struct follower *f, uint32_t shape, uint32_t length)
{
    f->is_complete = f->is_recording && f->shape == shape && spw_recording_op_count(f->recording) == length;
    if (f->course && !knows_shape(f, f->shape)) /* a better one took its place */
        forget_course(f);
    if (f->record_from)
        f->record_from--;
    else if (!f->course && !f->is_complete) {
        begin_recording(f);
        f->shape = shape;
    } else if (f->course && f->silences && f->shape == shape) {
        f->silences--;
        set_cursor(f);
    }
}

static struct spw_cursor_listener listener_of(struct follower *f)
{
    return (struct spw_cursor_listener){.alloc = tell_alloc, .free = tell_free, .op = tell_op_again, .context = f};
}

static void speak(struct follower *f)
{
    const struct spw_cursor_listener listener = listener_of(f);
    assert_int_equal(spw_cursor_tell(&f->cursor, &listener), 0);
    f->is_silent = false;
    f->told++;
    f->record_from = f->rest;
}

/* The cursor is at the end of the iteration. */
static void go_round(struct follower *f)
{
    const struct spw_cursor_listener listener = listener_of(f);
    f->silent_iterations++;
    if (f->told_now++ >= f->told_at_end) {
        spw_cursor_rewind(&f->cursor);
        return;
    }
    assert_int_equal(spw_cursor_rewind_telling(&f->cursor, &listener), 0);
    if (f->place.sure == SPW_ITERATION_NO || f->place.shape != f->shape) /* it is something else, as a whole */
        f->is_silent = false;
}

/* The operation that the cursor has gone past is the one that it is in the program, and touches who it believes. */
static void judge(struct follower *f, const struct spw_iteration_op *op, uint64_t label)
{
    const uint32_t ordinal = f->cursor.op - 1;
    const struct spw_course_call *call = &f->course->calls[ordinal];
    const bool is_part = f->course->op_count < f->program->whole_length; /* a micro-step: any of them */
    const uint64_t mask = is_part ? ((uint64_t)1 << PROGRAM_MICRO_SHIFT) - 1 : UINT64_MAX;
    f->wrong_ops += ((f->op_labels[ordinal] ^ label) & mask) != 0;
    for (uint32_t i = 0; i < call->mention_count && i < op->touch_count; i++) {
        const uint32_t tensor = f->course->mentions[call->first_mention + i].tensor;
        f->right_tensors += f->cursor.id[tensor] == op->touches[i].alloc;
        f->unknown_tensors += f->cursor.id[tensor] == 0;
        f->wrong_tensors += f->cursor.id[tensor] != 0 && f->cursor.id[tensor] != op->touches[i].alloc;
    }
}

static bool is_followed(struct follower *f, const struct spw_iteration_op *op, uint64_t label)
{
    if (f->silent_now++ >= f->silent_most)
        return false;
    enum spw_cursor_answer answer = spw_cursor_op(&f->cursor, key_of(op), is_backbone(op));
    if (answer == SPW_CURSOR_COMPLETE) {
        go_round(f);
        if (!f->is_silent)
            return false;
        answer = spw_cursor_op(&f->cursor, key_of(op), is_backbone(op));
    }
    f->lost += answer == SPW_CURSOR_LOST;
    if (answer == SPW_CURSOR_LOST)
        return false;
    f->silent_ops++;
    if (answer == SPW_CURSOR_EXTRA) {
        spw_cursor_note_extra(&f->cursor, op);
        return true;
    }
    judge(f, op, label);
    if (f->cursor.op == f->course->op_count)
        go_round(f);
    return true;
}

static void compare(struct follower *f, const struct spw_iteration_place *a, const struct spw_iteration_place *b)
{
    f->compared++;
    f->different += a->length != b->length || a->ordinal != b->ordinal || a->extra != b->extra || a->begins != b->begins;
    f->different_sure += a->sure != b->sure;
}

/* ---- what the program does ---- */

static void on_op(void *context, const struct spw_iteration_op *op, const struct spw_iteration_place *truth, uint64_t label)
{
    struct follower *f = context;
    for (uint32_t i = 0; i < op->touch_count; i++) {
        const uint64_t id = op->touches[i].alloc;
        f->used_bytes += f->is_used[id] ? 0 : f->bytes[id];
        f->is_used[id] = true;
    }
    if (f->is_complete) /* what is freed behind the last operation was the iteration's */
        make_course(f, spw_recording_op_count(f->recording));
    if (f->is_silent && is_followed(f, op, label))
        return;
    if (f->is_silent)
        speak(f);
    if (f->is_recording)
        record_op(f, op, label);
    tell_op(f, op);
    if (f->told)
        compare(f, truth, &f->place);
    if (f->place.sure == SPW_ITERATION_SURE && !f->place.extra && f->place.ordinal + 1 == f->place.length)
        end_iteration(f, f->place.shape, f->place.length);
}

static void on_alloc(void *context, uint64_t id, uint64_t bytes)
{
    struct follower *f = context;
    assert_true(id < FOLLOWER_IDS);
    f->bytes[id] = bytes;
    f->tensor[id] = SPW_NO_INDEX;
    if (f->is_silent)
        f->tensor[id] = spw_cursor_alloc(&f->cursor, id, bytes);
    else
        tell_alloc(f, id, bytes);
    if (f->is_recording)
        assert_int_equal(spw_recording_alloc(f->recording, id, bytes, true), 0);
}

static void on_free(void *context, uint64_t id)
{
    struct follower *f = context;
    f->used_bytes -= f->is_used[id] ? f->bytes[id] : 0;
    f->bytes[id] = 0;
    if (f->is_silent)
        (void)spw_cursor_free(&f->cursor, f->tensor[id], id);
    else
        tell_free(f, id);
    if (f->is_recording)
        assert_int_equal(spw_recording_free(f->recording, id), 0);
}

void follower_init(struct follower *f, struct program *program, size_t max_operations)
{
    memset(f, 0, sizeof *f);
    f->watcher = (struct program_watcher){on_alloc, on_free, on_op, f};
    f->program = program;
    f->silences = f->silent_most = UINT32_MAX;
    program->watcher = &f->watcher;
    assert_int_equal(spw_iteration_create(max_operations, &f->detector), 0);
}

void follower_finish(struct follower *f)
{
    f->program->watcher = NULL;
    spw_iteration_destroy(f->detector);
    spw_recording_destroy(f->recording);
    forget_course(f);
}
