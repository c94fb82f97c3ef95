/* test-boxes.c - where the first byte of a copy of rows and layers lies, how far the rest is from it, for each form. */
#include "boxes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#define TO   UINT64_C(0x700000000000)
#define FROM UINT64_C(0x300000000000)

static void assert_end(struct spw_box_end end, CUdeviceptr at, size_t row_bytes, size_t layer_rows)
{
    assert_int_equal(end.at, at);
    assert_int_equal(end.row_bytes, row_bytes);
    assert_int_equal(end.layer_rows, layer_rows);
}

static void assert_size(const struct spw_box *b, size_t width, size_t rows, size_t layers)
{
    assert_int_equal(b->width, width);
    assert_int_equal(b->rows, rows);
    assert_int_equal(b->layers, layers);
    assert_int_equal(spw_box_bytes(b), width * rows * layers);
}

static void a_plane_begins_so_many_rows_and_bytes_behind_its_base(void **state)
{
    const CUDA_MEMCPY2D p = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                             .srcHost = (const void *)(uintptr_t)FROM,
                             .srcDevice = 17,
                             .srcPitch = 100,
                             .srcY = 3,
                             .srcXInBytes = 5,
                             .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                             .dstDevice = TO,
                             .dstHost = (void *)(uintptr_t)17,
                             .dstPitch = 200,
                             .dstY = 7,
                             .dstXInBytes = 9,
                             .WidthInBytes = 50,
                             .Height = 4};
    const struct spw_box b = spw_box_2d(&p);
    assert_size(&b, 50, 4, 1);
    assert_int_equal(b.from.at, FROM + 3 * 100 + 5);
    assert_int_equal(b.to.at, TO + 7 * 200 + 9);
    assert_int_equal(spw_box_span(&b, &b.from), 3 * 100 + 50);
    assert_int_equal(spw_box_span(&b, &b.to), 3 * 200 + 50);
}

static void without_a_pitch_rows_of_a_plane_lie_one_behind_the_other(void **state)
{
    const CUDA_MEMCPY2D p = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                             .srcDevice = FROM,
                             .srcY = 3,
                             .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                             .dstDevice = TO,
                             .dstY = 2,
                             .WidthInBytes = 50,
                             .Height = 4};
    const struct spw_box b = spw_box_2d(&p);
    assert_int_equal(b.from.at, FROM + 3 * 50);
    assert_int_equal(b.to.at, TO + 2 * 50);
    assert_int_equal(spw_box_span(&b, &b.to), 4 * 50);
}

#define BOX_MEMBERS \
    .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = FROM, .srcXInBytes = 4, .srcY = 2, .srcZ = 3, .srcPitch = 100, \
    .srcHeight = 10, .dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstDevice = TO, .dstXInBytes = 6, .dstY = 1, .dstZ = 2, \
    .dstPitch = 200, .dstHeight = 20, .WidthInBytes = 50, .Height = 4, .Depth = 5

static void assert_box(struct spw_box b)
{
    assert_size(&b, 50, 4, 5);
    assert_end(b.from, FROM + (3 * 10 + 2) * 100 + 4, 100, 10);
    assert_end(b.to, TO + (2 * 20 + 1) * 200 + 6, 200, 20);
    assert_int_equal(spw_box_span(&b, &b.from), (4 * 10 + 3) * 100 + 50);
    assert_int_equal(spw_box_span(&b, &b.to), (4 * 20 + 3) * 200 + 50);
}

static void a_volume_begins_so_many_layers_rows_and_bytes_behind_its_base(void **state)
{
    const CUDA_MEMCPY3D p = {BOX_MEMBERS};
    assert_box(spw_box_3d(&p));
}

static void a_volume_between_peers_does_too(void **state)
{
    const CUDA_MEMCPY3D_PEER p = {BOX_MEMBERS};
    assert_box(spw_box_peer(&p));
}

static void without_pitch_and_height_a_volume_is_packed(void **state)
{
    CUDA_MEMCPY3D p = {BOX_MEMBERS};
    CUDA_MEMCPY3D_PEER q = {BOX_MEMBERS};
    p.srcPitch = p.dstPitch = p.srcHeight = p.dstHeight = q.srcPitch = q.dstPitch = q.srcHeight = q.dstHeight = 0;
    const struct spw_box boxes[] = {spw_box_3d(&p), spw_box_peer(&q)};
    for (int i = 0; i < 2; i++) {
        assert_end(boxes[i].from, FROM + (3 * 4 + 2) * 50 + 4, 50, 4);
        assert_end(boxes[i].to, TO + (2 * 4 + 1) * 50 + 6, 50, 4);
        assert_int_equal(spw_box_span(&boxes[i], &boxes[i].to), 5 * 4 * 50);
    }
}

