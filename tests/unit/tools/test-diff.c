/* test-diff.c - how the places of one run are found in another, and what is called a difference. The models are made here,
 * and a frame's address is its text. */
#include "diff_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 8 };

struct run {
    struct model model;
    struct model_device device;
    struct model_shape shape;
    struct model_function functions[3];
    struct model_op ops[2];
    struct model_site sites[MOST];
    uint64_t frames[MOST][MOST];
    struct model_tensor tensors[MOST];
};

const char *model_frame_text(struct model *model, uint64_t frame)
{
    return (const char *)(uintptr_t)frame;
}

const char *model_site_text(struct model *model, uint32_t site)
{
    const struct model_site *s = &model->sites[site];
    return model_frame_text(model, s->frames[s->count > 1 && !strncmp(model_frame_text(model, s->frames[0]), "cuda", 4)]);
}

const char *model_category_name(enum model_category category)
{
    return category == MODEL_OTHER ? "other" : "parameter";
}

static char multiply[] = "multiply", add[] = "add", gpu[] = "gpu";

/* Two operations, `multiply` and `add`, and no tensor yet. */
static void begin(struct run *r)
{
    *r = (struct run){
        .device = {.name = gpu, .total_bytes = 1000},
        .shape = {.length = 2, .count = 3, .time_ns = 10},
        .functions = {{0}, {.readable = multiply}, {.readable = add}},
        .ops = {{.function = 1, .timed = true, .duration_ns = 5}, {.function = 2, .timed = true, .duration_ns = 2}}};
    r->model = (struct model){.ended = true,
                              .timed = true,
                              .iteration_ns = 7,
                              .compute_ns = 7,
                              .devices = &r->device,
                              .device_count = 1,
                              .shapes = &r->shape,
                              .shape_count = 1,
                              .functions = r->functions,
                              .function_count = 3,
                              .iteration = r->ops,
                              .iteration_count = 2,
                              .sites = r->sites,
                              .site_count = 1,
                              .tensors = r->tensors};
}

/* Frames from the innermost outwards, up to NULL. */
static uint32_t site(struct run *r, const char *first, ...)
{
    uint32_t index = r->model.site_count++;
    va_list frames;
    va_start(frames, first);
    r->sites[index].frames = r->frames[index];
    for (const char *at = first; at; at = va_arg(frames, const char *))
        r->frames[index][r->sites[index].count++] = (uint64_t)(uintptr_t)at;
    va_end(frames);
    return index;
}

/* Made by the first operation, alive all the time. */
static struct model_tensor *tensor(struct run *r, uint32_t site, uint64_t bytes)
{
    struct model_tensor *t = &r->tensors[r->model.tensor_count++];
    *t = (struct model_tensor){
        .bytes = bytes, .kind = SPW_ALLOC_ASYNC, .site = site, .free_after = 1, .category = MODEL_OTHER};
    r->model.peak_bytes += bytes;
    return t;
}

static struct diff *compare(struct run *before, struct run *after)
{
    struct diff *d = diff_create(&before->model, &after->model);
    assert_non_null(d);
    return d;
}

static void row_is(const struct diff_row *row, enum diff_match match, uint64_t before, uint64_t after)
{
    assert_string_equal(diff_match_name(row->match), diff_match_name(match));
    assert_int_equal(row->amount[DIFF_BEFORE], before);
    assert_int_equal(row->amount[DIFF_AFTER], after);
}

/* A place is found by what its frames are called, one that lies in no file by the others. */
static void places_are_found_by_their_frames(void **state)
{
    struct run x, y;
    begin(&x);
    begin(&y);
    tensor(&x, site(&x, "a (a.c:1)", "0x1000", NULL), 10);
    tensor(&x, site(&x, "a (a.c:2)", "0x1000", NULL), 20);
    tensor(&y, site(&y, "a (a.c:2)", "0x2000", NULL), 23);
    tensor(&y, site(&y, "a (a.c:1)", "0x2000", NULL), 11);
    struct diff *d = compare(&x, &y);
    assert_int_equal(d->sites.count, 2);
    row_is(&d->sites.rows[0], DIFF_BY_FRAMES, 20, 23);
    row_is(&d->sites.rows[1], DIFF_BY_FRAMES, 10, 11);
    assert_int_equal(d->verdict, DIFF_MORE);
    diff_free(d);
}

