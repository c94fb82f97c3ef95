/* model_slabs.h - computes what a run within a budget needs for the small allocations of an iteration. */
#ifndef SPILLWAY_TOOLS_MODEL_SLABS_H
#define SPILLWAY_TOOLS_MODEL_SLABS_H
#include "model.h"

/* Returns the bytes of its slabs; 0 if the machine is unknown, or without memory. `is_there`: by tensor, whether it is on
 * the device. */
uint64_t model_slab_bytes(const struct model *m, const bool *is_there, const struct spw_record_machine *machine);
#endif
