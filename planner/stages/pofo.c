/* pofo.c - computes the value of each state on the grid, from the last stage to the first, and then follows the best
 * ones. */
#include "stages/pofo.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* The state of the forward when it comes to a stage, in bytes. */
struct state {
    double stays;   /* items that stay on the device */
    double leaving; /* queued for the host */
    double due;     /* has to be back, or returning, when the backward comes down to here */
    bool record;    /* the item before the stage is the record of the previous stage */
};

struct table {
    const struct spw_pofo_request *request;
    const struct spw_rotor *rotor;
    float *values; /* of stage, kind of item, and the three amounts; INFINITY: no way */
    double *left;  /* bytes left by the backwards of stages i .. count - 1 */
    double *least; /* time of stages i .. count - 1 without any waiting */
    double stays_step, queue_step;
    uint32_t stays_points, queue_points;
};

static float *at(const struct table *t, uint32_t stage, bool record, uint32_t stays, uint32_t leaving, uint32_t due)
{
    return t->values +
           ((((size_t)stage * 2 + record) * t->stays_points + stays) * t->queue_points + leaving) * t->queue_points + due;
}

/* Returns the grid point below, and the share of the distance to the next one. */
static uint32_t split(double value, double step, uint32_t points, double *ret_share)
{
    const double place = step > 0 ? value / step : 0;
    uint32_t below = place > 0 ? (uint32_t)place : 0;
    below = below < points - 1 ? below : points - 2;
    *ret_share = place - below < 1e-6 ? 0 : place - below;
    return below;
}

/* Interpolates linearly between the eight surrounding grid points. A state beyond the grid is not possible. */
static double value(const struct table *t, uint32_t stage, const struct state *state)
{
    double stays_share, leaving_share, due_share, sum = 0;
    const uint32_t stays = split(state->stays, t->stays_step, t->stays_points, &stays_share);
    const uint32_t leaving = split(state->leaving, t->queue_step, t->queue_points, &leaving_share);
    const uint32_t due = split(state->due, t->queue_step, t->queue_points, &due_share);
    if (stays_share > 1 || leaving_share > 1 || due_share > 1)
        return INFINITY;
    for (uint32_t corner = 0; corner < 8; corner++) {
        const uint32_t a = corner & 1, b = corner >> 1 & 1, c = corner >> 2;
        const double weight =
            (a ? stays_share : 1 - stays_share) * (b ? leaving_share : 1 - leaving_share) * (c ? due_share : 1 - due_share);
        if (weight > 0)
            sum += weight * (double)*at(t, stage, state->record, stays + a, leaving + b, due + c);
    }
    return sum;
}

/* ---- one decision ---- */

struct decision {
    double us;
    struct spw_pofo_choice choice;
    struct state then;
};

static double item_bytes(const struct table *t, uint32_t stage, bool record)
{
    const struct spw_rotor_stage *s = &t->request->stages[stage];
    return record ? (double)s[-1].options->record_bytes : (double)s->input_bytes;
}

static double over(double bytes)
{
    return bytes > 0 ? bytes : 0;
}

/* Returns true if the decision could still be better than the best so far. */
static bool is_worth_it(const struct table *t, const struct decision *made, const struct decision *best)
{
    return made->us + t->least[made->choice.last + 1] < best->us;
}

/* Considers keeping the item before the stage, and offloading it; `out` and `back` bytes are moved meanwhile. */
static void consider(const struct table *t, uint32_t stage, const struct state *state, struct decision made, double out,
                     double back, struct decision *best)
{
    const struct spw_pofo_request *q = t->request;
    const double item = item_bytes(t, stage, state->record), us = made.us;
    if (!is_worth_it(t, &made, best))
        return;
    const bool can_offload = q->d2h_bytes_per_us > 0 && q->h2d_bytes_per_us > 0 && item > 0;
    for (int offload = 0; offload <= can_offload; offload++) {
        made.choice.offload = offload;
        made.then.stays = state->stays + (offload ? 0 : item);
        made.then.leaving = over(state->leaving + (offload ? item : 0) - out);
        made.then.due = over(state->due - back) + (offload ? item : 0);
        made.us = us + value(t, made.choice.last + 1, &made.then);
        if (made.us < best->us)
            *best = made;
    }
}