/* Two sites of the same frames, from two addresses in one line, are one place, also where only one run has it. */
static void places_of_the_same_name_are_one(void **state)
{
    struct run x, y;
    begin(&x);
    begin(&y);
    tensor(&x, site(&x, "a (a.c:1)", NULL), 10);
    tensor(&x, site(&x, "a (a.c:1)", NULL), 20);
    struct diff *d = compare(&x, &y);
    assert_int_equal(d->sites.count, 1);
    row_is(&d->sites.rows[0], DIFF_NOT_MATCHED, 30, 0);
    assert_int_equal(d->sites.rows[0].all_count[DIFF_BEFORE], 2);
    diff_free(d);
}

/* Lines and offsets move when a file is edited or a library rebuilt; the functions stay. */
static void places_that_moved_are_found_by_their_functions(void **state)
{
    struct run x, y;
    begin(&x);
    begin(&y);
    tensor(&x, site(&x, "a(int) (a.c:1)", "b+0x10 in libb.so.1", NULL), 10);
    tensor(&x, site(&x, "a(int) (a.c:5)", "c+0x10 in libb.so.1", NULL), 40);
    tensor(&y, site(&y, "a(int) (a.c:2)", "b+0x18 in libb.so.2", NULL), 13);
    tensor(&y, site(&y, "a(int) (a.c:5)", "c+0x10 in libb.so.1", NULL), 40);
    struct diff *d = compare(&x, &y);
    assert_int_equal(d->sites.count, 2);
    row_is(&d->sites.rows[0], DIFF_BY_FUNCTIONS, 10, 13);
    row_is(&d->sites.rows[1], DIFF_BY_FRAMES, 40, 40);
    diff_free(d);
}

/* Where the other run has no such place, a tensor is the one of its size that an operation of the same name makes. */
static void tensors_without_a_place_are_found_by_size_and_maker(void **state)
{
    struct run x, y;
    begin(&x);
    begin(&y);
    tensor(&x, site(&x, "liba.so+0x10", NULL), 64);
    tensor(&x, MODEL_NONE, 64);
    tensor(&x, 1, 32);
    tensor(&y, site(&y, "liba.so+0x20", NULL), 64);
    tensor(&y, 1, 32)->first_write = 1;
    tensor(&y, 1, 32)->kind = SPW_ALLOC_HOST;
    struct diff *d = compare(&x, &y);
    assert_int_equal(d->sites.count, 3);
    row_is(&d->sites.rows[0], DIFF_BY_SIZE_MAKER, 128, 64);
    assert_string_equal(d->sites.rows[0].name, "64 bytes made by multiply");
    row_is(&d->sites.rows[1], DIFF_NOT_MATCHED, 0, 32); /* made by another operation */
    row_is(&d->sites.rows[2], DIFF_NOT_MATCHED, 32, 0);
    assert_int_equal(d->sites.rows[2].all_count[DIFF_AFTER], 0);
    diff_free(d);
}

/* Nothing is known of either: one row holds what is left, so that the columns still add up. */
static void what_nothing_is_known_of_is_one_row(void **state)
{
    struct run x, y;
    begin(&x);
    begin(&y);
    tensor(&x, MODEL_NONE, 10);
    tensor(&y, MODEL_NONE, 20);
    tensor(&y, site(&y, "0x1000", "?", NULL), 5);
    struct diff *d = compare(&x, &y);
    assert_int_equal(d->sites.count, 1);
    row_is(&d->sites.rows[0], DIFF_NOT_MATCHED, 10, 25);
    assert_string_equal(d->sites.rows[0].name, "unknown");
    diff_free(d);
}

