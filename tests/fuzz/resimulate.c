/* resimulate.c - looks back over all moments to find out what holds at one of them. */
#include "resimulate.h"

#include <math.h>
#include <stdlib.h>

#define NONE UINT32_MAX

/* An event begins, or ends. */
struct moment {
    double at_us;
    size_t part;  /* of the instant: 0 is what ends; the others are divided by what takes no time */
    int phase;    /* within the part: drops, starts, ends of what takes no time */
    size_t event; /* then as listed */
    bool is_end;
};

struct history {
    const struct spw_graph *graph;
    const uint8_t *start;
    const struct spw_timed_step *events;
    const struct spw_check_rules *rules;
    size_t count;
    struct moment moments[2 * RESIMULATE_EVENTS];
    size_t begins[RESIMULATE_EVENTS], ends[RESIMULATE_EVENTS]; /* positions in moments */
};

/* ---- the order of moments ---- */

static bool runs_op(const struct spw_timed_step *event)
{
    return event->kind == SPW_STEP_OP || event->kind == SPW_STEP_REPLAY;
}

static bool is_known(const struct history *h, const struct spw_timed_step *event)
{
    return event->kind < SPW_STEP_KINDS && event->id < (runs_op(event) ? h->graph->op_count : h->graph->tensor_count);
}

static double duration(const struct history *h, const struct spw_timed_step *event)
{
    if (!is_known(h, event) || event->kind == SPW_STEP_DROP)
        return 0;
    if (runs_op(event))
        return h->graph->ops[event->id].us;
    const struct spw_graph_tensor *t = &h->graph->tensors[event->id];
    return event->kind == SPW_STEP_D2H ? t->d2h_us : t->h2d_us;
}

/* Far away, even what is long comes to nothing beside the time that it starts at. */
static bool takes_time(const struct history *h, const struct spw_timed_step *event)
{
    return event->start_us + duration(h, event) > event->start_us;
}

static bool is_drop(const struct spw_timed_step *event)
{
    return event->kind == SPW_STEP_DROP;
}

/* How many events at the same instant that take no time are listed before this one. */
static size_t part_of(const struct history *h, size_t event)
{
    size_t part = 1;
    for (size_t i = 0; i < event; i++)
        part +=
            h->events[i].start_us == h->events[event].start_us && !is_drop(&h->events[i]) && duration(h, &h->events[i]) == 0;
    return part;
}

