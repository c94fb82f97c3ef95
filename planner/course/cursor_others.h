/* cursor_others.h - allocations and frees that belong to no tensor of the course, noted to be told on. */
#ifndef SPILLWAY_PLANNER_CURSOR_OTHERS_H
#define SPILLWAY_PLANNER_CURSOR_OTHERS_H
#include "course/cursor.h"

#define SPW_CURSOR_EARLIER (SPW_NO_INDEX - 1) /* in an iteration before this one */

struct spw_cursor_other {
    uint64_t id, bytes;
    uint64_t newest;      /* the newest allocation when it was freed */
    uint32_t born, freed; /* the operation expected then; freed: SPW_NO_INDEX: it is alive */
    bool is_known;        /* to the listener: only its free is to be told */
};

void spw_cursor_note_alloc(struct spw_cursor *cursor, uint64_t id, uint64_t bytes);
void spw_cursor_note_free(struct spw_cursor *cursor, uint64_t id);
/* The next iteration begins: who came and went is forgotten. */
void spw_cursor_keep_others(struct spw_cursor *cursor);
#endif
