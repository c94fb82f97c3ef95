/* test-iteration-file.c - iterations and plans as files: what is read, what is refused and where, what is written. */
#include "plan_run.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "failing-memory.h"

/* A forward and a backward of one layer: an input, a weight that is updated, an activation. Lines are counted below. */
#define HEAD "{\"format\": \"spillway-iteration/1\", \"name\": \"small\", \"profile\": \"made up\",\n"
#define COPY "\"copy_bytes_per_us\": {\"d2h\": 100.0, \"h2d\": 50},\n"
#define TENSORS \
    "\"tensors\": [\n" \
    "{\"id\": 7, \"name\": \"input\", \"bytes\": 4000, \"alloc_before\": 0, \"free_after\": 1, \"initial\": true},\n" \
    "{\"id\": 3, \"name\": \"weight\", \"bytes\": 90000, \"persistent\": true},\n" \
    "{\"id\": 5, \"name\": \"out\", \"bytes\": 100000, \"alloc_before\": 0, \"free_after\": 1, \"h2d_us\": 12.5}],\n"
#define OPS \
    "\"ops\": [\n" \
    "{\"name\": \"forward\", \"us\": 10, \"reads\": [7, 3], \"writes\": [5], \"replayable\": true},\n" \
    "{\"name\": \"backward\", \"us\": 20.5, \"reads\": [7, 5, 3], \"writes\": [3]}]}\n"
#define SMALL HEAD COPY TENSORS OPS

static int take(const char *text, struct iteration *ret_iteration, struct json_problem *ret_problem)
{
    struct json_text json;
    const int r = json_text_parse("it.json", text, strlen(text), &json, ret_problem);
    return r < 0 ? r : iteration_take(&json, ret_iteration, ret_problem);
}

static struct iteration small(void)
{
    struct iteration iteration;
    struct json_problem problem;
    assert_int_equal(take(SMALL, &iteration, &problem), 0);
    return iteration;
}

/* The small iteration with its text `old` replaced by `new` is refused with this message. */
static void assert_refused(const char *old, const char *new, const char *message)
{
    static char text[4096];
    const char *found = strstr(SMALL, old);
    assert_non_null(found);
    (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(found - SMALL), SMALL, new, found + strlen(old));
    struct iteration iteration = {0};
    struct json_problem problem = {"taken"};
    const int r = take(text, &iteration, &problem);
    if (r == 0)
        iteration_finish(&iteration);
    assert_string_equal(problem.message, message);
    assert_int_equal(r, -EINVAL);
}

#define MACHINE "\"machine\": {\"granule_bytes\": 4096, \"duplex\": 0.75, \"move_us\": 300},\n"

/* As a run has it: what a machine costs besides, in the place of what nobody said. */
static void a_plan_is_for_the_machine_that_the_file_names(void **state)
{
    struct iteration it;
    struct json_problem problem;
    struct plan_wish wish = {.may_copy = true}, own = {.machine = {.duplex = 0.5, .chunk_bytes = 1024, .chunk_us = 2}};
    assert_int_equal(take(HEAD COPY MACHINE TENSORS OPS, &it, &problem), 0);
    assert_int_equal(plan_wish_for(&it, 0, &wish), 0);
    assert_true(wish.graph == it.graph && wish.machine.duplex == 0.75 && wish.machine.chunk_us == 300);
    assert_true(wish.machine.chunk_bytes > it.graph->peak_bytes);
    assert_int_equal(it.graph->tensors[1].bytes, 22 * 4096);
    assert_int_equal(plan_wish_for(&it, 65536, &own), 0);
    assert_true(own.machine.duplex == 0.5 && own.machine.chunk_bytes == 1024 && own.machine.chunk_us == 2);
    assert_int_equal(it.graph->tensors[1].bytes, 2 * 65536);
    iteration_finish(&it);
}

static void what_a_file_leaves_out_of_the_machine_costs_nothing(void **state)
{
    struct iteration it = small();
    struct plan_wish wish = {.may_copy = true};
    assert_int_equal(plan_wish_for(&it, 0, &wish), 0);
    assert_true(wish.machine.duplex == 1 && wish.machine.chunk_bytes == 0);
    assert_int_equal(it.graph->tensors[1].bytes, 90000);
    iteration_finish(&it);
}

