/* model_export.h - exports the iteration of a trace in the form that planners read. */
#ifndef SPILLWAY_TOOLS_MODEL_EXPORT_H
#define SPILLWAY_TOOLS_MODEL_EXPORT_H
#include <jansson.h>

#include "model.h"
#include "plan/graph.h"

/* Returns the iteration as spillway-iteration/1 for one device, which the caller owns. Returns NULL without memory, if
 * there is no iteration, or if the trace is invalid: then ret_problem->path is not empty. */
json_t *model_export(struct model *model, uint32_t device, const char *name, struct spw_graph_problem *ret_problem);
#endif
