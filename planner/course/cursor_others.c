/* cursor_others.c - the few allocations and frees that a course does not have, in the order in which they came. */
#include "course/cursor_others.h"

#include "course/grow.h"

static void note(struct spw_cursor *c, struct spw_cursor_other other)
{
    if (SPW_GROW(c->others, c->other_room, c->other_count + 1) < 0)
        c->forgot = true;
    else
        c->others[c->other_count++] = other;
}

void spw_cursor_note_alloc(struct spw_cursor *c, uint64_t id, uint64_t bytes)
{
    note(c, (struct spw_cursor_other){.id = id, .bytes = bytes, .born = c->op, .freed = SPW_NO_INDEX});
}

void spw_cursor_note_free(struct spw_cursor *c, uint64_t id)
{
    for (uint32_t i = 0; i < c->other_count; i++)
        if (c->others[i].id == id) {
            c->others[i].freed = c->op;
            c->others[i].newest = c->newest_id;
            return;
        }
    /* Ids rise, so what is younger belonged to an iteration that went by untold. */
    if (c->first_id == 0 || id < c->first_id)
        note(c, (struct spw_cursor_other){
                    .id = id, .newest = c->newest_id, .born = SPW_CURSOR_EARLIER, .freed = c->op, .is_known = true});
}

void spw_cursor_keep_others(struct spw_cursor *c)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->other_count; i++) {
        struct spw_cursor_other other = c->others[i];
        if (other.freed != SPW_NO_INDEX && !other.is_known)
            continue;
        other.born = SPW_CURSOR_EARLIER;
        if (other.is_known)
            other.freed = SPW_CURSOR_EARLIER;
        c->others[kept++] = other;
    }
    c->other_count = kept;
}