/* Returns the bytes that have to leave or return before `needed` fits besides what stays and is queued; < 0: waiting does
 * not help. */
static double wait_bytes(const struct table *t, double needed, double stays, double queued)
{
    const double short_of = over(needed + stays + queued - (double)t->request->bytes);
    return short_of > queued * (1 + 1e-9) ? -1 : short_of;
}

static double copy_us(double bytes, double bytes_per_us)
{
    return bytes > 0 ? bytes / bytes_per_us : 0;
}

static void consider_saving(const struct table *t, uint32_t stage, const struct state *state, struct decision *best)
{
    const struct spw_pofo_request *q = t->request;
    const struct spw_rotor_option *way = q->stages[stage].options;
    const double stays = state->stays + item_bytes(t, stage, state->record);
    const double gradient = stage + 1 < q->count ? (double)q->stages[stage + 1].gradient_bytes : 0;
    const double forward = (double)(way->record_bytes + way->forward_extra_bytes);
    const double backward = (double)(way->record_bytes + way->backward_extra_bytes) + gradient + t->left[stage + 1];
    const double wait_out = wait_bytes(t, forward, stays, state->leaving),
                 wait_back = wait_bytes(t, backward, stays, state->due);
    if (wait_out < 0 || wait_back < 0)
        return;
    struct decision made = {.choice = {.save = true, .last = stage}, .then = {.record = true}};
    made.us = way->forward_us + way->backward_us + copy_us(wait_out, q->d2h_bytes_per_us) +
              copy_us(wait_back, q->h2d_bytes_per_us);
    consider(t, stage, state, made, way->forward_us * q->d2h_bytes_per_us + wait_out,
             way->backward_us * q->h2d_bytes_per_us + wait_back, best);
}

/* Considers walking the stages up to `last`. Running them again either leaves room for everything due meanwhile, or makes
 * it wait. */
static void consider_walking(const struct table *t, uint32_t stage, const struct state *state, uint32_t last, double walk_us,
                             double walk_bytes, struct decision *best)
{
    const struct spw_pofo_request *q = t->request;
    const double stays = state->stays + item_bytes(t, stage, state->record);
    const double wait_out = wait_bytes(t, walk_bytes, stays, state->leaving);
    if (wait_out < 0)
        return;
    for (int patient = 0; patient <= (state->due > 0); patient++) {
        const double room = (double)q->bytes - stays - t->left[last + 1] - (patient ? 0 : state->due);
        if (room < 0)
            continue;
        struct decision made = {.us = walk_us, .choice = {.last = last, .redo_bytes = (uint64_t)room}};
        if (!is_worth_it(t, &made, best))
            return;
        const double redo_us = spw_rotor_time(t->rotor, stage, last, (uint64_t)room);
        const double wait_back = patient ? state->due : 0;
        if (isinf(redo_us))
            continue;
        made.us = walk_us + redo_us + copy_us(wait_out, q->d2h_bytes_per_us) + copy_us(wait_back, q->h2d_bytes_per_us);
        consider(t, stage, state, made, walk_us * q->d2h_bytes_per_us + wait_out, redo_us * q->h2d_bytes_per_us + wait_back,
                 best);
    }
}