static void a_machine_that_makes_no_sense_is_refused(void **state)
{
    assert_refused("\"tensors\"", "\"machine\": 7, \"tensors\"", "it.json:3: machine: expected an object");
    assert_refused("\"tensors\"", "\"machine\": {\"granule_bytes\": 1073741825}, \"tensors\"",
                   "it.json:3: machine.granule_bytes: expected a whole number of bytes from 0 to 1073741824");
    assert_refused("\"tensors\"", "\"machine\": {\"duplex\": 0}, \"tensors\"",
                   "it.json:3: machine.duplex: expected a share above 0, and 1 at most");
    assert_refused("\"tensors\"", "\"machine\": {\"move_us\": -1}, \"tensors\"",
                   "it.json:3: machine.move_us: expected microseconds from 0 to 1000000");
}

/* All that the file says is in the graph, under the ids of the file. */
static void the_graph_says_what_the_file_says(void **state)
{
    struct iteration it = small();
    const struct spw_graph *g = it.graph;
    assert_string_equal(it.name, "small");
    assert_string_equal(it.profile, "made up");
    assert_int_equal(g->tensor_count, 3);
    assert_int_equal(g->op_count, 2);
    assert_int_equal(iteration_tensor(&it, 7), 0);
    assert_int_equal(iteration_tensor(&it, 3), 1);
    assert_int_equal(iteration_tensor(&it, 5), 2);
    assert_int_equal(iteration_tensor(&it, 4), SPW_NO_INDEX);
    assert_int_equal(iteration_tensor(&it, 8), SPW_NO_INDEX);
    assert_true(g->tensors[0].initial && g->tensors[1].persistent && g->tensors[2].evictable);
    assert_string_equal(g->tensors[2].name, "out");
    assert_int_equal(g->tensors[2].free_after, 1);
    assert_true(g->tensors[0].d2h_us == 40 && g->tensors[0].h2d_us == 80 && g->tensors[2].h2d_us == 12.5);
    assert_string_equal(g->ops[1].name, "backward");
    assert_true(g->ops[1].us == 20.5 && g->ops[0].replayable && !g->ops[1].replayable);
    assert_int_equal(g->touched[g->ops[1].first_read + 1].tensor, 2);
    assert_int_equal(g->peak_bytes, 194000);
    iteration_finish(&it);
}

/* What a later version of the format adds is no error here. */
static void fields_that_are_not_known_are_passed_over(void **state)
{
    static const char text[] =
        "{\"later\": {\"a\": [1, {}]}, \"format\": \"spillway-iteration/1\", \"copy_bytes_per_us\": {\"d2h\": 1, \"h2d\": "
        "1, "
        "\"p2p\": null}, \"tensors\": [{\"id\": 0, \"bytes\": 1, \"persistent\": true, \"dtype\": \"bf16\"}], "
        "\"ops\": [{\"us\": 0, \"reads\": [0], \"writes\": [], \"flops\": 1e9}]}";
    struct iteration it;
    struct json_problem problem;
    assert_int_equal(take(text, &it, &problem), 0);
    assert_string_equal(it.name, "");
    assert_null(it.graph->ops[0].name);
    iteration_finish(&it);
}

