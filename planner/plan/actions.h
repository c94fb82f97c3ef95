/* actions.h - holds a schedule as the engine follows it: what to do before each recorded operation, in order, without
 * times.
 *
 * An action is triggered by the ordinal of the operation that is about to be submitted. The engine then submits the
 * action to its lane and goes on; the lanes wait for what the action needs. A plan therefore remains valid whatever the
 * durations turn out to be. spw_timer_run() with other durations shows how well the same steps tolerate such changes. */
#ifndef SPILLWAY_PLANNER_ACTIONS_H
#define SPILLWAY_PLANNER_ACTIONS_H
#include "plan/graph.h"
#include "plan/schedule.h"

struct spw_action {
    uint32_t kind; /* enum spw_step_kind, never SPW_STEP_OP */
    uint32_t id;   /* index of the tensor, or of the operation to replay */
};

struct spw_actions {
    struct spw_action *list;
    /* The actions before operation o are list[first[o]] .. list[first[o + 1] - 1]. Those after the last operation have o =
     * op_count. */
    uint32_t *first;
    uint32_t count, op_count;
    uint8_t *start; /* as in struct spw_schedule */
};

/* Converts a schedule to actions. Copies out are moved to where they can start soonest, right after the operation that
 * completes the tensor (if it is copied alone: after the last one that needs it). They keep their order, and are moved
 * only if the host copies then stay within `host_bytes`. Drops are moved right after the last step that needs the tensor.
 * Returns 0; -EINVAL: the schedule is not valid; -ENOMEM. Release the result with spw_actions_finish(). */
int spw_actions_of(const struct spw_graph *graph, const struct spw_schedule *schedule, uint64_t host_bytes,
                   struct spw_actions *ret_actions);
void spw_actions_finish(struct spw_actions *actions);
/* Converts actions back to a list of steps that includes the operations. Returns 0 or -ENOMEM. */
int spw_actions_steps(const struct spw_actions *actions, struct spw_schedule *schedule);
#endif
