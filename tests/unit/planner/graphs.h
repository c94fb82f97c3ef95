/* graphs.h - small graphs for tests of planners: tensors and operations by hand, and training chains of any length. */
#ifndef SPILLWAY_TESTS_UNIT_GRAPHS_H
#define SPILLWAY_TESTS_UNIT_GRAPHS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "plan/graph.h"
#include "plan/plan.h"

/* A list of indices of tensors, as one argument. */
struct list {
    uint32_t items[8], count;
};
#define LIST(...) ((struct list){.items = {__VA_ARGS__}, .count = sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)})
#define NOTHING   ((struct list){.count = 0})

struct spw_graph *graphs_new(void); /* a byte takes 1 us to copy, in each direction */
uint32_t graphs_tensor(struct spw_graph *graph, uint64_t bytes);
uint32_t graphs_persistent(struct spw_graph *graph, uint64_t bytes);
/* The next operation; its index. */
uint32_t graphs_op(struct spw_graph *graph, double us, struct list reads, struct list writes);
/* Closes it; tensors live from their first use to their last. */
void graphs_finish(struct spw_graph *graph);

/* What a training chain is made of. Layer i reads a_i, and its parameters, and writes a_(i+1) and what its backward reads
 * besides; the backward reads these, a_i and d_(i+1), and writes d_i and a gradient of the parameters; at the end each
 * layer's parameters are updated. Sizes of 0: there is no such tensor. */
struct chain_kind {
    uint32_t layers;
    uint64_t activation_bytes, saved_bytes, parameter_bytes;
    double forward_us, backward_us;
    uint32_t uneven; /* 0: all layers alike; else sizes and times vary, by this seed */
};
struct spw_graph *graphs_chain(const struct chain_kind *kind);

/* Makes a plan and holds it against the checker; `ret_timing` may be NULL. What the planner answered. */
int graphs_plan(spw_planner_function *make, const struct spw_plan_request *request, struct spw_timing *ret_timing);
#endif
