/* compose.h - makes a schedule of choices: what stays, what is copied out and what is dropped, gap by gap.
 *
 * There is a choice for each gap (plan/choice.h). Composing goes through the operations in order, evicts behind each use as
 * chosen, brings back what an operation reads just before it (a copy where there is one, else replays, recursively), and,
 * where memory is short all the same, evicts more: it then notes that among the choices, so that the next time it is done in
 * good time. */
#ifndef SPILLWAY_PLANNER_COMPOSE_H
#define SPILLWAY_PLANNER_COMPOSE_H
#include "plan/choice.h"
#include "plan/graph.h"
#include "plan/plan.h"
#include "plan/schedule.h"

/* Which uses of which tensors they are about: graphs that give the same number have the same choices to make. */
uint64_t spw_choice_digest(const struct spw_graph *graph);

struct spw_composer;
int spw_composer_create(const struct spw_plan_request *request, struct spw_composer **ret_composer);
void spw_composer_destroy(struct spw_composer *composer);

struct spw_composed {
    size_t repairs;     /* choices that had to be changed */
    uint32_t op;        /* the operation that it came to */
    double replayed_us; /* by all replays */
    bool is_kept;       /* a schedule came of it, and it is the one that was kept (below) */
};
/* Fills the schedule. 0; -ENOSPC: no way found; -ENOMEM. `ret_composed` is filled in any case. */
int spw_compose(struct spw_composer *composer, uint8_t *choices, struct spw_schedule *schedule,
                struct spw_composed *ret_composed);
/* Makes what was composed last what later compositions are held against: where they meet the same choices and the same
 * places, they take over its steps. What comes out is the same with any other, or none, and takes longer the more differs.
 * Without effect, and false, where no schedule came of it. */
bool spw_composer_keep(struct spw_composer *composer);
/* From now on there is none. */
void spw_composer_forget(struct spw_composer *composer);
#endif
