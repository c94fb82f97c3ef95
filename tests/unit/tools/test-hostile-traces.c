/* test-hostile-traces.c - traces that are well formed and mean harm, or come from programs with odd names: what the tools
 * make of them stays small, quick and readable. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../fuzz/training.h"
#include "format.h"
#include "model_export.h"
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

/* ---- memory ---- */

static long resident_peak_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    assert_non_null(status);
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    (void)fclose(status);
    assert_true(kib > 0);
    return kib;
}

static void put_definitions(struct spw_trace_writer *writer, uint32_t id)
{
    put(writer, &(struct spw_record){.kind = SPW_RECORD_FUNCTION, .function = {.id = id, .name = "f"}});
    put(writer, &(struct spw_record){.kind = SPW_RECORD_MODULE, .module = {.id = id, .path = "/m"}});
    put(writer, &(struct spw_record){.kind = SPW_RECORD_SITE, .site = {.id = id}});
    put(writer, &(struct spw_record){.kind = SPW_RECORD_STREAM, .stream = {.id = id}});
}

static void a_large_number_in_a_small_file_makes_no_memory(void **state)
{
    struct spw_trace_writer *writer = create();
    for (unsigned bits = 1; bits <= 32; bits++)
        put_definitions(writer, (uint32_t)((UINT64_C(1) << bits) - 1));
    assert_int_equal(spw_trace_writer_destroy(writer), 0);
    const long before = resident_peak_kib();
    struct model *m = read_model(false, 0);
    assert_string_equal(m->functions[1].name, "f");
    assert_in_range(m->function_count, 2, 1 << 17);
    model_free(m);
    assert_in_range(resident_peak_kib() - before, 0, 48 << 10);
}

/* Cuts the frames number `first` to `end` - 1 out of the file. */
static void cut_frames_out(unsigned first, unsigned end)
{
    size_t bytes, from = 0, at = SPW_TRACE_HEAD_BYTES;
    uint8_t *file = bytes_of_file(&bytes);
    struct spw_frame_head head;
    for (unsigned i = 0; i < end; i++) {
        from = i == first ? at : from;
        assert_true(spw_frame_head_get(file + at, &head));
        at += SPW_FRAME_HEAD_BYTES + head.packed_bytes;
    }
    memmove(file + from, file + at, bytes - at);
    store(file, bytes - (at - from));
    free(file);
}

static void what_is_defined_behind_a_hole_is_known(void **state)
{
    enum { DEFINITIONS = 20000, FRAME = 1000, FROM = 2, TO = 18 };
    struct spw_trace_writer *writer = create();
    for (uint32_t id = 1; id <= DEFINITIONS; id++) {
        put_definitions(writer, id);
        if (id % FRAME == 0)
            assert_int_equal(spw_trace_flush(writer), 0);
    }
    assert_int_equal(spw_trace_writer_destroy(writer), 0);
    cut_frames_out(FROM, TO);
    struct model *m = read_model(true, -EBADMSG);
    assert_string_equal(m->functions[FRAME * FROM].name, "f");
    assert_null(m->functions[FRAME * FROM + 1].name);
    assert_null(m->functions[FRAME * TO].name);
    assert_string_equal(m->functions[FRAME * TO + 1].name, "f");
    assert_string_equal(m->modules[DEFINITIONS].path, "/m");
    assert_non_null(m->sites[DEFINITIONS].frames);
    assert_int_equal(m->stream_count, DEFINITIONS + 1);
    model_free(m);
}

/* ---- time ---- */

static struct spw_touch touches[SPW_RECORD_TOUCHES];

static void operations_that_touch_everything_take_no_more_than_their_touches(void **state)
{
    enum { ITERATIONS = 6, OPS = 24, MOST_SECONDS = 10 };
    struct spw_trace_writer *writer = create();
    for (uint32_t i = 0; i < SPW_RECORD_TOUCHES; i++) {
        touches[i] = (struct spw_touch){.alloc = i + 1, .access = SPW_ACCESS_READ};
        put(writer, &(struct spw_record){.kind = SPW_RECORD_ALLOC, .alloc = {.id = i + 1, .bytes = 512}});
    }
    for (uint32_t i = 0; i < ITERATIONS * OPS; i++)
        put(writer, &(struct spw_record){.kind = SPW_RECORD_OP,
                                         .op = {.function = 1 + i % OPS,
                                                .grid = {1 + i % OPS, 1, 1},
                                                .block = {1, 1, 1},
                                                .touch_count = SPW_RECORD_TOUCHES,
                                                .touches = touches}});
    assert_int_equal(spw_trace_writer_destroy(writer), 0);
    const clock_t began = clock();
    struct model *m = read_model(false, 0);
    assert_int_equal(m->iteration_count, OPS);
    assert_int_equal(m->touch_count, OPS * SPW_RECORD_TOUCHES);
    model_free(m);
    assert_true((clock() - began) / CLOCKS_PER_SEC < MOST_SECONDS);
}

