/* reversal.h - how a chain of steps is reversed, as a list of actions on states, whatever a state is in a graph.
 *
 * A chain has steps 0 .. n-1; step k takes state k to state k+1. One state is in the work buffer, state 0 at the start, and
 * nothing is in any slot. Reversing step k needs state k in the work buffer (it runs the step once more, recording), and
 * steps are reversed from the last to the first. */
#ifndef SPILLWAY_PLANNER_REVERSAL_H
#define SPILLWAY_PLANNER_REVERSAL_H
#include <stddef.h>
#include <stdint.h>

enum spw_action_kind {
    SPW_ACTION_STORE,   /* the state in the work buffer is copied into a free slot */
    SPW_ACTION_RESTORE, /* the state in a slot is copied into the work buffer */
    SPW_ACTION_DISCARD, /* a slot becomes free */
    SPW_ACTION_ADVANCE, /* the work buffer's state becomes state `to`, nothing being recorded */
    SPW_ACTION_REVERSE, /* the step that begins with the work buffer's state is reversed */
    SPW_ACTION_TURN,    /* of several chains that meet: their last states are there, in slots and in the work buffer */
    SPW_ACTION_FETCH,   /* a copy of a slot to the device begins, beside what follows; RESTORE waits for it */
};

struct spw_reversal_action {
    uint32_t kind;  /* enum spw_action_kind */
    uint32_t level; /* of the slot: 0 is the nearest and cheapest */
    uint64_t slot;  /* within its level */
    uint64_t state; /* that is stored, restored, discarded, advanced from, reversed, fetched */
    uint64_t to;    /* ADVANCE only */
};

struct spw_reversal {
    struct spw_reversal_action *actions;
    size_t count, room;
};

/* An empty one is all zero. */
void spw_reversal_finish(struct spw_reversal *reversal);
int spw_reversal_add(struct spw_reversal *reversal, const struct spw_reversal_action *action); /* 0 or -ENOMEM */
#endif
