/* check.c - executes timed events on paper, instant by instant, and stops at the first that breaks a rule of model S+. */
#include "plan/check.h"

#include <errno.h>
#include <stdlib.h>

#include "plan/check_steps.h"

/* ---- events in order of time ---- */

static int lane_of(uint32_t kind)
{
    return kind == SPW_STEP_D2H ? SPW_LANE_OUT : kind == SPW_STEP_H2D ? SPW_LANE_IN : SPW_LANE_COMPUTE;
}

static bool is_known(const struct spw_checker *c, const struct spw_timed_step *event)
{
    if (event->kind >= SPW_STEP_KINDS)
        return false;
    const bool is_op = event->kind == SPW_STEP_OP || event->kind == SPW_STEP_REPLAY;
    return event->id < (is_op ? c->graph->op_count : c->graph->tensor_count);
}

static bool is_drop(const struct spw_checker *c, const struct spw_instant_event *timed)
{
    return c->events[timed->event].kind == SPW_STEP_DROP;
}

static bool begin(struct spw_checker *c, const struct spw_instant_event *timed)
{
    const struct spw_timed_step *event = &c->events[timed->event];
    if (!is_known(c, event))
        return spw_check_refuse(c, SPW_FAULT_ORDER, timed->event, "there is nothing of kind %u and index %u", event->kind,
                                event->id);
    if (event->start_us < -1e-6)
        return spw_check_refuse(c, SPW_FAULT_ORDER, timed->event, "starts before the iteration");
    if (event->kind == SPW_STEP_DROP)
        return spw_check_drop(c, timed->event, event->id);
    const int lane = lane_of(event->kind);
    if (c->running[lane])
        return spw_check_refuse(c, SPW_FAULT_BUSY, timed->event, "starts while event %zu runs on the same lane",
                                c->running[lane]->event);
    c->running[lane] = timed;
    if (timed->end_us > c->idle_us)
        c->idle_us = timed->end_us;
    if (lane == SPW_LANE_COMPUTE)
        return spw_check_begin_op(c, timed->event, event->kind == SPW_STEP_REPLAY);
    return lane == SPW_LANE_OUT ? spw_check_begin_d2h(c, timed->event, event->id)
                                : spw_check_begin_h2d(c, timed->event, event->id);
}

/* Ends the running events that end at `instant` or before. */
static void end_until(struct spw_checker *c, size_t instant)
{
    for (int lane = SPW_LANE_COMPUTE; lane < SPW_LANES; lane++) {
        const struct spw_instant_event *timed = c->running[lane];
        if (!timed || timed->ends > instant)
            continue;
        const struct spw_timed_step *event = &c->events[timed->event];
        c->running[lane] = NULL;
        if (lane == SPW_LANE_COMPUTE)
            spw_check_end_op(c, timed, event->kind == SPW_STEP_REPLAY);
        else if (lane == SPW_LANE_OUT)
            spw_check_end_d2h(c, timed->event, event->id);
        else
            spw_check_end_h2d(c, timed->event, event->id);
    }
}

/* Handles the events of one instant: drops, then starts, up to and including an event that takes no time; then the same
 * for the events after it. */
static bool pass_instant(struct spw_checker *c, const struct spw_instant_event *timed, size_t count)
{
    for (size_t first = 0, end; first < count; first = end) {
        end_until(c, timed[first].begins);
        end = first;
        do
            end++;
        while (end < count && (timed[end - 1].ends != timed[end - 1].begins || is_drop(c, &timed[end - 1])));
        for (size_t i = first; i < end; i++)
            if (is_drop(c, &timed[i]) && !begin(c, &timed[i]))
                return false;
        for (size_t i = first; i < end; i++)
            if (!is_drop(c, &timed[i]) && !begin(c, &timed[i]))
                return false;
    }
    return true;
}

static bool pass_all(struct spw_checker *c, const struct spw_instant_event *timed, size_t count)
{
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && timed[end].begins == timed[first].begins;)
            end++;
        if (!pass_instant(c, timed + first, end - first))
            return false;
    }
    end_until(c, SIZE_MAX);
    return true;
}

/* ---- how long host copies are needed ---- */

/* Goes from the end to the start and finds which copy is the last that needs its tensor's host copy, and which host
 * copies are needed at the start. */
static void look_ahead(struct spw_checker *c, const uint8_t *start, const struct spw_instant_event *timed, size_t count)
{
    for (uint32_t i = 0; i < c->graph->tensor_count; i++)
        c->tensors[i].wanted = start[i] != SPW_START_DEVICE;
    for (size_t i = count; i-- > 0;) {
        const struct spw_timed_step *event = &c->events[timed[i].event];
        if (!is_known(c, event) || (event->kind != SPW_STEP_D2H && event->kind != SPW_STEP_H2D))
            continue;
        c->last[timed[i].event] = !c->tensors[event->id].wanted;
        c->tensors[event->id].wanted = event->kind == SPW_STEP_H2D;
    }
}