static void an_end_in_an_array_has_no_address(void **state)
{
    CUDA_MEMCPY3D p = {BOX_MEMBERS};
    CUDA_MEMCPY2D q = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                       .srcDevice = FROM,
                       .srcY = 1,
                       .dstMemoryType = CU_MEMORYTYPE_HOST,
                       .dstHost = (void *)(uintptr_t)TO,
                       .WidthInBytes = 50,
                       .Height = 4};
    p.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    assert_int_equal(spw_box_3d(&p).to.at, 0);
    assert_int_equal(spw_box_3d(&p).from.at, FROM + (3 * 10 + 2) * 100 + 4);
    assert_int_equal(spw_box_2d(&q).from.at, 0);
    assert_int_equal(spw_box_2d(&q).to.at, TO);
}

static void no_base_address_gets_no_offset(void **state)
{
    CUDA_MEMCPY3D p = {BOX_MEMBERS};
    p.dstDevice = 0;
    assert_int_equal(spw_box_3d(&p).to.at, 0);
}

static void a_copy_of_a_batch_begins_at_its_pointers(void **state)
{
    CUDA_MEMCPY3D_BATCH_OP p = {
        .src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = FROM, .rowLength = 100, .layerHeight = 10}},
        .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = TO}},
        .extent = {.width = 50, .height = 4, .depth = 5}};
    struct spw_box b = spw_box_batched(&p);
    assert_size(&b, 50, 4, 5);
    assert_end(b.from, FROM, 100, 10);
    assert_end(b.to, TO, 50, 4);
    p.src.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    b = spw_box_batched(&p);
    assert_int_equal(b.from.at, 0);
    assert_int_equal(b.to.at, TO);
}

static void what_is_not_described_is_empty(void **state)
{
    const struct spw_box boxes[] = {spw_box_2d(NULL), spw_box_3d(NULL), spw_box_peer(NULL), spw_box_batched(NULL)};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(spw_box_bytes(&boxes[i]), 0);
        assert_int_equal(spw_box_span(&boxes[i], &boxes[i].to), 0);
        assert_int_equal(boxes[i].to.at, 0);
        assert_int_equal(boxes[i].from.at, 0);
    }
}

static void bytes_that_cannot_be_counted_are_too_many(void **state)
{
    const struct spw_box b = {.width = SIZE_MAX / 2, .rows = 4, .layers = 1};
    assert_int_equal(spw_box_bytes(&b), SIZE_MAX);
}

static struct {
    CUdeviceptr to, from;
} rows[16];
static unsigned row_count;

static void note_row(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    assert_int_equal(bytes, 50);
    assert_true(row_count < 16);
    rows[row_count].to = to;
    rows[row_count++].from = from;
}

static void rows_come_in_order_and_gaps_are_left_out(void **state)
{
    struct spw_box b = {{TO, 200, 20}, {FROM, 100, 10}, 50, 2, 3};
    row_count = 0;
    spw_box_rows(&b, note_row);
    assert_int_equal(row_count, 6);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(rows[i].to, TO + (i / 2 * 20 + i % 2) * 200);
        assert_int_equal(rows[i].from, FROM + (i / 2 * 10 + i % 2) * 100);
    }
    b.to.at = 0;
    spw_box_rows(&b, note_row);
    assert_int_equal(row_count, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plane_begins_so_many_rows_and_bytes_behind_its_base),
        cmocka_unit_test(without_a_pitch_rows_of_a_plane_lie_one_behind_the_other),
        cmocka_unit_test(a_volume_begins_so_many_layers_rows_and_bytes_behind_its_base),
        cmocka_unit_test(a_volume_between_peers_does_too),
        cmocka_unit_test(without_pitch_and_height_a_volume_is_packed),
        cmocka_unit_test(an_end_in_an_array_has_no_address),
        cmocka_unit_test(no_base_address_gets_no_offset),
        cmocka_unit_test(a_copy_of_a_batch_begins_at_its_pointers),
        cmocka_unit_test(what_is_not_described_is_empty),
        cmocka_unit_test(bytes_that_cannot_be_counted_are_too_many),
        cmocka_unit_test(rows_come_in_order_and_gaps_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
