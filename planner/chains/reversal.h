/* reversal.h - describes how a chain of steps is reversed, as a list of actions on states, whatever a state is in a graph.
 *
 * A chain has steps 0 .. n-1; step k takes state k to state k+1. One state is in the work buffer, state 0 at the start,
 * and all slots are empty. Reversing step k needs state k in the work buffer (it runs the step once more, recording).
 * Steps are reversed from the last to the first. */
#ifndef SPILLWAY_PLANNER_REVERSAL_H
#define SPILLWAY_PLANNER_REVERSAL_H
#include <stddef.h>
#include <stdint.h>

enum spw_action_kind {
    SPW_ACTION_STORE,   /* the state in the work buffer is copied into a free slot */
    SPW_ACTION_RESTORE, /* the state in a slot is copied into the work buffer */
    SPW_ACTION_DISCARD, /* a slot becomes free */
    SPW_ACTION_ADVANCE, /* the work buffer's state becomes state `to`; nothing is recorded */
    SPW_ACTION_REVERSE, /* the step that begins with the work buffer's state is reversed */
    /* Of several chains that meet: their last states are present, in slots and in the work buffer. */
    SPW_ACTION_TURN,
    /* Starts a copy from a slot to the device, in parallel with what follows; RESTORE waits for it. */
    SPW_ACTION_FETCH,
};

struct spw_reversal_action {
    uint32_t kind;  /* enum spw_action_kind */
    uint32_t level; /* of the slot: 0 is the nearest and cheapest */
    uint64_t slot;  /* within its level */
    uint64_t state; /* the state that is stored, restored, discarded, advanced from, reversed or fetched */
    uint64_t to;    /* ADVANCE only */
};

struct spw_reversal {
    struct spw_reversal_action *actions;
    size_t count, room;
};

/* Frees the actions. An empty reversal is all zero. */
void spw_reversal_finish(struct spw_reversal *reversal);
int spw_reversal_add(struct spw_reversal *reversal, const struct spw_reversal_action *action); /* returns 0 or -ENOMEM */
#endif
