/* check_steps.c - applies the rules of model S+ to one event at a time: what it needs and what it leaves behind. */
#include "plan/check_steps.h"

#include <stdarg.h>
#include <stdio.h>

bool spw_check_refuse(struct spw_checker *c, enum spw_fault fault, size_t event, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    c->result->fault = fault;
    c->result->event = event;
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): a false alarm, when several files are analysed in one go */
    (void)vsnprintf(c->result->message, sizeof c->result->message, format, list);
    va_end(list);
    return false;
}

/* ---- memory ---- */

bool spw_check_take_device(struct spw_checker *c, size_t event, uint32_t tensor)
{
    const uint64_t bytes = c->graph->tensors[tensor].bytes;
    if (bytes > c->rules->device_bytes - c->device_bytes)
        return spw_check_refuse(c, SPW_FAULT_MEMORY, event,
                                "%llu bytes for tensor %u beside %llu that are taken are more than %llu",
                                (unsigned long long)bytes, tensor, (unsigned long long)c->device_bytes,
                                (unsigned long long)c->rules->device_bytes);
    c->device_bytes += bytes;
    if (c->device_bytes > c->result->peak_bytes)
        c->result->peak_bytes = c->device_bytes;
    return true;
}

bool spw_check_take_host(struct spw_checker *c, size_t event, uint32_t tensor)
{
    const uint64_t bytes = c->graph->tensors[tensor].bytes;
    if (c->tensors[tensor].counted)
        return true;
    if (bytes > c->rules->host_bytes - c->host_bytes)
        return spw_check_refuse(
            c, SPW_FAULT_HOST, event, "%llu bytes for the host copy of tensor %u beside %llu are more than %llu",
            (unsigned long long)bytes, tensor, (unsigned long long)c->host_bytes, (unsigned long long)c->rules->host_bytes);
    c->tensors[tensor].counted = true;
    c->host_bytes += bytes;
    if (c->host_bytes > c->result->host_peak_bytes)
        c->result->host_peak_bytes = c->host_bytes;
    return true;
}

void spw_check_give_back_host(struct spw_checker *c, uint32_t tensor)
{
    struct spw_tensor_now *t = &c->tensors[tensor];
    if (!t->counted || c->rules->model_s)
        return;
    t->counted = false;
    c->host_bytes -= c->graph->tensors[tensor].bytes;
}

/* ---- operations and replays ---- */

/* Side buffers are left out of account in a replay. */
static bool is_out_of_account(const struct spw_touched_tensor *touch, bool is_replay)
{
    return is_replay && touch->side;
}

static bool may_read(struct spw_checker *c, size_t event, const struct spw_touched_tensor *read)
{
    const struct spw_tensor_now *t = &c->tensors[read->tensor];
    if (t->device == SPW_NOWHERE)
        return spw_check_refuse(c, SPW_FAULT_MISSING, event, "reads tensor %u, which is not on the device", read->tensor);
    if (!t->complete)
        return spw_check_refuse(c, SPW_FAULT_MISSING, event, "reads tensor %u, which is not complete yet", read->tensor);
    if (t->device != read->version)
        return spw_check_refuse(c, SPW_FAULT_MISSING, event, "reads version %u of tensor %u, of which version %u is there",
                                read->version, read->tensor, t->device);
    return true;
}

static bool may_write(struct spw_checker *c, size_t event, const struct spw_touched_tensor *write)
{
    const struct spw_tensor_now *t = &c->tensors[write->tensor];
    if (t->leaving)
        return spw_check_refuse(c, SPW_FAULT_BUSY, event, "writes tensor %u while it is copied out", write->tensor);
    if (t->device != SPW_NOWHERE && !t->complete)
        return spw_check_refuse(c, SPW_FAULT_BUSY, event, "writes tensor %u while it is copied in", write->tensor);
    return true;
}

