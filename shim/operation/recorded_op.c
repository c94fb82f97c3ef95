/* recorded_op.c - keeps operations with what they touched, within a bounded amount of memory, and submits them again. */
#include "recorded_op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lock.h"
#include "context.h"
#include "devices.h"
#include "op.h"
#include "counters.h"
#include "library_inputs.h"
#include "outside.h"
#include "slab.h"
#include "stash.h"
#include "twins.h"
#include "versioned.h"
#include "read_check.h"
#include "launch_class.h"

enum { TOUCHES = SPW_CLASS_HITS, OVERHEAD = 16 /* of an allocation */ };

struct spw_recorded_op_counts spw_recorded_op_counts;
bool spw_recorded_op_order_unseen;

/* ---- what it touches ---- */

static unsigned access_of_hit(const struct spw_op *op, unsigned hit)
{
    const bool writes = spw_op_writes_hit(op, hit);
    if (op->function) /* a launch may read whatever it is given */
        return writes ? SPW_RECORDED_OP_READS | SPW_RECORDED_OP_WRITES : SPW_RECORDED_OP_READS;
    return writes ? SPW_RECORDED_OP_WRITES : SPW_RECORDED_OP_READS;
}

/* Returns true if the small allocation may be written all the same, by this launch or by another one that was given it. */
static bool is_doubtful(const struct spw_op *op, unsigned hit, const struct spw_recorded_op_touch *t)
{
    return op->function && t->bytes <= SPW_LENT_MAX_BYTES && (t->what->is_believed || spw_op_believes_hit(op, hit));
}

/* Returns true if a copy or set overwrites all of it, as its arguments say. Rows with gaps between them may leave something
 * out. */
static bool covers(const struct spw_op *op, const struct spw_recorded_op_touch *t)
{
    const struct spw_call_args *s = op->submission;
    if (s->kind == SPW_SUBMIT_COPY)
        return s->copy.to == t->address && s->copy.bytes >= t->bytes;
    return s->kind == SPW_SUBMIT_SET && s->set.rows == 1 && s->set.to == t->address &&
           s->set.width * s->set.element_bytes >= t->bytes;
}

static bool find_touch(CUdeviceptr address, struct spw_recorded_op_touch *ret)
{
    struct spw_versioned *what = spw_versioned_at_locked(address, &ret->serial);
    if (!what)
        return false;
    struct spw_object *o = spw_object_at_locked(address);
    ret->what = what;
    ret->before = ret->after = what->version;
    if (o->kind == SPW_KIND_BLOCK) {
        ret->block = spw_block_of(o);
        ret->address = ret->block->address;
        ret->bytes = ret->block->size_bytes;
        return true;
    }
    const struct spw_slot *slot = spw_slab_slot_at_locked((struct spw_slab *)o, address);
    ret->address = slot ? spw_slot_address(slot) : 0;
    ret->bytes = slot ? slot->size_bytes : 0;
    return slot != NULL;
}

/* Finds out whether its former content matters and what wrote that, provided that nothing may have changed it in between. */
static void find_origin(const struct spw_op *op, struct spw_recorded_op_touch *t)
{
    if (!spw_touch_writes(t))
        return;
    t->whole = spw_version_is_fresh(t->what) || (!op->function && !(t->access & SPW_RECORDED_OP_READS) && covers(op, t));
    if (t->whole)
        t->access = SPW_RECORDED_OP_WRITES;
    else if (t->block && t->what->maker && t->what->maker->depth < SPW_RECORDED_OP_DEPTH &&
             spw_read_check_pass_on_locked(op, t))
        t->previous = t->what->maker;
}

/* Returns true if the launch can be run again in the device's own workspace. */
static bool works_elsewhere(const struct spw_op *op, const struct spw_device *d)
{
    const struct spw_library_inputs *call = op->scratch ? spw_library_with_workspace() : NULL;
    return call && d && d->workspace.block && d->workspace.block->size_bytes >= call->workspace_bytes;
}

