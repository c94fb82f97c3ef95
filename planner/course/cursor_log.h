/* cursor_log.h - what was allocated and freed since the iteration began, and who of earlier ones is still to be told of. */
#ifndef SPILLWAY_PLANNER_CURSOR_LOG_H
#define SPILLWAY_PLANNER_CURSOR_LOG_H
#include "course/cursor.h"

enum spw_cursor_event_kind { SPW_CURSOR_ALLOC, SPW_CURSOR_FREE, SPW_CURSOR_EXTRA_OP };

struct spw_cursor_event {
    uint64_t id, bytes; /* id of an EXTRA_OP: its index in `noted` */
    uint32_t op;        /* the one that was expected then */
    uint8_t kind;
    bool is_other; /* no tensor of the course */
};

struct spw_cursor_extra {
    struct spw_iteration_op call;
    uint32_t first_touch; /* in noted_touches, in place of the call's own pointer */
};

/* Of an iteration before this one, and no tensor of this one. */
struct spw_cursor_other {
    uint64_t id, bytes;
    bool is_known; /* to the listener, and freed; else it is not known and alive */
};

void spw_cursor_log(struct spw_cursor *cursor, struct spw_cursor_event event);
/* The tensor lives beyond the iteration, and is none of the next one. */
void spw_cursor_leave(struct spw_cursor *cursor, uint32_t tensor);
/* The next iteration begins: of what happened only what the listener will have to know is kept. */
void spw_cursor_fold_log(struct spw_cursor *cursor);
#endif
