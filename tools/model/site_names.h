/* site_names.h - what a place of a program is called where many places share their innermost frames.
 *
 * The frame that says most comes first in a stack, but a training program allocates everything in one function: so the first
 * frame that no other place shares goes before it, as in "layer::forward (model.cc:12) > tensor::tensor (tensor.cc:3)". */
#ifndef SPILLWAY_TOOLS_SITE_NAMES_H
#define SPILLWAY_TOOLS_SITE_NAMES_H
#include "model.h"

struct site_stack {
    uint32_t site;       /* of its model */
    const char **frames; /* from the one that says most outwards; the array is the caller's, the texts are the model's */
    uint32_t count;
    uint32_t shared; /* how many the most similar of the others has too */
    char *name;      /* the caller's; NULL until it is named */
    void *owner;     /* for the caller */
};

/* The stack of a site that has one. 0 or -ENOMEM. */
int site_stack_take(struct model *model, uint32_t site, struct site_stack *ret_stack);

/* Names all of them, so that as few as can be are called the same. Changes their order. 0 or -ENOMEM: some have no name. */
int site_names(struct site_stack *list, size_t count);

/* Of what model_frame_text() says of a frame: the bytes of the function's name; 0 where it has none. */
size_t site_function_length(const char *frame);
#endif
