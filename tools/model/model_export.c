/* model_export.c - an iteration as a graph for the planner: operations with durations, tensors with lives. */
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "model_export.h"
#include "model_slabs.h"
#include "shown.h"

/* Tensors of the device only; `ids` has a tensor's id in the graph, or MODEL_NONE. */
static uint32_t number_tensors(const struct model *m, uint32_t device, uint32_t *ids)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->tensor_count; i++) {
        const struct model_tensor *t = &m->tensors[i];
        ids[i] = t->device == device && live_is_of_device(t->kind) && t->bytes ? n++ : MODEL_NONE;
    }
    return n;
}

/* Whether it comes from before the iteration. */
static bool is_there_first(const struct model_tensor *t)
{
    return t->persistent || t->ordinal == MODEL_NONE;
}

/* All zeroes where the trace says nothing of it. */
static struct spw_record_machine machine_of(const struct model *m, uint32_t device)
{
    for (uint32_t i = 0; i < m->device_count; i++)
        if (m->devices[i].ordinal == device)
            return m->devices[i].machine;
    return (struct spw_record_machine){0};
}

static json_t *tensors_of(struct model *m, const uint32_t *ids, uint64_t small_bytes)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < m->tensor_count; i++) {
        const struct model_tensor *t = &m->tensors[i];
        if (ids[i] == MODEL_NONE)
            continue;
        char name[64];
        snprintf(name, sizeof(name), "%s %llu", model_category_name(t->category), (unsigned long long)t->alloc);
        json_t *o = json_pack("{s:i, s:s, s:I, s:b}", "id", (int)ids[i], "name", name, "bytes", (json_int_t)t->bytes,
                              "persistent", t->persistent);
        if (!t->persistent) {
            json_object_set_new(o, "alloc_before", json_integer(t->alloc_before));
            json_object_set_new(o, "free_after", json_integer(t->free_after));
        }
        if (!t->persistent && is_there_first(t)) /* and it goes in this iteration */
            json_object_set_new(o, "initial", json_true());
        if (t->kind == SPW_ALLOC_MANAGED || t->kind == SPW_ALLOC_VMM || t->bytes < small_bytes)
            json_object_set_new(o, "evictable", json_false());
        json_array_append_new(list, o);
    }
    return list;
}

static double us_of(const struct model *m, uint32_t i)
{
    const struct model_op *op = &m->iteration[i];
    if (op->timed)
        return (double)op->share_ns / 1000.0;
    return 0;
}

/* As far as a run keeps names. */
static int by_kernel(const void *a, const void *b)
{
    enum { CUT = 239 };
    return strncmp(*(char *const *)a, *(char *const *)b, CUT);
}

/* For each function whether a run found out that launches of it are not to be run again. All of them are taken for refused
 * where some are: no plan promises what a run does not do. NULL: no memory. */
static bool *refused_functions(const struct model *m)
{
    const char **kernels = calloc(m->refusal_count + 1, sizeof(*kernels));
    bool *refused = kernels ? calloc(m->function_count + 1, sizeof(*refused)) : NULL;
    for (uint32_t i = 0; refused && i < m->refusal_count; i++)
        kernels[i] = m->refusals[i].kernel;
    if (refused)
        qsort(kernels, m->refusal_count, sizeof(*kernels), by_kernel);
    for (uint32_t i = 0; refused && i < m->function_count; i++)
        refused[i] = m->functions[i].name &&
                     bsearch(&m->functions[i].name, kernels, m->refusal_count, sizeof(*kernels), by_kernel) != NULL;
    free(kernels);
    return refused;
}

/* Whether it may be run again: a kernel that could be read and has no captured or unknown part, and of which nobody found
 * out that it may not. */
static bool replayable(const struct model_op *op, const bool *refused)
{
    return (op->kind == SPW_OP_LAUNCH || op->kind == SPW_OP_COPY_D2D || op->kind == SPW_OP_SET) && !op->everything &&
           !op->captured && (op->function == MODEL_NONE || !refused[op->function]);
}

/* The lists of one operation, and what the operations before it have left. */
struct lists {
    const uint32_t *ids;
    bool *written; /* tensors that hold something */
    json_t *reads, *writes;
};

/* What was in a tensor before it was first written means nothing: whoever touches it then, however, makes its content. */
static void list_touch(struct lists *lists, uint32_t tensor, uint32_t access)
{
    const uint32_t id = lists->ids[tensor];
    if (id == MODEL_NONE)
        return;
    const bool reads = (access & SPW_ACCESS_READ) && lists->written[tensor];
    if (reads)
        json_array_append_new(lists->reads, json_integer(id));
    if ((access & SPW_ACCESS_WRITE) || (access && !reads))
        json_array_append_new(lists->writes, json_integer(id));
    lists->written[tensor] |= access != 0;
}

static void list_touched(const struct model *m, const struct model_op *op, struct lists *lists)
{
    for (uint32_t k = 0; k < op->touch_count; k++)
        list_touch(lists, m->touches[op->first_touch + k].tensor, m->touches[op->first_touch + k].access);
}

/* What an operation may touch of which nothing is known: whatever is alive. */
static void list_alive(const struct model *m, uint32_t op, struct lists *lists)
{
    for (uint32_t i = 0; i < m->tensor_count; i++)
        if (m->tensors[i].alloc_before <= op && op <= m->tensors[i].free_after)
            list_touch(lists, i, SPW_ACCESS_READ | SPW_ACCESS_WRITE);
}

