/* iteration_file.c - converts JSON to a graph: checks types, ranges and ids; the graph checks their meaning. */
#include "iteration_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const struct json_text *text;
    struct json_problem *problem;
    struct iteration *iteration;
};

/* ---- one field of an object at `path`; returns 0, or what json_text_refuse() returns ---- */

static int refuse_field(struct reading *r, const char *path, const char *field, const char *expected)
{
    char whole[96];
    (void)snprintf(whole, sizeof whole, "%s%s%s", path, *path ? "." : "", field);
    return json_text_refuse(r->text, r->problem, whole, "%s", expected);
}

static int take_text(struct reading *r, const json_t *object, const char *path, const char *field, const char **ret_value)
{
    const json_t *value = json_object_get(object, field);
    if (value && !json_is_string(value))
        return refuse_field(r, path, field, "a text");
    *ret_value = value ? json_string_value(value) : NULL;
    return 0;
}

static int take_bool(struct reading *r, const json_t *object, const char *path, const char *field, bool *value)
{
    const json_t *found = json_object_get(object, field);
    if (found && !json_is_boolean(found))
        return refuse_field(r, path, field, "true or false");
    if (found)
        *value = json_is_true(found);
    return 0;
}

/* Reads a whole number from 0 to `most`. */
static int take_count(struct reading *r, const json_t *object, const char *path, const char *field, uint64_t most,
                      const char *expected, uint64_t *ret_value)
{
    const json_t *value = json_object_get(object, field);
    if (!json_is_integer(value) || json_integer_value(value) < 0 || (uint64_t)json_integer_value(value) > most)
        return refuse_field(r, path, field, expected);
    *ret_value = (uint64_t)json_integer_value(value);
    return 0;
}

static int take_us(struct reading *r, const json_t *object, const char *path, const char *field, double *value)
{
    const json_t *found = json_object_get(object, field);
    if (!json_is_number(found) || json_number_value(found) < 0)
        return refuse_field(r, path, field, "a number of microseconds, not negative");
    *value = json_number_value(found);
    return 0;
}

/* ---- tensors ---- */

static int take_life(struct reading *r, const json_t *object, const char *path, struct spw_graph_tensor *tensor)
{
    uint64_t first = 0, last = 0;
    int e = take_count(r, object, path, "alloc_before", UINT32_MAX - 1, "the index of an operation, or \"persistent\": true",
                       &first);
    if (e == 0)
        e = take_count(r, object, path, "free_after", UINT32_MAX - 1, "the index of an operation", &last);
    if (e < 0)
        return e;
    tensor->alloc_before = (uint32_t)first;
    tensor->free_after = (uint32_t)last;
    return 0;
}

static int take_tensor(struct reading *r, const json_t *object, uint32_t index)
{
    struct spw_graph_tensor tensor = {.d2h_us = -1, .h2d_us = -1, .evictable = true};
    char path[32];
    (void)snprintf(path, sizeof path, "tensors[%u]", index);
    if (!json_is_object(object))
        return json_text_refuse(r->text, r->problem, path, "an object: a tensor");
    int e =
        take_count(r, object, path, "id", INT64_MAX, "a whole number that no other tensor has, not negative", &tensor.id);
    if (e == 0)
        e = take_text(r, object, path, "name", &tensor.name);
    if (e == 0)
        e = take_count(r, object, path, "bytes", INT64_MAX, "a whole number of bytes, not negative", &tensor.bytes);
    if (e == 0)
        e = take_bool(r, object, path, "persistent", &tensor.persistent);
    if (e == 0)
        e = take_bool(r, object, path, "initial", &tensor.initial);
    if (e == 0)
        e = take_bool(r, object, path, "evictable", &tensor.evictable);
    if (e == 0)
        e = take_bool(r, object, path, "copied_alone", &tensor.copied_alone);
    if (e == 0 && json_object_get(object, "d2h_us"))
        e = take_us(r, object, path, "d2h_us", &tensor.d2h_us);
    if (e == 0 && json_object_get(object, "h2d_us"))
        e = take_us(r, object, path, "h2d_us", &tensor.h2d_us);
    if (e == 0 && !tensor.persistent)
        e = take_life(r, object, path, &tensor);
    if (e == 0 && spw_graph_add_tensor(r->iteration->graph, &tensor) < 0)
        e = json_text_no_memory(r->text, r->problem);
    return e;
}

