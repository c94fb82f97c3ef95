/* model.h - declares what the files of the fluid relaxation share. */
#ifndef SPILLWAY_BENCH_FLUID_MODEL_H
#define SPILLWAY_BENCH_FLUID_MODEL_H
#include "fluid.h"
#include "values.h"

enum { NONE = -1, ALL = -2 }; /* instead of a column: nothing of it, all of it */

/* The start of an operation, or its end. The first instant is the start of the iteration, the last its end. */
struct instant {
    uint32_t op; /* op_count: the end of the iteration */
    bool at_end; /* just before the operation ends */
};

struct fluid {
    struct fluid_request request;
    const struct spw_graph *graph;
    struct program program;
    struct values values;
    /* For each operation: bytes that are alive; bytes that are present whatever a schedule does. */
    double *alive, *held;
    bool *chosen; /* the operations that are examined */
    uint32_t chosen_count;
    struct instant *instants;
    uint32_t count;
    int *x, *h, *s, *r; /* [value or operation][instant or span]; column, NONE or ALL */
    int *length;        /* of the spans */
};

void fluid_sum_up(struct fluid *m);
void fluid_choose(struct fluid *m, uint32_t count);
void fluid_list_instants(struct fluid *m);
void fluid_add_columns(struct fluid *m);
void fluid_add_rows(struct fluid *m);

static inline size_t at(const struct fluid *m, size_t which, uint32_t instant)
{
    return which * m->count + instant;
}

/* The operations of a span are span_first .. span_end - 1. */
static inline uint32_t span_first(const struct fluid *m, uint32_t span)
{
    return m->instants[span].op + m->instants[span].at_end;
}

static inline uint32_t span_end(const struct fluid *m, uint32_t span)
{
    return m->instants[span + 1].op + m->instants[span + 1].at_end;
}

/* Returns true if the span is one operation, from its start to its end. */
static inline bool is_op(const struct fluid *m, uint32_t span)
{
    return m->instants[span + 1].at_end;
}

static inline bool born_before(const struct value *value, uint32_t op)
{
    return value->born == AT_START || value->born < op;
}
#endif
