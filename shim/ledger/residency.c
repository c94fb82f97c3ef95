/* residency.c - keeps the state of a block in bits of its `attention`. */
#include "residency.h"

#include "lock.h"

enum { STATE = SPW_ABSENT | SPW_EVICTING | SPW_RESTORING };

enum spw_residency spw_block_residency(const struct spw_block *b)
{
    const uint32_t a = b->object.attention;
    if (a & SPW_ABSENT)
        return a & SPW_EMPTY ? SPW_RESIDENCY_EMPTY : a & SPW_EVICTED ? SPW_RESIDENCY_EVICTED : SPW_RESIDENCY_DROPPED;
    if (a & SPW_EVICTING)
        return SPW_RESIDENCY_EVICTING;
    return a & SPW_RESTORING ? SPW_RESIDENCY_RESTORING : SPW_RESIDENCY_RESIDENT;
}

static bool is_allowed(enum spw_residency from, enum spw_residency to)
{
    enum {
        EMPTY = 1 << SPW_RESIDENCY_EMPTY,
        RESIDENT = 1 << SPW_RESIDENCY_RESIDENT,
        RESTORING = 1 << SPW_RESIDENCY_RESTORING,
        EVICTING = 1 << SPW_RESIDENCY_EVICTING,
        EVICTED = 1 << SPW_RESIDENCY_EVICTED,
        DROPPED = 1 << SPW_RESIDENCY_DROPPED,
        PRESENT = RESIDENT | RESTORING | EVICTING
    };
    static const unsigned from_which[] = {
        [SPW_RESIDENCY_EMPTY] = PRESENT | DROPPED | EMPTY,     [SPW_RESIDENCY_RESIDENT] = EMPTY | EVICTED | DROPPED,
        [SPW_RESIDENCY_RESTORING] = RESIDENT | RESTORING,      [SPW_RESIDENCY_EVICTING] = PRESENT,
        [SPW_RESIDENCY_EVICTED] = PRESENT | DROPPED | EVICTED, [SPW_RESIDENCY_DROPPED] = PRESENT | DROPPED,
    };
    return from_which[to] >> from & 1;
}

static bool holds(const struct spw_block *b)
{
    switch (spw_block_residency(b)) {
    case SPW_RESIDENCY_EMPTY:
        return !b->host_copy_valid;
    case SPW_RESIDENCY_EVICTED:
        return b->host_copy && b->host_copy_valid;
    case SPW_RESIDENCY_DROPPED:
        return b->drops && b->content.maker && !b->host_copy == !b->has_true_copy;
    default:
        return b->memory.granules == b->granules;
    }
}

void spw_block_become_locked(struct spw_block *b, enum spw_residency state)
{
    static const uint32_t bits[] = {[SPW_RESIDENCY_EMPTY] = SPW_EMPTY,
                                    [SPW_RESIDENCY_RESTORING] = SPW_RESTORING,
                                    [SPW_RESIDENCY_EVICTING] = SPW_EVICTING,
                                    [SPW_RESIDENCY_EVICTED] = SPW_EVICTED,
                                    [SPW_RESIDENCY_DROPPED] = SPW_DROPPED};
    const uint32_t stays = state == SPW_RESIDENCY_EVICTING ? SPW_RESTORING : 0;
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    SPW_ASSERT(is_allowed(spw_block_residency(b), state), "an arrow of the drawing in residency.h");
    b->object.attention = (b->object.attention & ~(STATE & ~stays)) | bits[state];
    SPW_ASSERT(holds(b), "what residency.h says of the state");
}

void spw_block_stay_locked(struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    SPW_ASSERT(!(b->object.attention & SPW_ABSENT), "what stays is there");
    b->object.attention &= ~(uint32_t)SPW_EVICTING;
    SPW_ASSERT(holds(b), "what residency.h says of the state");
}

void spw_block_arrived_locked(struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    b->object.attention &= ~(uint32_t)SPW_RESTORING;
}