static void as_many_kinds_of_iteration_as_iterations_do_not_take_their_square(void **state)
{
    enum { KINDS = 48000, TIMES = 8, LENGTH = 2, MOST_SECONDS = 5 };
    struct spw_trace_writer *writer = create();
    for (uint32_t i = 0; i < KINDS * TIMES * LENGTH; i++)
        put(writer, &(struct spw_record){.kind = SPW_RECORD_OP,
                                         .op = {.function = 1,
                                                .grid = {1 + i / (TIMES * LENGTH), 1 + i % LENGTH, 1},
                                                .block = {1, 1, 1},
                                                .time_ns = UINT64_C(1000) * i}});
    assert_int_equal(spw_trace_writer_destroy(writer), 0);
    const clock_t began = clock();
    struct model *m = read_model(false, 0);
    assert_true(m->shape_count > KINDS / 2);
    for (uint32_t i = 1; i < m->shape_count; i++)
        assert_true(m->shapes[i - 1].first_op < m->shapes[i].first_op);
    assert_int_equal(m->iteration_count, m->shapes[m->shape].length);
    assert_in_range(m->first_op, m->shapes[m->shape].first_op, m->shapes[m->shape].last_op);
    model_free(m);
    assert_true((clock() - began) / CLOCKS_PER_SEC < MOST_SECONDS);
}

static void a_module_that_is_a_pipe_is_not_waited_for(void **state)
{
    char pipe_path[80];
    const uint64_t frame = 0x1010;
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    struct spw_trace_writer *writer = create();
    put(writer, &(struct spw_record){.kind = SPW_RECORD_MODULE,
                                     .module = {.id = 1, .path = pipe_path, .start = 0x1000, .end = 0x2000}});
    put(writer, &(struct spw_record){.kind = SPW_RECORD_SITE, .site = {.id = 1, .count = 1, .frames = &frame}});
    assert_int_equal(spw_trace_writer_destroy(writer), 0);
    struct model *m = read_model(false, 0);
    alarm(10);
    assert_string_equal(model_frame_text(m, frame), "pipe+0xf");
    alarm(0);
    model_free(m);
    assert_int_equal(unlink(pipe_path), 0);
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
    struct spw_graph_problem senseless;
    struct spw_trace_writer *writer = create();
    put_training(writer);
    assert_int_equal(spw_trace_writer_destroy(writer), 0);
    struct model *m = read_model(false, 0);
    assert_int_equal(m->iteration_count, TRAINING_OPS);
    json_t *report = report_json(m, 0.001), *iteration = json_object_get(report, "iteration");
    assert_int_equal(count_text(json_object_get(iteration, "names"), "k\\xe4rnel"), 1);
    json_decref(report);

    json_t *graph = model_export(m, 0, "\xff.trace", &senseless), *ops = json_object_get(graph, "ops");
    unsigned named = 0;
    assert_string_equal(json_string_value(json_object_get(graph, "name")), "\\xff.trace");
    assert_int_equal(json_array_size(ops), TRAINING_OPS);
    for (size_t i = 0; i < json_array_size(ops); i++)
        named += !strcmp(json_string_value(json_object_get(json_array_get(ops, i), "name")), "k\\xe4rnel");
    assert_int_equal(named, TRAINING_LAYERS);
    json_decref(graph);
    model_free(m);
}

static json_t *exported_with(const struct spw_record_machine *machine)
{
    struct spw_graph_problem senseless;
    struct spw_trace_writer *writer = create();
    put(writer, &(struct spw_record){.kind = SPW_RECORD_MACHINE, .machine = *machine});
    put_training(writer);
    assert_int_equal(spw_trace_writer_destroy(writer), 0);
    struct model *m = read_model(false, 0);
    json_t *report = report_json(m, 0.001), *graph = model_export(m, 0, "", &senseless);
    assert_true(json_is_object(json_object_get(report, "plan")));
    json_decref(report);
    model_free(m);
    return graph;
}

static double number_of(const json_t *graph, const char *object, const char *field)
{
    return json_number_value(json_object_get(json_object_get(graph, object), field));
}

static void a_machine_that_makes_no_sense_is_not_known(void **state)
{
    json_t *graph = exported_with(&(struct spw_record_machine){.duplex_ppm = UINT32_MAX,
                                                               .d2h_bytes_per_s = UINT64_MAX,
                                                               .h2d_bytes_per_s = 1,
                                                               .granule_bytes = UINT64_MAX,
                                                               .small_bytes = UINT64_MAX,
                                                               .move_ns = UINT64_MAX});
    assert_true(number_of(graph, "machine", "granule_bytes") == 0 && number_of(graph, "machine", "duplex") == 1);
    assert_true(number_of(graph, "machine", "move_us") == 0);
    json_decref(graph);

    graph = exported_with(&(struct spw_record_machine){.duplex_ppm = 750000,
                                                       .d2h_bytes_per_s = 2000000,
                                                       .h2d_bytes_per_s = 3000000,
                                                       .granule_bytes = 65536,
                                                       .move_ns = 300000});
    assert_true(number_of(graph, "machine", "granule_bytes") == 65536 && number_of(graph, "machine", "duplex") == 0.75);
    assert_true(number_of(graph, "machine", "move_us") == 300);
    assert_true(number_of(graph, "copy_bytes_per_us", "d2h") == 2 && number_of(graph, "copy_bytes_per_us", "h2d") == 3);
    json_decref(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_number_in_a_small_file_makes_no_memory),
        cmocka_unit_test(what_is_defined_behind_a_hole_is_known),
        cmocka_unit_test(operations_that_touch_everything_take_no_more_than_their_touches),
        cmocka_unit_test(as_many_kinds_of_iteration_as_iterations_do_not_take_their_square),
        cmocka_unit_test(a_module_that_is_a_pipe_is_not_waited_for),
        cmocka_unit_test(a_name_that_is_no_utf_8_is_told_once_with_its_bytes_escaped),
        cmocka_unit_test(a_machine_that_makes_no_sense_is_not_known),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
