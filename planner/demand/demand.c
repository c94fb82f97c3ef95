/* demand.c - runs operations and the replays that they need, and asks a policy whenever room is short. */
#include "demand/demand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "search/compose.h"
#include "demand/starts.h"

enum {
    PASSES = 4,         /* iterations within which the starting places may settle */
    WORK_PER_OP = 4000, /* more work than that means that replays for replays find no end */
};

struct spw_demand_frame {
    uint32_t op;
};

static void destroy(struct spw_demand *d)
{
    if (!d)
        return;
    spw_lineage_destroy(d->lineage);
    free(d->used_us);
    free(d->made_us);
    free(d->entered);
    free(d->resident);
    free(d->where);
    free(d->pins);
    free(d->can_replay);
    free(d->frames);
    free(d->under_way);
    free(d);
}

static int create(const struct spw_plan_request *request, const struct spw_demand_policy *policy,
                  struct spw_demand **ret_demand)
{
    const struct spw_graph *graph = request->graph;
    const size_t tensors = (size_t)graph->tensor_count + 1;
    struct spw_demand *d = calloc(1, sizeof *d);
    if (!d)
        return -ENOMEM;
    d->request = request;
    d->graph = graph;
    d->policy = policy;
    d->may_copy = policy->copies && request->may_copy;
    d->may_replay = policy->replays && request->may_replay;
    d->most_work = (uint64_t)graph->op_count * WORK_PER_OP;
    d->used_us = malloc(tensors * sizeof *d->used_us);
    d->made_us = malloc(tensors * sizeof *d->made_us);
    d->entered = malloc(tensors * sizeof *d->entered);
    d->resident = malloc(tensors * sizeof *d->resident);
    d->where = malloc(tensors * sizeof *d->where);
    d->pins = malloc(tensors * sizeof *d->pins);
    d->can_replay = calloc((size_t)graph->use_count + 1, 1);
    d->under_way = malloc(graph->op_count * sizeof *d->under_way);
    if (!d->used_us || !d->made_us || !d->entered || !d->resident || !d->where || !d->pins || !d->can_replay ||
        !d->under_way || spw_lineage_create(graph, &d->lineage) < 0) {
        destroy(d);
        return -ENOMEM;
    }
    *ret_demand = d;
    return 0;
}

/* ---- which tensors are there ---- */

static int note(struct spw_demand *d, uint32_t tensor, enum spw_demand_event event)
{
    if (event == SPW_TENSOR_USED)
        d->used_us[tensor] = d->now_us;
    return d->policy->note ? d->policy->note(d->policy->context, d, tensor, event) : 0;
}

static int enter(struct spw_demand *d, uint32_t tensor)
{
    if (d->where[tensor] != SPW_NO_INDEX)
        return 0;
    d->where[tensor] = d->resident_count;
    d->resident[d->resident_count++] = tensor;
    d->entered[tensor] = d->entries++;
    return note(d, tensor, SPW_TENSOR_ENTERED);
}

static int leave(struct spw_demand *d, uint32_t tensor)
{
    const int r = spw_build_drop(&d->builder, tensor);
    if (r < 0)
        return r;
    const uint32_t place = d->where[tensor], moved = d->resident[--d->resident_count];
    d->resident[place] = moved;
    d->where[moved] = place;
    d->where[tensor] = SPW_NO_INDEX;
    return note(d, tensor, spw_demand_has_copy(d, tensor) ? SPW_TENSOR_COPIED : SPW_TENSOR_DROPPED);
}

static void pin(struct spw_demand *d, const struct spw_graph_op *op)
{
    for (uint32_t i = 0; i < op->read_count + op->write_count; i++)
        d->pins[d->graph->touched[op->first_read + i].tensor]++;
}

static void unpin(struct spw_demand *d, const struct spw_graph_op *op)
{
    for (uint32_t i = 0; i < op->read_count + op->write_count; i++) {
        const uint32_t tensor = d->graph->touched[op->first_read + i].tensor;
        if (--d->pins[tensor] == 0)
            d->entered[tensor] = d->entries++;
    }
}

/* ---- making room ---- */

bool spw_demand_has_copy(const struct spw_demand *demand, uint32_t tensor)
{
    const struct spw_builder_place *place = &demand->builder.places[tensor];
    return place->host != SPW_ABSENT && place->host == spw_build_current(&demand->builder, tensor);
}