static int compare_moments(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    if (x->phase != y->phase)
        return x->phase < y->phase ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

static void order_moments(struct history *h)
{
    for (size_t i = 0; i < h->count; i++) {
        const struct spw_timed_step *event = &h->events[i];
        const double us = duration(h, event);
        const size_t part = part_of(h, i);
        h->moments[2 * i] = (struct moment){event->start_us, part, is_drop(event) ? 0 : 1, i, false};
        h->moments[2 * i + 1] = takes_time(h, event)
                                    ? (struct moment){event->start_us + us, 0, 0, i, true}
                                    : (struct moment){event->start_us, part, is_drop(event) ? 0 : 2, i, true};
    }
    qsort(h->moments, 2 * h->count, sizeof *h->moments, compare_moments);
    for (size_t at = 2 * h->count;
         at-- > 0;) { /* backwards: a drop begins and ends at the first of its moments, which are equal */
        const struct moment *moment = &h->moments[at];
        const bool is_both = is_drop(&h->events[moment->event]);
        if (moment->is_end || is_both)
            h->ends[moment->event] = at;
        if (!moment->is_end || is_both)
            h->begins[moment->event] = at;
    }
}

/* ---- what an operation does to a tensor ---- */

/* The entry of the tensor in the list that the event of an operation has of it; NULL: none, or left out of account. */
static const struct spw_touched_tensor *touch_of(const struct history *h, const struct spw_timed_step *event,
                                                 uint32_t tensor, bool written)
{
    if (!runs_op(event))
        return NULL;
    const struct spw_graph_op *op = &h->graph->ops[event->id];
    const uint32_t first = written ? op->first_write : op->first_read, count = written ? op->write_count : op->read_count;
    for (uint32_t i = first; i < first + count; i++)
        if (h->graph->touched[i].tensor == tensor)
            return event->kind == SPW_STEP_REPLAY && h->graph->touched[i].side ? NULL : &h->graph->touched[i];
    return NULL;
}

static bool touches(const struct history *h, size_t event, uint32_t tensor)
{
    return touch_of(h, &h->events[event], tensor, false) || touch_of(h, &h->events[event], tensor, true);
}

static bool runs_at(const struct history *h, size_t event, size_t at)
{
    return h->begins[event] < at && h->ends[event] >= at;
}

static uint32_t op_runs_ended(const struct history *h, uint32_t op, size_t at)
{
    uint32_t runs = 0;
    for (size_t i = 0; i < h->count; i++)
        runs += h->events[i].kind == SPW_STEP_OP && h->events[i].id == op && h->ends[i] < at;
    return runs;
}

static uint32_t ops_begun(const struct history *h, size_t at)
{
    uint32_t begun = 0;
    for (size_t i = 0; i < h->count; i++)
        begun += h->events[i].kind == SPW_STEP_OP && h->begins[i] < at;
    return begun;
}

/* Every recorded operation that touches it has ended, and it does not carry over. */
static bool is_over(const struct history *h, uint32_t tensor, size_t at)
{
    for (uint32_t op = 0; op < h->graph->op_count; op++) {
        const struct spw_timed_step as_recorded = {SPW_STEP_OP, op, 0};
        if ((touch_of(h, &as_recorded, tensor, false) || touch_of(h, &as_recorded, tensor, true)) &&
            op_runs_ended(h, op, at) == 0)
            return false;
    }
    return !h->graph->tensors[tensor].persistent;
}

/* ---- where a tensor is just before a moment ---- */

static uint32_t host_version(const struct history *h, uint32_t tensor, size_t at);

static uint32_t device_version(const struct history *h, uint32_t tensor, size_t at)
{
    for (size_t back = at; back-- > 0;) {
        const struct spw_timed_step *event = &h->events[h->moments[back].event];
        if (h->begins[h->moments[back].event] != back)
            continue;
        if (touch_of(h, event, tensor, true))
            return touch_of(h, event, tensor, true)->version;
        if (event->kind == SPW_STEP_H2D && event->id == tensor)
            return host_version(h, tensor, back);
        if (is_drop(event) && event->id == tensor)
            return NONE;
    }
    const struct spw_graph_tensor *t = &h->graph->tensors[tensor];
    return (t->persistent ? h->start[tensor] != SPW_START_HOST : t->initial) ? 0 : NONE;
}

static bool is_copy_out(const struct history *h, uint32_t tensor, size_t event)
{
    return h->events[event].kind == SPW_STEP_D2H && h->events[event].id == tensor;
}

/* A recorded operation that writes the tensor begins. */
static bool makes_stale(const struct history *h, uint32_t tensor, size_t at)
{
    const size_t event = h->moments[at].event;
    return h->begins[event] == at && h->events[event].kind == SPW_STEP_OP && touch_of(h, &h->events[event], tensor, true);
}

static uint32_t host_version(const struct history *h, uint32_t tensor, size_t at)
{
    for (size_t back = at; back-- > 0;) {
        const size_t event = h->moments[back].event;
        if (makes_stale(h, tensor, back) && !h->rules->model_s)
            return NONE;
        if (is_copy_out(h, tensor, event) && h->ends[event] == back)
            return device_version(h, tensor, h->begins[event]);
    }
    return h->graph->tensors[tensor].persistent && h->start[tensor] != SPW_START_DEVICE ? 0 : NONE;
}

/* Whether the host copy that is there at a moment is read later, or has to be there at the end. */
static bool is_wanted(const struct history *h, uint32_t tensor, size_t at)
{
    for (; at < 2 * h->count; at++) {
        const size_t event = h->moments[at].event;
        if (is_copy_out(h, tensor, event) && h->begins[event] == at)
            return false;
        if (h->events[event].kind == SPW_STEP_H2D && h->events[event].id == tensor)
            return true; /* it begins, or it is on the way */
    }
    return h->start[tensor] != SPW_START_DEVICE;
}

static bool takes_host_memory(const struct history *h, uint32_t tensor, size_t at)
{
    for (size_t back = at; back-- > 0;) {
        const size_t event = h->moments[back].event;
        if (makes_stale(h, tensor, back) && !h->rules->model_s)
            return false;
        if (is_copy_out(h, tensor, event) && h->begins[event] == back)
            return h->rules->model_s || h->ends[event] >= at || is_wanted(h, tensor, at);
    }
    return h->start[tensor] != SPW_START_DEVICE && (at == 0 || is_wanted(h, tensor, at));
}

static bool is_written(const struct history *h, uint32_t tensor, size_t at)
{
    for (size_t i = 0; i < h->count; i++)
        if (runs_at(h, i, at) && touch_of(h, &h->events[i], tensor, true))
            return true;
    return false;
}

static bool is_copied(const struct history *h, uint32_t tensor, uint32_t kind, size_t at)
{
    for (size_t i = 0; i < h->count; i++)
        if (runs_at(h, i, at) && h->events[i].kind == kind && h->events[i].id == tensor)
            return true;
    return false;
}

static bool is_complete(const struct history *h, uint32_t tensor, size_t at)
{
    return device_version(h, tensor, at) != NONE && !is_written(h, tensor, at) && !is_copied(h, tensor, SPW_STEP_H2D, at);
}

static uint64_t device_bytes(const struct history *h, size_t at)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < h->graph->tensor_count; i++)
        bytes += device_version(h, i, at) != NONE ? h->graph->tensors[i].bytes : 0;
    return bytes;
}

