/* plan_follower.c - passes what the engine reports to the loop of the device concerned. */
#include "plan_follower.h"

#include <pthread.h>
#include <stdlib.h>

#include "devices.h"
#include "op.h"
#include "capture.h"
#include "lock.h"
#include "log.h"
#include "kept_ops.h"
#include "own_memory.h"
#include "reclaim.h"
#include "refusals.h"
#include "replay.h"
#include "recorded_op.h"
#include "device_loop.h"
#include "settings.h"
#include "slab.h"
#include "twins.h"
#include "verify.h"
#include "versions.h"

static struct spw_device_loop *planned_of_stream(struct spw_stream *s)
{
    const struct spw_device *d = spw_device_of_stream_locked(s);
    return d ? d->loop : NULL;
}

static void follow_op(struct spw_op *op, struct spw_object *const *objects, unsigned count)
{
    struct spw_device_loop *p = planned_of_stream(op->stream);
    if (!p)
        return;
    op->stream->place = &p->on.place;
    op->stream->calm = false;
    p->on.stream = op->stream;
    spw_device_loop_settle_locked(p);
    spw_device_loop_follow_locked(p, op);
    if (spw_device_loop_is_observing(p))
        spw_device_loop_observe_locked(p, op, objects, count);
}

static void go_before_unlocking(struct spw_stream *s)
{
    struct spw_device_loop *p = planned_of_stream(s);
    if (!p || !s->place || !s->place->left)
        return;
    p->on.stream = s;
    spw_device_loop_go_before_unlocking(p);
}

static void note_alloc(struct spw_device *d, struct spw_block *b)
{
    struct spw_device_loop *p = d->loop;
    const uint64_t serial = b->serial;
    b->expected = 0;
    if (spw_versions_kept) {
        spw_version_reset_locked(&b->content);
        b->proof.believed = false;
    }
    if (!p)
        return;
    b->serial = 0; /* what looks through the blocks meanwhile does not count this one yet */
    spw_device_loop_settle_locked(p);
    b->serial = serial;
    if (spw_device_loop_is_observing(p))
        spw_observer_alloc(p->known.watch, b);
    if (p->on.now)
        spw_plan_executor_alloc(&p->on, b);
}

static void note_free(struct spw_device *d, struct spw_block *b)
{
    struct spw_device_loop *p = d->loop;
    if (!p)
        return;
    if (spw_device_loop_is_observing(p))
        spw_observer_free(p->known.watch, b->serial);
    spw_plan_executor_free_locked(&p->on, b);
}

static void note_free_slot(struct spw_device *d, const struct spw_slot *slot)
{
    struct spw_device_loop *p = d->loop;
    if (p && spw_device_loop_is_observing(p))
        spw_observer_free_small(p->known.watch, slot->serial);
}

static void note_pin(struct spw_block *b)
{
    struct spw_device_loop *p = spw_devices[b->object.device].loop;
    if (p)
        spw_observer_pin(p->known.watch, b->serial);
}

static void condemn(struct spw_device *d, const struct spw_recorded_op *wrong)
{
    struct spw_device_loop *p = d->loop;
    if (!p)
        return;
    const bool is_of_plan = p->on.now && p->on.kept == p->on.now->plan;
    spw_refusals_mismatch_locked(d, is_of_plan ? p->on.now->course : NULL, wrong->operation, wrong->function);
    if (!is_of_plan)
        return;
    spw_kept_ops_unlearn_locked(d, p->on.now->course, wrong);
    spw_tuning_unlearned(p->on.now);
}

static void look_at_versions(void)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (spw_devices[i].loop)
            spw_plan_executor_look_closer(&spw_devices[i].loop->on, spw_devices[i].loop->on.place.told);
}

static bool anybody_wants_versions(void)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (spw_devices[i].loop && spw_device_loop_want_versions(spw_devices[i].loop))
            return true;
    return false;
}

void spw_plan_follower_spare_versions_unlocking(struct spw_device *d, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!spw_versions_kept || anybody_wants_versions())
        return;
    if (d->dropping && spw_replay_rescue_unlocking(d, NULL, true, s) < 0)
        return; /* it stays as it is, and the next iteration tries again */
    if (anybody_wants_versions() || spw_anything_dropped_locked())
        return;
    spw_versions_keep_locked(false);
    spw_debug("device %d: no plan makes use of what operations write: that is not followed any more", d->ordinal);
}

/* ---- beginning and end ---- */

static void press(struct spw_device *d)
{
    if (d->loop || spw_settings_get()->plan == SPW_PLAN_OFF)
        return;
    struct spw_device_loop *p;
    if (spw_device_loop_create(d, &p) < 0) {
        spw_device_loop_lack_memory(d, "to watch for the iteration");
        return; /* it is tried again when memory is short the next time */
    }
    d->loop = p;
    spw_plan_follower_any = true;
    spw_debug("device %d: watching for the iteration, as %s", d->ordinal,
              spw_settings_get()->probe ? "kernels are to be tried" : "memory is short");
}

