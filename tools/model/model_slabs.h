/* model_slabs.h - what a run within a budget takes for the small allocations of an iteration. */
#ifndef SPILLWAY_TOOLS_MODEL_SLABS_H
#define SPILLWAY_TOOLS_MODEL_SLABS_H
#include "model.h"

/* The bytes of its slabs beyond those of the small tensors that live on. `ids`: MODEL_NONE for tensors that are not on the
 * device. 0 where the machine is not known, or memory lacks. */
uint64_t model_slab_bytes(const struct model *m, const uint32_t *ids, const struct spw_record_machine *machine);
#endif