static uint64_t host_bytes(const struct history *h, size_t at)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < h->graph->tensor_count; i++)
        bytes += takes_host_memory(h, i, at) ? h->graph->tensors[i].bytes : 0;
    return bytes;
}

/* ---- whether an event may begin; the answers say why not ---- */

static const char *judge_rewrite(const struct history *h, uint32_t tensor, const struct spw_touched_tensor *write, size_t at)
{
    const struct spw_graph_tensor *t = &h->graph->tensors[tensor];
    const uint32_t there = device_version(h, tensor, at);
    if (write->in_place)
        return t->persistent ? "updates a persistent tensor again" : NULL;
    if (there == NONE)
        return NULL;
    if (h->rules->model_s)
        return "creates again what is there";
    if (there == write->version || (!t->persistent && op_runs_ended(h, t->free_after, at) > 0))
        return NULL;
    return "writes over what is needed";
}

static const char *judge_op(const struct history *h, const struct spw_timed_step *event, size_t at)
{
    const bool is_replay = event->kind == SPW_STEP_REPLAY;
    if (!is_replay && ops_begun(h, at) != event->id)
        return "is not the next operation";
    if (is_replay && (!h->rules->may_replay || !h->graph->ops[event->id].replayable))
        return "may not be replayed";
    if (is_replay && op_runs_ended(h, event->id, at) == 0)
        return "has not run yet";
    for (uint32_t tensor = 0; tensor < h->graph->tensor_count; tensor++) {
        const struct spw_touched_tensor *read = touch_of(h, event, tensor, false), *write = touch_of(h, event, tensor, true);
        if (read && (!is_complete(h, tensor, at) || device_version(h, tensor, at) != read->version))
            return "reads what is not there";
        if (write && (is_copied(h, tensor, SPW_STEP_D2H, at) || is_copied(h, tensor, SPW_STEP_H2D, at)))
            return "writes what is copied";
        const char *why = write && is_replay ? judge_rewrite(h, tensor, write, at) : NULL;
        if (why)
            return why;
    }
    return NULL;
}

static const char *judge_drop(const struct history *h, uint32_t tensor, size_t at)
{
    if (!is_complete(h, tensor, at))
        return "drops what is not there";
    for (size_t i = 0; i < h->count; i++)
        if (runs_at(h, i, at) && touches(h, i, tensor))
            return "drops what is in use";
    if (is_copied(h, tensor, SPW_STEP_D2H, at))
        return "drops what is copied out";
    return h->graph->tensors[tensor].evictable || is_over(h, tensor, at) ? NULL : "drops what has to stay";
}

static const char *judge_copy(const struct history *h, const struct spw_timed_step *event, size_t at)
{
    const uint32_t tensor = event->id;
    if (!h->rules->may_copy || !h->graph->tensors[tensor].evictable)
        return "may not be copied";
    if (event->kind == SPW_STEP_D2H)
        return is_complete(h, tensor, at) ? NULL : "copies out what is not there";
    if (device_version(h, tensor, at) != NONE)
        return "copies in what is there";
    return host_version(h, tensor, at) != NONE ? NULL : "copies in what is not on the host";
}

