/* capuchin_choose.h - chooses over which gaps a tensor is swapped and after which it is recomputed, by free times and
 * MSPS. */
#ifndef SPILLWAY_PLANNER_CAPUCHIN_CHOOSE_H
#define SPILLWAY_PLANNER_CAPUCHIN_CHOOSE_H
#include "plan/plan.h"

struct spw_capuchin; /* the gaps of an iteration, and working memory */
int spw_capuchin_create(const struct spw_plan_request *request, struct spw_capuchin **ret_capuchin);
void spw_capuchin_destroy(struct spw_capuchin *capuchin); /* NULL is allowed */

/* Sets `choices` (plan/choice.h) such that, as far as can be told beforehand, memory fits into `budget_bytes` everywhere.
 * Returns 0 or -ENOMEM. */
int spw_capuchin_choose(struct spw_capuchin *capuchin, uint64_t budget_bytes, uint8_t *choices);
#endif
