/* working_set.c - lists what an operation touches: its hits, what pointer tables lead to, or everything. */
#include "working_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devices.h"
#include "grow.h"
#include "lock.h"
#include "retire.h"
#include "scan.h"
#include "slab.h"

static uint64_t meetings; /* numbers the walks through pointer tables; each operation takes two numbers */

struct meeting {
    uint64_t given, reached; /* the numbers for what is among the operation's hits, and for what a table has led to */
    const struct spw_scan_doubted *doubted;
};

/* An allocation that the operation is passed is met anew if a table leads there too: it may be used differently through
 * that. */
static enum spw_met meet_as(uint64_t *met, const struct meeting *meeting, unsigned hit)
{
    const bool in_table = hit == SPW_MET_IN_TABLE, was_reached = *met == meeting->reached;
    const bool again = was_reached || (!in_table && *met == meeting->given);
    if (in_table)
        *met = meeting->reached;
    else if (!was_reached && !spw_scan_is_doubted(meeting->doubted, hit))
        *met = meeting->given;
    return again ? SPW_MET_AGAIN : SPW_MET_FIRST;
}

static enum spw_met meet(void *context, CUdeviceptr address, unsigned hit, CUdeviceptr *ret_low, CUdeviceptr *ret_high)
{
    struct spw_object *o = spw_object_at_locked(address);
    if (!o || o->attention & SPW_FREE)
        return SPW_MET_NOTHING;
    if (o->kind == SPW_KIND_BLOCK) {
        struct spw_block *b = spw_block_of(o);
        *ret_low = b->address;
        *ret_high = b->address + b->size_bytes;
        return meet_as(&b->met, context, hit);
    }
    struct spw_slot *slot = spw_slab_slot_at_locked((struct spw_slab *)o, address);
    if (!slot)
        return SPW_MET_NOTHING;
    *ret_low = spw_slot_address(slot);
    *ret_high = *ret_low + slot->size_bytes;
    return meet_as(&slot->met, context, hit);
}

static int by_object(const void *a, const void *b)
{
    const struct spw_touched_object *x = a, *y = b;
    return x->object < y->object ? -1 : x->object > y->object;
}

static void add_touch(struct spw_touched_object *to, const struct spw_touched_object *other)
{
    to->writes |= other->writes;
    to->may_write |= other->may_write;
    to->is_known |= other->is_known;
}

static void make_unique(struct spw_working_set *set)
{
    unsigned n = 0;
    qsort(set->list, set->count, sizeof(*set->list), by_object);
    for (unsigned i = 0; i < set->count; i++) {
        if (n && set->list[n - 1].object == set->list[i].object)
            add_touch(&set->list[n - 1], &set->list[i]);
        else
            set->list[n++] = set->list[i];
    }
    set->count = n;
}

static int gather_everything(struct spw_working_set *set)
{
    unsigned total = 0;
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        total += spw_devices[i].block_count;
    set->list = malloc((total + 1) * sizeof(*set->list));
    if (!set->list)
        return -ENOMEM;
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        for (uint32_t k = 0; k < spw_devices[i].block_count; k++) {
            struct spw_block *b = spw_devices[i].blocks[k];
            struct spw_object *o = spw_object_at_locked(b->address); /* for a slab's block, the slab */
            if (!(o->attention & SPW_FREE))
                set->list[set->count++] = (struct spw_touched_object){o, true, true, true};
        }
    return 0;
}

/* Makes room for more hits. */
static bool lengthen(struct spw_op *op)
{
    const bool is_first = !op->long_hits;
    unsigned room = is_first ? 0 : op->room;
    if (SPW_GROW(op->long_hits, room, 3 * op->room) < 0 || !op->long_hits)
        return false;
    if (is_first)
        memcpy(op->long_hits, op->hits, op->count * sizeof(*op->hits));
    op->hits = op->long_hits;
    op->room = room;
    return true;
}

/* Returns how many hits there are with what tables lead to, one for each allocation; -E2BIG: there is no memory to list
 * them. */
static int reach(struct spw_op *op)
{
    int n;
    do {
        struct meeting meeting = {meetings + 1, meetings + 2, op->doubted};
        meetings += 2;
        n = spw_pointer_tables_reach(op->hits, op->count, op->room, meet, &meeting);
    } while (n == -E2BIG && lengthen(op));
    return n;
}

static int gather_hits(struct spw_op *op, struct spw_working_set *set)
{
    const int n = spw_op_follows_tables(op) ? reach(op) : (int)op->count;
    if (n < 0)
        return n;
    const unsigned count = (unsigned)n;
    op->reached = count;
    set->list = malloc((count + 1) * sizeof(*set->list));
    if (!set->list)
        return -ENOMEM;
    for (unsigned i = 0; i < count; i++) {
        struct spw_object *o = spw_object_at_locked(op->hits[i]);
        if (o && !(o->attention & SPW_FREE))
            set->list[set->count++] = (struct spw_touched_object){o, spw_op_writes_hit(op, i), spw_op_may_change_hit(op, i),
                                                                  !spw_scan_is_doubted(op->doubted, i)};
        else
            spw_scan_doubt(op->doubted, i);
    }
    return 0;
}

int spw_working_set_gather_locked(struct spw_op *op, struct spw_working_set *set)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = op->everything ? -E2BIG : gather_hits(op, set);
    op->everything |= r == -E2BIG;
    set->is_closer = op->everything || op->reached > op->count;
    if (r == -E2BIG)
        r = gather_everything(set);
    if (r < 0)
        return r;
    make_unique(set);
    for (set->held = 0; set->held < set->count; set->held++)
        if (set->list[set->held].object->kind == SPW_KIND_BLOCK)
            spw_block_of(set->list[set->held].object)->holds++;
        else
            ((struct spw_slab *)set->list[set->held].object)->holds++;
    return 0;
}

void spw_working_set_let_go_locked(struct spw_working_set *set)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (unsigned i = 0; i < set->held; i++) {
        struct spw_object *o = set->list[i].object;
        if (o->kind == SPW_KIND_BLOCK)
            spw_release_hold_locked(&spw_devices[o->device], spw_block_of(o));
        else
            ((struct spw_slab *)o)->holds--;
    }
    free(set->list);
    *set = (struct spw_working_set){0};
}
