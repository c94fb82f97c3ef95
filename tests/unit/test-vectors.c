/* test-vectors.c - the planner agrees with numbers that others computed: one file in vectors/ for each file of them. */
#include "vectors/vectors.h"

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* ---- async_revolve.c ---- */

        /* ---- bounds.c ---- */

        /* ---- dtr_linear.c ---- */

        /* ---- hetero_chain.c ---- */

        /* ---- hrevolve.c ---- */

        /* ---- instances.c ---- */
        cmocka_unit_test(instances_of_model_s_become_graphs),

        /* ---- offload_chain.c ---- */

        /* ---- revolve.c ---- */

        /* ---- schedule_check.c ---- */
        cmocka_unit_test(schedule_check_judges_as_the_vectors_say),
        cmocka_unit_test(schedule_check_accepts_optimal_schedules),
    };
    return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