/* Lists each thing once. Memory without a version may be written unseen; an address of nothing is no address. */
static enum spw_replay_verdict list_touches(const struct spw_op *op, struct spw_recorded_op_touch *list, unsigned *ret_count)
{
    const struct spw_device *d = spw_device_of_stream_locked(op->stream);
    const uint64_t elsewhere = works_elsewhere(op, d) ? op->scratch : 0;
    unsigned count = 0;
    for (unsigned hit = 0; hit < op->count; hit++) {
        struct spw_recorded_op_touch t = {0};
        const struct spw_object *o = spw_object_at_locked(op->hits[hit]);
        if (!o || o->attention & SPW_FREE || (hit < 64 && elsewhere >> hit & 1))
            continue;
        if (d != &spw_devices[o->device])
            return SPW_REPLAY_COLLECTIVE;
        if (!find_touch(op->hits[hit], &t)) {
            if (o->kind == SPW_KIND_BLOCK || ((const struct spw_slab *)o)->pinned)
                return SPW_REPLAY_OUTSIDE_MEMORY;
            continue;
        }
        unsigned i = 0;
        while (i < count && list[i].what != t.what)
            i++;
        if (i == count)
            list[count++] = t;
        list[i].access |= (uint8_t)access_of_hit(op, hit);
        list[i].believed |= spw_op_believes_hit(op, hit);
        list[i].lent |= !t.block && (spw_op_writes_hit(op, hit) || is_doubtful(op, hit, &t));
        list[i].hits |= (uint64_t)1 << hit;
    }
    for (unsigned i = 0; i < count; i++)
        find_origin(op, &list[i]);
    *ret_count = count;
    return SPW_REPLAYABLE;
}

/* Returns true if the launch is given memory that may hold an address outside ours, which it may follow. */
static bool may_lead_outside(const struct spw_op *op)
{
    for (unsigned hit = 0; spw_outside_any() && op->function && hit < op->count; hit++) {
        struct spw_recorded_op_touch t = {0};
        if (find_touch(op->hits[hit], &t) && spw_outside_has(t.address, t.address + t.bytes))
            return true;
    }
    return false;
}

/* Returns true if something that it is given may hold addresses that are not known yet, because a search in it has no
 * answer. What they lead to is only certain to be there for the program's own launch. */
static bool may_follow_addresses(const struct spw_op *op)
{
    bool may = false;
    for (unsigned hit = 0; op->function && hit < op->count; hit++) {
        const struct spw_object *o = spw_object_at_locked(op->hits[hit]);
        may |= o && o->attention & SPW_LOOKED;
    }
    return may;
}

/* No parameter shows what a kernel reads or writes through a texture or surface. */
static bool there_are_textures_or_surfaces(void)
{
    return spw_calls_count(SPW_CALL_cuTexObjectCreate) || spw_calls_count(SPW_CALL_cuSurfObjectCreate);
}

enum spw_replay_verdict spw_recorded_op_verdict(const struct spw_op *op)
{
    if (!op->submission)
        return SPW_REPLAY_OTHER_CALL;
    if (spw_recorded_op_order_unseen)
        return SPW_REPLAY_UNSEEN_ORDER;
    if (op->everything)
        return SPW_REPLAY_UNPARSED;
    if (op->reached != op->count)
        return SPW_REPLAY_POINTER_TABLE;
    if (may_lead_outside(op))
        return SPW_REPLAY_OUTSIDE_MEMORY;
    if (there_are_textures_or_surfaces())
        return SPW_REPLAY_HIDDEN_STATE;
    if (op->count > TOUCHES)
        return SPW_REPLAY_TOO_LARGE;
    if (op->class && op->class->is_collective)
        return SPW_REPLAY_COLLECTIVE;
    const enum spw_replay_verdict verdict = spw_call_args_verdict(op->submission);
    return verdict == SPW_REPLAYABLE && op->function ? spw_twin_verdict_locked(op->function, op->stream->context) : verdict;
}

/* ---- life ---- */

/* Allocates everything as one piece of memory. NULL: the bound is reached, or there is no memory. */
static struct spw_recorded_op *reserve(unsigned touches, size_t submission_bytes, void **ret_submission)
{
    const size_t front = sizeof(struct spw_recorded_op) + touches * sizeof(struct spw_recorded_op_touch);
    const size_t bytes = ((front + 15) & ~(size_t)15) + submission_bytes;
    struct spw_recorded_op *r =
        spw_recorded_op_counts.bytes + bytes + OVERHEAD <= SPW_RECORDED_OPS_MAX_BYTES ? malloc(bytes) : NULL;
    if (!r) {
        spw_recorded_op_counts.refused_for_room++;
        return NULL;
    }
    *r = (struct spw_recorded_op){.bytes = bytes + OVERHEAD, .touches = (struct spw_recorded_op_touch *)(r + 1)};
    *ret_submission = (char *)r + ((front + 15) & ~(size_t)15);
    spw_recorded_op_counts.alive++;
    spw_recorded_op_counts.made++;
    spw_recorded_op_counts.bytes += r->bytes;
    if (spw_recorded_op_counts.bytes > spw_recorded_op_counts.bytes_peak)
        spw_recorded_op_counts.bytes_peak = spw_recorded_op_counts.bytes;
    return r;
}

static void follow_previous(struct spw_recorded_op *r)
{
    r->depth = 1;
    for (unsigned i = 0; i < r->touch_count; i++) {
        struct spw_recorded_op *previous = r->touches[i].previous;
        if (!previous)
            continue;
        spw_recorded_op_hold(previous);
        r->depth = previous->depth >= r->depth ? previous->depth + 1 : r->depth;
    }
}

