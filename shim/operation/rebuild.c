/* rebuild.c - follows what was kept back to where nothing had been written before, then goes through it once in order. */
#include "rebuild.h"

#include <string.h>

static bool has(const struct spw_rebuild *r, const struct spw_recorded_op *op)
{
    for (unsigned i = 0; i < r->op_count; i++)
        if (r->ops[i] == op)
            return true;
    return false;
}

/* Inserts the operation in order. */
static bool add_op(struct spw_rebuild *r, struct spw_recorded_op *op)
{
    unsigned at = r->op_count;
    if (has(r, op))
        return true;
    if (r->op_count == SPW_REBUILD_OPS || op->context != r->ops[r->op_count - 1]->context)
        return false;
    while (at > 0 && r->ops[at - 1]->order > op->order)
        at--;
    memmove(&r->ops[at + 1], &r->ops[at], (r->op_count - at) * sizeof(*r->ops));
    r->ops[at] = op;
    r->op_count++;
    return true;
}

static bool needs_what_was_there(const struct spw_recorded_op_touch *t)
{
    return t->block && spw_touch_writes(t) && !t->whole;
}

/* Adds all operations that wrote, before `op`, to what it writes; they are older, so they come before it. */
static bool add_previous(struct spw_rebuild *r, const struct spw_recorded_op *op)
{
    for (unsigned i = 0; i < op->touch_count; i++) {
        const struct spw_recorded_op_touch *t = &op->touches[i];
        if (needs_what_was_there(t) && (!t->previous || !add_op(r, t->previous)))
            return false;
    }
    return true;
}

/* Goes from the newest operation to the oldest. Each one that is added meanwhile moves those behind it, which are done, up
 * by one. */
static bool find_ops(struct spw_rebuild *r)
{
    for (unsigned left = r->op_count; left > 0;) {
        const unsigned before = r->op_count;
        if (!add_previous(r, r->ops[left - 1]))
            return false;
        left += r->op_count - before - 1;
    }
    return true;
}

static struct spw_rebuild_part *find_part(struct spw_rebuild *r, const struct spw_versioned *what)
{
    for (unsigned i = 0; i < r->part_count; i++)
        if (r->parts[i].touch->what == what)
            return &r->parts[i];
    return NULL;
}

/* Goes through the next touch. Returns false if it needs a content that the block does not have then. */
static bool go_through(struct spw_rebuild *r, const struct spw_recorded_op_touch *t)
{
    struct spw_rebuild_part *p = find_part(r, t->what);
    if (!p) {
        if (r->part_count == SPW_REBUILD_PARTS || needs_what_was_there(t))
            return false;
        p = &r->parts[r->part_count++];
        *p = (struct spw_rebuild_part){.touch = t, .version = spw_touch_writes(t) ? t->after : t->before};
        p->writers = spw_touch_writes(t);
        p->is_believed = t->believed;
        return true;
    }
    p->is_believed |= t->believed;
    if (p->touch->serial != t->serial || (!t->whole && p->version != t->before))
        return false;
    if (!spw_touch_writes(t))
        return true;
    p->version = t->after;
    return p->writers++ > 0; /* if this is the first writer, an earlier operation has read the former content, which does not
                              * exist any more */
}

bool spw_rebuild_find(struct spw_recorded_op *maker, struct spw_rebuild *ret)
{
    ret->ops[0] = maker;
    ret->op_count = 1;
    ret->part_count = 0;
    if (!find_ops(ret))
        return false;
    for (unsigned i = 0; i < ret->op_count; i++)
        for (unsigned k = 0; k < ret->ops[i]->touch_count; k++)
            if (ret->ops[i]->touches[k].block && !go_through(ret, &ret->ops[i]->touches[k]))
                return false;
    return true;
}

const struct spw_rebuild_part *spw_rebuild_part_of(const struct spw_rebuild *rebuild, const struct spw_versioned *what)
{
    for (unsigned i = 0; i < rebuild->part_count; i++)
        if (rebuild->parts[i].touch->what == what)
            return &rebuild->parts[i];
    return NULL;
}

bool spw_rebuild_touches(const struct spw_rebuild *rebuild, const struct spw_versioned *what)
{
    for (unsigned i = 0; i < rebuild->op_count; i++)
        for (unsigned k = 0; k < rebuild->ops[i]->touch_count; k++)
            if (rebuild->ops[i]->touches[k].what == what)
                return true;
    return false;
}

bool spw_rebuild_is_good(const struct spw_rebuild *rebuild)
{
    for (unsigned i = 0; i < rebuild->op_count; i++)
        if (!spw_recorded_op_is_good(rebuild->ops[i]))
            return false;
    return true;
}
