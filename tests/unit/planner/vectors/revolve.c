/* revolve.c - the numbers of revolve.json, and reversals that need just so many advances. */
#include <string.h>

#include "../reversal-machine.h"
#include "chains/revolve.h"
#include "vectors.h"

static void compare(json_t *cases, bool small)
{
    json_t *element;
    size_t index;
    json_array_foreach(cases, index, element)
    {
        const uint64_t steps = (uint64_t)vectors_integer(element, "l"), slots = (uint64_t)vectors_integer(element, "c");
        uint64_t advances = 0;
        assert_int_equal(spw_revolve_advances(steps, slots, &advances), 0);
        assert_int_equal(advances, vectors_integer(element, "advances"));
        assert_int_equal(spw_revolve_repetitions(steps, slots), vectors_integer(element, "r"));

        struct spw_reversal reversal = {0};
        assert_int_equal(spw_revolve_append(&reversal, 0, steps, slots), 0);
        const struct machine_sums sums = machine_run(&reversal, steps, &(struct machine_rules){.slots = {slots}});
        assert_int_equal(sums.advances, advances);
        assert_true(sums.most_repeated <= (uint64_t)vectors_integer(element, "r"));
        if (small) {
            assert_int_equal(sums.advances + steps, vectors_integer(element, "total_forward"));
            assert_true(sums.stores[0] <= (uint64_t)vectors_integer(element, "takeshots"));
        }
        spw_reversal_finish(&reversal);
    }
    assert_true(index > 0);
}

/* Chains of up to a million steps: the least number of advances, and a reversal that gets by with it. */
void revolve_advances_as_little_as_can_be(void **state)
{
    json_t *vectors = vectors_load("revolve.json");
    compare(json_object_get(vectors, "cases"), true);
    compare(json_object_get(vectors, "large"), false);
    json_decref(vectors);
}