/* A field of the wrong type is refused where it stands. */
static void a_wrong_type_is_refused_with_line_and_path(void **state)
{
    assert_refused("\"spillway-iteration/1\"", "1", "it.json:1: format: expected a text");
    assert_refused("iteration/1", "iteration/2", "it.json:1: format: expected \"spillway-iteration/1\"");
    assert_refused("\"small\"", "[]", "it.json:1: name: expected a text");
    assert_refused("\"made up\"", "null", "it.json:1: profile: expected a text");
    assert_refused("\"name\": \"small\"", "\"peak_bytes\": \"5 GiB\"", "it.json:1: peak_bytes: expected a number");
    assert_refused("{\"d2h\": 100.0, \"h2d\": 50}", "9",
                   "it.json:2: copy_bytes_per_us: expected an object with d2h and h2d");
    assert_refused("100.0", "\"100\"",
                   "it.json:2: copy_bytes_per_us.d2h: expected a number of bytes per microsecond, above 0");
    assert_refused("{\"name\": \"backward\"", "7, {\"name\": \"backward\"",
                   "it.json:9: ops[1]: expected an object: an operation");
    assert_refused("{\"id\": 3", "[], {\"id\": 3", "it.json:5: tensors[1]: expected an object: a tensor");
    assert_refused("\"weight\"", "8", "it.json:5: tensors[1].name: expected a text");
    assert_refused("\"persistent\": true", "\"persistent\": 1", "it.json:5: tensors[1].persistent: expected true or false");
    assert_refused("\"initial\": true", "\"initial\": \"yes\"", "it.json:4: tensors[0].initial: expected true or false");
    assert_refused("\"initial\": true", "\"evictable\": 0", "it.json:4: tensors[0].evictable: expected true or false");
    assert_refused("4000", "4000.5", "it.json:4: tensors[0].bytes: expected a whole number of bytes, not negative");
    assert_refused("12.5", "\"fast\"", "it.json:6: tensors[2].h2d_us: expected a number of microseconds, not negative");
    assert_refused("\"forward\"", "{}", "it.json:8: ops[0].name: expected a text");
    assert_refused("\"us\": 10", "\"us\": \"10\"", "it.json:8: ops[0].us: expected a number of microseconds, not negative");
    assert_refused("\"replayable\": true", "\"replayable\": 1", "it.json:8: ops[0].replayable: expected true or false");
    assert_refused("[7, 5, 3]", "5", "it.json:9: ops[1].reads: expected a list of ids of tensors");
    assert_refused("[7, 5, 3]", "[7,\n5,\n\"3\"]", "it.json:11: ops[1].reads[2]: expected the id of a tensor that is there");
}

/* A field that is missing is named, at the line of what it is missing from. */
static void a_missing_field_is_named(void **state)
{
    assert_refused("\"format\"", "\"from\"", "it.json:1: format: expected \"spillway-iteration/1\"");
    assert_refused("\"copy_bytes_per_us\"", "\"copy\"", "it.json:1: copy_bytes_per_us: expected an object with d2h and h2d");
    assert_refused("\"h2d\": 50", "\"h\": 50",
                   "it.json:2: copy_bytes_per_us.h2d: expected a number of bytes per microsecond, above 0");
    assert_refused("\"tensors\"", "\"tensor\"", "it.json:1: tensors: expected a list of tensors");
    assert_refused("\"ops\"", "\"operations\"", "it.json:1: ops: expected a list of operations");
    assert_refused("\"id\": 5, ", "",
                   "it.json:6: tensors[2].id: expected a whole number that no other tensor has, not negative");
    assert_refused("\"bytes\": 90000, ", "", "it.json:5: tensors[1].bytes: expected a whole number of bytes, not negative");
    assert_refused("\"alloc_before\": 0, ", "",
                   "it.json:4: tensors[0].alloc_before: expected the index of an operation, or \"persistent\": true");
    assert_refused("\"free_after\": 1, \"h2d", "\"h2d",
                   "it.json:6: tensors[2].free_after: expected the index of an operation");
    assert_refused("\"us\": 20.5, ", "", "it.json:9: ops[1].us: expected a number of microseconds, not negative");
    assert_refused(", \"writes\": [3]", "", "it.json:9: ops[1].writes: expected a list of ids of tensors");
}