static enum spw_replay_verdict why_no_twin(const struct spw_op *op)
{
    const enum spw_replay_verdict verdict = spw_twin_verdict_locked(op->function, op->stream->context);
    return verdict == SPW_REPLAYABLE ? SPW_REPLAY_NO_TWIN : verdict;
}

/* The copies are submitted in the order of the stream, before the driver call. */
static int save_variables(const struct spw_op *op, struct spw_recorded_op *r)
{
    struct spw_context_guard guard;
    const struct spw_variables *v = spw_twin_variables_locked(r->function, r->context);
    struct spw_device *d = v ? spw_device_of_stream_locked(op->stream) : NULL;
    if (!v)
        return 0;
    if (!d || spw_context_enter(&guard, r->context) < 0)
        return -ENODEV;
    const int saved = spw_variables_save_locked(v, d, op->stream, &r->variables);
    spw_context_leave(&guard);
    return saved;
}

static struct spw_call_args set_of(const struct spw_library_set *set)
{
    return (struct spw_call_args){
        .kind = SPW_SUBMIT_SET,
        .set = {.to = set->to, .width = set->count, .rows = 1, .value = set->value, .element_bytes = set->element_bytes}};
}

static size_t bytes_of_sets(const struct spw_library_inputs *call)
{
    size_t bytes = 0;
    for (unsigned i = 0; call && i < call->set_count; i++) {
        const struct spw_call_args set = set_of(&call->sets[i]);
        bytes += spw_call_args_bytes(&set);
    }
    return bytes;
}

/* Moves the launch, and what the call has set before, to the device's own workspace. Returns false if an address of the
 * workspace is in a form that is not understood, so that fewer than `places` were moved. */
static bool move_elsewhere(struct spw_recorded_op *r, const struct spw_library_inputs *call, unsigned places,
                           struct spw_device *d, char *room)
{
    const CUdeviceptr to = d->workspace.block->address;
    for (unsigned i = 0; i < call->set_count; i++) {
        const struct spw_call_args set = set_of(&call->sets[i]);
        r->sets[r->set_count] = spw_call_args_keep(&set, room);
        (void)spw_call_args_move(r->sets[r->set_count++], call->workspace, call->workspace_bytes, to);
        room += spw_call_args_bytes(&set);
    }
    r->elsewhere = d;
    d->workspace.users++;
    return spw_call_args_move(r->submission, call->workspace, call->workspace_bytes, to) == places;
}

/* The operation is not recorded: forgets the checks that were handed over to it. */
static struct spw_recorded_op *drop_touches(struct spw_recorded_op_touch *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        spw_read_check_forget_locked(&list[i].since);
    return NULL;
}

/* Returns true if the operation may execute before work of other streams on the same memory, although that was submitted
 * first: a host function holds the other work back. Then it reads something other than its recorded inputs. */
static bool may_come_first(const struct spw_op *op)
{
    bool may = false;
    for (unsigned hit = 0; spw_gated_streams && hit < op->count && !may; hit++) {
        struct spw_object *o = spw_object_at_locked(op->hits[hit]);
        may = o && spw_uses_held_back_locked(&o->uses, op->stream);
    }
    return may;
}

struct spw_recorded_op *spw_recorded_op_make_locked(const struct spw_op *op, enum spw_replay_verdict *ret_why)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_recorded_op_touch touches[TOUCHES];
    unsigned count = 0;
    void *room;
    *ret_why = spw_recorded_op_verdict(op);
    if (*ret_why == SPW_REPLAYABLE && may_follow_addresses(op))
        *ret_why = SPW_REPLAY_POINTER_TABLE;
    if (*ret_why == SPW_REPLAYABLE)
        *ret_why = list_touches(op, touches, &count);
    if (*ret_why == SPW_REPLAYABLE && op->function && spw_twin_make_locked(op->function, op->stream->context) < 0)
        *ret_why = why_no_twin(op);
    if (*ret_why != SPW_REPLAYABLE)
        return drop_touches(touches, count);
    struct spw_device *d = spw_device_of_stream_locked(op->stream);
    const struct spw_library_inputs *call = works_elsewhere(op, d) ? spw_library_with_workspace() : NULL;
    const size_t own_bytes = (spw_call_args_bytes(op->submission) + 15) & ~(size_t)15;
    struct spw_recorded_op *r = reserve(count, own_bytes + bytes_of_sets(call), &room);
    if (!r) {
        *ret_why = SPW_REPLAY_TOO_LARGE;
        return drop_touches(touches, count);
    }
    r->epoch = spw_version_epoch;
    r->order = spw_recorded_op_counts.made;
    r->operation = op->wish - 1;
    r->holders = 1;
    r->context = op->stream->context;
    r->stream = op->stream;
    r->function = op->function;
    r->is_void = may_come_first(op) ||
                 (op->function && spw_twin_is_being_written_locked(op->function, op->stream->context, op->stream));
    r->touch_count = (uint16_t)count;
    memcpy(r->touches, touches, count * sizeof(*touches));
    follow_previous(r);
    r->submission = spw_call_args_keep(op->submission, room);
    if ((call && !move_elsewhere(r, call, (unsigned)__builtin_popcountll(op->scratch), d, (char *)room + own_bytes)) ||
        (op->function && save_variables(op, r) < 0)) {
        *ret_why = SPW_REPLAY_TOO_LARGE;
        spw_recorded_op_let_go(r);
        return NULL;
    }
    return r;
}

