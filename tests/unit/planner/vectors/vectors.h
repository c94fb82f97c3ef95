/* vectors.h - the tests of test-vectors, one file for each file of vectors, and what they share.
 *
 * The vectors are the committed copies in tests/vectors, whose README says what they mean, or files of the same names and
 * form in the folder that the environment variable VECTORS names. */
#ifndef SPILLWAY_TESTS_UNIT_VECTORS_H
#define SPILLWAY_TESTS_UNIT_VECTORS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <jansson.h>

#include "plan/graph.h"
#include "plan/schedule.h"

/* The object in a file of the folder ("revolve.json"); the test fails where it can't be read. For json_decref(). */
json_t *vectors_load(const char *file);

/* A number of an object, or of an array; the test fails where there is none. */
int64_t vectors_integer(json_t *object, const char *key);
double vectors_number(json_t *object, const char *key);
int64_t vectors_integer_at(json_t *array, size_t index);

/* A finished graph of an instance of model S (offload_chain.json, bounds.json); indices are the instance's, one unit of time
 * is a microsecond, one of memory a byte. For spw_graph_destroy(). */
struct spw_graph *vectors_graph(json_t *instance);

/* A list of events, [[kind, id, start], ...]; for free(). */
struct spw_timed_step *vectors_events(json_t *list, size_t *ret_count);

/* The element of an array of objects whose "id" is that one; the test fails where there is none. Borrowed. */
json_t *vectors_with_id(json_t *array, const char *id);

/* ---- async_revolve.c ---- */
void async_revolve_takes_as_long_as_its_model_says(void **state);

/* ---- bounds.c ---- */
void the_cut_bound_is_at_least_the_one_computed(void **state);
void no_bound_exceeds_an_optimum(void **state);

/* ---- dtr_linear.c ---- */
void dtr_replays_on_chains_as_often_as_its_authors_do(void **state);

/* ---- hetero_chain.c ---- */
void rotor_finds_the_persistent_optimum(void **state);

/* ---- hrevolve.c ---- */
void hrevolve_costs_what_the_best_of_all_schedules_does(void **state);
void a_disk_of_any_size_is_used_as_well_as_can_be(void **state);

/* ---- instances.c ---- */
void instances_of_model_s_become_graphs(void **state);

/* ---- offload.c ---- */
void the_fluid_relaxation_is_a_bound_for_offloading(void **state);
void offload_comes_near_the_optimum(void **state);

/* ---- offload_chain.c ---- */
void the_default_planner_comes_close_to_the_optimum_by_copies(void **state);
void the_default_planner_comes_close_to_the_optimum_by_replays(void **state);
void the_default_planner_comes_close_to_the_optimum_by_both(void **state);

/* ---- revolve.c ---- */
void revolve_advances_as_little_as_can_be(void **state);

/* ---- schedule_check.c ---- */
void schedule_check_judges_as_the_vectors_say(void **state);
void schedule_check_accepts_optimal_schedules(void **state);

#endif
