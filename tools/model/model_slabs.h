/* model_slabs.h - what a run within a budget takes for the small allocations of an iteration. */
#ifndef SPILLWAY_TOOLS_MODEL_SLABS_H
#define SPILLWAY_TOOLS_MODEL_SLABS_H
#include "model.h"

/* The bytes of its slabs. `is_there`: by tensor, whether it is on the device. 0 where the machine is not known, or memory
 * lacks. */
uint64_t model_slab_bytes(const struct model *m, const bool *is_there, const struct spw_record_machine *machine);
#endif
