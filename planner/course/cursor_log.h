/* cursor_log.h - logs allocations and frees since the iteration began, and what is still to be reported of earlier
 * iterations. */
#ifndef SPILLWAY_PLANNER_CURSOR_LOG_H
#define SPILLWAY_PLANNER_CURSOR_LOG_H
#include "course/cursor.h"

enum spw_cursor_event_kind { SPW_CURSOR_ALLOC, SPW_CURSOR_FREE, SPW_CURSOR_EXTRA_OP };

struct spw_cursor_event {
    uint64_t id, bytes; /* for an EXTRA_OP, id is its index in `noted` */
    uint32_t op;        /* the operation that was expected then */
    uint8_t kind;
    bool is_other; /* no tensor of the course */
};

struct spw_cursor_extra {
    struct spw_iteration_op call;
    uint32_t first_touch; /* in noted_touches, instead of the call's own pointer */
};

/* An allocation of an earlier iteration that is no tensor of this one. */
struct spw_cursor_other {
    uint64_t id, bytes;
    /* The listener knows it, and it was freed; false: the listener does not know it, and it is alive. */
    bool is_known;
};

void spw_cursor_log(struct spw_cursor *cursor, struct spw_cursor_event event);
/* Notes that the tensor outlives the iteration and is no tensor of the next one. */
void spw_cursor_leave(struct spw_cursor *cursor, uint32_t tensor);
/* Begins the next iteration: keeps only those events that the listener will have to be told. */
void spw_cursor_fold_log(struct spw_cursor *cursor);
#endif
