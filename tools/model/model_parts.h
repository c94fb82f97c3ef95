/* model_parts.h - a trace is looked at twice: at all of it for definitions, totals and where its iterations are, then at one
 * iteration in full. The inside of model.h. */
#ifndef SPILLWAY_TOOLS_MODEL_PARTS_H
#define SPILLWAY_TOOLS_MODEL_PARTS_H
#include "model.h"

/* ---- the first look ---- */

struct model_span { /* an iteration that was found: operations [first, end) */
    uint64_t first, end;
    uint32_t shape; /* the detector's id; when all is read, the index into the model's shapes */
    uint64_t time_ns;
};

struct model_run {
    struct model_span *spans; /* in order */
    size_t span_count, span_room;
    uint8_t *timed; /* bit per operation that has a duration */
    uint64_t timed_bytes;
};

/* Reads all of the trace into the run's part of the model. 0, -ENOMEM, or -EBADMSG when it met damage (what could be read is
 * there). `progress` is told of bytes as they are read. */
int model_run_read(struct spw_trace_reader *reader, struct model *model, struct model_run *ret_run, bool partial,
                   struct spw_trace_problem *ret_problem, void (*progress)(void *context, uint64_t bytes), void *context);
void model_run_free(struct model_run *run);

/* Makes the model's shapes from the run's spans, in the order of their first, and gives the spans their indexes. 0 or
 * -ENOMEM.
 */
int model_shapes(struct model *model, struct model_run *run);

bool model_run_is_timed(const struct model_run *run, uint64_t op);
/* Frees what one holds. */
void model_refusal_clear(struct model_refusal *refusal);

/* ---- the second look ---- */

/* Reads operations [first, end) with what they touch into the model. 0 or -ENOMEM; damage was met in the first look already
 * and is passed over here. */
int model_iteration_read(struct spw_trace_reader *reader, struct model *model, uint64_t first, uint64_t end,
                         void (*progress)(void *context, uint64_t bytes), void *context);

/* Fills in the share of the iteration's time that each operation takes: all together they take the time in which anything
 * goes on (model_share.c). 0 or -ENOMEM. */
int model_share_time(struct model_op *ops, uint32_t count);

/* Fills in phases and categories from what the iteration does (model_guess.c). 0 or -ENOMEM. */
int model_guess(struct model *model);
#endif
