/* pending_evictions.c - keeps the list of evictions that are tried again. */
#include "pending_evictions.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

void spw_pending_evictions_add(struct spw_pending_evictions *p, struct spw_pending_eviction what)
{
    if (SPW_GROW(p->list, p->room, p->count + 1) == 0)
        p->list[p->count++] = what;
}

static void take_out(struct spw_pending_evictions *p, uint32_t i)
{
    p->count--;
    memmove(&p->list[i], &p->list[i + 1], (p->count - i) * sizeof *p->list);
}

void spw_pending_evictions_forget(struct spw_pending_evictions *p, uint32_t tensor)
{
    for (uint32_t i = p->count; i-- > 0;)
        if (p->list[i].tensor == tensor)
            take_out(p, i);
}

bool spw_pending_evictions_take(struct spw_pending_evictions *p, struct spw_pending_eviction *ret_what)
{
    if (!p->count)
        return false;
    *ret_what = p->list[0];
    take_out(p, 0);
    return true;
}

void spw_pending_evictions_clear(struct spw_pending_evictions *p)
{
    free(p->list);
    *p = (struct spw_pending_evictions){0};
}
