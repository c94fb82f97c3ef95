/* vectors.c - reads files of vectors, and makes graphs and events of what is in them. */
#include "vectors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

json_t *vectors_load(const char *file)
{
    const char *folder = getenv("VECTORS");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder && *folder ? folder : VECTORS_FOLDER, file);
    json_error_t error;
    json_t *object = json_load_file(path, 0, &error);
    if (!json_is_object(object))
        fail_msg("%s:%d: %s", path, error.line, object ? "not an object" : error.text);
    return object;
}

double vectors_number(json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value))
        fail_msg("\"%s\" is not a number", key);
    return json_number_value(value);
}

int64_t vectors_integer(json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value))
        fail_msg("\"%s\" is not an integer", key);
    return json_integer_value(value);
}

int64_t vectors_integer_at(json_t *array, size_t index)
{
    const json_t *value = json_array_get(array, index);
    if (!json_is_integer(value))
        fail_msg("element %zu is not an integer", index);
    return json_integer_value(value);
}

json_t *vectors_with_id(json_t *array, const char *id)
{
    size_t index;
    json_t *element;
    json_array_foreach(array, index,
                       element) if (strcmp(json_string_value(json_object_get(element, "id")), id) == 0) return element;
    fail_msg("there is no \"%s\"", id);
    return NULL;
}

/* ---- instances of model S ---- */

/* The copy time that the instance gives, or else what its bandwidth comes to. */
static double copy_time(json_t *instance, json_t *times, const char *bandwidth, size_t tensor, double bytes)
{
    if (times)
        return (double)vectors_integer_at(times, tensor);
    return ceil(bytes / vectors_number(instance, bandwidth));
}

static void add_tensors(json_t *instance, struct spw_graph *graph)
{
    json_t *tensors = json_object_get(instance, "tensors"), *size = json_object_get(tensors, "size");
    for (size_t i = 0; i < json_array_size(size); i++) {
        const int64_t bytes = vectors_integer_at(size, i);
        const struct spw_graph_tensor tensor = {
            .id = i,
            .bytes = (uint64_t)bytes,
            .d2h_us = copy_time(instance, json_object_get(tensors, "d2h"), "bw_d2h", i, (double)bytes),
            .h2d_us = copy_time(instance, json_object_get(tensors, "h2d"), "bw_h2d", i, (double)bytes),
            .evictable = vectors_integer_at(json_object_get(tensors, "evictable"), i) != 0,
            .initial = true,
        };
        assert_int_equal(spw_graph_add_tensor(graph, &tensor), 0);
    }
}

/* The list of tensors in `indices`, for free(); each has its last use at `op`, so far. */
static uint32_t *tensors_of(json_t *indices, struct spw_graph *graph, uint32_t op)
{
    uint32_t *list = malloc((json_array_size(indices) + 1) * sizeof *list);
    assert_non_null(list);
    for (size_t i = 0; i < json_array_size(indices); i++) {
        list[i] = (uint32_t)vectors_integer_at(indices, i);
        assert_in_range(list[i], 0, graph->tensor_count - 1);
        graph->tensors[list[i]].free_after = op;
    }
    return list;
}

static void add_ops(json_t *instance, struct spw_graph *graph)
{
    json_t *ops = json_object_get(instance, "ops"), *duration = json_object_get(ops, "dur");
    for (uint32_t i = 0; i < json_array_size(duration); i++) {
        json_t *reads = json_array_get(json_object_get(ops, "reads"), i);
        json_t *writes = json_array_get(json_object_get(ops, "writes"), i);
        const struct spw_graph_op op = {
            .us = (double)vectors_integer_at(duration, i),
            .replayable = vectors_integer_at(json_object_get(ops, "replayable"), i) != 0,
        };
        uint32_t *read = tensors_of(reads, graph, i), *written = tensors_of(writes, graph, i);
        for (size_t w = 0; w < json_array_size(writes); w++) {
            graph->tensors[written[w]].initial = false;
            graph->tensors[written[w]].alloc_before = i;
        }
        assert_int_equal(
            spw_graph_add_op(graph, &op, read, (uint32_t)json_array_size(reads), written, (uint32_t)json_array_size(writes)),
            0);
        free(read);
        free(written);
    }
}

struct spw_graph *vectors_graph(json_t *instance)
{
    struct spw_graph *graph;
    assert_int_equal(spw_graph_create(vectors_number(instance, "bw_d2h"), vectors_number(instance, "bw_h2d"), &graph), 0);
    add_tensors(instance, graph);
    add_ops(instance, graph);
    struct spw_graph_problem problem;
    if (spw_graph_finish(graph, &problem) != 0)
        fail_msg("%s: expected %s", problem.path, problem.expected);
    return graph;
}

/* ---- events ---- */

static uint32_t kind_of(const char *name)
{
    for (uint32_t kind = 0; kind < SPW_STEP_KINDS; kind++)
        if (name && strcmp(name, spw_step_name(kind)) == 0)
            return kind;
    fail_msg("there are no events of the kind \"%s\"", name ? name : "");
    return SPW_STEP_KINDS;
}

struct spw_timed_step *vectors_events(json_t *list, size_t *ret_count)
{
    const size_t count = json_array_size(list);
    struct spw_timed_step *events = malloc((count + 1) * sizeof *events);
    assert_non_null(events);
    for (size_t i = 0; i < count; i++) {
        json_t *event = json_array_get(list, i);
        events[i].kind = kind_of(json_string_value(json_array_get(event, 0)));
        events[i].id = (uint32_t)vectors_integer_at(event, 1);
        events[i].start_us = json_number_value(json_array_get(event, 2));
    }
    *ret_count = count;
    return events;
}
