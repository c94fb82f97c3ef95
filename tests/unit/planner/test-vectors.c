/* test-vectors.c - the planner agrees with numbers that others computed: one file in vectors/ for each file of them. */
#include "vectors/vectors.h"

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* ---- async_revolve.c ---- */
        cmocka_unit_test(async_revolve_takes_as_long_as_its_model_says),

        /* ---- bounds.c ---- */
        cmocka_unit_test(the_cut_bound_is_at_least_the_one_computed),
        cmocka_unit_test(no_bound_exceeds_an_optimum),

        /* ---- dtr_linear.c ---- */
        cmocka_unit_test(dtr_replays_on_chains_as_often_as_its_authors_do),

        /* ---- hetero_chain.c ---- */
        cmocka_unit_test(rotor_finds_the_persistent_optimum),

        /* ---- hrevolve.c ---- */
        cmocka_unit_test(hrevolve_costs_what_the_best_of_all_schedules_does),
        cmocka_unit_test(a_disk_of_any_size_is_used_as_well_as_can_be),

        /* ---- instances.c ---- */
        cmocka_unit_test(instances_of_model_s_become_graphs),

        /* ---- offload.c ---- */
        cmocka_unit_test(the_fluid_relaxation_is_a_bound_for_offloading),
        cmocka_unit_test(offload_comes_near_the_optimum),

        /* ---- offload_chain.c ---- */
        cmocka_unit_test(the_default_planner_comes_close_to_the_optimum_by_copies),
        cmocka_unit_test(the_default_planner_comes_close_to_the_optimum_by_replays),
        cmocka_unit_test(the_default_planner_comes_close_to_the_optimum_by_both),

        /* ---- revolve.c ---- */
        cmocka_unit_test(revolve_advances_as_little_as_can_be),

        /* ---- schedule_check.c ---- */
        cmocka_unit_test(schedule_check_judges_as_the_vectors_say),
        cmocka_unit_test(schedule_check_accepts_optimal_schedules),
    };
    return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
