/* schedule_check.c - the checker judges timed events of model S as another checker did. */
#include "vectors.h"

#include <string.h>

#include "plan/check.h"

static struct spw_check check(const struct spw_graph *graph, json_t *list, uint64_t device_bytes, bool may_replay,
                              bool may_copy)
{
    const struct spw_check_rules rules = {.device_bytes = device_bytes,
                                          .host_bytes = UINT64_MAX,
                                          .may_replay = may_replay,
                                          .may_copy = may_copy,
                                          .model_s = true};
    uint8_t *start = calloc(graph->tensor_count + 1, 1);
    size_t count;
    struct spw_timed_step *events = vectors_events(list, &count);
    struct spw_check result;
    assert_non_null(start);
    assert_int_equal(spw_check_events(graph, start, events, count, &rules, &result), 0);
    free(events);
    free(start);
    return result;
}

/* Whether the verdicts agree; `ret_same` is set where the reasons do too. */
static void compare(const struct spw_check *result, json_t *one, size_t index, bool *ret_same)
{
    const bool is_valid = json_is_true(json_object_get(one, "valid"));
    const char *reason = json_string_value(json_object_get(one, "reason"));
    if (is_valid != (result->fault == SPW_FAULT_NONE))
        fail_msg("case %zu: expected %s, found %s at event %zu: %s", index, is_valid ? "none" : reason,
                 spw_fault_name(result->fault), result->event, result->message);
    *ret_same = is_valid || (reason && strcmp(reason, spw_fault_name(result->fault)) == 0);
    if (is_valid) {
        assert_true(result->time_us == vectors_number(one, "makespan"));
        assert_int_equal(result->peak_bytes, vectors_integer(one, "peak"));
    }
}

/* Where a case breaks several rules at one instant, either is the first: a few reasons may differ. */
void schedule_check_judges_as_the_vectors_say(void **state)
{
    json_t *vectors = vectors_load("schedule_check.json"), *chains = vectors_load("offload_chain.json"), *one;
    size_t index, differ = 0;
    json_array_foreach(json_object_get(vectors, "cases"), index, one)
    {
        const char *id = json_string_value(json_object_get(one, "instance"));
        struct spw_graph *graph = vectors_graph(vectors_with_id(json_object_get(chains, "instances"), id));
        const struct spw_check result =
            check(graph, json_object_get(one, "events"), (uint64_t)vectors_integer(one, "mem_limit"),
                  json_is_true(json_object_get(one, "recompute_allowed")), true);
        bool same;
        compare(&result, one, index, &same);
        differ += !same;
        spw_graph_destroy(graph);
    }
    assert_true(index > 0 && differ <= index / 20);
    json_decref(chains);
    json_decref(vectors);
}

void schedule_check_accepts_optimal_schedules(void **state)
{
    static const struct {
        const char *name;
        bool may_replay, may_copy;
    } modes[] = {{"offload", false, true}, {"recompute", true, false}, {"both", true, true}};
    json_t *chains = vectors_load("offload_chain.json"), *instance;
    size_t index, checked = 0;
    json_array_foreach(json_object_get(chains, "instances"), index, instance)
    {
        struct spw_graph *graph = vectors_graph(instance);
        const uint64_t limit = (uint64_t)vectors_integer(instance, "mem_limit");
        for (size_t mode = 0; mode < sizeof modes / sizeof modes[0]; mode++) {
            json_t *optimal = json_object_get(json_object_get(instance, "results"), modes[mode].name);
            if (!json_is_object(optimal))
                continue;
            const struct spw_check result =
                check(graph, json_object_get(optimal, "witness"), limit, modes[mode].may_replay, modes[mode].may_copy);
            if (result.fault != SPW_FAULT_NONE)
                fail_msg("instance %zu, %s: event %zu: %s", index, modes[mode].name, result.event, result.message);
            assert_true(result.time_us == vectors_number(optimal, "optimum"));
            assert_true(result.peak_bytes <= limit);
            checked++;
        }
        spw_graph_destroy(graph);
    }
    assert_true(checked > 0);
    json_decref(chains);
}
