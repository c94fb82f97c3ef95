/* compose.h - makes a schedule of choices: what stays, what is copied out and what is dropped, gap by gap.
 *
 * There is one choice for each gap (plan/choice.h). Composing visits the operations in order. After each use it evicts
 * as chosen. Just before an operation it brings back what the operation reads: by a copy if there is one, else by
 * replays, recursively. If memory is still short, it evicts more and records that in the choices, so that the next
 * composition evicts in good time. */
#ifndef SPILLWAY_PLANNER_COMPOSE_H
#define SPILLWAY_PLANNER_COMPOSE_H
#include "plan/choice.h"
#include "plan/graph.h"
#include "plan/plan.h"
#include "plan/schedule.h"

/* Returns a number for which tensors are used where: graphs with the same number have the same choices to make. */
uint64_t spw_choice_digest(const struct spw_graph *graph);

struct spw_composer;
int spw_composer_create(const struct spw_plan_request *request, struct spw_composer **ret_composer);
void spw_composer_destroy(struct spw_composer *composer);

struct spw_composed {
    size_t repairs;     /* choices that had to be changed */
    uint32_t op;        /* the last operation that it reached */
    double replayed_us; /* in all replays */
    bool is_kept;       /* it resulted in a schedule, which equals the one that was kept (see below) */
};
/* Fills the schedule. Returns 0; -ENOSPC: no way was found; -ENOMEM. `ret_composed` is set in any case. */
int spw_compose(struct spw_composer *composer, uint8_t *choices, struct spw_schedule *schedule,
                struct spw_composed *ret_composed);
/* Makes the last composition the base of later ones: where these meet the same choices and the same places, they take
 * over its steps. Any base, or none, leads to the same result; the more differs, the longer it takes. Returns false,
 * without effect, if the last composition resulted in no schedule. */
bool spw_composer_keep(struct spw_composer *composer);
/* Removes the base. */
void spw_composer_forget(struct spw_composer *composer);
#endif