static void a_number_out_of_range_is_refused(void **state)
{
    assert_refused("100.0", "0", "it.json:2: copy_bytes_per_us.d2h: expected a number of bytes per microsecond, above 0");
    assert_refused("100.0", "-3", "it.json:2: copy_bytes_per_us.d2h: expected a number of bytes per microsecond, above 0");
    assert_refused("100.0", "1e300", "it.json:2: copy_bytes_per_us.d2h: expected a finite number above 0");
    assert_refused("100.0", "1e-300",
                   "it.json:2: copy_bytes_per_us.d2h: expected a bandwidth at which tensor 7 is copied in less than years");
    assert_refused("50}", "1e-300}",
                   "it.json:2: copy_bytes_per_us.h2d: expected a bandwidth at which tensor 7 is copied in less than years");
    assert_refused("\"id\": 3", "\"id\": -3",
                   "it.json:5: tensors[1].id: expected a whole number that no other tensor has, not negative");
    assert_refused("90000", "-1", "it.json:5: tensors[1].bytes: expected a whole number of bytes, not negative");
    assert_refused("90000", "9223372036854775807",
                   "it.json:5: tensors[1].bytes: expected a number of bytes that a machine can have");
    assert_refused("\"h2d_us\": 12.5", "\"d2h_us\": -1",
                   "it.json:6: tensors[2].d2h_us: expected a number of microseconds, not negative");
    assert_refused("\"us\": 10", "\"us\": -10", "it.json:8: ops[0].us: expected a number of microseconds, not negative");
    assert_refused("\"us\": 10", "\"us\": 1e300",
                   "it.json:8: ops[0].us: expected a finite number of microseconds, not negative");
    assert_refused("\"free_after\": 1, \"init", "\"free_after\": 2, \"init",
                   "it.json:4: tensors[0].free_after: expected the index of an operation");
    assert_refused("\"alloc_before\": 0", "\"alloc_before\": 4294967296",
                   "it.json:4: tensors[0].alloc_before: expected the index of an operation, or \"persistent\": true");
    assert_refused("\"alloc_before\": 0", "\"alloc_before\": -1",
                   "it.json:4: tensors[0].alloc_before: expected the index of an operation, or \"persistent\": true");
}

/* Each field and value is right, and together they make no sense. */
static void what_makes_no_sense_together_is_refused_where_it_shows(void **state)
{
    assert_refused("\"id\": 5", "\"id\": 7",
                   "it.json:6: tensors[2].id: expected an id that no other tensor has: tensors[0] is 7 too");
    assert_refused("[7, 5, 3]", "[7, 5, 3, 4]", "it.json:9: ops[1].reads[3]: expected the id of a tensor that is there");
    assert_refused("\"writes\": [3]", "\"writes\": [-3]",
                   "it.json:9: ops[1].writes[0]: expected the id of a tensor that is there");
    assert_refused("\"writes\": [5]", "\"writes\": []",
                   "it.json:9: ops[1].reads[1]: expected a tensor that was written before, or is persistent, or initial");
    assert_refused("100000, \"alloc_before\": 0", "100000, \"alloc_before\": 1",
                   "it.json:8: ops[0].writes[0]: expected a tensor that is allocated by then: tensor 5 is allocated before "
                   "ops[1]");
    assert_refused("\"free_after\": 1", "\"free_after\": 0",
                   "it.json:9: ops[1].reads[0]: expected a tensor that is still allocated: tensor 7 is freed after ops[0]");
    assert_refused("0, \"free_after\": 1, \"h2d", "1, \"free_after\": 0, \"h2d",
                   "it.json:6: tensors[2].free_after: expected an operation that is not before alloc_before");
    assert_refused("[7, 5, 3]", "[7, 5, 7]", "it.json:9: ops[1].reads[2]: expected each tensor once");
    assert_refused(OPS, "\"ops\": []}", "it.json:7: ops: expected at least one operation");
}

static void what_is_no_json_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text, *begins;
    } cases[] = {{"", "it.json:1: not JSON: "},
                 {"{\"a\": [\n1,\n2}", "it.json:3: not JSON: "},
                 {"{\"a\":\n1} 2", "it.json:2: not JSON: "},
                 {"{\"a\": 1,\n\"a\": 1}", "it.json:2: not JSON: "},
                 {"\n[1]", "it.json:2: expected an object"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct iteration it;
        struct json_problem problem = {"taken"};
        assert_int_equal(take(cases[i].text, &it, &problem), -EINVAL);
        assert_memory_equal(problem.message, cases[i].begins, strlen(cases[i].begins));
    }
}

