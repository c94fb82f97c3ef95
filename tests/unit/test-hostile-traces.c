/* test-hostile-traces.c - traces that are well formed and mean harm, or come from programs with odd names: what the tools
 * make of them stays small, quick and readable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../fuzz/training.h"
#include "report.h"
#include "trace-file.h"

static void put(struct spw_trace_writer *writer, const struct spw_record *record)
{
    assert_int_equal(spw_trace_put(writer, record), 0);
}

static struct model *read_model(bool partial, int expected)
{
    const struct model_options options = {.partial = partial, .at_op = MODEL_NO_OP};
    struct spw_trace_problem problem;
    struct model *m = NULL;
    assert_int_equal(model_read(path, &options, &m, &problem), expected);
    assert_non_null(m);
    return m;
}

/* ---- names ---- */

static unsigned count_text(const json_t *list, const char *text)
{
    unsigned count = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        count += !strcmp(json_string_value(json_array_get(list, i)), text);
    return count;
}

static void a_name_that_is_no_utf_8_is_told_once_with_its_bytes_escaped(void **state)
{
    struct spw_trace_writer *writer = create();
    put_training(writer);
    assert_int_equal(spw_trace_writer_destroy(writer), 0);
    struct model *m = read_model(false, 0);
    assert_int_equal(m->iteration_count, TRAINING_OPS);
    json_t *report = report_json(m), *iteration = json_object_get(report, "iteration");
    assert_int_equal(count_text(json_object_get(iteration, "names"), "k\\xe4rnel"), 1);
    json_decref(report);

    json_t *graph = report_iteration(m, 0, "\xff.trace"), *ops = json_object_get(graph, "ops");
    unsigned named = 0;
    assert_string_equal(json_string_value(json_object_get(graph, "name")), "\\xff.trace");
    assert_int_equal(json_array_size(ops), TRAINING_OPS);
    for (size_t i = 0; i < json_array_size(ops); i++)
        named += !strcmp(json_string_value(json_object_get(json_array_get(ops, i), "name")), "k\\xe4rnel");
    assert_int_equal(named, TRAINING_LAYERS);
    json_decref(graph);
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_is_no_utf_8_is_told_once_with_its_bytes_escaped),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