/* Only device memory counts, and at the peak only what is alive there; what dies before is told of all the same. */
static void what_is_not_alive_at_the_peak_is_kept_apart(void **state)
{
    struct run x, y;
    begin(&x);
    begin(&y);
    struct run *runs[] = {&x, &y};
    for (int i = 0; i < 2; i++) {
        uint32_t s = site(runs[i], "a (a.c:1)", NULL);
        tensor(runs[i], s, 10);
        runs[i]->model.peak_at = 1;
        tensor(runs[i], s, i == 0 ? 20 : 25)->free_after = 0;
        tensor(runs[i], s, i == 0 ? 40 : 50)->kind = SPW_ALLOC_HOST;
        runs[i]->model.peak_bytes = 10;
    }
    struct diff *d = compare(&x, &y);
    assert_int_equal(d->sites.count, 1);
    row_is(&d->sites.rows[0], DIFF_BY_FRAMES, 10, 10);
    assert_int_equal(d->sites.rows[0].all_amount[DIFF_BEFORE], 30);
    assert_int_equal(d->sites.rows[0].all_amount[DIFF_AFTER], 35);
    assert_int_equal(d->verdict, DIFF_MORE);
    diff_free(d);
}

/* The frame that says most, and before it the first that no other place shares; parameters and template arguments are left
 * out. */
static void places_are_called_by_what_tells_them_apart(void **state)
{
    struct run x, y;
    begin(&x);
    begin(&y);
    tensor(&x,
           site(&x, "cudaMalloc", "block<float>::block(long, int) (b.cc:9)", "make(f(int)) (m.cc:1)", "one+0x10 in p", NULL),
           30);
    tensor(&x,
           site(&x, "cudaMalloc", "block<float>::block(long, int) (b.cc:9)", "make(f(int)) (m.cc:1)", "two+0x10 in p", NULL),
           20);
    tensor(&x, site(&x, "cudaMalloc", "void other<a<b> >(c)+0x4 in p", "two+0x10 in p", NULL), 10);
    struct diff *d = compare(&x, &y);
    assert_int_equal(d->sites.count, 3);
    assert_string_equal(d->sites.rows[0].name, "one+0x10 in p > block::block (b.cc:9)");
    assert_string_equal(d->sites.rows[1].name, "two+0x10 in p > block::block (b.cc:9)");
    assert_string_equal(d->sites.rows[2].name, "other+0x4 in p");
    diff_free(d);
}

/* Each kind of figure alone makes a difference: times are told apart from the rest. */
static void any_figure_alone_makes_a_difference(void **state)
{
    struct run x, y;
    begin(&x);
    begin(&y);
    struct diff *d;
#define VERDICT(change, verdict_wanted) \
    begin(&y); \
    change; \
    d = compare(&x, &y); \
    assert_int_equal(d->verdict, verdict_wanted); \
    diff_free(d)
    VERDICT((void)0, DIFF_NOTHING);
    VERDICT(y.device.peak_bytes = 1, DIFF_MORE);
    VERDICT(y.device.total_bytes = 1, DIFF_MORE);
    VERDICT(y.model.persistent_bytes = 1, DIFF_MORE);
    VERDICT(y.ops[1].function = 1, DIFF_MORE);
    VERDICT(y.ops[1].kind = SPW_OP_COPY_H2D, DIFF_MORE);
    VERDICT(tensor(&y, MODEL_NONE, 1), DIFF_MORE);
    VERDICT(y.ops[1].duration_ns = 3, DIFF_TIMES);
    VERDICT(y.model.iteration_ns = 8, DIFF_TIMES);
    VERDICT(y.shape.time_ns = 8, DIFF_TIMES);
    VERDICT(y.model.timed = false, DIFF_TIMES);
    VERDICT(y.model.iteration_count = 0, DIFF_MORE);
    x.model.iteration_count = 0;
    VERDICT(y.model.iteration_count = 0, DIFF_NOTHING);
    VERDICT((y.model.iteration_count = 0, y.model.ops = 9), DIFF_MORE);
#undef VERDICT
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_found_by_their_frames),
        cmocka_unit_test(places_of_the_same_name_are_one),
        cmocka_unit_test(places_that_moved_are_found_by_their_functions),
        cmocka_unit_test(tensors_without_a_place_are_found_by_size_and_maker),
        cmocka_unit_test(what_nothing_is_known_of_is_one_row),
        cmocka_unit_test(what_is_not_alive_at_the_peak_is_kept_apart),
        cmocka_unit_test(places_are_called_by_what_tells_them_apart),
        cmocka_unit_test(any_figure_alone_makes_a_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
