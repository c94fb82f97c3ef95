/* exam.c - lists what a launch touches, each block and slot once. */
#include "exam.h"

#include <string.h>

#include "content.h"
#include "digest.h"
#include "lock.h"
#include "versions.h"

static bool same_piece(const struct spw_exam_piece *p, const struct spw_block *b, const struct spw_slot *slot)
{
    return p->block == b && p->slot == slot;
}

/* Counts pinned memory as written, since nobody reports writes to it. */
static bool add_piece(struct spw_exam *e, const struct spw_op *op, struct spw_block *b, struct spw_slot *slot, unsigned hit)
{
    const struct spw_versioned *content = spw_versioned_at_locked(op->hits[hit], NULL);
    for (uint32_t i = 0; i < e->count; i++)
        if (same_piece(&e->pieces[i], b, slot)) {
            e->pieces[i].hits |= UINT64_C(1) << hit;
            return true;
        }
    if (b && b->pack && b->pinned) /* somebody may write what lies beside it at any time, and that would be lost */
        return false;
    if (e->count == SPW_CLASS_HITS)
        return false;
    e->pieces[e->count++] =
        (struct spw_exam_piece){.block = b,
                                .slot = slot,
                                .serial = b ? b->serial : slot->serial,
                                .address = b ? b->address : spw_slot_address(slot),
                                .bytes = b ? b->size_bytes : slot->size_bytes,
                                .content = content && spw_version_is_fresh(content) ? SPW_EXAM_FRESH : SPW_EXAM_DEFINED,
                                .hits = UINT64_C(1) << hit};
    return true;
}

/* A piece is constant only if all addresses in it are known and say so. */
static void find_constants(struct spw_exam *e, const struct spw_op *op)
{
    const uint64_t constant = op->believed ? op->believed->declared.constant & ~op->believed->writes : 0;
    for (uint32_t i = 0; i < e->count; i++)
        if (e->pieces[i].content == SPW_EXAM_DEFINED &&
            !(e->pieces[i].hits & ~(constant & spw_exam_hits(op->count - op->doubtful))))
            e->pieces[i].content = SPW_EXAM_CONSTANT;
}

bool spw_exam_list_locked(struct spw_exam *e, const struct spw_device *d, const struct spw_op *op)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    e->count = 0;
    for (unsigned i = 0; i < op->count && i < SPW_CLASS_HITS; i++) {
        struct spw_object *o = spw_object_at_locked(op->hits[i]);
        struct spw_slot *slot = NULL;
        if (!o || o->attention & SPW_FREE)
            continue;
        if (o->device != d->ordinal)
            return false;
        if (o->kind == SPW_KIND_SLAB && !(slot = spw_slab_slot_at_locked((struct spw_slab *)o, op->hits[i])))
            continue;
        if (!add_piece(e, op, slot ? NULL : spw_block_of(o), slot, i))
            return false;
    }
    find_constants(e, op);
    return e->count > 0;
}

/* True if the piece still exists, with its bytes on the device. */
static bool is_still_there(const struct spw_exam_piece *p)
{
    if (p->slot)
        return p->slot->serial == p->serial && p->slot->size_bytes == p->bytes;
    return p->block->serial == p->serial && !p->block->doomed &&
           !(p->block->object.attention & (SPW_ABSENT | SPW_FREE | SPW_EVICTING));
}

bool spw_exam_is_there_locked(const struct spw_exam *e)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (uint32_t i = 0; i < e->count; i++)
        if (!is_still_there(&e->pieces[i]))
            return false;
    return true;
}

void spw_exam_begin_locked(const struct spw_op *op, enum spw_probe_step step, struct spw_exam *e)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    e->step = step;
    e->function = op->function;
    e->places = op->class->places;
    e->number = op->class->number;
    e->number_count = spw_call_args_numbers(op->submission, e->numbers);
    e->hits = op->count - op->doubtful;
    e->doubted_count = op->doubtful < SPW_CLASS_HITS ? op->doubtful : SPW_CLASS_HITS;
    if (e->doubted_count)
        memcpy(e->doubted, op->submission->launch.doubted, e->doubted_count * sizeof(*e->doubted));
}

struct spw_probed *spw_exam_class_locked(const struct spw_exam *e, struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_launch_class *set = spw_launch_class_numbered_locked(e->function, e->places, e->number);
    return set ? spw_probed_find(set, d) : NULL;
}

void spw_exam_end_locked(struct spw_exam *e)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (uint32_t i = 0; i < e->count; i++)
        for (unsigned k = 0; k <= SPW_EXAM_PASSES; k++)
            spw_digest_forget_locked(e->pieces[i].tickets[k]);
    e->step = SPW_PROBE_NOTHING;
}
