/* model_course.h - an iteration as the course that a run would make of it, and as the graph that it would plan with. */
#ifndef SPILLWAY_TOOLS_MODEL_COURSE_H
#define SPILLWAY_TOOLS_MODEL_COURSE_H
#include "course/course.h"
#include "model.h"

struct model_course {
    struct spw_graph *graph; /* finished, sizes as asked for; operations have the numbers that they have in the iteration */
    uint32_t *tensor_of;     /* by tensor of the graph: that of the model */
};

struct model_course_terms {
    uint64_t small_bytes; /* tensors below never leave the device */
    double d2h_bytes_per_us, h2d_bytes_per_us;
    const bool *is_there;   /* by tensor: it is one of the device's memory */
    const bool *replayable; /* by operation */
};

/* 0; -EINVAL: what the trace says makes no sense (ret_problem); -ENOMEM. */
int model_course_make(const struct model *m, const struct model_course_terms *terms, struct model_course *ret_course,
                      struct spw_graph_problem *ret_problem);
void model_course_finish(struct model_course *course);
#endif
