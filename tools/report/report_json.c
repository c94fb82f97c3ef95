/* report_json.c - all figures as one object; what exists per operation or tensor is written as columns, which are
 * compact. */
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "kernel_names.h"
#include "report.h"

static json_t *integer(uint64_t n)
{
    return json_integer((json_int_t)n);
}

static json_t *index_or_null(uint32_t i)
{
    return i == MODEL_NONE ? json_null() : json_integer(i);
}

static json_t *run_of(const struct model *m)
{
    static const char *const kinds[SPW_OP_KINDS] = {[SPW_OP_LAUNCH] = "launch",     [SPW_OP_GRAPH] = "graph",
                                                    [SPW_OP_COPY_H2D] = "copy_h2d", [SPW_OP_COPY_D2H] = "copy_d2h",
                                                    [SPW_OP_COPY_D2D] = "copy_d2d", [SPW_OP_COPY_H2H] = "copy_h2h",
                                                    [SPW_OP_SET] = "set",           [SPW_OP_HOST_FUNCTION] = "host_function",
                                                    [SPW_OP_VALUE] = "value"};
    json_t *by_kind = json_object();
    for (int k = 0; k < SPW_OP_KINDS; k++)
        json_object_set_new(by_kind, kinds[k],
                            json_pack("{s:o, s:o}", "count", integer(m->op_count[k]), "bytes", integer(m->op_bytes[k])));
    return json_pack("{s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "pid", (int)m->pid,
                     "rank", (int)m->rank, "command", shown_string(m->command), "host", shown_string(m->host), "mode",
                     shown_string(m->mode), "version", shown_string(m->version), "started_unix_ns",
                     integer(m->started_unix_ns), "duration_ns", integer(m->duration_ns), "ended", m->ended, "lost_records",
                     integer(m->lost), "operations", integer(m->ops), "allocations", integer(m->allocs), "frees",
                     integer(m->frees), "waits", integer(m->waits), "waited_ns", integer(m->waited_ns), "by_kind", by_kind);
}

static json_t *devices_of(const struct model *m)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < m->device_count; i++) {
        const struct model_device *d = &m->devices[i];
        json_array_append_new(list, json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "ordinal", (int)d->ordinal, "name",
                                              shown_string(d->name), "total_bytes", integer(d->total_bytes), "free_bytes",
                                              integer(d->free_bytes), "budget_bytes", integer(d->budget_bytes), "peak_bytes",
                                              integer(d->peak_bytes), "peak_operation", integer(d->peak_op),
                                              "live_bytes_at_end", integer(d->live_bytes_at_end)));
    }
    return list;
}

static json_t *shapes_of(const struct model *m)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < m->shape_count; i++) {
        const struct model_shape *s = &m->shapes[i];
        json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "operations", integer(s->length),
                                              "iterations", integer(s->count), "first_operation", integer(s->first_op),
                                              "last_operation", integer(s->last_op), "time_ns", integer(s->time_ns),
                                              "least_peak_bytes", integer(s->least_peak_bytes), "most_peak_bytes",
                                              integer(s->most_peak_bytes)));
    }
    return list;
}

/* ---- the iteration ---- */

static json_t *phases_of(const struct model *m)
{
    static const char *const names[MODEL_PHASES] = {"forward", "backward", "update"};
    json_t *list = json_array();
    for (int i = 0; i < MODEL_PHASES; i++) {
        const struct model_phase *p = &m->phases[i];
        json_array_append_new(list, json_pack("{s:s, s:i, s:i, s:o, s:o}", "name", names[i], "first", (int)p->first, "end",
                                              (int)p->end, "peak_bytes", integer(p->peak_bytes), "duration_ns",
                                              integer(p->duration_ns)));
    }
    return list;
}

