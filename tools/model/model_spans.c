/* model_spans.c - follows the operations of a run and writes down where its iterations begin and end. */
#include "model_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "grow.h"

enum { MAX_OPERATIONS = 1 << 22 };

int model_finder_init(struct model_finder *f, enum spw_follow_by by)
{
    *f = (struct model_finder){0};
    return spw_follow_create(by, MAX_OPERATIONS, &f->follow);
}

void model_finder_finish(struct model_finder *f)
{
    spw_follow_destroy(f->follow);
    free(f->spans);
    *f = (struct model_finder){0};
}

/* Ends the open span before operation `number`. The span is whole if the detector was sure of it up to its last operation.
 */
static void end_span(struct model_finder *f, uint64_t number, uint64_t time_ns, bool whole)
{
    struct model_span *span = f->span_count ? &f->spans[f->span_count - 1] : NULL;
    if (!span || span->end)
        return;
    if (whole && number > span->first) {
        span->end = number;
        span->time_ns = time_ns > span->time_ns ? time_ns - span->time_ns : 0;
    } else {
        f->span_count--;
    }
}

static bool is_open(const struct model_finder *f, uint64_t first)
{
    return f->span_count && f->spans[f->span_count - 1].first == first;
}

static int begin_span(struct model_finder *f, const struct spw_iteration_place *place, uint64_t time_ns)
{
    end_span(f, 0, 0, false); /* what was found turned out to be part of something longer */
    int r = SPW_GROW(f->spans, f->span_room, f->span_count + 1);
    if (r < 0)
        return r;
    f->spans[f->span_count++] = (struct model_span){.first = place->began, .shape = place->shape, .time_ns = time_ns};
    return 0;
}

/* Extra operations after the last one of an iteration (such as a copy of the loss) belong to it. */
int model_finder_op(struct model_finder *f, uint64_t number, const struct spw_record_op *op,
                    const struct spw_iteration_touch *touches, uint64_t live_bytes)
{
    struct spw_iteration_place place;
    int r = spw_follow_op(f->follow, number, op, touches, &place);
    if (r == -ENOMEM)
        return r;
    if (place.sure == SPW_ITERATION_NO) {
        end_span(f, number, op->time_ns, f->complete);
        f->complete = false;
        return 0;
    }
    if (!is_open(f, place.began)) { /* also where its first operation did not look like it (an input of another size) */
        f->whole = place.begins || f->complete;
        end_span(f, place.began, op->time_ns, f->complete);
        f->complete = false;
        r = begin_span(f, &place, op->time_ns);
    }
    if (r < 0)
        return r;
    struct model_span *span = &f->spans[f->span_count - 1];
    span->shape = place.shape; /* it may have been learned anew */
    span->peak_bytes = live_bytes > span->peak_bytes ? live_bytes : span->peak_bytes;
    if (!place.extra && f->whole)
        f->complete = place.ordinal + 1 == place.length;
    if (f->complete && !place.extra) {
        f->complete_at = number;
        f->complete_ns = op->time_ns;
    }
    return 0;
}

static uint64_t operations_of(const struct model_finder *f)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < f->span_count; i++)
        sum += f->spans[i].end - f->spans[i].first;
    return sum;
}

bool model_finder_choose(struct model_finder *by_all, struct model_finder *by_kernels, struct model_run *run)
{
    struct model_finder *const both[] = {by_all, by_kernels};
    uint64_t ignored;
    /* What follows the last iteration up to the end of the run (parameters that are saved) is no part of it. */
    for (int i = 0; i < 2; i++)
        end_span(both[i], both[i]->complete_at + 1, both[i]->complete_ns, both[i]->complete);
    const bool sizes_change = spw_follow_seen(by_kernels->follow, &ignored) >= SPW_FOLLOW_OFTEN &&
                              spw_follow_explains_more(operations_of(by_kernels), operations_of(by_all));
    struct model_finder *chosen = both[sizes_change];
    run->spans = chosen->spans;
    run->span_count = chosen->span_count;
    chosen->spans = NULL;
    return sizes_change;
}
