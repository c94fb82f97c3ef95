/* model_parts.h - declares the inside of model.h: the first pass reads all of a trace for definitions, totals and
 * iterations; the second pass reads one iteration in full. */
#ifndef SPILLWAY_TOOLS_MODEL_PARTS_H
#define SPILLWAY_TOOLS_MODEL_PARTS_H
#include "follow.h"
#include "model.h"

/* ---- the first pass ---- */

struct model_span { /* an iteration that was found: operations [first, end) */
    uint64_t first, end;
    uint32_t shape; /* the detector's id; at the end of the pass, the index into the model's shapes */
    uint64_t time_ns;
    uint64_t peak_bytes; /* the most bytes allocated at one of its operations, all devices together */
};

struct model_finder { /* follows a run, and keeps the iterations that it has found */
    struct spw_trace_follow *follow;
    struct model_span *spans; /* in order */
    size_t span_count, span_room;
    bool whole;           /* the open span began with its first operation */
    bool complete;        /* its last operation was there */
    uint64_t complete_at; /* number of its last operation, and the time of that */
    uint64_t complete_ns;
};

struct model_run {
    struct model_span *spans; /* in order */
    size_t span_count;
    uint8_t *timed; /* one bit per operation: it has a duration */
    uint64_t timed_bytes;
};

/* Reads all of the trace into the run's part of the model. Returns 0, -ENOMEM, or -EBADMSG if it found damage (what could
 * be read is there). `progress` gets the bytes read so far. */
int model_run_read(struct spw_trace_reader *reader, struct model *model, struct model_run *ret_run, bool partial,
                   struct spw_trace_problem *ret_problem, void (*progress)(void *context, uint64_t bytes), void *context);
void model_run_free(struct model_run *run);

/* Prepares a finder. Returns 0 or -ENOMEM. The finder may be finished in both cases, and if it is all zero. */
int model_finder_init(struct model_finder *finder, enum spw_follow_by by);
void model_finder_finish(struct model_finder *finder);

/* Takes operation `number`, which is not captured, while `live_bytes` are allocated. Returns 0 or -ENOMEM. */
int model_finder_op(struct model_finder *finder, uint64_t number, const struct spw_record_op *op,
                    const struct spw_iteration_touch *touches, uint64_t live_bytes);

/* Called at the end of the run: moves the spans of the finder that explains more operations to the run. Returns true if that
 * is the finder by kernels. */
bool model_finder_choose(struct model_finder *by_all, struct model_finder *by_kernels, struct model_run *run);

/* Makes the model's shapes from the run's spans, in the order of their first spans, and gives the spans their indexes.
 * Returns 0 or -ENOMEM. */
int model_shapes(struct model *model, struct model_run *run);

bool model_run_is_timed(const struct model_run *run, uint64_t op);
/* Frees the members of one refusal. */
void model_refusal_clear(struct model_refusal *refusal);

/* ---- the second pass ---- */

/* Reads operations [first, end) and their touches into the model. Returns 0 or -ENOMEM; damage was found in the first
 * pass already and is ignored here. */
int model_iteration_read(struct spw_trace_reader *reader, struct model *model, uint64_t first, uint64_t end,
                         void (*progress)(void *context, uint64_t bytes), void *context);

/* Sets each operation's share of the iteration's time: together the shares are the time in which any operation runs
 * (model_share.c). Returns 0 or -ENOMEM. */
int model_share_time(struct model_op *ops, uint32_t count);

/* Guesses phases and categories from what the iteration does (model_guess.c). Returns 0 or -ENOMEM. */
int model_guess(struct model *model);
#endif