static json_t *categories_of(const struct model *m)
{
    uint64_t bytes[MODEL_CATEGORIES] = {0}, at_peak[MODEL_CATEGORIES] = {0}, count[MODEL_CATEGORIES] = {0};
    json_t *list = json_array();
    for (uint32_t i = 0; i < m->tensor_count; i++) {
        const struct model_tensor *t = &m->tensors[i];
        if (!live_is_of_device(t->kind))
            continue;
        bytes[t->category] += t->bytes;
        count[t->category]++;
        if (t->alloc_before <= m->peak_at && t->free_after >= m->peak_at)
            at_peak[t->category] += t->bytes;
    }
    for (int c = 0; c < MODEL_CATEGORIES; c++)
        json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o}", "name", model_category_name((enum model_category)c),
                                              "tensors", integer(count[c]), "bytes", integer(bytes[c]), "bytes_at_peak",
                                              integer(at_peak[c])));
    return list;
}

/* An array with one number of each element of a list. */
#define COLUMN(object, name, count, element, value) \
    { \
        json_t *column = json_array(); \
        for (uint32_t i = 0; i < (count); i++) { \
            element; \
            json_array_append_new(column, value); \
        } \
        json_object_set_new(object, name, column); \
    }

/* Returns the index of a name, which is added once; operations with the same name share it. */
static uint32_t name_index(json_t *names, json_t *known, const char *name)
{
    json_t *shown = shown_string(name), *index = json_object_get(known, json_string_value(shown));
    if (index) {
        json_decref(shown);
        return (uint32_t)json_integer_value(index);
    }
    json_object_set_new(known, json_string_value(shown), json_integer((json_int_t)json_array_size(names)));
    json_array_append_new(names, shown);
    return (uint32_t)json_array_size(names) - 1;
}

/* Short names, for places with little room. */
static json_t *short_names_of(const json_t *names)
{
    json_t *list = json_array(), *name;
    size_t i;
    json_array_foreach(names, i, name)
    {
        char *text = kernel_short_name(json_string_value(name));
        json_array_append_new(list, shown_string(text));
        free(text);
    }
    return list;
}

static json_t *ops_of(const struct model *m, json_t *names)
{
    json_t *o = json_object(), *known = json_object();
#define OP const struct model_op *op = &m->iteration[i]
    COLUMN(o, "name", m->iteration_count, OP, json_integer(name_index(names, known, model_op_name(m, op))))
    COLUMN(o, "kind", m->iteration_count, OP, json_integer(op->kind))
    COLUMN(o, "stream", m->iteration_count, OP, json_integer(op->stream))
    COLUMN(o, "start_ns", m->iteration_count, OP,
           m->timed ? integer(op->start_ns) : integer(op->time_ns - m->iteration[0].time_ns))
    COLUMN(o, "duration_ns", m->iteration_count, OP, integer(op->duration_ns))
    COLUMN(o, "bytes", m->iteration_count, OP, integer(op->bytes))
    COLUMN(o, "live_bytes", m->iteration_count, OP, integer(op->live_bytes))
    COLUMN(o, "first_touch", m->iteration_count, OP, json_integer(op->first_touch))
    COLUMN(o, "touches", m->iteration_count, OP, json_integer(op->touch_count))
    json_decref(known);
    return o;
}

static json_t *touches_of(const struct model *m)
{
    json_t *o = json_object();
    COLUMN(o, "tensor", m->touch_count, , json_integer(m->touches[i].tensor))
    COLUMN(o, "access", m->touch_count, , json_integer(m->touches[i].access))
    return o;
}

