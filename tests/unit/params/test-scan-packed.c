/* test-scan-packed.c - addresses are found in packed buffers and tensor maps, and in launches made at random. */
#include "launched.h"

static int by_value(const void *a, const void *b)
{
    CUdeviceptr x = *(const CUdeviceptr *)a, y = *(const CUdeviceptr *)b;
    return (x > y) - (x < y);
}

/* ---- packed buffers ---- */

static void a_packed_buffer_is_read_as_a_whole(void **state)
{
    struct made m;
    CUdeviceptr image[4] = {1, LOW + 8, 2, LOW + 16}, hits[8];
    size_t bytes = sizeof image;
    void *pointer_first[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, image, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                             CU_LAUNCH_PARAM_END};
    void *size_first[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_BUFFER_POINTER, image, CU_LAUNCH_PARAM_END};
    make(&m, (struct spw_param[]){{0, 8}, {8, 8}, {16, 16}}, 3);
    assert_int_equal(scan(&m, NULL, pointer_first, hits, 8), 2);
    assert_int_equal(scan(&m, NULL, size_first, hits, 8), 2);
    assert_true(holds(hits, 2, LOW + 8) && holds(hits, 2, LOW + 16));
}

static void a_packed_buffer_needs_no_layout(void **state)
{
    struct made m = {.layout = {.known = false}};
    char image[20] = {0};
    CUdeviceptr address = LOW + 100, hits[8];
    size_t bytes = sizeof image;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, image, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    memcpy(image + 12, &address, 8);
    assert_int_equal(scan(&m, NULL, extra, hits, 8), 1);
    assert_int_equal(hits[0], address);
}

static void a_malformed_extra_cannot_be_parsed(void **state)
{
    struct made m;
    CUdeviceptr image[2] = {LOW, LOW}, hits[8];
    size_t bytes = sizeof image, huge = 1 << 20;
    void *p = CU_LAUNCH_PARAM_BUFFER_POINTER, *s = CU_LAUNCH_PARAM_BUFFER_SIZE, *end = CU_LAUNCH_PARAM_END,
         *params[] = {image, image};
    void *cases[][18] = {
        {p, image, end},                               /* no size */
        {s, &bytes, end},                              /* no buffer */
        {p, NULL, s, &bytes, end},                     /* a NULL buffer */
        {p, image, s, NULL, end},                      /* a NULL size */
        {p, image, s, &huge, end},                     /* more than a launch can pass */
        {p, image, s, &bytes, (void *)77, image, end}, /* an unknown key */
        {p, image, p, image, p, image, p, image, p, image, p, image, p, image, p, image, p}, /* no end */
    };
    make(&m, (struct spw_param[]){{0, 8}, {8, 8}}, 2);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(scan(&m, NULL, cases[i], hits, 8), -EINVAL);

    void *good[] = {p, image, s, &bytes, end};
    assert_int_equal(scan(&m, params, good, hits, 8), -EINVAL); /* two ways at once */
    assert_int_equal(scan(&m, params, &end, hits, 8), 2);       /* an extra that says nothing */
}

/* ---- what cannot be parsed ---- */

static void without_a_layout_plain_parameters_cannot_be_parsed(void **state)
{
    struct made m = {.layout = {.known = false}};
    CUdeviceptr a = LOW, hits[1];
    void *params[] = {&a};
    assert_int_equal(scan(&m, params, NULL, hits, 1), -ENODATA);
    assert_int_equal(scan(&m, NULL, NULL, hits, 1), -ENODATA);
}

/* The old calls set parameters one by one (cuParamSetv) and launch without any. */
static void parameters_that_come_in_no_known_way_cannot_be_parsed(void **state)
{
    struct made m;
    CUdeviceptr hits[1];
    make(&m, (struct spw_param[]){{0, 8}}, 1);
    assert_int_equal(scan(&m, NULL, NULL, hits, 1), -ENODATA);
    make(&m, NULL, 0);
    assert_int_equal(scan(&m, NULL, NULL, hits, 1), 0);
}

/* ---- tensor maps ---- */

static void fill_map(char *bytes, unsigned seed)
{
    for (unsigned i = 0; i < SPW_TENSORMAP_BYTES; i++)
        bytes[i] = (char)(seed * 31 + i * 7);
}

static const CUtensorMap *copy_of(const char *bytes)
{
    static CUtensorMap map;
    memcpy(&map, bytes, sizeof map);
    return &map;
}

static void a_tensor_map_that_hides_its_address_is_recognised(void **state)
{
    struct {
        char first[128], padding[64], second[128]; /* older toolkits align maps to 64 */
    } argument;
    struct made m;
    CUdeviceptr hits[4];
    memset(&argument, 0, sizeof argument);
    fill_map(argument.first, 1);
    fill_map(argument.second, 2);
    assert_int_equal(spw_tensormap_made(copy_of(argument.first), LOW + 512), 0);
    assert_int_equal(spw_tensormap_made(copy_of(argument.second), LOW + 1024), 0);
    make(&m, (struct spw_param[]){{0x70, sizeof argument}}, 1);
    void *params[] = {&argument};
    int n = scan(&m, params, NULL, hits, 4);
    assert_int_equal(n, 2);
    assert_true(holds(hits, n, LOW + 512) && holds(hits, n, LOW + 1024));
    assert_int_equal(scan(&m, params, NULL, hits, 1), -E2BIG);

    char image[8 + sizeof argument];
    size_t bytes = sizeof image;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, image, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    memset(image, 0, sizeof image);
    memcpy(image + 8, &argument, sizeof argument);
    assert_int_equal(scan(&m, NULL, extra, hits, 4), 2);
}