/* Lines are found past texts, nesting and line ends that look like something else. */
static void lines_are_found_whatever_is_in_between(void **state)
{
    static const char text[] =
        "\n{\"a\": \"]}\\\"\\\\\",\r\n\"ops\": {\"x\": [ ] ,\n\"ops\": [[1, [2,\n3]], \"[\", -1.5e3 , true,\n{},"
        "{\"y\"\n:\n{\"z\": null}}]},\n\"tail\" : [\n]}";
    static const struct {
        const char *path;
        size_t line;
    } cases[] = {{"", 2},
                 {"a", 2},
                 {"ops", 3},
                 {"ops.x", 3},
                 {"ops.ops", 4},
                 {"ops.ops[0]", 4},
                 {"ops.ops[0][1]", 4},
                 {"ops.ops[0][1][1]", 5},
                 {"ops.ops[1]", 5},
                 {"ops.ops[3]", 5},
                 {"ops.ops[4]", 6},
                 {"ops.ops[5].y", 8},
                 {"ops.ops[5].y.z", 8},
                 {"ops.ops[6]", 4},
                 {"ops.ops[1].q", 5},
                 {"tail", 9},
                 {"tail[0]", 9},
                 {"none", 2},
                 {"a[3].b", 2}};
    struct json_text json;
    struct json_problem problem;
    assert_int_equal(json_text_parse("it.json", text, strlen(text), &json, &problem), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const size_t line = json_text_line(&json, cases[i].path);
        if (line != cases[i].line)
            print_error("%s: line %zu\n", cases[i].path, line);
        assert_int_equal(line, cases[i].line);
    }
    json_text_finish(&json);
}

/* What was made by a program, as from a trace, has paths but no lines. */
static void values_without_a_text_are_refused_without_a_line(void **state)
{
    struct json_text json;
    struct json_problem problem;
    struct iteration it;
    assert_int_equal(json_text_made("run.trace", json_pack("{s:s}", "format", "other"), &json, &problem), 0);
    assert_int_equal(iteration_take(&json, &it, &problem), -EINVAL);
    assert_string_equal(problem.message, "run.trace: format: expected \"spillway-iteration/1\"");
    assert_int_equal(json_text_made("run.trace", NULL, &json, &problem), -ENOMEM);
}

/* ---- writing ---- */

static char *written(const struct iteration *it)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    assert_int_equal(iteration_write(it->graph, it->name, it->profile, to), 0);
    (void)fclose(to);
    return text;
}

/* Durations and copy times come back to the last bit, names with whatever is in them, and a second writing is the same. */
static void what_is_written_is_read_again_as_it_was(void **state)
{
    static const char text[] =
        "{\"format\": \"spillway-iteration/1\", \"name\": \"a \\\"b\\\"\\n\", \"copy_bytes_per_us\": {\"d2h\": 0.1, "
        "\"h2d\": "
        "24000.000000000004}, \"tensors\": [{\"id\": 9007199254740993, \"name\": \"\\u00e9\", \"bytes\": 3, \"persistent\": "
        "true, "
        "\"evictable\": false}, {\"id\": 2, \"bytes\": 5, \"persistent\": true, \"copied_alone\": true}, {\"id\": 1, "
        "\"bytes\": 0, \"alloc_before\": 0, \"free_after\": 0, \"initial\": true, "
        "\"d2h_us\": "
        "0.30000000000000004}], \"ops\": [{\"us\": 0.1, \"reads\": [1, 9007199254740993], \"writes\": [1], "
        "\"holds\": [2], \"replayable\": true}]}";
    struct iteration first, second;
    struct json_problem problem;
    assert_int_equal(take(text, &first, &problem), 0);
    char *once = written(&first);
    assert_int_equal(take(once, &second, &problem), 0);
    char *twice = written(&second);
    assert_string_equal(once, twice);
    assert_string_equal(second.name, "a \"b\"\n");
    assert_true(second.graph->h2d_bytes_per_us == 24000.000000000004 && second.graph->ops[0].us == 0.1);
    assert_true(second.graph->tensors[2].d2h_us == 0.30000000000000004 && second.graph->tensors[2].initial);
    assert_true(second.graph->tensors[0].id == 9007199254740993 && !second.graph->tensors[0].evictable);
    assert_true(second.graph->tensors[0].d2h_us == 3 / 0.1 && second.graph->ops[0].replayable);
    assert_true(second.graph->tensors[1].copied_alone && !second.graph->tensors[0].copied_alone);
    assert_true(second.graph->ops[0].held_count == 1 && second.graph->ops[0].read_count == 3);
    assert_int_equal(second.graph->touched[second.graph->ops[0].first_read + 2].tensor, 1);
    free(once);
    free(twice);
    iteration_finish(&first);
    iteration_finish(&second);
}