static bool may_rewrite(struct spw_checker *c, size_t event, const struct spw_touched_tensor *write)
{
    const struct spw_graph_tensor *tensor = &c->graph->tensors[write->tensor];
    const uint32_t there = c->tensors[write->tensor].device;
    if (tensor->persistent && write->in_place)
        return spw_check_refuse(c, SPW_FAULT_REPLAY, event, "updates tensor %u again, which is persistent", write->tensor);
    if (there == SPW_NOWHERE || (write->in_place && !c->rules->model_s))
        return true;
    if (c->rules->model_s)
        return spw_check_refuse(c, SPW_FAULT_REPLAY, event, "creates tensor %u again, which is still there", write->tensor);
    const bool is_dead = !tensor->persistent && c->next_op > tensor->free_after;
    if (there != write->version && !is_dead)
        return spw_check_refuse(c, SPW_FAULT_REPLAY, event,
                                "writes version %u of tensor %u over version %u, which is needed", write->version,
                                write->tensor, there);
    return true;
}

static bool may_run(struct spw_checker *c, size_t event, const struct spw_graph_op *op, bool is_replay)
{
    const struct spw_touched_tensor *reads = &c->graph->touched[op->first_read];
    const struct spw_touched_tensor *writes = &c->graph->touched[op->first_write];
    for (uint32_t i = 0; i < op->read_count; i++)
        if (!is_out_of_account(&reads[i], is_replay) && !may_read(c, event, &reads[i]))
            return false;
    for (uint32_t i = 0; i < op->write_count; i++) {
        if (is_out_of_account(&writes[i], is_replay))
            continue;
        if (!may_write(c, event, &writes[i]) || (is_replay && !may_rewrite(c, event, &writes[i])))
            return false;
    }
    return true;
}

static bool begin_writing(struct spw_checker *c, size_t event, const struct spw_touched_tensor *write, bool is_replay)
{
    struct spw_tensor_now *t = &c->tensors[write->tensor];
    if (t->device == SPW_NOWHERE && !spw_check_take_device(c, event, write->tensor))
        return false;
    t->device = write->version;
    t->complete = false;
    t->used = t->written = true;
    if (!is_replay) { /* the host copy is stale from now on */
        t->host = SPW_NOWHERE;
        spw_check_give_back_host(c, write->tensor);
    }
    return true;
}

bool spw_check_begin_op(struct spw_checker *c, size_t event, bool is_replay)
{
    const uint32_t index = c->events[event].id;
    const struct spw_graph_op *op = &c->graph->ops[index];
    if (!is_replay && index != c->next_op)
        return spw_check_refuse(c, SPW_FAULT_ORDER, event, "operation %u is not the next one, which is %u", index,
                                c->next_op);
    if (is_replay && (!c->rules->may_replay || !op->replayable))
        return spw_check_refuse(c, SPW_FAULT_REPLAY, event, "operation %u may not be replayed", index);
    if (is_replay && index >= c->next_op)
        return spw_check_refuse(c, SPW_FAULT_REPLAY, event, "operation %u is replayed before it has run", index);
    if (!may_run(c, event, op, is_replay))
        return false;
    for (uint32_t i = 0; i < op->read_count; i++) {
        const struct spw_touched_tensor *read = &c->graph->touched[op->first_read + i];
        if (!is_out_of_account(read, is_replay))
            c->tensors[read->tensor].used = true;
    }
    for (uint32_t i = 0; i < op->write_count; i++) {
        const struct spw_touched_tensor *write = &c->graph->touched[op->first_write + i];
        if (!is_out_of_account(write, is_replay) && !begin_writing(c, event, write, is_replay))
            return false;
    }
    c->next_op += !is_replay;
    return true;
}