/* What a map hides was found by the map, and not where some word lies. */
static void what_a_tensor_map_hides_has_no_place(void **state)
{
    struct {
        char map[128];
        CUdeviceptr plain[8];
    } argument;
    struct made m;
    CUdeviceptr hits[4];
    memset(&argument, 0, sizeof argument);
    fill_map(argument.map, 3);
    argument.plain[1] = LOW + 8;
    assert_int_equal(spw_tensormap_made(copy_of(argument.map), LOW + 512), 0);
    make(&m, (struct spw_param[]){{0, sizeof argument}}, 1);
    void *params[] = {&argument};
    assert_int_equal(scan_telling(&m, params, hits, 4, 23), 2);
    assert_int_equal(hits[0], LOW + 8);
    assert_int_equal(hits[1], LOW + 512);
    const unsigned before = doubted_places(&m);
    spw_scan_doubt(&told.doubted, 1);
    assert_int_equal(doubted_places(&m), before);
    spw_scan_doubt(&told.doubted, 0);
    assert_true(doubted_places(&m) == before + 1 && is_doubted_place(&m, 17));
}

/* ---- anything ---- */

static uint64_t random_word(void)
{
    uint64_t r = ((uint64_t)(unsigned)random() << 33) ^ ((uint64_t)(unsigned)random() << 11) ^ (unsigned)random();
    switch (r % 4) {
    case 0:
        return LOW + r / 4 % (HIGH - LOW);
    case 1:
        return (r & 4 ? LOW : HIGH) - (r & 8 ? 1 : 0);
    case 2:
        return r;
    default:
        return r % 1000;
    }
}

/* Reads one byte at a time and knows nothing of words and spans. */
static unsigned reference(const struct spw_param *p, const unsigned char *bytes, CUdeviceptr *hits, unsigned n)
{
    unsigned step = p->size_bytes > 8 && (p->size_bytes % 8 || p->offset_bytes % 8) ? 4 : 8;
    for (unsigned at = 0; at + 8 <= p->size_bytes; at += step) {
        uint64_t word = 0;
        for (unsigned i = 0; i < 8; i++)
            word |= (uint64_t)bytes[at + i] << (8 * i);
        if (word >= LOW && word < HIGH)
            hits[n++] = word;
    }
    return n;
}

static void random_launches_agree_with_the_reference(void **state)
{
    static const uint16_t sizes[] = {1, 2, 4, 8, 8, 8, 8, 12, 16, 20, 24, 40, 128, 200, 252};
    static unsigned char memory[40 * 260];
    CUdeviceptr found[2048], expected[2048];
    srandom(7);
    for (int round = 0; round < 3000; round++) {
        struct spw_param list[40];
        void *params[40];
        struct made m;
        unsigned count = (unsigned)random() % 40, offset = 0, wanted = 0;
        for (unsigned i = 0; i < count; i++) {
            list[i].size_bytes = sizes[random() % 15];
            unsigned align = list[i].size_bytes % 8 == 0 ? 8 : list[i].size_bytes % 4 == 0 ? 4 : 1;
            offset = (offset + align - 1) / align * align;
            list[i].offset_bytes = (uint16_t)offset;
            offset += list[i].size_bytes;
            unsigned char *bytes = memory + 260 * i + random() % 8;
            for (unsigned at = 0; at < list[i].size_bytes; at += 4) {
                uint64_t word = random_word();
                memcpy(bytes + at, &word, at + 8 <= list[i].size_bytes ? 8 : list[i].size_bytes - at);
            }
            params[i] = bytes;
            wanted = reference(&list[i], bytes, expected, wanted);
        }
        make(&m, list, count);
        int n = scan(&m, params, NULL, found, 2048);
        assert_int_equal(n, wanted);
        qsort(found, wanted, sizeof *found, by_value);
        qsort(expected, wanted, sizeof *expected, by_value);
        assert_memory_equal(found, expected, wanted * sizeof *found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packed_buffer_is_read_as_a_whole),
        cmocka_unit_test(a_packed_buffer_needs_no_layout),
        cmocka_unit_test(a_malformed_extra_cannot_be_parsed),
        cmocka_unit_test(without_a_layout_plain_parameters_cannot_be_parsed),
        cmocka_unit_test(parameters_that_come_in_no_known_way_cannot_be_parsed),
        cmocka_unit_test(random_launches_agree_with_the_reference),
        cmocka_unit_test(a_tensor_map_that_hides_its_address_is_recognised),
        cmocka_unit_test(what_a_tensor_map_hides_has_no_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