static struct decision decide(const struct table *t, uint32_t stage, const struct state *state)
{
    const struct spw_pofo_request *q = t->request;
    struct decision best = {.us = INFINITY};
    consider_saving(t, stage, state, &best);
    double walk_us = 0, walk_bytes = 0;
    for (uint32_t last = stage; last < q->count && q->may_replay; last++) {
        const struct spw_rotor_stage *s = &q->stages[last];
        const double needed = (double)((last > stage ? s->input_bytes : 0) + s->walk_extra_bytes) +
                              (last + 1 < q->count ? (double)s[1].input_bytes : 0);
        walk_us += s->walk_us;
        walk_bytes = fmax(walk_bytes, needed);
        consider_walking(t, stage, state, last, walk_us, walk_bytes, &best);
    }
    return best;
}

/* ---- all stages ---- */

/* After the last stage, the queued bytes have to be waited for. */
static void fill_end(struct table *t)
{
    const struct spw_pofo_request *q = t->request;
    for (uint32_t i = 0; i < 2 * t->stays_points; i++) {
        for (uint32_t leaving = 0; leaving < t->queue_points; leaving++) {
            for (uint32_t due = 0; due < t->queue_points; due++) {
                const double out_us = copy_us(leaving * t->queue_step, q->d2h_bytes_per_us),
                             back_us = copy_us(due * t->queue_step, q->h2d_bytes_per_us);
                *at(t, q->count, i / t->stays_points, i % t->stays_points, leaving, due) = (float)(out_us + back_us);
            }
        }
    }
}

static void fill_stage(struct table *t, uint32_t stage)
{
    for (uint32_t record = 0; record < 2; record++) {
        if (stage == 0 && record)
            continue;
        for (uint32_t i = 0; i < t->stays_points * t->queue_points * t->queue_points; i++) {
            const uint32_t due = i % t->queue_points, leaving = i / t->queue_points % t->queue_points,
                           stays = i / t->queue_points / t->queue_points;
            const struct state state = {stays * t->stays_step, leaving * t->queue_step, due * t->queue_step, record};
            *at(t, stage, record, stays, leaving, due) = (float)decide(t, stage, &state).us;
        }
    }
}

static int follow(const struct table *t, struct spw_pofo_choice *choices, double *ret_us)
{
    struct state state = {0};
    uint32_t stage = 0;
    for (bool first = true; stage < t->request->count; first = false) {
        const struct decision best = decide(t, stage, &state);
        if (isinf(best.us))
            return -ENOSPC;
        if (first)
            *ret_us = best.us;
        choices[stage] = best.choice;
        stage = best.choice.last + 1;
        state = best.then;
    }
    return 0;
}

int spw_pofo(const struct spw_pofo_request *request, const struct spw_rotor *rotor, struct spw_pofo_choice *choices,
             double *ret_us)
{
    const bool copies = request->d2h_bytes_per_us > 0 && request->h2d_bytes_per_us > 0;
    struct table t = {.request = request, .rotor = rotor};
    t.stays_points = request->slots + 1;
    t.queue_points = copies ? request->queue_slots + 1 : 2;
    t.stays_step = (double)request->bytes / request->slots;
    t.queue_step = (double)request->bytes / (copies ? request->queue_slots : 1);
    t.left = calloc((size_t)request->count + 1, sizeof *t.left);
    t.least = calloc((size_t)request->count + 1, sizeof *t.least);
    t.values =
        malloc(((size_t)request->count + 1) * 2 * t.stays_points * t.queue_points * t.queue_points * sizeof *t.values);
    int r = -ENOMEM;
    if (t.left && t.least && t.values) {
        for (uint32_t i = request->count; i-- > 0;) {
            const struct spw_rotor_option *way = request->stages[i].options;
            t.left[i] = t.left[i + 1] + (double)request->stages[i].left_bytes;
            t.least[i] = t.least[i + 1] + way->forward_us + way->backward_us;
        }
        fill_end(&t);
        for (uint32_t i = request->count; i-- > 0;)
            fill_stage(&t, i);
        r = follow(&t, choices, ret_us);
    }
    free(t.left);
    free(t.least);
    free(t.values);
    return r;
}
