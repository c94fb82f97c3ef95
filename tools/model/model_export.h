/* model_export.h - the iteration of a trace in the form that planners read. */
#ifndef SPILLWAY_TOOLS_MODEL_EXPORT_H
#define SPILLWAY_TOOLS_MODEL_EXPORT_H
#include <jansson.h>

#include "model.h"
#include "plan/graph.h"

/* The iteration as spillway-iteration/1 of one device, which the caller owns. NULL: no memory, or there is no iteration; or
 * the trace makes no sense: then ret_problem->path is not empty. */
json_t *model_export(struct model *model, uint32_t device, const char *name, struct spw_graph_problem *ret_problem);
#endif