/* ---- plans ---- */

static int take_plan(const struct iteration *it, const char *text, struct events *ret_events,
                     struct json_problem *ret_problem)
{
    struct json_text json;
    int r = json_text_parse("plan.json", text, strlen(text), &json, ret_problem);
    assert_int_equal(r, 0);
    r = events_take(&json, it, ret_events, ret_problem);
    json_text_finish(&json);
    return r;
}

/* A plan that is written and read again has the same steps at the same times. */
static void a_plan_is_read_again_as_it_was_written(void **state)
{
    struct iteration it = small();
    struct spw_schedule schedule;
    const double start_us[] = {0, 1.0 / 3, 10, 1e9 + 0.1, 1e9 + 0.2};
    static const struct spw_step steps[] = {
        {SPW_STEP_H2D, 1}, {SPW_STEP_OP, 0}, {SPW_STEP_REPLAY, 0}, {SPW_STEP_D2H, 2}, {SPW_STEP_DROP, 0}};
    assert_int_equal(spw_schedule_init(&schedule, it.graph), 0);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(spw_schedule_add(&schedule, (enum spw_step_kind)steps[i].kind, steps[i].id), 0);
    schedule.start[1] = SPW_START_HOST;
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    assert_int_equal(events_write(it.graph, &schedule, start_us, to), 0);
    (void)fclose(to);
    assert_non_null(
        strstr(text, "{\"initial_host\": [3], \"initial_clean\": [], \"events\": [\n[\"h2d\", 3, 0],\n[\"op\", 0, "));

    struct events events;
    struct json_problem problem;
    assert_int_equal(take_plan(&it, text, &events, &problem), 0);
    assert_int_equal(events.count, 5);
    assert_int_equal(events.start[0], SPW_START_DEVICE);
    assert_int_equal(events.start[1], SPW_START_HOST);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(events.steps[i].kind, steps[i].kind);
        assert_int_equal(events.steps[i].id, steps[i].id);
        assert_true(events.steps[i].start_us == start_us[i]);
    }
    events_finish(&events);
    spw_schedule_finish(&schedule);
    free(text);
    iteration_finish(&it);
}

static void a_plan_that_cannot_be_meant_is_refused_with_line_and_path(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{}", "plan.json:1: events: expected a list of events"},
        {"{\"events\":\n{}}", "plan.json:2: events: expected a list of events"},
        {"{\"events\": [],\n\"initial_host\": 3}", "plan.json:2: initial_host: expected a list of ids of tensors"},
        {"{\"events\": [],\n\"initial_host\": [3,\n5]}",
         "plan.json:3: initial_host[1]: expected the id of a persistent tensor"},
        {"{\"events\": [], \"initial_clean\": [\"3\"]}",
         "plan.json:1: initial_clean[0]: expected the id of a persistent tensor"},
        {"{\"events\": [], \"initial_host\": [3], \"initial_clean\": [3]}",
         "plan.json:1: initial_clean[0]: expected each tensor once"},
        {"{\"events\": [\n[\"op\", 0, 0],\n[\"op\", 2, 0]]}", "plan.json:3: events[1]: expected the index of an operation"},
        {"{\"events\": [[\"replay\", -1, 0]]}", "plan.json:1: events[0]: expected the index of an operation"},
        {"{\"events\": [[\"drop\", 4, 0]]}", "plan.json:1: events[0]: expected the id of a tensor that is there"},
        {"{\"events\": [[\"d2d\", 5, 0]]}", "plan.json:1: events[0]: expected one of the kinds op, replay, d2h, h2d, drop"},
        {"{\"events\": [[\"op\", 0]]}",
         "plan.json:1: events[0]: expected a list of a kind, an id and the start in microseconds"},
        {"{\"events\": [7]}", "plan.json:1: events[0]: expected a list of a kind, an id and the start in microseconds"},
        {"{\"events\": [[\"op\", 0, \"0\"]]}",
         "plan.json:1: events[0]: expected a list of a kind, an id and the start in microseconds"},
    };
    struct iteration it = small();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct events events;
        struct json_problem problem = {"taken"};
        const int r = take_plan(&it, cases[i].text, &events, &problem);
        assert_string_equal(problem.message, cases[i].message);
        assert_int_equal(r, -EINVAL);
    }
    iteration_finish(&it);
}

