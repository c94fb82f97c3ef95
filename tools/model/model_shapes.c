/* model_shapes.c - sums up the kinds of iteration of a run from all its iterations. A damaged trace may have as many
 * kinds as iterations, which must not take quadratic time. */
#include <errno.h>
#include <stdlib.h>

#include "model_parts.h"

static int by_number(uint64_t x, uint64_t y)
{
    return x < y ? -1 : x > y;
}

static int by_time(const void *a, const void *b)
{
    return by_number(*(const uint64_t *)a, *(const uint64_t *)b);
}

static int by_shape(const void *a, const void *b)
{
    const struct model_span *x = *(struct model_span *const *)a, *y = *(struct model_span *const *)b;
    return x->shape != y->shape ? by_number(x->shape, y->shape) : by_number(x->first, y->first);
}

static int by_first(const void *a, const void *b)
{
    const struct model_shape *x = a, *y = b;
    return x->first_op != y->first_op ? by_number(x->first_op, y->first_op) : by_number(x->id, y->id);
}

/* Sums up `count` spans of one shape, in order. The time is their median, since the first ones and those that are timed
 * take longer; `times` has room for all of them. */
static struct model_shape sum_up(struct model_span *const *spans, size_t count, uint64_t *times)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < count; i++) {
        times[i] = spans[i]->time_ns;
        least = spans[i]->peak_bytes < least ? spans[i]->peak_bytes : least;
        most = spans[i]->peak_bytes > most ? spans[i]->peak_bytes : most;
    }
    qsort(times, count, sizeof(*times), by_time);
    return (struct model_shape){.id = spans[0]->shape,
                                .length = spans[0]->end - spans[0]->first,
                                .count = count,
                                .first_op = spans[0]->first,
                                .last_op = spans[count - 1]->first,
                                .time_ns = times[count / 2],
                                .least_peak_bytes = least,
                                .most_peak_bytes = most};
}

/* Returns the end of the spans that have the same shape as spans[first]. */
static size_t end_of_shape(struct model_span *const *spans, size_t first, size_t count)
{
    size_t end = first + 1;
    while (end < count && spans[end]->shape == spans[first]->shape)
        end++;
    return end;
}

/* Replaces the id of each span's shape by its index. */
static void number_spans(const struct model *m, struct model_span *const *spans, size_t count)
{
    for (size_t first = 0, end; first < count; first = end) {
        const struct model_shape wanted = {.first_op = spans[first]->first, .id = spans[first]->shape};
        const struct model_shape *found = bsearch(&wanted, m->shapes, m->shape_count, sizeof(*m->shapes), by_first);
        end = end_of_shape(spans, first, count);
        for (size_t i = first; i < end; i++)
            spans[i]->shape = (uint32_t)(found - m->shapes);
    }
}

int model_shapes(struct model *m, struct model_run *run)
{
    const size_t count = run->span_count;
    struct model_span **spans = calloc(count + 1, sizeof(struct model_span *));
    uint64_t *times = calloc(count + 1, sizeof(*times));
    m->shapes = calloc(count + 1, sizeof(*m->shapes));
    const int r = spans && times && m->shapes ? 0 : -ENOMEM;
    if (r == 0) {
        for (size_t i = 0; i < count; i++)
            spans[i] = &run->spans[i];
        qsort(spans, count, sizeof(struct model_span *), by_shape);
        for (size_t first = 0, end; first < count; first = end) {
            end = end_of_shape(spans, first, count);
            m->shapes[m->shape_count++] = sum_up(spans + first, end - first, times);
        }
        qsort(m->shapes, m->shape_count, sizeof(*m->shapes), by_first);
        number_spans(m, spans, count);
    }
    free(spans);
    free(times);
    return r;
}
