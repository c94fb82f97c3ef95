/* instants.c - sorts starts and ends by time, and groups those that are too close together to be told apart. */
#include "plan/instants.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct point { /* a start or an end */
    double at_us;
    size_t event;
    bool is_end;
};

double spw_event_us(const struct spw_graph *graph, const struct spw_timed_step *event)
{
    const bool is_op = event->kind == SPW_STEP_OP || event->kind == SPW_STEP_REPLAY;
    if (event->id >= (is_op ? graph->op_count : graph->tensor_count))
        return 0;
    if (is_op)
        return graph->ops[event->id].us;
    if (event->kind == SPW_STEP_D2H)
        return graph->tensors[event->id].d2h_us;
    return event->kind == SPW_STEP_H2D ? graph->tensors[event->id].h2d_us : 0;
}

static int compare_points(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    return (x->at_us > y->at_us) - (x->at_us < y->at_us);
}

static double tolerance(const struct point *points, size_t count, double durations)
{
    double whole = 0;
    for (size_t i = 0; i < count; i++)
        whole = points[i].is_end && points[i].at_us > whole ? points[i].at_us : whole;
    return fmax(1e-9 * fmin(whole, durations), 1e-6);
}

/* Numbers the instants in `timed`, which is in the caller's order. Returns how many there are. */
static size_t number_instants(struct spw_instant_event *timed, struct point *points, size_t count, double durations)
{
    const double apart = tolerance(points, count, durations);
    size_t instant = 0;
    qsort(points, count, sizeof *points, compare_points);
    for (size_t i = 0; i < count; i++) {
        instant += i > 0 && points[i].at_us - points[i - 1].at_us > apart;
        struct spw_instant_event *event = &timed[points[i].event];
        if (points[i].is_end)
            event->ends = instant;
        else
            event->begins = instant;
    }
    return instant + 1;
}

/* Sorts by instant, and within one by the caller's order: counts how many events begin at each instant, then puts each in
 * its place. */
static int put_in_order(const struct spw_instant_event *timed, size_t count, size_t instants,
                        struct spw_instant_event *ordered)
{
    size_t *place = calloc(instants + 1, sizeof *place);
    if (!place)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        place[timed[i].begins + 1]++;
    for (size_t i = 1; i <= instants; i++)
        place[i] += place[i - 1];
    for (size_t i = 0; i < count; i++)
        ordered[place[timed[i].begins]++] = timed[i];
    free(place);
    return 0;
}

static int list_points(const struct spw_graph *graph, const struct spw_timed_step *events, size_t count,
                       struct spw_instant_event *timed, struct point *points, double *ret_durations, size_t *ret_bad)
{
    *ret_durations = 0;
    for (size_t i = 0; i < count; i++) {
        const double start_us = events[i].start_us, us = spw_event_us(graph, &events[i]);
        if (!isfinite(start_us)) {
            *ret_bad = i;
            return -EINVAL;
        }
        *ret_durations += us;
        timed[i] = (struct spw_instant_event){.event = i, .start_us = start_us, .end_us = start_us + us};
        points[2 * i] = (struct point){start_us, i, false};
        points[2 * i + 1] = (struct point){start_us + us, i, true};
    }
    return 0;
}

int spw_instants(const struct spw_graph *graph, const struct spw_timed_step *events, size_t count,
                 struct spw_instant_event **ret_ordered, size_t *ret_bad)
{
    struct spw_instant_event *timed = malloc((count + 1) * sizeof *timed);
    struct spw_instant_event *ordered = malloc((count + 1) * sizeof *ordered);
    struct point *points = malloc((2 * count + 1) * sizeof *points);
    double durations;
    int r = timed && ordered && points ? 0 : -ENOMEM;
    if (r == 0)
        r = list_points(graph, events, count, timed, points, &durations, ret_bad);
    if (r == 0)
        r = put_in_order(timed, count, number_instants(timed, points, 2 * count, durations), ordered);
    free(points);
    free(timed);
    if (r == 0)
        *ret_ordered = ordered;
    else
        free(ordered);
    return r;
}