static int give_room(struct spw_device *d)
{
    return d->loop ? spw_probe_session_give_room_locked(d->loop->session) : 0;
}

static int give_host_memory(void)
{
    int r = 0;
    for (int i = 0; i < SPW_MAX_DEVICES && r <= 0; i++) {
        const struct spw_device_loop *p = spw_devices[i].loop;
        const int of_one = p ? spw_probe_session_give_host_memory_locked(p->session) : 0;
        r = of_one ? of_one : r;
    }
    return r;
}

static bool give_own_memory_unlocking(struct spw_device *d, uint64_t lacking_bytes, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_verify_take_copies_locked(d);
    if (d->dropping && (spw_replay_rescue_unlocking(d, NULL, true, s) < 0 || d->dropping))
        return false;
    if (d->loop)
        spw_plan_executor_end_replays_locked(&d->loop->on);
    for (uint32_t i = 0; i < d->block_count; i++)
        spw_version_forget_maker_locked(&d->blocks[i]->content);
    spw_retained_all_sweep_locked(d);
    return spw_own_memory_give_unlocking(d, lacking_bytes);
}

static void hint(void)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (spw_devices[i].loop && spw_device_loop_is_observing(spw_devices[i].loop))
            spw_observer_hint(spw_devices[i].loop->known.watch);
}

static void plan_for_other_budget(struct spw_device *d)
{
    struct spw_device_loop *p = d->loop;
    struct spw_tuned_iterations *iterations = p ? &p->known.iterations : NULL;
    for (unsigned i = 0; iterations && i < iterations->count; i++)
        if (iterations->list[i].course && iterations->list[i].state != SPW_TUNING_UNPLANNED &&
            iterations->list[i].state != SPW_TUNING_STRAYED)
            spw_tuning_budget_changed(&iterations->list[i]);
}

void spw_plan_follower_context_gone_locked(CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (spw_devices[i].loop)
            spw_device_loop_context_gone_locked(spw_devices[i].loop, context);
}

static void look_after(struct spw_stream *s)
{
    struct spw_device *d = s->device >= 0 ? &spw_devices[s->device] : NULL;
    if (!d)
        return;
    const bool is_ours = spw_mutex_try_lock(&d->slow, SPW_LOCK_SLOW);
    spw_lock();
    struct spw_device_loop *p = d->loop;
    spw_stream_maybe_mark_locked(s);
    if (p && is_ours) {
        p->on.stream = s;
        spw_device_loop_look_after_unlocking(p, spw_plan_follower_spare_versions_unlocking);
        spw_device_loop_keep_pace_unlocking(p, s);
    } else if (p) {
        p->on.place.busy = true;
    }
    spw_unlock();
    if (is_ours)
        spw_mutex_unlock(&d->slow);
}

static const struct spw_follower follower = {
    .press = press,
    .versions_kept = look_at_versions,
    .op = follow_op,
    .before_unlocking = go_before_unlocking,
    .after = look_after,
    .alloc = note_alloc,
    .free = note_free,
    .free_slot = note_free_slot,
    .pin = note_pin,
    .budget_changed = plan_for_other_budget,
    .hint = hint,
    .give_room = give_room,
    .give_host_memory = give_host_memory,
    .give_own_memory_unlocking = give_own_memory_unlocking,
    .condemned = condemn,
};

void spw_plan_follower_open(void)
{
    spw_follower = &follower;
}

static void leave_to_later_runs(struct spw_known_iterations *known)
{
    spw_tuned_iterations_stop(&known->iterations);
    spw_known_iterations_note_locked(known);
}

void spw_plan_follower_stop(void)
{
    if (!spw_try_lock())
        return; /* a thread was ended in the middle of something: nothing that is being planned can be relied on */
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (spw_devices[i].loop)
            leave_to_later_runs(&spw_devices[i].loop->known);
    spw_plan_thread_reap_locked(true);
    spw_unlock();
}

/* The threads are the parent's, and so is what they were making; it is left alone. */
void spw_plan_follower_in_child(void)
{
    spw_lock();
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        spw_devices[i].loop = NULL;
        free(spw_devices[i].refusals);
        spw_devices[i].refusals = NULL;
    }
    spw_plan_follower_any = false;
    spw_plan_thread_forget_abandoned();
    spw_versions_reset();
    spw_twins_reset();
    spw_unlock();
}

void spw_plan_follower_reset(void)
{
    spw_lock();
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (spw_devices[i].loop)
            spw_device_loop_destroy(spw_devices[i].loop);
    spw_plan_thread_reap_locked(true);
    spw_unlock();
    spw_plan_follower_in_child();
}
