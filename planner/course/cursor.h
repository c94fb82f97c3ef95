/* cursor.h - tracks the position in a course while the program repeats the iteration, and which of its tensors is which.
 *
 * The usual step, an operation that is expected, is inline, since every launch takes it. */
#ifndef SPILLWAY_PLANNER_CURSOR_H
#define SPILLWAY_PLANNER_CURSOR_H
#include "course/course.h"

struct spw_cursor_event; /* cursor_log.h */
struct spw_cursor_other;
struct spw_cursor_extra;

struct spw_cursor {
    const struct spw_course_op *ops; /* course->ops */
    uint32_t op;                     /* the next operation expected; op_count: the iteration is complete */
    uint32_t op_count;               /* course->op_count */
    const struct spw_course *course; /* borrowed */
    uint32_t alloc;                  /* number of the next allocation expected */
    uint64_t *id;                    /* by tensor: its id this time; 0: not there yet, or freed */
    uint64_t *was;                   /* by tensor: likewise, but kept after the free, for spw_cursor_tell() */
    uint32_t extras;                 /* operations outside the backbone that were not expected, in this iteration */

    /* for spw_cursor_tell() */
    uint64_t *told;   /* by tensor alive at the beginning: its id when the listener was last told */
    uint8_t *skipped; /* by operation: it did not come */
    uint32_t skipped_count;
    struct spw_cursor_event *log; /* of this iteration */
    struct spw_cursor_other *others;
    struct spw_cursor_extra *noted;
    struct spw_iteration_touch *noted_touches;
    uint32_t log_count, log_room, other_count, other_room, noted_count, noted_room, noted_touch_count, noted_touch_room;
    uint64_t first_id; /* first id allocated since the listener was last told; 0: none */
    bool forgot;       /* an event was lost for lack of memory */
};

/* What an operation turned out to be. */
enum spw_cursor_answer {
    /* The cursor has moved past it, and past expected operations outside the backbone that did not come. */
    SPW_CURSOR_EXPECTED,
    SPW_CURSOR_EXTRA, /* outside the backbone and not expected here: the cursor has not moved */
    /* The iteration is complete, apart from operations outside the backbone that did not come, and this is the first
     * operation of the next one. The cursor is at the end; the caller rewinds it and asks again. Allocations made for the
     * next iteration before this was known are not matched with its tensors. */
    SPW_CURSOR_COMPLETE,
    SPW_CURSOR_LOST /* anything else: the cursor has not moved */
};

/* Starts at the beginning of an iteration, all of whose predecessors the listener was told. Tensors alive throughout have
 * the ids that they had while the course was recorded; all others have none. Returns 0 or -ENOMEM. */
int spw_cursor_init(struct spw_cursor *cursor, const struct spw_course *course);
void spw_cursor_finish(struct spw_cursor *cursor);
void spw_cursor_begin(struct spw_cursor *cursor); /* does the same again, after the cursor was lost */

/* Sets the id of a tensor alive at the beginning whose id is not known; 0: none. To be called right after init or begin. */
void spw_cursor_bind(struct spw_cursor *cursor, uint32_t tensor, uint64_t id);

/* Starts the next iteration after a complete one. Tensors alive throughout keep their ids, those that lived on get their
 * next number (`from`), and all others have no id. Frees from here to the next operation belong to the last iteration. */
void spw_cursor_rewind(struct spw_cursor *cursor);

static inline bool spw_cursor_expects(const struct spw_cursor *cursor, uint64_t key)
{
    return cursor->op < cursor->op_count && cursor->ops[cursor->op].key == key;
}
/* Moves past the expected operation. spw_cursor_expects() has to have returned true. */
static inline void spw_cursor_advance(struct spw_cursor *cursor)
{
    cursor->op++;
}
/* Takes any operation, and looks for it among the next few if it is not the expected one. */
enum spw_cursor_answer spw_cursor_op(struct spw_cursor *cursor, uint64_t key, bool backbone);

/* After SPW_CURSOR_LOST: returns where the operation may belong beyond the expected one, which is the next operation of
 * the backbone with that key, from `op` on; op_count if there is none. */
uint32_t spw_cursor_find(const struct spw_cursor *cursor, uint64_t key, uint32_t op);
/* Skips the operations before `op`, which becomes the next one expected. */
void spw_cursor_skip_to(struct spw_cursor *cursor, uint32_t op);
/* Sets the id of a tensor that was allocated since this iteration began, if its allocation was matched with no tensor or
 * with another one. Returns false if there was no such allocation. */
bool spw_cursor_recognise(struct spw_cursor *cursor, uint32_t tensor, uint64_t id);

/* After SPW_CURSOR_EXTRA, or SPW_CURSOR_LOST if the course goes on all the same: notes the operation so that
 * spw_cursor_tell() reports it. Operations that are not noted are not reported. */
void spw_cursor_note_extra(struct spw_cursor *cursor, const struct spw_iteration_op *call);

/* Returns the tensor that an allocation is, among those of this size that the course allocates after the last operation
 * of the backbone and before the next one. Tensors that live on into the next iteration may be allocated anywhere.
 * Returns SPW_NO_INDEX if it is none of them, which the cursor notes. Ids rise. */
uint32_t spw_cursor_alloc(struct spw_cursor *cursor, uint64_t id, uint64_t bytes);

/* Takes the free of any allocation. `tensor`: the result of its allocation, or its number if it was alive at the
 * beginning, possibly of an earlier iteration; SPW_NO_INDEX: none. Returns false if it is no tensor of this iteration. */
bool spw_cursor_free(struct spw_cursor *cursor, uint32_t tensor, uint64_t id);

/* Reports what has happened since the beginning of the iteration, in order and with this time's ids, to a detector that was
 * not told while everything went as expected. First come the changes of earlier iterations that were not reported:
 * allocations of tensors that are alive at the beginning and were not when the listener was last told, in order of ids, then
 * frees of those that were and are not. Frees may have ids that the listener does not know.
 *
 * The cursor does not change; it has to begin again (spw_cursor_begin()) before it is used further. Returns 0; -ENOMEM:
 * nothing, or not everything, was reported. */
struct spw_cursor_listener {
    void (*alloc)(void *context, uint64_t id, uint64_t bytes);
    void (*free)(void *context, uint64_t id);
    /* `call` is what the recording was told (spw_recording_call()), with this time's ids; its stream is 0. `op`: the
     * course's; NULL: an unexpected operation that was noted. */
    void (*op)(void *context, const struct spw_course_op *op, const struct spw_iteration_op *call);
    void *context;
};
int spw_cursor_tell(const struct spw_cursor *cursor, const struct spw_cursor_listener *listener);

/* Does the same as rewind, but first reports the complete iteration, so that the listener was told everything before the
 * next one. A detector that is told in this way now and then, and always while it may yet find that the iteration is only
 * part of a longer one, learns what it would have learned. Returns as spw_cursor_tell() does; without memory the cursor
 * is rewound all the same. */
int spw_cursor_rewind_telling(struct spw_cursor *cursor, const struct spw_cursor_listener *listener);
#endif