void spw_recorded_op_hold(struct spw_recorded_op *recorded_op)
{
    recorded_op->holders++;
}

void spw_recorded_op_let_go(struct spw_recorded_op *recorded_op)
{
    if (!recorded_op || --recorded_op->holders)
        return;
    for (unsigned i = 0; i < recorded_op->touch_count; i++) {
        if (recorded_op->touches[i].saved)
            spw_stash_give_locked(spw_device_of_address(recorded_op->touches[i].address), recorded_op->touches[i].saved - 1,
                                  recorded_op->touches[i].bytes);
        spw_read_check_forget_locked(&recorded_op->touches[i].since);
        spw_recorded_op_let_go(recorded_op->touches[i].previous); /* recursion at most SPW_RECORDED_OP_DEPTH deep */
    }
    spw_variables_give_locked(&recorded_op->variables);
    if (recorded_op->elsewhere)
        recorded_op->elsewhere->workspace.users--;
    spw_recorded_op_counts.alive--;
    spw_recorded_op_counts.bytes -= recorded_op->bytes;
    free(recorded_op);
}

/* ---- what an operation touched ---- */

struct spw_block *spw_touched_block_locked(const struct spw_recorded_op_touch *t)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_object *o = t->block ? spw_object_at_locked(t->address) : NULL;
    if (!o || o->kind != SPW_KIND_BLOCK || spw_object_is_cached(o))
        return NULL;
    struct spw_block *b = spw_block_of(o);
    return b->address == t->address && b->serial == t->serial ? b : NULL;
}

struct spw_slot *spw_touched_slot_locked(const struct spw_recorded_op_touch *t)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_object *o = t->block ? NULL : spw_object_at_locked(t->address);
    if (!o || o->kind != SPW_KIND_SLAB)
        return NULL;
    struct spw_slab *slab = (struct spw_slab *)o;
    const uint64_t i = (t->address - slab->backing->address) / slab->slot_bytes;
    if (i >= slab->slot_count || slab->slots[i].serial != t->serial)
        return NULL;
    return slab->slots[i].size_bytes || slab->slots[i].kept ? &slab->slots[i] : NULL;
}

/* ---- again ---- */

bool spw_recorded_op_touch_is_there(const struct spw_recorded_op_touch *touch)
{
    return touch->block ? spw_touched_block_locked(touch) != NULL : spw_touched_slot_locked(touch) != NULL;
}

bool spw_recorded_op_is_good(const struct spw_recorded_op *recorded_op)
{
    if (recorded_op->is_void || recorded_op->epoch != spw_version_epoch)
        return false;
    for (unsigned i = 0; i < recorded_op->touch_count; i++)
        if (!spw_recorded_op_touch_is_there(&recorded_op->touches[i]))
            return false;
    return true;
}

enum spw_saved_state spw_recorded_op_variables_locked(struct spw_recorded_op *recorded_op)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const enum spw_saved_state state = spw_variables_settle_locked(&recorded_op->variables);
    if (state == SPW_SAVED_ADDRESSES)
        spw_twin_holds_addresses_locked(recorded_op->function, recorded_op->context);
    return state;
}

int spw_recorded_op_submit_locked(const struct spw_recorded_op *recorded_op, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    CUfunction twin = NULL;
    int r = recorded_op->function ? spw_twin_use_locked(recorded_op->function, recorded_op->context, s, &twin) : 0;
    if (r == 0 && recorded_op->variables.bytes)
        r = spw_variables_lend_locked(spw_twin_variables_locked(recorded_op->function, recorded_op->context), s,
                                      &recorded_op->variables);
    for (unsigned i = 0; r == 0 && i < recorded_op->set_count; i++)
        r = spw_call_args_send(recorded_op->sets[i], NULL, s->handle);
    return r < 0 ? r : spw_call_args_send(recorded_op->submission, twin, s->handle);
}

void spw_recorded_ops_reset(void)
{
    spw_recorded_op_counts = (struct spw_recorded_op_counts){0};
}