static int by_id(const void *a, const void *b)
{
    const struct iteration_id *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int sort_ids(struct reading *r)
{
    const struct spw_graph *graph = r->iteration->graph;
    struct iteration_id *ids = malloc(((size_t)graph->tensor_count + 1) * sizeof *ids);
    if (!ids)
        return json_text_no_memory(r->text, r->problem);
    r->iteration->ids = ids;
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        ids[i] = (struct iteration_id){graph->tensors[i].id, i};
    qsort(ids, graph->tensor_count, sizeof *ids, by_id);
    for (uint32_t i = 1; i < graph->tensor_count; i++)
        if (ids[i].id == ids[i - 1].id) {
            char path[32];
            (void)snprintf(path, sizeof path, "tensors[%u].id", ids[i].index);
            return json_text_refuse(r->text, r->problem, path, "an id that no other tensor has: tensors[%u] is %llu too",
                                    ids[i - 1].index, (unsigned long long)ids[i].id);
        }
    return 0;
}

uint32_t iteration_tensor(const struct iteration *iteration, uint64_t id)
{
    const struct iteration_id *ids = iteration->ids;
    uint32_t low = 0, high = iteration->graph->tensor_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (ids[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < iteration->graph->tensor_count && ids[low].id == id ? ids[low].index : SPW_NO_INDEX;
}

/* ---- operations ---- */

/* Reads a list of ids and returns indices, which the caller frees. */
static int take_ids(struct reading *r, const json_t *object, const char *path, const char *field, uint32_t **ret_indices,
                    uint32_t *ret_count)
{
    const json_t *list = json_object_get(object, field);
    if (!json_is_array(list))
        return refuse_field(r, path, field, "a list of ids of tensors");
    uint32_t *indices = malloc((json_array_size(list) + 1) * sizeof *indices), count = 0;
    if (!indices)
        return json_text_no_memory(r->text, r->problem);
    for (; count < json_array_size(list); count++) {
        const json_t *id = json_array_get(list, count);
        const bool possible = json_is_integer(id) && json_integer_value(id) >= 0;
        indices[count] = possible ? iteration_tensor(r->iteration, (uint64_t)json_integer_value(id)) : SPW_NO_INDEX;
        if (indices[count] == SPW_NO_INDEX) {
            char place[96];
            (void)snprintf(place, sizeof place, "%s.%s[%u]", path, field, count);
            free(indices);
            return json_text_refuse(r->text, r->problem, place, "the id of a tensor that is there");
        }
    }
    *ret_indices = indices;
    *ret_count = count;
    return 0;
}

/* Appends the tensors that the operation only holds to those that it reads. */
static int take_holds(struct reading *r, const json_t *object, const char *path, struct spw_graph_op *op, uint32_t **reads,
                      uint32_t *read_count)
{
    uint32_t *holds = NULL;
    if (!json_object_get(object, "holds"))
        return 0;
    int e = take_ids(r, object, path, "holds", &holds, &op->held_count);
    uint32_t *all = e == 0 ? malloc(((size_t)*read_count + op->held_count + 1) * sizeof *all) : NULL;
    if (e == 0 && !all)
        e = json_text_no_memory(r->text, r->problem);
    for (uint32_t i = 0; all && i < *read_count; i++)
        all[i] = (*reads)[i];
    for (uint32_t i = 0; all && holds && i < op->held_count; i++)
        all[(*read_count)++] = holds[i];
    free(holds);
    if (all) {
        free(*reads);
        *reads = all;
    }
    return e;
}

static int take_op(struct reading *r, const json_t *object, uint32_t index)
{
    struct spw_graph_op op = {.replayable = false};
    uint32_t *reads = NULL, *writes = NULL, read_count = 0, write_count = 0;
    char path[32];
    (void)snprintf(path, sizeof path, "ops[%u]", index);
    if (!json_is_object(object))
        return json_text_refuse(r->text, r->problem, path, "an object: an operation");
    int e = take_text(r, object, path, "name", &op.name);
    if (e == 0)
        e = take_us(r, object, path, "us", &op.us);
    if (e == 0)
        e = take_bool(r, object, path, "replayable", &op.replayable);
    if (e == 0)
        e = take_ids(r, object, path, "reads", &reads, &read_count);
    if (e == 0)
        e = take_holds(r, object, path, &op, &reads, &read_count);
    if (e == 0)
        e = take_ids(r, object, path, "writes", &writes, &write_count);
    if (e == 0 && spw_graph_add_op(r->iteration->graph, &op, reads, read_count, writes, write_count) < 0)
        e = json_text_no_memory(r->text, r->problem);
    free(reads);
    free(writes);
    return e;
}

/* ---- the whole ---- */

static int take_list(struct reading *r, const char *field, int (*take)(struct reading *, const json_t *, uint32_t))
{
    const json_t *list = json_object_get(r->text->root, field);
    if (!json_is_array(list) || json_array_size(list) > UINT32_MAX / 4)
        return json_text_refuse(r->text, r->problem, field, "a list of %s", field[0] == 'o' ? "operations" : field);
    int e = 0;
    for (uint32_t i = 0; i < json_array_size(list) && e == 0; i++)
        e = take(r, json_array_get(list, i), i);
    return e;
}

static int take_bandwidth(struct reading *r, const json_t *object, const char *field, double *ret_value)
{
    const json_t *value = json_object_get(object, field);
    if (!json_is_number(value) || !(json_number_value(value) > 0))
        return refuse_field(r, "copy_bytes_per_us", field, "a number of bytes per microsecond, above 0");
    *ret_value = json_number_value(value);
    return 0;
}

static int take_machine(struct reading *r)
{
    const json_t *object = json_object_get(r->text->root, "machine");
    struct iteration_machine *m = &r->iteration->machine;
    m->duplex = 1;
    if (!object)
        return 0;
    if (!json_is_object(object))
        return json_text_refuse(r->text, r->problem, "machine", "an object");
    const json_t *granule = json_object_get(object, "granule_bytes"), *duplex = json_object_get(object, "duplex"),
                 *move = json_object_get(object, "move_us"), *slabs = json_object_get(object, "slab_bytes");
    if (granule && !(json_is_integer(granule) && json_integer_value(granule) >= 0 && json_integer_value(granule) <= 1 << 30))
        return refuse_field(r, "machine", "granule_bytes", "a whole number of bytes from 0 to 1073741824");
    if (duplex && !(json_is_number(duplex) && json_number_value(duplex) > 0 && json_number_value(duplex) <= 1))
        return refuse_field(r, "machine", "duplex", "a share above 0, and 1 at most");
    if (move && !(json_is_number(move) && json_number_value(move) >= 0 && json_number_value(move) <= 1e6))
        return refuse_field(r, "machine", "move_us", "microseconds from 0 to 1000000");
    if (slabs && !(json_is_integer(slabs) && json_integer_value(slabs) >= 0))
        return refuse_field(r, "machine", "slab_bytes", "a whole number of bytes, not negative");
    m->granule_bytes = granule ? (uint64_t)json_integer_value(granule) : 0;
    m->duplex = duplex ? json_number_value(duplex) : 1;
    m->move_us = move ? json_number_value(move) : 0;
    m->slab_bytes = slabs ? (uint64_t)json_integer_value(slabs) : 0;
    return 0;
}

static int take_head(struct reading *r)
{
    static const char *const sums[] = {"persistent_bytes", "peak_bytes", "compute_us"};
    const json_t *root = r->text->root, *copies = json_object_get(root, "copy_bytes_per_us");
    const char *format = NULL;
    double d2h = 0, h2d = 0;
    int e = take_text(r, root, "", "format", &format);
    if (e == 0 && (!format || strcmp(format, ITERATION_FORMAT) != 0))
        e = json_text_refuse(r->text, r->problem, "format", "\"" ITERATION_FORMAT "\"");
    if (e == 0)
        e = take_text(r, root, "", "name", &r->iteration->name);
    if (e == 0)
        e = take_text(r, root, "", "profile", &r->iteration->profile);
    for (size_t i = 0; i < sizeof sums / sizeof sums[0] && e == 0; i++) /* they follow from the rest and may be missing */
        if (json_object_get(root, sums[i]) && !json_is_number(json_object_get(root, sums[i])))
            e = json_text_refuse(r->text, r->problem, sums[i], "a number");
    if (e == 0 && !json_is_object(copies))
        e = json_text_refuse(r->text, r->problem, "copy_bytes_per_us", "an object with d2h and h2d");
    if (e == 0)
        e = take_bandwidth(r, copies, "d2h", &d2h);
    if (e == 0)
        e = take_bandwidth(r, copies, "h2d", &h2d);
    if (e == 0)
        e = take_machine(r);
    if (e == 0 && spw_graph_create(d2h, h2d, &r->iteration->graph) < 0)
        e = json_text_no_memory(r->text, r->problem);
    return e;
}

static int finish_graph(struct reading *r)
{
    struct spw_graph_problem problem;
    const int e = spw_graph_finish(r->iteration->graph, &problem);
    if (e == -EINVAL)
        return json_text_refuse(r->text, r->problem, problem.path, "%s", problem.expected);
    return e < 0 ? json_text_no_memory(r->text, r->problem) : 0;
}

int iteration_take(struct json_text *text, struct iteration *ret_iteration, struct json_problem *ret_problem)
{
    struct iteration iteration = {.text = *text};
    struct reading r = {&iteration.text, ret_problem, &iteration};
    *text = (struct json_text){0};
    int e = take_head(&r);
    if (e == 0)
        e = take_list(&r, "tensors", take_tensor);
    if (e == 0)
        e = sort_ids(&r);
    if (e == 0)
        e = take_list(&r, "ops", take_op);
    if (e == 0)
        e = finish_graph(&r);
    if (e < 0) {
        iteration_finish(&iteration);
        return e;
    }
    iteration.name = iteration.name ? iteration.name : "";
    iteration.profile = iteration.profile ? iteration.profile : "";
    *ret_iteration = iteration;
    return 0;
}

void iteration_finish(struct iteration *iteration)
{
    spw_graph_destroy(iteration->graph);
    free(iteration->ids);
    json_text_finish(&iteration->text);
    *iteration = (struct iteration){0};
}