void spw_check_end_op(struct spw_checker *c, const struct spw_instant_event *ended, bool is_replay)
{
    const struct spw_graph_op *op = &c->graph->ops[c->events[ended->event].id];
    for (uint32_t i = 0; i < op->read_count + op->write_count; i++) {
        const struct spw_touched_tensor *touch = &c->graph->touched[op->first_read + i];
        struct spw_tensor_now *t = &c->tensors[touch->tensor];
        const bool is_second = i >= op->read_count && touch->in_place; /* it was counted as read */
        t->uses_ended += !is_replay && !is_second;
        if (is_out_of_account(touch, is_replay))
            continue;
        t->used = t->written = false;
        t->complete = true;
    }
    c->busy_us += op->us;
    if (is_replay) {
        c->replayed_us += op->us;
    } else {
        c->ops_us = ended->end_us;
        c->ops_busy_us = c->busy_us;
    }
}

/* ---- copies and drops ---- */

bool spw_check_begin_d2h(struct spw_checker *c, size_t event, uint32_t tensor)
{
    struct spw_tensor_now *t = &c->tensors[tensor];
    if (!c->rules->may_copy || !c->graph->tensors[tensor].evictable)
        return spw_check_refuse(c, SPW_FAULT_D2H, event, "tensor %u may not be copied", tensor);
    if (t->written)
        return spw_check_refuse(c, SPW_FAULT_BUSY, event, "copies tensor %u out while it is written", tensor);
    if (t->device == SPW_NOWHERE || !t->complete)
        return spw_check_refuse(c, SPW_FAULT_D2H, event, "copies tensor %u out, which is not completely on the device",
                                tensor);
    if (!spw_check_take_host(c, event, tensor))
        return false;
    t->leaving = true;
    c->result->d2h_bytes += c->graph->tensors[tensor].bytes;
    return true;
}

bool spw_check_begin_h2d(struct spw_checker *c, size_t event, uint32_t tensor)
{
    struct spw_tensor_now *t = &c->tensors[tensor];
    if (!c->rules->may_copy || !c->graph->tensors[tensor].evictable)
        return spw_check_refuse(c, SPW_FAULT_H2D, event, "tensor %u may not be copied", tensor);
    if (t->device != SPW_NOWHERE)
        return spw_check_refuse(c, SPW_FAULT_H2D, event, "copies tensor %u in, which is there", tensor);
    if (t->host == SPW_NOWHERE)
        return spw_check_refuse(c, SPW_FAULT_H2D, event, "copies tensor %u in, of which there is no host copy", tensor);
    if (!spw_check_take_device(c, event, tensor))
        return false;
    t->device = t->host;
    t->complete = false;
    c->result->h2d_bytes += c->graph->tensors[tensor].bytes;
    return true;
}

bool spw_check_drop(struct spw_checker *c, size_t event, uint32_t tensor)
{
    const struct spw_graph_tensor *of = &c->graph->tensors[tensor];
    struct spw_tensor_now *t = &c->tensors[tensor];
    const bool is_over = !of->persistent && t->uses_ended == of->use_count;
    if (t->device == SPW_NOWHERE || !t->complete)
        return spw_check_refuse(c, SPW_FAULT_DROP, event, "drops tensor %u, which is not completely on the device", tensor);
    if (t->used || t->leaving)
        return spw_check_refuse(c, SPW_FAULT_DROP, event, "drops tensor %u, which is in use", tensor);
    if (!of->evictable && !is_over)
        return spw_check_refuse(c, SPW_FAULT_DROP, event, "drops tensor %u, which has to stay until its last use", tensor);
    t->device = SPW_NOWHERE;
    t->complete = false;
    c->device_bytes -= of->bytes;
    return true;
}

void spw_check_end_d2h(struct spw_checker *c, size_t event, uint32_t tensor)
{
    c->tensors[tensor].leaving = false;
    c->tensors[tensor].host = c->tensors[tensor].device;
    if (c->last[event])
        spw_check_give_back_host(c, tensor);
}

void spw_check_end_h2d(struct spw_checker *c, size_t event, uint32_t tensor)
{
    c->tensors[tensor].complete = true;
    if (c->last[event])
        spw_check_give_back_host(c, tensor);
}
