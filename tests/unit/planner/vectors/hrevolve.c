/* hrevolve.c - the optima of hrevolve.json, and reversals that cost just so much. */
#include <string.h>

#include "../reversal-machine.h"
#include "chains/hrevolve.h"
#include "vectors.h"

/* The tables' cost, which the actions are shown to have. */
static double cost_of(json_t *element, const struct spw_hrevolve_level levels[2], const struct machine_rules *rules)
{
    const uint32_t steps = (uint32_t)vectors_integer(element, "l") + 1;
    struct spw_hrevolve *tables;
    struct spw_reversal reversal = {0};
    assert_int_equal(spw_hrevolve_create(steps, levels, 2, rules->forward, rules->backward, &tables), 0);
    const double cost = spw_hrevolve_cost(tables, steps);
    assert_int_equal(spw_hrevolve_append(tables, steps, &reversal), 0);
    const struct machine_sums sums = machine_run(&reversal, steps, rules);
    assert_true(sums.time == cost);
    if (levels[1].one_read)
        assert_true(sums.restores[1] <= sums.stores[1]);
    spw_reversal_finish(&reversal);
    spw_hrevolve_destroy(tables);
    return cost;
}

static double with_two_levels(json_t *element)
{
    const struct spw_hrevolve_level levels[2] = {
        {(uint32_t)vectors_integer(element, "c0"), vectors_number(element, "w0"), vectors_number(element, "r0"), false},
        {(uint32_t)vectors_integer(element, "c1"), vectors_number(element, "w1"), vectors_number(element, "r1"), false}};
    const struct machine_rules rules = {.slots = {levels[0].slots, levels[1].slots},
                                        .write = {levels[0].write, levels[1].write},
                                        .read = {levels[0].read, levels[1].read},
                                        .forward = vectors_number(element, "uf"),
                                        .backward = vectors_number(element, "ub")};
    return cost_of(element, levels, &rules);
}

static double with_a_disk(json_t *element, bool one_read)
{
    const struct spw_hrevolve_level levels[2] = {
        {.slots = (uint32_t)vectors_integer(element, "c0")},
        {SPW_SLOTS_UNLIMITED, vectors_number(element, "w1"), vectors_number(element, "r1"), one_read}};
    const struct machine_rules rules = {.slots = {levels[0].slots, UINT64_MAX},
                                        .write = {0, levels[1].write},
                                        .read = {0, levels[1].read},
                                        .forward = vectors_number(element, "uf"),
                                        .backward = vectors_number(element, "ub")};
    return cost_of(element, levels, &rules);
}

/* Where the optimum over all schedules was not computed, the published program is not beaten by more than it may be. */
void hrevolve_costs_what_the_best_of_all_schedules_does(void **state)
{
    json_t *vectors = vectors_load("hrevolve.json"), *element;
    size_t index;
    json_array_foreach(json_object_get(vectors, "cases"), index, element)
    {
        const double cost = with_two_levels(element);
        const bool free_of_charge = vectors_integer(element, "w0") == 0 && vectors_integer(element, "r0") == 0;
        if (json_is_number(json_object_get(element, "exact")))
            assert_true(cost == vectors_number(element, "exact"));
        else if (free_of_charge)
            assert_true(cost == vectors_number(element, "hrevolve"));
        assert_true(cost <= vectors_number(element, "hrevolve"));
    }
    assert_true(index > 0);
    json_decref(vectors);
}

void a_disk_of_any_size_is_used_as_well_as_can_be(void **state)
{
    json_t *vectors = vectors_load("hrevolve.json"), *element;
    size_t index;
    json_array_foreach(json_object_get(vectors, "disk"), index, element)
    {
        const double cost = with_a_disk(element, false);
        assert_true(cost == vectors_number(element, "disk_revolve"));
        if (json_is_number(json_object_get(element, "exact")))
            assert_true(cost == vectors_number(element, "exact"));
        assert_true(with_a_disk(element, true) == vectors_number(element, "one_read"));
    }
    assert_true(index > 0);
    json_decref(vectors);
}
