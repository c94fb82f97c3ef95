/* groups.h - divides the stages of a chain into groups of about equal time, the steps of a uniform chain, and measures
 * them. */
#ifndef SPILLWAY_PLANNER_GROUPS_H
#define SPILLWAY_PLANNER_GROUPS_H
#include "chains/again.h"
#include "chains/join.h"
#include "stages/linear.h"

struct spw_group {
    double forward_us, backward_us; /* as recorded */
    double walk_us, record_us;      /* when run again: for the next group's state; for its records */
    uint64_t state_bytes;           /* the input of its first stage */
    uint64_t walk_bytes;            /* most bytes besides state_bytes while it runs and leaves its output */
    /* Most bytes besides state_bytes while its first stage runs and leaves its record. */
    uint64_t first_bytes;
    uint64_t reverse_bytes; /* most bytes after that, until the group is reversed */
};

struct spw_groups {
    const struct spw_chain *chain;
    /* Chains that meet, whose stages lie one chain after the other; 1: there is only one. Stage tower_ends[b] is the
     * first after branch b. What follows the last branch is common to all; if nothing does, the end of the last branch
     * is. */
    uint32_t towers, tower_ends[SPW_JOIN_MOST_BRANCHES];
    /* The groups of the latest cut: */
    uint32_t count;
    uint32_t *cuts; /* the first stage of each group; after the last the number of stages */
    struct spw_group *groups;
    uint32_t tower_steps[SPW_JOIN_MOST_BRANCHES]; /* number of groups of each branch */
    /* For each stage: */
    uint64_t *kept;     /* bytes that its backward is the last to read */
    uint64_t *input[2]; /* bytes of its input; [1], with towers: of the input made in its own branch */
    struct spw_again *again;
};

/* Returns 0 or -ENOMEM; call spw_groups_finish() in any case. */
int spw_groups_init(struct spw_groups *groups, const struct spw_chain *chain);
void spw_groups_finish(struct spw_groups *groups);

/* Cuts the chain into `steps` groups of about equal time and one of the `last` stages. There have to be at least `steps`
 * stages besides the last ones. */
void spw_groups_cut(struct spw_groups *groups, uint32_t steps, uint32_t last);
/* Does the same with no group in two branches; the last group is what is common to all. At least one step for each
 * branch. */
void spw_groups_cut_towers(struct spw_groups *groups, uint32_t steps);
#endif
