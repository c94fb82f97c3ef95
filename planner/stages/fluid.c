/* fluid.c - the fluid relaxation of offloading: bytes leave and return one by one, and those that have to be away must
 * have left. */
#include "stages/fluid.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stages/linear.h"

/* Bytes at each operation. For operations after the turn, the arrays are used from the end. */
struct curves {
    double *working; /* what the operation touches, and what may not be evicted */
    double *idle;    /* what rests over the turn and is not touched */
    double *movable; /* of what rests over the turn: what may be leaving (after the turn: still returning) */
};

static void add(double *curve, uint32_t from, uint32_t to, double bytes)
{
    if (from < to) {
        curve[from] += bytes;
        curve[to] -= bytes;
    }
}

/* Finds the uses around the turn. Returns false if the tensor does not rest over it. */
static bool rests_over(const struct spw_graph *graph, const struct spw_graph_tensor *t, uint32_t turn, uint32_t *ret_before,
                       uint32_t *ret_behind)
{
    const struct spw_use *uses = &graph->uses[t->first_use];
    for (uint32_t i = 0; i < t->use_count; i++) {
        if (uses[i].op < turn)
            continue;
        if (!uses[i].reads || (i == 0 && !t->initial))
            return false;
        *ret_before = i ? uses[i - 1].op + 1 : 0;
        *ret_behind = uses[i].op;
        return true;
    }
    return false;
}

static void add_tensor(const struct spw_graph *graph, const struct spw_graph_tensor *t, uint32_t turn, struct curves *c)
{
    const struct spw_use *uses = &graph->uses[t->first_use];
    const double bytes = (double)t->bytes;
    if (t->persistent || t->use_count == 0)
        return;
    const uint32_t first = t->initial ? 0 : uses[0].op;
    if (!t->evictable) {
        add(c->working, first, uses[t->use_count - 1].op + 1, bytes);
        return;
    }
    for (uint32_t i = 0; i < t->use_count; i++)
        add(c->working, uses[i].op, uses[i].op + 1, bytes);
    uint32_t before, behind;
    if (!rests_over(graph, t, turn, &before, &behind))
        return;
    add(c->idle, before, behind, bytes);
    /* it may be copied out once it has been written for the last time, and has to be back when it is read */
    uint32_t made = t->initial ? 0 : uses[0].op + 1;
    for (uint32_t i = 0; i < t->use_count && uses[i].op < turn; i++)
        made = uses[i].writes ? uses[i].op + 1 : made;
    add(c->movable, made, behind, bytes);
}

/* Handles one side of the turn, from its outer end: returns the least time, and the most bytes that have to be away. */
static double pass(const struct spw_graph *graph, const struct curves *c, uint32_t turn, bool forward, double bytes,
                   double bytes_per_us, double *ret_away)
{
    const uint32_t count = forward ? turn : graph->op_count - turn;
    double us = 0, moved = 0;
    *ret_away = 0;
    for (uint32_t n = 0; n < count; n++) {
        const uint32_t op = forward ? n : graph->op_count - 1 - n;
        const double away = c->idle[op] + c->working[op] - bytes;
        if (away > c->idle[op] * (1 + 1e-12))
            return INFINITY;
        if (away > moved) {
            us += (away - moved) / bytes_per_us;
            moved = away;
        }
        *ret_away = away > *ret_away ? away : *ret_away;
        us += graph->ops[op].us;
        moved = fmin(moved + graph->ops[op].us * bytes_per_us, c->movable[op]);
        moved = moved < 0 ? 0 : moved;
    }
    return us;
}

/* Returns the lane's speed: that of the fastest tensor. */
static double lane_speed(const struct spw_graph *graph, bool out)
{
    double speed = out ? graph->d2h_bytes_per_us : graph->h2d_bytes_per_us;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[i];
        const double us = out ? t->d2h_us : t->h2d_us;
        if (t->bytes && us > 0)
            speed = fmax(speed, (double)t->bytes / us);
        else if (t->bytes)
            return INFINITY;
    }
    return speed;
}

int spw_offload_fluid(const struct spw_graph *graph, uint64_t bytes, struct spw_fluid *ret_fluid)
{
    const size_t room = (size_t)graph->op_count + 2;
    uint32_t turn;
    int r = spw_find_turn(graph, &turn);
    double *memory = r == 0 ? calloc(3 * room, sizeof *memory) : NULL;
    if (!memory)
        return -ENOMEM;
    struct curves c = {memory, memory + room, memory + 2 * room};
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        add_tensor(graph, &graph->tensors[i], turn, &c);
    for (uint32_t op = 1; op < graph->op_count; op++) {
        c.working[op] += c.working[op - 1];
        c.idle[op] += c.idle[op - 1];
        c.movable[op] += c.movable[op - 1];
    }
    ret_fluid->us = pass(graph, &c, turn, true, (double)bytes, lane_speed(graph, true), &ret_fluid->forward_bytes) +
                    pass(graph, &c, turn, false, (double)bytes, lane_speed(graph, false), &ret_fluid->backward_bytes);
    free(memory);
    return 0;
}
