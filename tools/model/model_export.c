/* model_export.c - exports an iteration as a graph for the planner: operations with durations, tensors with lifetimes. */
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "model_course.h"
#include "model_export.h"
#include "model_slabs.h"
#include "shown.h"

/* Returns all zeroes if the trace does not contain it. */
static struct spw_record_machine machine_of(const struct model *m, uint32_t device)
{
    for (uint32_t i = 0; i < m->device_count; i++)
        if (m->devices[i].ordinal == device)
            return m->devices[i].machine;
    return (struct spw_record_machine){0};
}

static json_t *tensors_of(const struct model *m, const struct model_course *course)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < course->graph->tensor_count; i++) {
        const struct spw_graph_tensor *g = &course->graph->tensors[i];
        const struct model_tensor *t = &m->tensors[course->tensor_of[i]];
        char name[64];
        snprintf(name, sizeof(name), "%s %llu", model_category_name(t->category), (unsigned long long)t->alloc);
        json_t *o = json_pack("{s:i, s:s, s:I, s:b}", "id", (int)i, "name", name, "bytes", (json_int_t)t->bytes,
                              "persistent", g->persistent);
        if (!g->persistent) {
            json_object_set_new(o, "alloc_before", json_integer(g->alloc_before));
            json_object_set_new(o, "free_after", json_integer(g->free_after));
        }
        if (g->initial)
            json_object_set_new(o, "initial", json_true());
        if (!g->evictable)
            json_object_set_new(o, "evictable", json_false());
        if (g->copied_alone)
            json_object_set_new(o, "copied_alone", json_true());
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

/* Compares names as far as a run keeps them. */
static int by_kernel(const void *a, const void *b)
{
    enum { CUT = 239 };
    return strncmp(*(char *const *)a, *(char *const *)b, CUT);
}

/* For each function, whether a run found that launches of it cannot be replayed. If some launches of a function were
 * refused, all of them count as refused, so that no plan promises what a run does not do. Returns NULL without memory. */
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

/* Returns true if the operation may be replayed: its touches are known, it is not captured, and no run found that it
 * cannot be. */
static bool replayable(const struct model_op *op, const bool *refused)
{
    return (op->kind == SPW_OP_LAUNCH || op->kind == SPW_OP_COPY_D2D || op->kind == SPW_OP_SET) && !op->everything &&
           !op->captured && (op->function == MODEL_NONE || !refused[op->function]);
}

static json_t *ids_of(const struct spw_graph *graph, uint32_t first, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(graph->touched[first + i].tensor));
    return list;
}

static json_t *ops_of(struct model *m, const struct spw_graph *graph)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < graph->op_count; i++) {
        const struct spw_graph_op *op = &graph->ops[i];
        json_t *o = json_pack("{s:o, s:f, s:o, s:o, s:b}", "name", shown_string(model_op_name(m, &m->iteration[i])), "us",
                              us_of(m, i), "reads", ids_of(graph, op->first_read, op->read_count - op->held_count), "writes",
                              ids_of(graph, op->first_write, op->write_count), "replayable", op->replayable);
        if (op->held_count)
            json_object_set_new(o, "holds", ids_of(graph, op->first_write - op->held_count, op->held_count));
        json_array_append_new(list, o);
    }
    return list;
}

static uint64_t persistent_bytes(const struct model *m, const bool *is_there)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < m->tensor_count; i++)
        if (is_there[i] && m->tensors[i].persistent)
            bytes += m->tensors[i].bytes;
    return bytes;
}

/* Returns the most bytes alive at once on the device, counted at operations. Sizes in a damaged trace may be any number,
 * so sums wrap. */
