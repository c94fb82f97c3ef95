/* versions.c - gives new versions to what may be written, and has what would be ruined made again first. */
#include "versions.h"

#include <stdlib.h>

#include "context.h"
#include "devices.h"
#include "driver.h"
#include "follower.h"
#include "op.h"
#include "library_inputs.h"
#include "lock.h"
#include "recorded_op.h"
#include "rematerialiser.h"
#include "function_attrs.h"
#include "slab.h"
#include "read_check.h"
#include "launch_class.h"

static void raise_epoch(void)
{
    spw_version_epoch++;
    spw_version_epoch_clock = spw_version_clock;
}

/* ---- starting and stopping ---- */

/* From now on its writes are not noted. */
static void forget_makers(struct spw_versioned *v)
{
    spw_version_forget_maker_locked(v);
    v->is_fresh = false;
}

static void forget_makers_of_slot(struct spw_slot *slot, void *unused)
{
    (void)unused;
    forget_makers(&slot->content);
}

void spw_versions_keep_locked(bool keep)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (keep == spw_versions_kept)
        return;
    spw_versions_kept = keep;
    raise_epoch();
    spw_function_attrs_reset();
    for (int i = 0; i < SPW_MAX_DEVICES && !keep; i++) {
        for (uint32_t k = 0; k < spw_devices[i].block_count; k++)
            forget_makers(&spw_devices[i].blocks[k]->content);
        spw_slab_for_each_locked(&spw_devices[i], forget_makers_of_slot, NULL);
    }
    if (spw_follower)
        spw_follower->versions_kept();
}

/* ---- operations ---- */

/* Returns the hits in untrusted places through which nothing seems to be written, for a launch that is believed. */
static uint64_t spared(const struct spw_op *op)
{
    const uint16_t *places = op->submission->launch.doubted;
    const unsigned sure = op->count - op->doubtful;
    uint64_t hits = 0;
    for (unsigned i = 0; i < op->doubtful && sure + i < SPW_CLASS_HITS; i++)
        if (spw_launch_class_is_spared(spw_launch_class_of_place_locked(op->function, places[i])))
            hits |= UINT64_C(1) << (sure + i);
    return hits;
}

/* Returns the hits on memory that was never written since its allocation. Its bytes mean nothing, so a launch is given it
 * in order to write it, whatever other launches of the class did. Untrusted places do not count. */
static uint64_t fresh(const struct spw_op *op)
{
    uint64_t hits = 0;
    for (unsigned i = 0; i < op->count - op->doubtful && i < SPW_CLASS_HITS; i++) {
        const struct spw_versioned *v = spw_versioned_at_locked(op->hits[i], NULL);
        if (v && spw_version_is_fresh(v))
            hits |= UINT64_C(1) << i;
    }
    return hits;
}

static void declare(struct spw_launch_class *set, const struct spw_call_args *s)
{
    struct spw_declared declared;
    spw_call_args_declared(s, &declared);
    spw_launch_class_declare_locked(set, &declared);
}

/* Returns the hits of a launch that could be run again in a workspace of ours, and requests that workspace. */
static uint64_t scratch(const struct spw_op *op)
{
    const struct spw_library_inputs *call = spw_library_with_workspace();
    struct spw_device *d = call ? spw_device_of_stream_locked(op->stream) : NULL;
    if (!d || call->workspace_bytes > d->handles.budget_bytes / SPW_WORKSPACE_SHARE)
        return 0;
    const uint64_t hits = spw_library_workspace_among(op->hits, op->count, op->doubtful);
    if (hits && d->workspace.wanted_bytes < call->workspace_bytes)
        d->workspace.wanted_bytes = call->workspace_bytes;
    return hits;
}

void spw_versions_look_locked(struct spw_op *op)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct spw_call_args *s = op->submission;
    uint32_t numbers[SPW_CALL_ARGS_NUMBERS];
    if (!s || s->kind != SPW_SUBMIT_LAUNCH || op->everything)
        return;
    struct spw_launch_class *set =
        spw_launch_class_of_locked(op->function, spw_call_args_places(s), op->count - op->doubtful);
    if (!set)
        return;
    const unsigned count = spw_call_args_numbers(s, numbers);
    set->is_strange = !spw_launch_class_covers(set, numbers, count);
    if (!set->is_declared)
        declare(set, s);
    op->class = set;
    op->fresh = fresh(op);
    op->inputs = spw_library_inputs_among(op->hits, op->count - op->doubtful) & ~op->fresh;
    op->scratch = scratch(op);
    op->believed = set->is_strange ? NULL : set;
    op->writes = set->writes;
    if (op->believed && set->changed)
        op->spared = spared(op);
}

/* Returns what is needed and may be written through a hit, even if it is believed not to be; NULL: nothing. */
static struct spw_versioned *endangered_by_hit(const struct spw_op *op, unsigned hit)
{
    const bool writes = spw_op_writes_hit(op, hit);
    if (!writes && !spw_op_believes_hit(op, hit))
        return NULL;
    struct spw_versioned *v = spw_versioned_at_locked(op->hits[hit], NULL);
    return v && v->needed ? v : NULL;
}

/* Rescues on all devices where anything is dropped. */
static int rescue(const struct spw_versioned *needed, bool is_known, struct spw_stream *s)
{
    int r = 0;
    for (int i = 0; i < SPW_MAX_DEVICES && r == 0; i++)
        if (spw_devices[i].ready && spw_devices[i].dropping)
            r = spw_rescue_unlocking(&spw_devices[i], needed, is_known, s);
    return r;
}

