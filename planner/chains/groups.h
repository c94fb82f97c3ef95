/* groups.h - the stages of a chain in groups, which are the steps of a uniform chain: about equal in time, and what they
 * take.
 */
#ifndef SPILLWAY_PLANNER_GROUPS_H
#define SPILLWAY_PLANNER_GROUPS_H
#include "chains/again.h"
#include "chains/join.h"
#include "stages/linear.h"

struct spw_group {
    double forward_us, backward_us; /* as recorded */
    double walk_us, record_us;      /* again, for the next one's state, and for its records */
    uint64_t state_bytes;           /* of the input of its first stage */
    uint64_t walk_bytes;            /* most beside that while it is run and leaves its output */
    uint64_t first_bytes;           /* most beside that while its first stage is run and leaves its record */
    uint64_t reverse_bytes;         /* most behind that, until it is reversed */
};

struct spw_groups {
    const struct spw_chain *chain;
    /* Chains that meet, whose stages lie one chain behind the other; 1: there is but one. Stage tower_ends[b] is the first
     * behind branch b, and what follows the last of them is common to all, or else the end of the last branch. */
    uint32_t towers, tower_ends[SPW_JOIN_MOST_BRANCHES];
    /* The groups as they were cut last: */
    uint32_t count;
    uint32_t *cuts; /* the first stage of each group; behind the last the number of stages */
    struct spw_group *groups;
    uint32_t tower_steps[SPW_JOIN_MOST_BRANCHES]; /* groups of each branch */
    /* For each stage: */
    uint64_t *kept;     /* bytes that its backward is the last to read */
    uint64_t *input[2]; /* of its input; with towers: of that made in its own branch */
    struct spw_again *again;
};

/* 0 or -ENOMEM; finish it in any case. */
int spw_groups_init(struct spw_groups *groups, const struct spw_chain *chain);
void spw_groups_finish(struct spw_groups *groups);

/* `steps` groups of about equal time and one of the `last` stages; all but `last` are enough for so many. */
void spw_groups_cut(struct spw_groups *groups, uint32_t steps, uint32_t last);
/* Likewise, with no group in two branches; the last one is what is common to all. At least one step for each branch. */
void spw_groups_cut_towers(struct spw_groups *groups, uint32_t steps);
#endif