static json_t *tensors_of(const struct model *m)
{
    static const char *const kinds[SPW_ALLOC_KINDS] = {
        [SPW_ALLOC_PLAIN] = "plain", [SPW_ALLOC_ASYNC] = "async",   [SPW_ALLOC_MANAGED] = "managed",
        [SPW_ALLOC_VMM] = "vmm",     [SPW_ALLOC_GLOBAL] = "global", [SPW_ALLOC_IMPORT] = "import",
        [SPW_ALLOC_HOST] = "host"};
    json_t *o = json_object();
#define TENSOR const struct model_tensor *t = &m->tensors[i]
    COLUMN(o, "allocation", m->tensor_count, TENSOR, integer(t->alloc))
    COLUMN(o, "bytes", m->tensor_count, TENSOR, integer(t->bytes))
    COLUMN(o, "device", m->tensor_count, TENSOR, json_integer(t->device))
    COLUMN(o, "kind", m->tensor_count, TENSOR, json_string(kinds[t->kind]))
    COLUMN(o, "category", m->tensor_count, TENSOR, json_integer(t->category))
    COLUMN(o, "site", m->tensor_count, TENSOR, index_or_null(t->site))
    COLUMN(o, "persistent", m->tensor_count, TENSOR, json_integer(t->persistent))
    COLUMN(o, "ordinal", m->tensor_count, TENSOR, index_or_null(t->ordinal))
    COLUMN(o, "alloc_before", m->tensor_count, TENSOR, json_integer(t->alloc_before))
    COLUMN(o, "free_after", m->tensor_count, TENSOR, json_integer(t->free_after))
    COLUMN(o, "uses", m->tensor_count, TENSOR, json_integer(t->use_count))
    COLUMN(o, "first_use", m->tensor_count, TENSOR, index_or_null(t->first_use))
    COLUMN(o, "last_use", m->tensor_count, TENSOR, index_or_null(t->last_use))
    COLUMN(o, "idle_ns", m->tensor_count, TENSOR, integer(t->longest_idle_ns))
    COLUMN(o, "idle_from", m->tensor_count, TENSOR, index_or_null(t->idle_from))
    COLUMN(o, "idle_to", m->tensor_count, TENSOR, index_or_null(t->idle_to))
    return o;
}

static json_t *iteration_of(const struct model *m)
{
    if (m->iteration_count == 0)
        return json_null();
    json_t *names = json_array(), *ops = ops_of(m, names);
    return json_pack("{s:i, s:o, s:i, s:b, s:b, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "shape",
                     (int)m->shape, "first_operation", integer(m->first_op), "operations", (int)m->iteration_count,
                     "sizes_change", m->sizes_change, "timed", m->timed, "time_ns", integer(m->iteration_ns), "compute_ns",
                     integer(m->compute_ns), "persistent_bytes", integer(m->persistent_bytes), "peak_bytes",
                     integer(m->peak_bytes), "peak_at", (int)m->peak_at, "phases", phases_of(m), "categories",
                     categories_of(m), "names", names, "short_names", short_names_of(names), "ops", ops, "touches",
                     touches_of(m), "tensors", tensors_of(m));
}

/* Only sites that have a tensor of the iteration; the others are null, so that indexes do not change. */
static json_t *sites_of(struct model *m)
{
    bool *used = calloc(m->site_count + 1, sizeof(*used));
    json_t *list = json_array();
    for (uint32_t i = 0; used && i < m->tensor_count; i++)
        if (m->tensors[i].site != MODEL_NONE)
            used[m->tensors[i].site] = true;
    for (uint32_t i = 0; used && i < m->site_count; i++) {
        json_t *stack = json_array();
        for (uint32_t k = 0; used[i] && k < m->sites[i].count; k++)
            json_array_append_new(stack, shown_string(model_frame_text(m, m->sites[i].frames[k])));
        json_array_append_new(list, used[i] ? json_pack("{s:o, s:o, s:o}", "name", shown_string(model_site_name(m, i)),
                                                        "text", shown_string(model_site_text(m, i)), "stack", stack)
                                            : json_null());
        if (!used[i])
            json_decref(stack);
    }
    free(used);
    return list;
}

json_t *report_json(struct model *m, double planning_s)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "format", "spillway-report/1", "run", run_of(m), "devices",
                     devices_of(m), "shapes", shapes_of(m), "iteration", iteration_of(m), "plan", report_plan(m, planning_s),
                     "not_replayed", report_refusals_json(m), "sites", sites_of(m));
}
