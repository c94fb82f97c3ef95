/* cursor.h - keeps the place in a course while the program goes through the iteration again, and knows which of its tensors
 * is which this time.
 *
 * The usual step, the operation that is expected, is inline: it is on the path of every launch. */
#ifndef SPILLWAY_PLANNER_CURSOR_H
#define SPILLWAY_PLANNER_CURSOR_H
#include "course/course.h"

struct spw_cursor_event; /* cursor_log.h */
struct spw_cursor_other;
struct spw_cursor_extra;

struct spw_cursor {
    const struct spw_course_op *ops; /* course->ops */
    uint32_t op;                     /* the next one expected; op_count: the iteration is complete */
    uint32_t op_count;               /* course->op_count */
    const struct spw_course *course; /* borrowed */
    uint32_t alloc;                  /* number of the next allocation expected */
    uint64_t *id;                    /* by tensor: who it is this time; 0: nobody (yet), or freed */
    uint64_t *was;                   /* by tensor: the same, kept after the free, for spw_cursor_tell() */
    uint32_t extras;                 /* operations beside the backbone that were not expected, since the beginning */

    /* for spw_cursor_tell() */
    uint64_t *told;   /* by tensor alive at the beginning: who it was when the listener was told last */
    uint8_t *skipped; /* by operation: did not come */
    uint32_t skipped_count;
    struct spw_cursor_event *log; /* of this iteration */
    struct spw_cursor_other *others;
    struct spw_cursor_extra *noted;
    struct spw_iteration_touch *noted_touches;
    uint32_t log_count, log_room, other_count, other_room, noted_count, noted_room, noted_touch_count, noted_touch_room;
    uint64_t first_id; /* allocated since the listener was told last; 0: none was */
    bool forgot;       /* there was no memory to note something */
};

/* What an operation turned out to be. */
enum spw_cursor_answer {
    SPW_CURSOR_EXPECTED, /* the cursor has gone past it (and past expected ones beside the backbone that did not come) */
    SPW_CURSOR_EXTRA,    /* beside the backbone and not expected here: the place is the same */
    SPW_CURSOR_COMPLETE, /* the iteration is complete, without what was left of it beside the backbone; this is the next
                          * one's: the cursor is at the end, to be rewound and asked again. What was allocated for the next
                          * one before this was known is none of its tensors */
    SPW_CURSOR_LOST      /* something else: the cursor has not moved */
};

/* At the beginning of an iteration before which the listener was told everything. Those alive throughout are who they were
 * while the course was recorded, all others nobody. 0 or -ENOMEM. */
int spw_cursor_init(struct spw_cursor *cursor, const struct spw_course *course);
void spw_cursor_finish(struct spw_cursor *cursor);
void spw_cursor_begin(struct spw_cursor *cursor); /* the same as init once more, after the cursor was lost */

/* Who a tensor that is alive at the beginning is, where it is not known: right after init or begin. 0: nobody. */
void spw_cursor_bind(struct spw_cursor *cursor, uint32_t tensor, uint64_t id);

/* The iteration is complete and the next one begins: those alive throughout stay who they are, what lived on takes its new
 * number (`from`), all others are nobody. What is freed from now on, up to the next operation, belonged to the last one. */
void spw_cursor_rewind(struct spw_cursor *cursor);

static inline bool spw_cursor_expects(const struct spw_cursor *cursor, uint64_t key)
{
    return cursor->op < cursor->op_count && cursor->ops[cursor->op].key == key;
}
/* After expects() was true. */
static inline void spw_cursor_advance(struct spw_cursor *cursor)
{
    cursor->op++;
}
/* Any operation; looks for it among the next few where it is not the one expected. */
enum spw_cursor_answer spw_cursor_op(struct spw_cursor *cursor, uint64_t key, bool backbone);

/* After SPW_CURSOR_LOST: where else the operation may belong, behind the one that is expected: the next one of the backbone
 * with that key, from `op` on. op_count: nowhere. */
uint32_t spw_cursor_find(const struct spw_cursor *cursor, uint64_t key, uint32_t op);
/* Those before it do not come: it is the next one expected. */
void spw_cursor_skip_to(struct spw_cursor *cursor, uint32_t op);
/* Who a tensor is that was allocated since this iteration began, where its allocation did not tell, or told another one.
 * False: there was no such allocation. */
bool spw_cursor_recognise(struct spw_cursor *cursor, uint32_t tensor, uint64_t id);

/* After SPW_CURSOR_EXTRA, or SPW_CURSOR_LOST where the course goes on all the same: what it was, to be told on by
 * spw_cursor_tell(). What is not noted here is not told. */
void spw_cursor_note_extra(struct spw_cursor *cursor, const struct spw_iteration_op *call);

/* An allocation: the tensor that it is, among those of this size that the course allocates before the next operation of the
 * backbone, and since the last one that came; those that live on into the next iteration may come anywhere. SPW_NO_INDEX: it
 * is none of them, which the cursor notes. Ids rise. */
uint32_t spw_cursor_alloc(struct spw_cursor *cursor, uint64_t id, uint64_t bytes);

/* A free of whoever it is. `tensor`: the answer to its allocation, or its number where it was alive at the beginning, maybe
 * of an earlier iteration; SPW_NO_INDEX: none. False: it is no tensor of this iteration. */
bool spw_cursor_free(struct spw_cursor *cursor, uint32_t tensor, uint64_t id);

/* Tells what has happened since the beginning, with this time's ids and in its order: for a detector that was not told while
 * all went as expected. Before that, who came and went in iterations that went by untold: allocations of what is alive at
 * the beginning and was not when the listener was told last, in order of ids, then frees of what was and is not. Ids that
 * the listener doesn't know may be freed.
 *
 * The cursor is as before; it begins again (spw_cursor_begin()) before it is used again. 0; -ENOMEM: told nothing, or not
 * everything. */
struct spw_cursor_listener {
    void (*alloc)(void *context, uint64_t id, uint64_t bytes);
    void (*free)(void *context, uint64_t id);
    /* `call` is what the recording was told (spw_recording_call()), with this time's ids; its stream is 0. `op`: the
     * course's; NULL: one that was not expected, and noted. */
    void (*op)(void *context, const struct spw_course_op *op, const struct spw_iteration_op *call);
    void *context;
};
int spw_cursor_tell(const struct spw_cursor *cursor, const struct spw_cursor_listener *listener);

/* In place of rewind: tells the iteration that is complete, and goes on as one before which the listener was told
 * everything. A detector that is told like this now and then, and always while it may yet find out that the iteration is
 * only part of a longer one, learns what it would have learned. As above; where there is no memory, the cursor is rewound
 * all the same. */
int spw_cursor_rewind_telling(struct spw_cursor *cursor, const struct spw_cursor_listener *listener);
#endif