bool spw_versions_endangers(const struct spw_op *op)
{
    if (op->everything)
        return spw_anything_dropped_locked();
    for (unsigned i = 0; i < op->reached; i++)
        if (endangered_by_hit(op, i))
            return true;
    return false;
}

int spw_versions_before_op_locked(struct spw_op *op)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = 0;
    if (op->everything)
        return rescue(NULL, true, op->stream);
    for (unsigned i = 0; i < op->reached && r == 0; i++) {
        struct spw_versioned *v = endangered_by_hit(op, i);
        if (v)
            r = rescue(v, spw_op_writes_hit(op, i), op->stream);
    }
    return r;
}

static void raise_all(const struct spw_op *op)
{
    if (op->everything) {
        raise_epoch();
        return;
    }
    for (unsigned i = 0; i < op->reached; i++) {
        struct spw_versioned *v = spw_op_may_write_hit(op, i) ? spw_versioned_at_locked(op->hits[i], NULL) : NULL;
        if (v && spw_op_writes_hit(op, i))
            spw_version_raise_locked(v);
        else if (v) {
            v->is_fresh = false; /* a belief is not enough to take the content for undefined */
            v->is_believed |= spw_op_believes_hit(op, i);
        }
    }
}

/* The recorded operation learns the versions that it makes, and becomes the maker of what it writes, if all earlier writes
 * to that are known as well. */
static void take_versions(struct spw_recorded_op *recorded_op)
{
    for (unsigned i = 0; i < recorded_op->touch_count; i++) {
        struct spw_recorded_op_touch *t = &recorded_op->touches[i];
        t->after = t->what->version;
        if (!spw_touch_writes(t) || !(t->whole || t->previous))
            continue;
        spw_maker_release = spw_recorded_op_let_go;
        t->what->maker = recorded_op;
        spw_recorded_op_hold(recorded_op);
    }
}

void spw_versions_op_locked(struct spw_op *op)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint64_t clock = spw_version_clock;
    if (op->wish)
        op->recorded_op = spw_recorded_op_make_locked(op, &op->verdict);
    spw_library_workspace_used(op->submission, op->hits, op->reached);
    raise_all(op);
    if (op->recorded_op)
        take_versions(op->recorded_op);
    if (op->recorded_op && spw_rematerialiser && spw_rematerialiser->kept(op, op->recorded_op) < 0)
        op->recorded_op->is_void = true;
    if (op->recorded_op && !op->recorded_op->is_void) {
        spw_read_check_read_locked(op->recorded_op, op->stream);
        spw_read_check_rely_locked(op->recorded_op);
    }
    spw_read_check_touch_locked(op, clock);
}

void spw_versions_op_end(struct spw_op *op, bool taken)
{
    spw_lock();
    if (!taken)
        op->recorded_op->is_void = true;
    spw_recorded_op_let_go(op->recorded_op);
    op->recorded_op = NULL;
    spw_unlock();
}

/* ---- changes that no operation shows ---- */

/* Returns a bit for each device where something is dropped. */
static uint64_t devices_dropping(void)
{
    uint64_t devices = 0;
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (spw_devices[i].ready && spw_devices[i].dropping)
            devices |= UINT64_C(1) << i;
    return devices;
}

/* Makes everything again that is dropped on `devices`. Needs their slow locks. */
static int rescue_all(uint64_t devices)
{
    struct spw_context_guard guard;
    const bool entered = spw_context_enter(&guard, NULL) == 0;
    int r = 0;
    for (int i = 0; i < SPW_MAX_DEVICES && r == 0; i++)
        if (devices >> i & 1 && spw_devices[i].dropping)
            r = spw_rescue_unlocking(&spw_devices[i], NULL, true, NULL);
    if (entered)
        spw_context_leave(&guard);
    return r;
}

/* Devices where nothing is dropped are not locked, so threads that make room there are not waited for. */
int spw_versions_break(void)
{
    uint64_t devices = 0, more;
    int r = 0;
    if (!spw_versions_kept)
        return 0;
    spw_lock();
    while (r == 0 && (more = devices_dropping() & ~devices)) { /* while the lock was released, there may have been more */
        spw_unlock();
        spw_devices_unlock_slow(devices);
        devices |= more;
        spw_devices_lock_slow(devices);
        spw_lock();
        r = rescue_all(devices);
    }
    if (r == 0)
        raise_epoch();
    spw_unlock();
    spw_devices_unlock_slow(devices);
    return r;
}

int spw_versions_break_for(CUdeviceptr address)
{
    CUmemorytype type = 0;
    if (!spw_versions_kept || spw_in_arena(address) ||
        spw_driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS ||
        type == CU_MEMORYTYPE_HOST)
        return 0;
    return spw_versions_break();
}

int spw_versions_order_is_unseen(void)
{
    spw_lock();
    const bool is_known = spw_recorded_op_order_unseen && !spw_anything_dropped_locked();
    spw_recorded_op_order_unseen = true;
    spw_unlock();
    return is_known ? 0 : spw_versions_break();
}

int spw_versions_settle(const void *whose, unsigned what, uint64_t value)
{
    if (!spw_versions_kept)
        return 1;
    spw_lock();
    const bool differs = spw_function_attrs_differs(whose, what, value);
    spw_unlock();
    const int r = differs ? spw_versions_break() : 0;
    if (r < 0)
        spw_versions_unsettle();
    return r < 0 ? r : differs;
}

void spw_versions_unsettle(void)
{
    spw_lock();
    spw_function_attrs_reset();
    spw_unlock();
}

void spw_versions_reset(void)
{
    spw_versions_kept = spw_recorded_op_order_unseen = false;
    raise_epoch();
    spw_function_attrs_reset();
}
