/* fluid.h - the fluid relaxation of model S+ as a linear program: every schedule is one of its solutions. */
#ifndef SPILLWAY_BENCH_FLUID_H
#define SPILLWAY_BENCH_FLUID_H
#include "plan/graph.h"
#include "program.h"

struct fluid_request {
    const struct spw_graph *graph; /* with compute_us above 0 */
    uint64_t device_bytes;
    uint64_t smallest_bytes; /* smaller tensors take no memory */
    bool may_copy, may_replay;
};

struct fluid;

/* Makes a relaxation that examines memory during about `count` operations, or during all if there are fewer. Running out
 * of memory ends the process, since this is a tool. */
struct fluid *fluid_create(const struct fluid_request *request, uint32_t count);
void fluid_destroy(struct fluid *fluid);
uint32_t fluid_operations(const struct fluid *fluid); /* number of operations that it examines */
/* Returns the program, whose least cost is a bound in units of the graph's compute_us; valid until the relaxation is
 * destroyed. */
const struct program *fluid_program(struct fluid *fluid);
#endif
