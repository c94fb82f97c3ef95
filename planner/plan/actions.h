/* actions.h - a schedule as the engine follows it: what to do before each recorded operation, in order, without times.
 *
 * The trigger of an action is the ordinal of the operation that is about to be submitted. The engine submits the action to
 * its lane then and goes on; the lanes themselves wait for what the action needs. So a plan stays valid whatever the
 * durations turn out to be, and how well it stands their changes is what spw_timer_run() says of the same steps with other
 * durations. */
#ifndef SPILLWAY_PLANNER_ACTIONS_H
#define SPILLWAY_PLANNER_ACTIONS_H
#include "plan/graph.h"
#include "plan/schedule.h"

struct spw_action {
    uint32_t kind; /* enum spw_step_kind, never SPW_STEP_OP */
    uint32_t id;   /* index of the tensor, or of the operation that is replayed */
};

struct spw_actions {
    struct spw_action *list;
    uint32_t
        *first; /* those before operation o are list[first[o]] .. list[first[o + 1] - 1]; behind the last: o = op_count */
    uint32_t count, op_count;
    uint8_t *start; /* as in struct spw_schedule */
};

/* The schedule's actions. Copies out are put where they can start soonest, right behind the operation that completes the
 * tensor (where it is copied alone: behind the last that needs it), as long as their order stays, and `host_bytes` of host
 * copies are not exceeded that way; drops right behind the last step that needs the tensor. 0; -EINVAL: the schedule is not
 * valid; -ENOMEM. For spw_actions_finish(). */
int spw_actions_of(const struct spw_graph *graph, const struct spw_schedule *schedule, uint64_t host_bytes,
                   struct spw_actions *ret_actions);
void spw_actions_finish(struct spw_actions *actions);
/* The same as a list of steps again, operations included. 0 or -ENOMEM. */
int spw_actions_steps(const struct spw_actions *actions, struct spw_schedule *schedule);
#endif
