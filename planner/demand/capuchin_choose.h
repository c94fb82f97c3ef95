/* capuchin_choose.h - which gaps a tensor is swapped over and which it is recomputed behind, by free times and MSPS. */
#ifndef SPILLWAY_PLANNER_CAPUCHIN_CHOOSE_H
#define SPILLWAY_PLANNER_CAPUCHIN_CHOOSE_H
#include "plan/plan.h"

struct spw_capuchin; /* the gaps of an iteration, and room to work in */
int spw_capuchin_create(const struct spw_plan_request *request, struct spw_capuchin **ret_capuchin);
void spw_capuchin_destroy(struct spw_capuchin *capuchin); /* NULL is fine */

/* Fills `choices` (plan/choice.h) so that memory, as far as it can be told beforehand, is short nowhere within so many
 * bytes. 0 or -ENOMEM. */
int spw_capuchin_choose(struct spw_capuchin *capuchin, uint64_t budget_bytes, uint8_t *choices);
#endif