/* Returns true if no operation will use the tensor again; it is there for a replay. */
static bool is_over(const struct spw_demand *d, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &d->graph->tensors[tensor];
    return !t->persistent && d->builder.places[tensor].next == t->use_count;
}

static bool can_replay(struct spw_demand *d, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &d->graph->tensors[tensor];
    const uint32_t next = d->builder.places[tensor].next;
    if (!d->may_replay || next == t->use_count)
        return false;
    uint8_t *known = &d->can_replay[t->first_use + next];
    if (*known == 0) {
        const struct spw_use *use = &d->graph->uses[t->first_use + next];
        const struct spw_lineage_terms terms = {.at = use->op};
        *known = spw_lineage_us(d->lineage, tensor, use->version, &terms) < 0 ? 1 : 2;
        d->work += SPW_LINEAGE_MOST_OPS / 8;
    }
    return *known == 2;
}

bool spw_demand_may_leave(struct spw_demand *demand, uint32_t tensor, enum spw_demand_way way)
{
    const struct spw_graph_tensor *t = &demand->graph->tensors[tensor];
    if (demand->pins[tensor] || t->bytes == 0)
        return false;
    if (is_over(demand, tensor))
        return true;
    if (!t->evictable)
        return false;
    if (!demand->may_replay && spw_build_is_dead(&demand->builder, tensor))
        return true;
    if (way == SPW_WAY_REPLAY)
        return can_replay(demand, tensor);
    if (!demand->may_copy || spw_demand_has_copy(demand, tensor))
        return demand->may_copy;
    return demand->builder.places[tensor].device == spw_build_current(&demand->builder, tensor) &&
           t->bytes <= demand->builder.host_bytes - demand->builder.host_used_bytes;
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

static int evict(struct spw_demand *d, uint32_t tensor, enum spw_demand_way way)
{
    const bool is_dead = is_over(d, tensor) || (!d->may_replay && spw_build_is_dead(&d->builder, tensor));
    if (way == SPW_WAY_COPY && !is_dead && !spw_demand_has_copy(d, tensor)) {
        const int r = spw_build_d2h(&d->builder, tensor);
        if (r < 0)
            return r;
        d->out_us = later(d->out_us, d->made_us[tensor]) + d->graph->tensors[tensor].d2h_us;
        d->now_us = later(d->now_us, d->out_us); /* the operation that needs the room waits for the copy */
    }
    return leave(d, tensor);
}

static int make_room(struct spw_demand *d, uint64_t needs)
{
    while (needs > d->builder.device_bytes - d->builder.used_bytes) {
        enum spw_demand_way way = SPW_WAY_COPY;
        const uint64_t wanted = needs - (d->builder.device_bytes - d->builder.used_bytes);
        const uint32_t victim = d->policy->choose(d->policy->context, d, wanted, &way);
        if (victim == SPW_NO_INDEX || ++d->work > d->most_work)
            return -ENOSPC;
        const int r = evict(d, victim, way);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- bringing back ---- */

static int fetch(struct spw_demand *d, uint32_t tensor)
{
    int r = make_room(d, d->graph->tensors[tensor].bytes);
    if (r == 0)
        r = spw_build_h2d(&d->builder, tensor);
    if (r < 0)
        return r;
    d->in_us = later(d->in_us, d->now_us) + d->graph->tensors[tensor].h2d_us;
    d->now_us = d->made_us[tensor] = d->in_us;
    return enter(d, tensor);
}

/* Announces an operation or a replay: pins what it touches, and reports its inputs as used. */
static int announce(struct spw_demand *d, const struct spw_graph_op *op)
{
    int r = 0;
    pin(d, op);
    for (uint32_t i = 0; i < op->read_count && r == 0; i++)
        r = note(d, d->graph->touched[op->first_read + i].tensor, SPW_TENSOR_USED);
    return r;
}

static int push(struct spw_demand *d, uint32_t op)
{
    if (op == SPW_NO_INDEX || !d->may_replay || d->under_way[op] || ++d->work > d->most_work)
        return -ENOSPC;
    if (SPW_GROW(d->frames, d->frame_room, d->frame_count + 1) < 0)
        return -ENOMEM;
    d->frames[d->frame_count++] = (struct spw_demand_frame){op};
    d->under_way[op] = true;
    return announce(d, &d->graph->ops[op]);
}

/* Runs the replay on top of the stack, whose inputs are all there. Its outputs do not count as used; that is up to their
 * readers. */
static int replay(struct spw_demand *d)
{
    const uint32_t index = d->frames[d->frame_count - 1].op;
    const struct spw_graph_op *op = &d->graph->ops[index];
    int r = make_room(d, spw_build_replay_needs(&d->builder, index));
    if (r == 0)
        r = spw_build_replay(&d->builder, index);
    if (r < 0)
        return r == -EINVAL ? -ENOSPC : r; /* a tensor that it would overwrite is still needed */
    d->now_us += op->us;
    d->frame_count--;
    d->under_way[index] = false;
    unpin(d, op);
    for (uint32_t i = 0; i < op->write_count && r == 0; i++)
        if (!d->graph->touched[op->first_write + i].side) {
            d->made_us[d->graph->touched[op->first_write + i].tensor] = d->now_us;
            r = enter(d, d->graph->touched[op->first_write + i].tensor);
        }
    for (uint32_t i = 0; i < op->read_count && r == 0 && d->policy->drops_dead; i++) {
        const uint32_t tensor = d->graph->touched[op->first_read + i].tensor;
        if (d->where[tensor] != SPW_NO_INDEX && !d->pins[tensor] && is_over(d, tensor))
            r = leave(d, tensor);
    }
    return r;
}

/* Begins to bring a version back: at once if there is a copy of it, else by a replay. */
static int want(struct spw_demand *d, const struct spw_touched_tensor *touch)
{
    const struct spw_builder_place *place = &d->builder.places[touch->tensor];
    const bool has_copy = place->host == touch->version;
    int r = 0;
    if (has_copy && place->device != SPW_ABSENT && d->pins[touch->tensor] == 1) /* a version that nothing else needs */
        r = leave(d, touch->tensor);
    if (has_copy && place->device == SPW_ABSENT)
        return r < 0 ? r : fetch(d, touch->tensor);
    return push(d, touch->version ? spw_graph_producer(d->graph, touch->tensor, touch->version) : SPW_NO_INDEX);
}

/* Returns the first of the operation's inputs that is missing, or NULL. */
static const struct spw_touched_tensor *find_missing(const struct spw_demand *d, uint32_t index, bool is_replay)
{
    const struct spw_graph_op *op = &d->graph->ops[index];
    for (uint32_t i = 0; i < op->read_count; i++) {
        const struct spw_touched_tensor *touch = &d->graph->touched[op->first_read + i];
        if (!(is_replay && touch->side) && d->builder.places[touch->tensor].device != touch->version)
            return touch;
    }
    return NULL;
}

static int restore_reads(struct spw_demand *d, uint32_t index)
{
    const struct spw_touched_tensor *missing;
    int r = 0;
    while (r == 0 && (d->frame_count || find_missing(d, index, false))) {
        missing = d->frame_count ? find_missing(d, d->frames[d->frame_count - 1].op, true) : find_missing(d, index, false);
        r = missing ? want(d, missing) : replay(d);
    }
    return r;
}

/* ---- one operation ---- */

static int drop_dead(struct spw_demand *d, const struct spw_graph_op *op)
{
    int r = 0;
    for (uint32_t i = 0; i < op->read_count + op->write_count && r == 0; i++) {
        const uint32_t tensor = d->graph->touched[op->first_read + i].tensor;
        if (d->where[tensor] != SPW_NO_INDEX && is_over(d, tensor))
            r = leave(d, tensor);
    }
    return r;
}

static int run_op(struct spw_demand *d, uint32_t index)
{
    const struct spw_graph_op *op = &d->graph->ops[index];
    int r = announce(d, op);
    if (r == 0)
        r = restore_reads(d, index);
    if (r == 0)
        r = make_room(d, spw_build_op_needs(&d->builder));
    if (r == 0)
        r = spw_build_op(&d->builder);
    if (r < 0)
        return r;
    d->now_us += op->us;
    unpin(d, op);
    for (uint32_t i = 0; i < op->write_count && r == 0; i++) {
        const uint32_t tensor = d->graph->touched[op->first_write + i].tensor;
        d->made_us[tensor] = d->now_us;
        r = enter(d, tensor);
        if (r == 0)
            r = note(d, tensor, SPW_TENSOR_USED);
    }
    return r < 0 ? r : drop_dead(d, op);
}

/* ---- one iteration ---- */

static int begin(struct spw_demand *d, struct spw_schedule *schedule)
{
    const uint32_t tensors = d->graph->tensor_count;
    int r = spw_builder_init(&d->builder, d->graph, schedule, d->request->device_bytes, d->request->host_bytes);
    if (r < 0)
        return r;
    d->now_us = d->out_us = d->in_us = 0;
    d->entries = 0;
    d->work = 0;
    d->resident_count = d->frame_count = 0;
    memset(d->where, 0xff, tensors * sizeof *d->where);
    memset(d->pins, 0, tensors * sizeof *d->pins);
    memset(d->used_us, 0, tensors * sizeof *d->used_us);
    memset(d->made_us, 0, tensors * sizeof *d->made_us);
    memset(d->entered, 0, tensors * sizeof *d->entered);
    memset(d->under_way, 0, d->graph->op_count * sizeof *d->under_way);
    if (d->policy->begin)
        r = d->policy->begin(d->policy->context, d);
    for (uint32_t i = 0; i < tensors && r == 0; i++)
        if (d->builder.places[i].device != SPW_ABSENT)
            r = enter(d, i);
    if (r < 0)
        spw_builder_finish(&d->builder);
    return r;
}

/* `ret_next`, if not NULL, gets where persistent tensors start if the next iteration goes on from here. */
static int run(struct spw_demand *d, struct spw_schedule *schedule, uint8_t *ret_next)
{
    int r = begin(d, schedule);
    if (r < 0)
        return r;
    for (uint32_t op = 0; op < d->graph->op_count && r == 0; op++)
        r = run_op(d, op);
    for (uint32_t i = 0; i < d->graph->tensor_count && r == 0 && ret_next; i++) {
        const struct spw_builder_place *place = &d->builder.places[i];
        ret_next[i] = SPW_START_DEVICE;
        if (d->graph->tensors[i].persistent && d->graph->tensors[i].evictable && d->may_copy)
            ret_next[i] = place->device == SPW_ABSENT ? SPW_START_HOST
                          : spw_demand_has_copy(d, i) ? SPW_START_CLEAN
                                                      : SPW_START_DEVICE;
    }
    if (r == 0)
        r = spw_build_end(&d->builder);
    spw_builder_finish(&d->builder);
    return r == -EINVAL ? -ENOSPC : r;
}

/* ---- what starts where ---- */

/* Runs an iteration that starts where the best one so far ended, and keeps it if it is faster. -ENOSPC is no failure,
 * since there is the previous one. */
static int run_on(struct spw_demand *d, struct spw_timer *timer, struct spw_schedule *tried, uint8_t *next,
                  struct spw_schedule *best, double *best_us, bool *ret_better)
{
    struct spw_timing timing;
    memcpy(tried->start, next, d->graph->tensor_count);
    int r = spw_starts_choose(d->request, tried->start);
    if (r == 0)
        r = run(d, tried, next);
    if (r == 0)
        r = spw_timer_run(timer, tried, d->request->device_bytes, NULL, &timing, NULL);
    *ret_better = r == 0 && timing.time_us < *best_us;
    if (*ret_better) {
        *best_us = timing.time_us;
        r = spw_schedule_copy(best, tried, d->graph);
    }
    return r == -ENOSPC ? 0 : r;
}

static int settle(struct spw_demand *d, uint8_t *next, struct spw_schedule *schedule)
{
    struct spw_schedule tried = {0};
    struct spw_timer *timer = NULL;
    struct spw_timing timing;
    int r = spw_timer_create(d->graph, &d->request->machine, &timer);
    if (r == 0)
        r = spw_schedule_init(&tried, d->graph);
    if (r == 0)
        r = spw_timer_run(timer, schedule, d->request->device_bytes, NULL, &timing, NULL);
    bool is_better = true;
    for (int pass = 1; pass < PASSES && r == 0 && is_better; pass++)
        if (memcmp(next, schedule->start, d->graph->tensor_count) != 0)
            r = run_on(d, timer, &tried, next, schedule, &timing.time_us, &is_better);
    spw_schedule_finish(&tried);
    spw_timer_destroy(timer);
    return r;
}

int spw_demand_make(const struct spw_plan_request *request, const struct spw_demand_policy *policy,
                    struct spw_schedule *schedule)
{
    struct spw_demand *demand;
    int r = spw_starts_choose(request, schedule->start);
    if (r < 0)
        return r;
    r = create(request, policy, &demand);
    if (r < 0)
        return r;
    uint8_t *next = malloc((size_t)request->graph->tensor_count + 1);
    r = next ? run(demand, schedule, next) : -ENOMEM;
    if (r == 0 && demand->may_copy)
        r = settle(demand, next, schedule);
    free(next);
    destroy(demand);
    return r;
}