static bool is_lane_busy(const struct history *h, size_t event, size_t at)
{
    for (size_t i = 0; i < h->count; i++) {
        const bool same = runs_op(&h->events[event]) ? runs_op(&h->events[i]) : h->events[i].kind == h->events[event].kind;
        if (i != event && same && runs_at(h, i, at))
            return true;
    }
    return false;
}

static const char *judge(const struct history *h, size_t event, size_t at)
{
    const struct spw_timed_step *e = &h->events[event];
    if (!is_known(h, e) || e->start_us < 0)
        return "cannot be";
    const char *why = NULL;
    if (is_drop(e))
        why = judge_drop(h, e->id, at);
    else if (is_lane_busy(h, event, at))
        why = "starts on a busy lane";
    else
        why = runs_op(e) ? judge_op(h, e, at) : judge_copy(h, e, at);
    if (why)
        return why;
    if (device_bytes(h, at + 1) > h->rules->device_bytes)
        return "takes too much memory";
    return host_bytes(h, at + 1) > h->rules->host_bytes ? "takes too much host memory" : NULL;
}

/* ---- start, end and sums ---- */

static const char *judge_start(const struct history *h)
{
    for (uint32_t i = 0; i < h->graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &h->graph->tensors[i];
        if (h->start[i] != SPW_START_DEVICE && (h->start[i] > SPW_START_CLEAN || !t->persistent || !t->evictable))
            return "starts where it may not";
    }
    return device_bytes(h, 0) > h->rules->device_bytes || host_bytes(h, 0) > h->rules->host_bytes ? "starts too large"
                                                                                                  : NULL;
}

static const char *judge_end(const struct history *h)
{
    const size_t at = 2 * h->count;
    if (ops_begun(h, at) != h->graph->op_count)
        return "does not run all operations";
    for (uint32_t i = 0; i < h->graph->tensor_count && !h->rules->model_s; i++) {
        const struct spw_graph_tensor *t = &h->graph->tensors[i];
        const uint32_t device = device_version(h, i, at), host = host_version(h, i, at);
        const bool on_device = device == t->last_version, on_host = host == t->last_version;
        bool right = device == NONE;
        if (t->persistent && h->start[i] == SPW_START_DEVICE)
            right = on_device;
        else if (t->persistent)
            right = on_host && (h->start[i] == SPW_START_HOST ? device == NONE : on_device);
        if (!right)
            return "ends elsewhere";
    }
    return NULL;
}

struct verdict resimulate(const struct spw_graph *graph, const uint8_t *start, const struct spw_timed_step *events,
                          size_t count, const struct spw_check_rules *rules)
{
    struct history h = {.graph = graph, .start = start, .events = events, .rules = rules, .count = count};
    struct verdict verdict = {.event = count};
    for (size_t i = 0; i < count; i++)
        if (!isfinite(events[i].start_us))
            return (struct verdict){.event = i, .why = "starts at no finite time"};
    order_moments(&h);
    verdict.why = judge_start(&h);
    verdict.peak_bytes = device_bytes(&h, 0);
    verdict.host_peak_bytes = host_bytes(&h, 0);
    for (size_t at = 0; at < 2 * count && !verdict.why; at++) {
        const size_t event = h.moments[at].event;
        if (h.begins[event] != at)
            continue;
        verdict.why = judge(&h, event, at);
        if (verdict.why) {
            verdict.event = event;
            return verdict;
        }
        const uint64_t bytes = device_bytes(&h, at + 1), host = host_bytes(&h, at + 1);
        verdict.peak_bytes = bytes > verdict.peak_bytes ? bytes : verdict.peak_bytes;
        verdict.host_peak_bytes = host > verdict.host_peak_bytes ? host : verdict.host_peak_bytes;
        if (!is_drop(&events[event]) && (!rules->model_s || events[event].kind == SPW_STEP_OP))
            verdict.time_us = fmax(verdict.time_us, events[event].start_us + duration(&h, &events[event]));
    }
    if (!verdict.why)
        verdict.why = judge_end(&h);
    verdict.valid = !verdict.why;
    return verdict;
}