static json_t *ops_of(struct model *m, const uint32_t *ids)
{
    json_t *list = json_array();
    struct lists lists = {.ids = ids, .written = calloc(m->tensor_count + 1, sizeof(bool))};
    bool *refused = lists.written ? refused_functions(m) : NULL;
    for (uint32_t i = 0; refused && i < m->tensor_count; i++)
        lists.written[i] = is_there_first(&m->tensors[i]);
    for (uint32_t i = 0; refused && i < m->iteration_count; i++) {
        const struct model_op *op = &m->iteration[i];
        lists.reads = json_array();
        lists.writes = json_array();
        if (op->everything)
            list_alive(m, i, &lists);
        else
            list_touched(m, op, &lists);
        json_array_append_new(list, json_pack("{s:o, s:f, s:o, s:o, s:b}", "name", shown_string(model_op_name(m, op)), "us",
                                              us_of(m, i), "reads", lists.reads, "writes", lists.writes, "replayable",
                                              replayable(op, refused)));
    }
    free(refused);
    free(lists.written);
    return list;
}

static uint64_t persistent_bytes(const struct model *m, const uint32_t *ids)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < m->tensor_count; i++)
        if (ids[i] != MODEL_NONE && m->tensors[i].persistent)
            bytes += m->tensors[i].bytes;
    return bytes;
}

/* Most bytes alive at once on the device, counted at operations. Sizes of a damaged trace may be any number, so sums wrap.
 */
static uint64_t peak_bytes(const struct model *m, const uint32_t *ids)
{
    uint64_t *change = calloc(m->iteration_count + 1, sizeof(*change)), live = 0, peak = 0;
    for (uint32_t i = 0; change && i < m->tensor_count; i++) {
        if (ids[i] == MODEL_NONE)
            continue;
        change[m->tensors[i].alloc_before] += m->tensors[i].bytes;
        change[m->tensors[i].free_after + 1] -= m->tensors[i].bytes;
    }
    for (uint32_t i = 0; change && i < m->iteration_count; i++) {
        live += change[i];
        peak = live > peak ? live : peak;
    }
    free(change);
    return peak;
}

/* Bytes per microsecond of the copies in one direction, as measured in this iteration; 0 when none was. */
static double bandwidth(const struct model *m, enum spw_op_kind kind)
{
    uint64_t bytes = 0, ns = 0;
    for (uint32_t i = 0; i < m->iteration_count; i++) {
        const struct model_op *op = &m->iteration[i];
        if (op->kind == kind && op->timed && op->bytes >= 1 << 20) { /* short ones measure the latency */
            bytes += op->bytes;
            ns += op->duration_ns;
        }
    }
    return ns ? (double)bytes * 1000.0 / (double)ns : 0;
}

static json_t *machine_json(const struct model *m, const uint32_t *ids, const struct spw_record_machine *machine)
{
    return json_pack("{s:I, s:f, s:f, s:I}", "granule_bytes", (json_int_t)machine->granule_bytes, "duplex",
                     machine->duplex_ppm ? machine->duplex_ppm / 1e6 : 1.0, "move_us", (double)machine->move_ns / 1000,
                     "slab_bytes", (json_int_t)model_slab_bytes(m, ids, machine));
}

json_t *model_export(struct model *m, uint32_t device, const char *name)
{
    enum { ASSUMED = 25000 }; /* bytes per microsecond, PCIe 4 x16: where the iteration copies nothing large itself */
    if (m->iteration_count == 0)
        return NULL;
    uint32_t *ids = calloc(m->tensor_count + 1, sizeof(*ids));
    if (!ids)
        return NULL;
    number_tensors(m, device, ids);
    const struct spw_record_machine machine = machine_of(m, device);
    const bool is_known = machine.d2h_bytes_per_s && machine.h2d_bytes_per_s;
    const double out = is_known ? (double)machine.d2h_bytes_per_s / 1e6 : bandwidth(m, SPW_OP_COPY_D2H);
    const double in = is_known ? (double)machine.h2d_bytes_per_s / 1e6 : bandwidth(m, SPW_OP_COPY_H2D);
    double compute = 0;
    for (uint32_t i = 0; i < m->iteration_count; i++)
        compute += us_of(m, i);
    const char *profile = "unknown";
    for (uint32_t i = 0; i < m->device_count; i++)
        if (m->devices[i].ordinal == device && m->devices[i].name[0])
            profile = m->devices[i].name;
    json_t *graph = json_pack(
        "{s:s, s:o, s:o, s:{s:f, s:f}, s:b, s:o, s:I, s:I, s:f, s:o, s:o}", "format", "spillway-iteration/1", "name",
        shown_string(name), "profile", shown_string(profile), "copy_bytes_per_us", "d2h", out > 0 ? out : ASSUMED, "h2d",
        in > 0 ? in : ASSUMED, "copy_bytes_per_us_measured", out > 0 && in > 0, "machine", machine_json(m, ids, &machine),
        "persistent_bytes", (json_int_t)persistent_bytes(m, ids), "peak_bytes", (json_int_t)peak_bytes(m, ids), "compute_us",
        compute, "tensors", tensors_of(m, ids, machine.small_bytes), "ops", ops_of(m, ids));
    free(ids);
    return graph;
}
