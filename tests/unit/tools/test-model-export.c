/* test-model-export.c - kernels that a run does not run again are told from others by their names, as far as a run keeps
 * these, and each is looked up once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model_export.h"

enum { FUNCTIONS = 1000, REFUSALS = 2048, OPS = 20000, CUT = 239, LONG = 300 };

static uint64_t compared;

int __real_strncmp(const char *a, const char *b, size_t count);
int __wrap_strncmp(const char *a, const char *b, size_t count);
int __wrap_strncmp(const char *a, const char *b, size_t count)
{
    compared++;
    return __real_strncmp(a, b, count);
}

static struct model_function functions[FUNCTIONS];
static struct model_refusal refusals[REFUSALS];
static struct model_op ops[OPS];

/* Long names differ at their ends. */
static char *name_of(unsigned kernel, unsigned length)
{
    char *name = malloc(LONG + 1);
    memset(name, 'k', LONG);
    snprintf(name + LONG - 6, 7, "%06u", kernel);
    if (length < LONG)
        memmove(name, name + LONG - length, length + 1);
    return name;
}

static bool is_replayable(json_t *graph, unsigned op)
{
    return json_is_true(json_object_get(json_array_get(json_object_get(graph, "ops"), op), "replayable"));
}

static void each_kernel_is_looked_up_once(void **state)
{
    struct model m = {.functions = functions,
                      .function_count = FUNCTIONS,
                      .refusals = refusals,
                      .refusal_count = REFUSALS,
                      .iteration = ops,
                      .iteration_count = OPS};
    (void)state;
    for (unsigned i = 1; i < FUNCTIONS; i++)
        functions[i].name = name_of(i, CUT);
    for (unsigned i = 0; i < REFUSALS; i++)
        refusals[i].kernel = name_of(2 * (REFUSALS - i), CUT); /* every other */
    for (unsigned i = 0; i < OPS; i++)
        ops[i] = (struct model_op){.kind = SPW_OP_LAUNCH, .function = 1 + i % (FUNCTIONS - 1)};
    ops[0].function = MODEL_NONE;
    struct spw_graph_problem senseless;
    compared = 0;
    json_t *graph = model_export(&m, 0, "test", &senseless);
    assert_non_null(graph);
    assert_true(compared < UINT64_C(20) * (REFUSALS + FUNCTIONS));
    assert_true(is_replayable(graph, 0));
    for (unsigned i = 1; i < OPS; i++)
        assert_int_equal(is_replayable(graph, i), ops[i].function % 2 != 0);
    json_decref(graph);
    for (unsigned i = 0; i < FUNCTIONS; i++)
        free(functions[i].name);
    for (unsigned i = 0; i < REFUSALS; i++)
        free(refusals[i].kernel);
}

/* A run has cut the names off. */
static void a_long_name_is_as_good_as_its_beginning(void **state)
{
    struct model_function known[] = {{.name = NULL}, {.name = name_of(1, LONG)}, {.name = name_of(2, 10)}};
    struct model_refusal refused = {.kernel = name_of(3, LONG)};
    struct model_op launches[] = {{.kind = SPW_OP_LAUNCH, .function = 1}, {.kind = SPW_OP_LAUNCH, .function = 2}};
    struct model m = {.functions = known,
                      .function_count = 3,
                      .refusals = &refused,
                      .refusal_count = 1,
                      .iteration = launches,
                      .iteration_count = 2};
    (void)state;
    struct spw_graph_problem senseless;
    refused.kernel[CUT] = 0;
    json_t *graph = model_export(&m, 0, "test", &senseless);
    assert_false(is_replayable(graph, 0));
    assert_true(is_replayable(graph, 1));
    json_decref(graph);
    free(known[1].name);
    free(known[2].name);
    free(refused.kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kernel_is_looked_up_once),
        cmocka_unit_test(a_long_name_is_as_good_as_its_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
