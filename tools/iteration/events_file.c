/* events_file.c - reads and writes plans as JSON: which step begins when, for anyone to check. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "iteration_file.h"

/* ---- reading ---- */

struct reading {
    const struct json_text *text;
    const struct iteration *iteration;
    struct events *events;
    struct json_problem *problem;
};

static uint32_t tensor_of(const struct reading *r, const json_t *id)
{
    const bool possible = json_is_integer(id) && json_integer_value(id) >= 0;
    return possible ? iteration_tensor(r->iteration, (uint64_t)json_integer_value(id)) : SPW_NO_INDEX;
}

/* Reads the tensors that begin elsewhere than on the device alone; the field may be missing. */
static int take_start(struct reading *r, const char *field, enum spw_start where)
{
    const json_t *list = json_object_get(r->text->root, field);
    if (list && !json_is_array(list))
        return json_text_refuse(r->text, r->problem, field, "a list of ids of tensors");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const uint32_t tensor = tensor_of(r, json_array_get(list, i));
        char path[64];
        (void)snprintf(path, sizeof path, "%s[%zu]", field, i);
        if (tensor == SPW_NO_INDEX || !r->iteration->graph->tensors[tensor].persistent)
            return json_text_refuse(r->text, r->problem, path, "the id of a persistent tensor");
        if (r->events->start[tensor] != SPW_START_DEVICE)
            return json_text_refuse(r->text, r->problem, path, "each tensor once");
        r->events->start[tensor] = (uint8_t)where;
    }
    return 0;
}

static int take_event(struct reading *r, const json_t *event, size_t index, struct spw_timed_step *ret_step)
{
    const json_t *kind = json_array_get(event, 0), *id = json_array_get(event, 1), *start = json_array_get(event, 2);
    char path[64];
    (void)snprintf(path, sizeof path, "events[%zu]", index);
    if (json_array_size(event) != 3 || !json_is_string(kind) || !json_is_number(start))
        return json_text_refuse(r->text, r->problem, path, "a list of a kind, an id and the start in microseconds");
    ret_step->start_us = json_number_value(start);
    for (ret_step->kind = 0; ret_step->kind < SPW_STEP_KINDS; ret_step->kind++)
        if (strcmp(spw_step_name((enum spw_step_kind)ret_step->kind), json_string_value(kind)) == 0)
            break;
    if (ret_step->kind == SPW_STEP_KINDS)
        return json_text_refuse(r->text, r->problem, path, "one of the kinds op, replay, d2h, h2d, drop");
    if (ret_step->kind == SPW_STEP_OP || ret_step->kind == SPW_STEP_REPLAY) {
        if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) >= r->iteration->graph->op_count)
            return json_text_refuse(r->text, r->problem, path, "the index of an operation");
        ret_step->id = (uint32_t)json_integer_value(id);
        return 0;
    }
    ret_step->id = tensor_of(r, id);
    if (ret_step->id == SPW_NO_INDEX)
        return json_text_refuse(r->text, r->problem, path, "the id of a tensor that is there");
    return 0;
}

static int take_events(struct reading *r)
{
    const json_t *list = json_object_get(r->text->root, "events");
    if (!json_is_array(list))
        return json_text_refuse(r->text, r->problem, "events", "a list of events");
    r->events->steps = malloc((json_array_size(list) + 1) * sizeof *r->events->steps);
    if (!r->events->steps)
        return json_text_no_memory(r->text, r->problem);
    r->events->count = json_array_size(list);
    int e = 0;
    for (size_t i = 0; i < r->events->count && e == 0; i++)
        e = take_event(r, json_array_get(list, i), i, &r->events->steps[i]);
    return e;
}

int events_take(const struct json_text *text, const struct iteration *iteration, struct events *ret_events,
                struct json_problem *ret_problem)
{
    struct events events = {.start = calloc((size_t)iteration->graph->tensor_count + 1, 1)};
    struct reading r = {text, iteration, &events, ret_problem};
    if (!events.start)
        return json_text_no_memory(text, ret_problem);
    int e = take_start(&r, "initial_host", SPW_START_HOST);
    if (e == 0)
        e = take_start(&r, "initial_clean", SPW_START_CLEAN);
    if (e == 0)
        e = take_events(&r);
    if (e < 0)
        events_finish(&events);
    else
        *ret_events = events;
    return e;
}

void events_finish(struct events *events)
{
    free(events->start);
    free(events->steps);
    *events = (struct events){0};
}

/* ---- writing ---- */

static void write_start(const struct spw_graph *graph, const struct spw_schedule *schedule, const char *field,
                        enum spw_start where, FILE *to)
{
    const char *between = "";
    fprintf(to, "\"%s\": [", field);
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        if (schedule->start[i] == where) {
            fprintf(to, "%s%llu", between, (unsigned long long)graph->tensors[i].id);
            between = ", ";
        }
    fputs("]", to);
}

int events_write(const struct spw_graph *graph, const struct spw_schedule *schedule, const double *start_us, FILE *to)
{
    fputs("{", to);
    write_start(graph, schedule, "initial_host", SPW_START_HOST, to);
    fputs(", ", to);
    write_start(graph, schedule, "initial_clean", SPW_START_CLEAN, to);
    fputs(", \"events\": [", to);
    for (size_t i = 0; i < schedule->count; i++) {
        const struct spw_step *step = &schedule->steps[i];
        const bool op = step->kind == SPW_STEP_OP || step->kind == SPW_STEP_REPLAY;
        const uint64_t id = op ? step->id : graph->tensors[step->id].id;
        fprintf(to, "%s\n[\"%s\", %llu, %.17g]", i ? "," : "", spw_step_name((enum spw_step_kind)step->kind),
                (unsigned long long)id, start_us[i]);
    }
    fputs("\n]}\n", to);
    return fflush(to) != 0 || ferror(to) ? (errno ? -errno : -EIO) : 0;
}
