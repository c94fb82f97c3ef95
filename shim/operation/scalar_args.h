/* scalar_args.h - what launches are given beside addresses: the geometry, and the parameters that lead to no tensor. Whether
 * another launch is given the same, but for what has been seen to make no difference.
 *
 * Addresses count by which of the tensors touched they lie in. Launches that have them in other places (one is left out)
 * are of another sort, and nothing that is known of the one says anything of the other. What nobody sets (padding) differs
 * at random. */
#ifndef SPILLWAY_SHIM_SCALAR_ARGS_H
#define SPILLWAY_SHIM_SCALAR_ARGS_H
#include "recorded_op.h"

struct spw_scalar_args {
    uint64_t places; /* where among the parameters addresses are */
    uint32_t count;
    uint32_t *list; /* followed by one for each that is not 0 where it may differ; NULL: nothing is known */
};

/* Those that the launch was given; none may differ. False: no memory, nothing to finish. */
bool spw_scalar_args_take(struct spw_scalar_args *numbers, const struct spw_recorded_op *recorded_op);
void spw_scalar_args_finish(struct spw_scalar_args *numbers); /* all zeroes from then on */

bool spw_scalar_args_are_of_a_sort(const struct spw_scalar_args *a, const struct spw_scalar_args *b);

/* `given` are of that sort, and what `known` are but for those that may differ. */
bool spw_scalar_args_cover(const struct spw_scalar_args *known, const struct spw_scalar_args *given);

/* Of that sort: those that are others in `given` may differ from now on. */
void spw_scalar_args_allow(struct spw_scalar_args *known, const struct spw_scalar_args *given);

/* Each of `given` is what it was, at its place, in one of these `count` that are of its sort. */
bool spw_scalar_args_are_among(const struct spw_scalar_args *known, unsigned count, const struct spw_scalar_args *given);
#endif
