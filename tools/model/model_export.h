/* model_export.h - the iteration of a trace in the form that planners read. */
#ifndef SPILLWAY_TOOLS_MODEL_EXPORT_H
#define SPILLWAY_TOOLS_MODEL_EXPORT_H
#include <jansson.h>

#include "model.h"

/* The iteration as spillway-iteration/1 of one device. NULL: no memory, or there is no iteration. The caller owns it. */
json_t *model_export(struct model *model, uint32_t device, const char *name);
#endif
