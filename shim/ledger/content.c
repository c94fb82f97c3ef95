/* content.c - the clock of versions, and the changes that a write makes to a version record. */
#include "content.h"

#include "lock.h"

uint64_t spw_version_clock, spw_version_epoch = 1, spw_version_epoch_clock;
bool spw_versions_kept;
void (*spw_maker_release)(struct spw_recorded_op *maker);
void (*spw_ticket_release)(uint32_t ticket);

void spw_version_forget_maker_locked(struct spw_versioned *v)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (v->maker && spw_maker_release)
        spw_maker_release(v->maker);
    v->maker = NULL;
}

static void forget_tickets(struct spw_versioned *v)
{
    if (v->unchanged.base && spw_ticket_release)
        spw_ticket_release(v->unchanged.base);
    if (v->unchanged.check && spw_ticket_release)
        spw_ticket_release(v->unchanged.check);
}

void spw_version_raise_locked(struct spw_versioned *v)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    v->version = ++spw_version_clock;
    v->is_fresh = false;
    if (v->maker)
        spw_version_forget_maker_locked(v);
    forget_tickets(v);
    v->unchanged = (struct spw_read_check){0};
}

void spw_version_clear_locked(struct spw_versioned *v)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_version_forget_maker_locked(v);
    forget_tickets(v);
    *v = (struct spw_versioned){0};
}

void spw_version_reset_locked(struct spw_versioned *v)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_version_raise_locked(v);
    v->needed = 0;
    v->is_believed = false;
    v->is_fresh = true;
}