/* The small iteration, with so many allocations to read the text and to take it, before all fail; -1: any number. Nothing is
 * kept where it fails. */
static int take_with(long to_read, long to_take, struct iteration *ret_iteration, struct json_problem *ret_problem)
{
    const long before = memory_blocks();
    struct json_text json;
    memory_fails_after(to_read);
    int r = json_text_parse("it.json", SMALL, strlen(SMALL), &json, ret_problem);
    memory_fails_after(to_take);
    if (r == 0)
        r = iteration_take(&json, ret_iteration, ret_problem);
    memory_is_back();
    assert_true(r == 0 || memory_blocks() == before);
    return r;
}

/* However little memory there is: nothing is kept, and that is what is told, unless jansson blames the text. */
static void a_failed_allocation_is_told(void **state)
{
    struct iteration it;
    struct json_problem problem;
    long left = 0;
    int r;
    for (; (r = take_with(left, -1, &it, &problem)) < 0; left++)
        assert_true(left < 1000 && strstr(problem.message, "it.json:"));
    iteration_finish(&it);
    for (left = 0; (r = take_with(-1, left, &it, &problem)) < 0; left++) {
        assert_true(left < 1000 && r == -ENOMEM);
        assert_string_equal(problem.message, "it.json: Cannot allocate memory");
    }
    assert_true(left > 5);
    iteration_finish(&it);
}

static void a_failed_allocation_is_told_of_plans_too(void **state)
{
    static const char plan[] = "{\"events\": [[\"op\", 0, 0]]}";
    struct iteration it = small();
    struct json_text json;
    struct json_problem problem;
    struct events events;
    int r = -ENOMEM;
    assert_int_equal(json_text_parse("plan.json", plan, strlen(plan), &json, &problem), 0);
    for (long left = 0; r == -ENOMEM; left++) {
        const long before = memory_blocks();
        memory_fails_after(left);
        r = events_take(&json, &it, &events, &problem);
        memory_is_back();
        assert_true(r == 0 || (r == -ENOMEM && memory_blocks() == before && left < 10));
    }
    assert_int_equal(r, 0);
    events_finish(&events);
    json_text_finish(&json);
    iteration_finish(&it);
}

int main(void)
{
    json_set_alloc_funcs(malloc, free); /* those that fail */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_graph_says_what_the_file_says),
        cmocka_unit_test(a_plan_is_for_the_machine_that_the_file_names),
        cmocka_unit_test(what_a_file_leaves_out_of_the_machine_costs_nothing),
        cmocka_unit_test(a_machine_that_makes_no_sense_is_refused),
        cmocka_unit_test(fields_that_are_not_known_are_passed_over),
        cmocka_unit_test(a_wrong_type_is_refused_with_line_and_path),
        cmocka_unit_test(a_missing_field_is_named),
        cmocka_unit_test(a_number_out_of_range_is_refused),
        cmocka_unit_test(what_makes_no_sense_together_is_refused_where_it_shows),
        cmocka_unit_test(what_is_no_json_is_refused_with_its_line),
        cmocka_unit_test(lines_are_found_whatever_is_in_between),
        cmocka_unit_test(values_without_a_text_are_refused_without_a_line),
        cmocka_unit_test(what_is_written_is_read_again_as_it_was),
        cmocka_unit_test(a_plan_is_read_again_as_it_was_written),
        cmocka_unit_test(a_plan_that_cannot_be_meant_is_refused_with_line_and_path),
        cmocka_unit_test(a_failed_allocation_is_told),
        cmocka_unit_test(a_failed_allocation_is_told_of_plans_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
