/* cursor.h - keeps the place in a course while the program goes through the iteration again, and knows which of its tensors
 * is which this time.
 *
 * The usual step, the operation that is expected, is inline: it is on the path of every launch. */
#ifndef SPILLWAY_PLANNER_CURSOR_H
#define SPILLWAY_PLANNER_CURSOR_H
#include "course.h"

struct spw_cursor {
    const struct spw_course *course; /* borrowed */
    uint32_t op;                     /* the next one expected; course->op_count: the iteration is complete */
    uint32_t alloc;                  /* number of the next allocation expected */
    uint64_t *id;                    /* by tensor: who it is this time; 0: nobody (yet), or freed */
    uint64_t *was;                   /* by tensor: the same, kept after the free, for spw_cursor_tell() */
    uint32_t extras;                 /* operations beside the backbone that were not expected, since the beginning */
};

/* What an operation turned out to be. */
enum spw_cursor_answer {
    SPW_CURSOR_EXPECTED, /* the cursor has gone past it (and past expected ones beside the backbone that did not come) */
    SPW_CURSOR_EXTRA,    /* beside the backbone and not expected here: the place is the same */
    SPW_CURSOR_LOST      /* something else: the cursor has not moved */
};

int spw_cursor_init(struct spw_cursor *cursor, const struct spw_course *course); /* at the beginning; 0 or -ENOMEM */
void spw_cursor_finish(struct spw_cursor *cursor);

/* The iteration is complete and the next one begins: those alive throughout stay who they are, what lived on takes its new
 * number (`from`), all others are nobody. What is freed from now on, up to the next operation, belonged to the last one: it
 * is no tensor of this one any more, and need not be told to free(). */
void spw_cursor_rewind(struct spw_cursor *cursor);
void spw_cursor_bind(struct spw_cursor *cursor, uint32_t tensor, uint64_t id);

static inline bool spw_cursor_expects(const struct spw_cursor *cursor, uint64_t key)
{
    return cursor->op < cursor->course->op_count && cursor->course->ops[cursor->op].key == key;
}
/* After expects() was true. */
static inline void spw_cursor_advance(struct spw_cursor *cursor)
{
    cursor->op++;
}
/* Any operation; looks for it among the next few where it is not the one expected. */
enum spw_cursor_answer spw_cursor_op(struct spw_cursor *cursor, uint64_t key, bool backbone);

/* An allocation: the tensor that it is, among those that the course allocates before the next operation and of this size;
 * SPW_NO_INDEX: it is none of them. */
uint32_t spw_cursor_alloc(struct spw_cursor *cursor, uint64_t id, uint64_t bytes);
void spw_cursor_free(struct spw_cursor *cursor, uint32_t tensor); /* that the answer was for, or that is alive throughout */

/* Tells what has happened since the beginning, with this time's ids, in the course's order: for a detector that was not told
 * while all went as expected. Before that, what is alive at the beginning and is not who it was when the listener was told
 * last (other iterations have gone by untold): a free of the old id, an allocation of the new one, in order of ids. */
struct spw_cursor_listener {
    void (*alloc)(void *context, uint64_t id, uint64_t bytes);
    void (*free)(void *context, uint64_t id);
    void (*op)(void *context, const struct spw_course_op *op, const uint64_t *ids, const uint64_t *bytes); /* of touches */
    void *context;
};
int spw_cursor_tell(const struct spw_cursor *cursor, const struct spw_cursor_listener *listener); /* 0 or -ENOMEM */
#endif
