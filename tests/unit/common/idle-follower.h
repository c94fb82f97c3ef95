/* idle-follower.h - a follower that watches nothing: new blocks begin without versions, all else that it is told has no
 * effect. */
#ifndef SPILLWAY_TESTS_IDLE_FOLLOWER_H
#define SPILLWAY_TESTS_IDLE_FOLLOWER_H
#include "follower.h"
#include "ledger.h"
#include "versions.h"
#include <stddef.h>

static inline void idle_op(struct spw_op *op, struct spw_object *const *objects, unsigned count)
{
}

static inline void idle_on_stream(struct spw_stream *s)
{
}

static inline void idle_alloc(struct spw_device *d, struct spw_block *b)
{
    b->expected = 0;
    if (!spw_versions_kept)
        return;
    spw_version_reset_locked(&b->content);
    b->proof.believed = false;
}

static inline void idle_free(struct spw_device *d, struct spw_block *b)
{
}

static inline void idle_free_slot(struct spw_device *d, const struct spw_slot *slot)
{
}

static inline void idle_press(struct spw_device *d)
{
}

static inline void idle_versions_kept(void)
{
}

static inline void idle_pin(struct spw_block *b)
{
}

static inline int idle_give_room(struct spw_device *d)
{
    return 0;
}

static inline int idle_give_host_memory(void)
{
    return 0;
}

static inline bool idle_give_own_memory(struct spw_device *d, uint64_t lacking_bytes, struct spw_stream *s)
{
    return false;
}

static inline void idle_budget_changed(struct spw_device *d)
{
}

static inline void idle_hint(void)
{
}

static inline void idle_condemned(struct spw_device *d, const struct spw_recorded_op *wrong)
{
}

static const struct spw_follower idle_follower = {.press = idle_press,
                                                  .versions_kept = idle_versions_kept,
                                                  .op = idle_op,
                                                  .before_unlocking = idle_on_stream,
                                                  .after = idle_on_stream,
                                                  .alloc = idle_alloc,
                                                  .free = idle_free,
                                                  .free_slot = idle_free_slot,
                                                  .pin = idle_pin,
                                                  .budget_changed = idle_budget_changed,
                                                  .hint = idle_hint,
                                                  .give_room = idle_give_room,
                                                  .give_host_memory = idle_give_host_memory,
                                                  .give_own_memory_unlocking = idle_give_own_memory,
                                                  .condemned = idle_condemned};
#endif