static uint64_t peak_bytes(const struct model *m, const bool *is_there)
{
    uint64_t *change = calloc(m->iteration_count + 1, sizeof(*change)), live = 0, peak = 0;
    for (uint32_t i = 0; change && i < m->tensor_count; i++) {
        if (!is_there[i])
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

/* Returns the bytes per microsecond of the copies in one direction, as measured in this iteration; 0 if there were none. */
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

/* Returns what the slabs of small allocations take beyond the allocations that the graph contains. */
static uint64_t slab_bytes(const struct model *m, const bool *is_there, const struct model_course *course,
                           const struct spw_record_machine *machine)
{
    uint64_t all = model_slab_bytes(m, is_there, machine), known = 0;
    for (uint32_t i = 0; i < course->graph->tensor_count; i++) {
        const uint64_t bytes = m->tensors[course->tensor_of[i]].bytes;
        known += bytes < machine->small_bytes ? bytes : 0;
    }
    return all > known ? all - known : 0;
}

static json_t *machine_json(const struct spw_record_machine *machine, uint64_t slab_bytes)
{
    return json_pack("{s:I, s:f, s:f, s:I}", "granule_bytes", (json_int_t)machine->granule_bytes, "duplex",
                     machine->duplex_ppm ? machine->duplex_ppm / 1e6 : 1.0, "move_us", (double)machine->move_ns / 1000,
                     "slab_bytes", (json_int_t)slab_bytes);
}

static const char *profile_of(const struct model *m, uint32_t device)
{
    const char *profile = "unknown";
    for (uint32_t i = 0; i < m->device_count; i++)
        if (m->devices[i].ordinal == device && m->devices[i].name[0])
            profile = m->devices[i].name;
    return profile;
}

/* Exports with two lists that it fills: by tensor and by operation. */
static json_t *export_with(struct model *m, uint32_t device, const char *name, bool *is_there, bool *replays,
                           struct spw_graph_problem *ret_problem)
{
    /* Bytes per microsecond of PCIe 4 x16, if the iteration copies nothing large itself. */
    enum { ASSUMED = 25000 };
    const struct spw_record_machine machine = machine_of(m, device);
    const bool is_known = machine.d2h_bytes_per_s && machine.h2d_bytes_per_s;
    const double out = is_known ? (double)machine.d2h_bytes_per_s / 1e6 : bandwidth(m, SPW_OP_COPY_D2H);
    const double in = is_known ? (double)machine.h2d_bytes_per_s / 1e6 : bandwidth(m, SPW_OP_COPY_H2D);
    const struct model_course_terms terms = {machine.small_bytes, out > 0 ? out : ASSUMED, in > 0 ? in : ASSUMED, is_there,
                                             replays};
    struct model_course course;
    double compute = 0;
    bool *refused = refused_functions(m);
    for (uint32_t i = 0; refused && i < m->iteration_count; i++) {
        compute += us_of(m, i);
        replays[i] = replayable(&m->iteration[i], refused);
    }
    free(refused);
    if (!refused)
        return NULL;
    for (uint32_t i = 0; i < m->tensor_count; i++)
        is_there[i] = m->tensors[i].device == device && live_is_of_device(m->tensors[i].kind) && m->tensors[i].bytes;
    if (model_course_make(m, &terms, &course, ret_problem) < 0)
        return NULL;
    json_t *graph =
        json_pack("{s:s, s:o, s:o, s:{s:f, s:f}, s:b, s:o, s:I, s:I, s:f, s:o, s:o}", "format", "spillway-iteration/1",
                  "name", shown_string(name), "profile", shown_string(profile_of(m, device)), "copy_bytes_per_us", "d2h",
                  terms.d2h_bytes_per_us, "h2d", terms.h2d_bytes_per_us, "copy_bytes_per_us_measured", out > 0 && in > 0,
                  "machine", machine_json(&machine, slab_bytes(m, is_there, &course, &machine)), "persistent_bytes",
                  (json_int_t)persistent_bytes(m, is_there), "peak_bytes", (json_int_t)peak_bytes(m, is_there), "compute_us",
                  compute, "tensors", tensors_of(m, &course), "ops", ops_of(m, course.graph));
    model_course_finish(&course);
    return graph;
}

json_t *model_export(struct model *m, uint32_t device, const char *name, struct spw_graph_problem *ret_problem)
{
    *ret_problem = (struct spw_graph_problem){"", ""};
    bool *is_there = calloc(m->tensor_count + 1, sizeof(*is_there)),
         *replays = calloc(m->iteration_count + 1, sizeof(*replays));
    json_t *graph =
        m->iteration_count && is_there && replays ? export_with(m, device, name, is_there, replays, ret_problem) : NULL;
    free(is_there);
    free(replays);
    return graph;
}