/* ---- start and end ---- */

static bool place_at_start(struct spw_checker *c, const uint8_t *start, size_t count)
{
    for (uint32_t i = 0; i < c->graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &c->graph->tensors[i];
        const bool wanted = c->tensors[i].wanted;
        c->tensors[i] = (struct spw_tensor_now){.device = SPW_NOWHERE, .host = SPW_NOWHERE, .wanted = wanted};
        if (start[i] > SPW_START_CLEAN || (start[i] != SPW_START_DEVICE && !(t->persistent && t->evictable)))
            return spw_check_refuse(c, SPW_FAULT_ORDER, count, "tensor %u may not start on the host", i);
        if (t->persistent ? start[i] != SPW_START_HOST : t->initial) {
            c->tensors[i].device = 0;
            c->tensors[i].complete = true;
            if (!spw_check_take_device(c, count, i))
                return false;
        }
        if (start[i] != SPW_START_DEVICE) {
            c->tensors[i].host = 0;
            if (!spw_check_take_host(c, count, i))
                return false;
        }
    }
    for (uint32_t i = 0; i < c->graph->tensor_count; i++)
        if (!c->tensors[i].wanted)
            spw_check_give_back_host(c, i);
    return true;
}

static bool is_where_it_began(const struct spw_checker *c, uint32_t tensor, uint8_t start)
{
    const struct spw_graph_tensor *of = &c->graph->tensors[tensor];
    const struct spw_tensor_now *t = &c->tensors[tensor];
    const uint32_t on_device = of->persistent && start != SPW_START_HOST ? of->last_version : SPW_NOWHERE;
    return t->device == on_device && (start == SPW_START_DEVICE || t->host == of->last_version);
}

static bool check_end(struct spw_checker *c, const uint8_t *start, size_t count)
{
    if (c->next_op < c->graph->op_count)
        return spw_check_refuse(c, SPW_FAULT_ORDER, count, "operation %u does not run", c->next_op);
    for (uint32_t i = 0; i < c->graph->tensor_count && !c->rules->model_s; i++)
        if (!is_where_it_began(c, i, start[i]))
            return spw_check_refuse(c, SPW_FAULT_END, count, "tensor %u ends %s", i,
                                    c->graph->tensors[i].persistent ? "elsewhere than it began, or at another version"
                                                                    : "on the device, without having been dropped");
    return true;
}

static void sum_up(struct spw_checker *c)
{
    struct spw_check *result = c->result;
    result->time_us = c->rules->model_s ? c->ops_us : c->idle_us;
    result->stall_us = result->time_us - (c->rules->model_s ? c->ops_busy_us : c->busy_us);
    result->replayed_us = c->replayed_us;
}

int spw_check_events(const struct spw_graph *graph, const uint8_t *start, const struct spw_timed_step *events, size_t count,
                     const struct spw_check_rules *rules, struct spw_check *ret_check)
{
    struct spw_check result = {.event = count};
    struct spw_checker c = {.graph = graph, .events = events, .rules = rules, .result = &result};
    struct spw_instant_event *ordered = NULL;
    size_t bad;
    const int r = spw_instants(graph, events, count, &ordered, &bad);
    if (r == -EINVAL)
        (void)spw_check_refuse(&c, SPW_FAULT_ORDER, bad, "starts at no finite time");
    c.tensors = calloc((size_t)graph->tensor_count + 1, sizeof *c.tensors);
    c.last = calloc(count + 1, sizeof *c.last);
    if (r == 0 && c.tensors && c.last) {
        look_ahead(&c, start, ordered, count);
        if (place_at_start(&c, start, count) && pass_all(&c, ordered, count) && check_end(&c, start, count))
            sum_up(&c);
    }
    const bool lacks_memory = r == -ENOMEM || !c.tensors || !c.last;
    free(c.last);
    free(c.tensors);
    free(ordered);
    if (lacks_memory)
        return -ENOMEM;
    *ret_check = result;
    return 0;
}

const char *spw_fault_name(enum spw_fault fault)
{
    static const char *const names[] = {
        [SPW_FAULT_NONE] = "none",       [SPW_FAULT_MEMORY] = "memory", [SPW_FAULT_BUSY] = "busy",
        [SPW_FAULT_MISSING] = "missing", [SPW_FAULT_D2H] = "d2h",       [SPW_FAULT_H2D] = "h2d",
        [SPW_FAULT_DROP] = "drop",       [SPW_FAULT_ORDER] = "order",   [SPW_FAULT_REPLAY] = "replay",
        [SPW_FAULT_END] = "end",         [SPW_FAULT_HOST] = "host",
    };
    return fault <= SPW_FAULT_HOST ? names[fault] : "?";
}
