/* site_names.h - names the sites of a program where many sites share their innermost frames.
 *
 * The most informative frame comes first in a stack, but a training program allocates everything in one function. So the
 * name begins with the first frame that no other site shares, as in "layer::forward (model.cc:12) > tensor::tensor
 * (tensor.cc:3)". */
#ifndef SPILLWAY_TOOLS_SITE_NAMES_H
#define SPILLWAY_TOOLS_SITE_NAMES_H
#include "model.h"

struct site_stack {
    uint32_t site; /* of its model */
    /* From the most informative one outwards; the caller owns the array, the model the texts. */
    const char **frames;
    uint32_t count;
    uint32_t shared; /* number of frames that the most similar of the others shares */
    char *name;      /* owned by the caller; NULL until it is named */
    void *owner;     /* for the caller's use */
};

/* Gets the stack of a site that has one. Returns 0 or -ENOMEM. */
int site_stack_take(struct model *model, uint32_t site, struct site_stack *ret_stack);

/* Names all of them, such that as few as possible have the same name. Changes their order. Returns 0, or -ENOMEM: some
 * have no name. */
int site_names(struct site_stack *list, size_t count);

/* Returns the length of the function's name in a text of model_frame_text(), in bytes; 0 if it has none. */
size_t site_function_length(const char *frame);
#endif
