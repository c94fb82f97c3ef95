/* model_iteration.h - the second look at a trace: one iteration in full. For model.c. */
#ifndef SPILLWAY_TOOLS_MODEL_ITERATION_H
#define SPILLWAY_TOOLS_MODEL_ITERATION_H
#include "model_run.h"

/* Reads operations [first, end) with what they touch into the model. 0 or -ENOMEM; damage was met in the first look already
 * and is passed over here. */
int model_iteration_read(struct spw_trace_reader *reader, struct model *model, uint64_t first, uint64_t end,
                         void (*progress)(void *context, uint64_t bytes), void *context);

/* Fills in the share of the iteration's time that each operation takes: all together they take the time in which anything
 * goes on (model_share.c). 0 or -ENOMEM. */
int model_share_time(struct model_op *ops, uint32_t count);

/* Fills in phases and categories from what the iteration does (model_guess.c). 0 or -ENOMEM. */
int model_guess(struct model *model);
#endif
