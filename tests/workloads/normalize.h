/* normalize.h - layer normalisation (over each row) and batch normalisation (over each column). */
#ifndef WORKLOADS_NORMALIZE_H
#define WORKLOADS_NORMALIZE_H
#include "array.h"

/* What was subtracted and multiplied: one of each per row (layer) or per column (batch). */
struct statistics {
    tensor mean, inverse_deviation;
};

tensor layer_normalize(const tensor &x, const tensor &scale, const tensor &shift, struct statistics *ret_statistics);
tensor layer_normalize_input_gradient(const tensor &dy, const tensor &x, const tensor &scale, const struct statistics &s);

/* Of the batch itself; moves the running mean and variance a tenth of the way towards it. */
struct statistics batch_statistics(const tensor &x, const tensor &running_mean, const tensor &running_variance);
struct statistics running_statistics(const tensor &running_mean, const tensor &running_variance);
tensor batch_normalize(const tensor &x, const tensor &scale, const tensor &shift, const struct statistics &s);
tensor batch_normalize_input_gradient(const tensor &dy, const tensor &x, const tensor &scale, const struct statistics &s,
                                      const tensor &dscale, const tensor &dshift);

/* For either kind; s has x.rows or x.columns elements, the second if `per_column`. */
void normalize_parameter_gradients(const tensor &dy, const tensor &x, const struct statistics &s, bool per_column,
                                   tensor *ret_dscale, tensor *ret_dshift, enum role role);
#endif
