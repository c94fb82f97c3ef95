/* model_course.h - converts an iteration to the course that a run would make of it, and to the graph that a run would
 * plan with. */
#ifndef SPILLWAY_TOOLS_MODEL_COURSE_H
#define SPILLWAY_TOOLS_MODEL_COURSE_H
#include "course/course.h"
#include "model.h"

struct model_course {
    /* Finished, with sizes as in the trace; operations have the same numbers as in the iteration. */
    struct spw_graph *graph;
    uint32_t *tensor_of; /* by tensor of the graph: the model's tensor */
};

struct model_course_terms {
    uint64_t small_bytes; /* smaller tensors never leave the device */
    double d2h_bytes_per_us, h2d_bytes_per_us;
    const bool *is_there;   /* by tensor: it is in the device's memory */
    const bool *replayable; /* by operation */
};

/* Returns 0; -EINVAL: the trace is invalid (ret_problem); -ENOMEM. */
int model_course_make(const struct model *m, const struct model_course_terms *terms, struct model_course *ret_course,
                      struct spw_graph_problem *ret_problem);
void model_course_finish(struct model_course *course);
#endif
