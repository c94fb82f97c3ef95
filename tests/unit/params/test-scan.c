/* test-scan.c - finding addresses in launch parameters, compared with a plain reference on random launches. */
#include "launched.h"

/* ---- plain parameters ---- */

static void each_pointer_parameter_in_the_arena_is_a_hit(void **state)
{
    struct made m;
    CUdeviceptr a = LOW, b = HIGH - 1, foreign = HIGH, below = LOW - 1, hits[4];
    int number = 5;
    make(&m, (struct spw_param[]){{0, 8}, {8, 4}, {16, 8}, {24, 8}, {32, 8}}, 5);
    void *params[] = {&a, &number, &foreign, &b, &below};
    assert_int_equal(scan(&m, params, NULL, hits, 4), 2);
    assert_int_equal(hits[0], a);
    assert_int_equal(hits[1], b);
}

static void nothing_is_a_hit_while_there_is_no_arena(void **state)
{
    struct made m;
    CUdeviceptr zero = 0, any = LOW, hits[2];
    make(&m, (struct spw_param[]){{0, 8}, {8, 8}}, 2);
    void *params[] = {&zero, &any};
    assert_int_equal(spw_scan_launch(&m.layout, params, NULL, 0, 0, hits, 2, NULL), 0);
}

static void a_parameter_may_lie_at_any_host_address(void **state)
{
    struct made m;
    char bytes[32];
    CUdeviceptr address = LOW + 12345, hits[3];
    make(&m, (struct spw_param[]){{0, 8}, {8, 16}}, 2);
    for (unsigned shift = 0; shift < 8; shift++) {
        memset(bytes, 0, sizeof bytes);
        memcpy(bytes + shift, &address, 8);
        memcpy(bytes + shift + 8, &address, 8);
        void *params[] = {bytes + shift, bytes + shift};
        assert_int_equal(scan(&m, params, NULL, hits, 3), 3);
        assert_int_equal(hits[2], address);
    }
}

static void pointers_inside_a_struct_are_found(void **state)
{
    struct {
        int n;
        CUdeviceptr tensors[24];
        float scale;
    } argument = {.n = 2, .tensors = {[0] = LOW + 64, [23] = LOW + 4096}};
    struct made m;
    CUdeviceptr hits[8];
    make(&m, (struct spw_param[]){{0, sizeof argument}}, 1);
    void *params[] = {&argument};
    int n = scan(&m, params, NULL, hits, 8);
    assert_int_equal(n, 2);
    assert_true(holds(hits, n, LOW + 64) && holds(hits, n, LOW + 4096));
}

/* 12 bytes cannot be a struct that is aligned to 8: an address in it begins at a multiple of 4 only. */
static void a_struct_of_odd_size_is_read_in_half_steps(void **state)
{
    char argument[12] = {0};
    CUdeviceptr address = LOW + 8, hits[2];
    struct made m;
    memcpy(argument + 4, &address, sizeof address);
    make(&m, (struct spw_param[]){{0, 12}}, 1);
    void *params[] = {argument};
    assert_int_equal(scan(&m, params, NULL, hits, 2), 1);
    assert_int_equal(hits[0], address);
}

/* The longest argument block there is, full of addresses: what fused optimizers come near. */
static void a_whole_image_of_addresses_fits_the_room(void **state)
{
    static CUdeviceptr image[SPW_PARAMS_MAX_BYTES / 8], hits[SPW_SCAN_ROOM];
    struct made m;
    for (unsigned i = 0; i < SPW_PARAMS_MAX_BYTES / 8; i++)
        image[i] = LOW + i;
    make(&m, (struct spw_param[]){{0, SPW_PARAMS_MAX_BYTES / 8 * 8}}, 1);
    void *params[] = {image};
    assert_int_equal(scan(&m, params, NULL, hits, SPW_SCAN_ROOM), SPW_PARAMS_MAX_BYTES / 8);
    assert_int_equal(hits[SPW_PARAMS_MAX_BYTES / 8 - 1], image[SPW_PARAMS_MAX_BYTES / 8 - 1]);
}

static void too_many_hits_are_refused_and_nothing_is_written_past_the_room(void **state)
{
    CUdeviceptr image[6], hits[7];
    struct made m;
    for (unsigned i = 0; i < 6; i++)
        image[i] = LOW;
    void *params[] = {image, image, image};
    for (unsigned room = 0; room < 6; room++) {
        for (unsigned i = 0; i < 7; i++)
            hits[i] = 77;
        make(&m, (struct spw_param[]){{0, 48}}, 1);
        assert_int_equal(scan(&m, params, NULL, hits, room), -E2BIG);
        assert_int_equal(hits[room], 77);
        make(&m, (struct spw_param[]){{0, 8}, {8, 8}, {16, 32}}, 3);
        assert_int_equal(scan(&m, params, NULL, hits, room), -E2BIG);
        assert_int_equal(hits[room], 77);
    }
    assert_int_equal(scan(&m, params, NULL, hits, 6), 6);
    assert_int_equal(hits[6], 77);
}

/* ---- places that are not trusted ---- */

#define RUBBISH UINT64_C(0x3f8000003f800000)

static bool is_doubted(unsigned hit)
{
    return spw_scan_is_doubted(&told.doubted, hit);
}

static void a_place_that_was_given_rubbish_is_doubted_from_then_on(void **state)
{
    CUdeviceptr image[4] = {LOW + 8, LOW + 16, LOW + 24, LOW + 32}, hits[4];
    struct made m;
    make(&m, (struct spw_param[]){{0, 32}}, 1);
    void *params[] = {image};
    assert_int_equal(scan_telling(&m, params, hits, 4, 3), 4);
    for (unsigned i = 0; i < 4; i++)
        assert_false(is_doubted(i));

    image[1] = RUBBISH;
    assert_int_equal(scan_telling(&m, params, hits, 4, 3), 3);
    for (unsigned i = 0; i < 4; i++)
        assert_false(is_doubted(i));

    image[1] = LOW + 40;
    for (int again = 0; again < 2; again++) { /* an address there doesn't mend it, and all are hits as ever */
        assert_int_equal(scan_telling(&m, params, hits, 4, 3), 4);
        assert_memory_equal(hits, image, sizeof image);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(is_doubted(i), i == 1);
    }
    assert_int_equal(doubted_places(&m), 1);
}

static void doubted_hits_come_behind_the_others_each_in_their_order(void **state)
{
    CUdeviceptr image[70], hits[71], word = LOW;
    struct made m;
    make(&m, (struct spw_param[]){{0, 8}, {8, 560}}, 2);
    void *params[] = {&word, image};
    for (unsigned i = 0; i < 70; i++)
        image[i] = i % 3 == 1 ? RUBBISH : LOW + i;
    assert_int_equal(scan_telling(&m, params, hits, 71, 3), 48);
    assert_int_equal(spw_scan_part(&told.doubted, hits, 48), 0);
    for (unsigned i = 0; i < 70; i++)
        image[i] = LOW + 8 + i;
    assert_int_equal(scan_telling(&m, params, hits, 71, 3), 71);
    assert_int_equal(spw_scan_part(&told.doubted, hits, 71), 23);
    assert_int_equal(hits[0], LOW);
    for (unsigned i = 0; i < 70; i++) {
        const unsigned hit = i % 3 == 1 ? 48 + i / 3 : 1 + i - (i + 1) / 3;
        assert_int_equal(hits[hit], image[i]);
        assert_int_equal(told.doubted.places[hit], 1 + i);
        assert_int_equal(is_doubted(hit), i % 3 == 1);
    }
    assert_false(is_doubted(0));
    spw_scan_doubt(&told.doubted, 1); /* the first word of the structure */
    assert_true(is_doubted_place(&m, 1));
}

static void hits_without_places_and_more_than_can_be_doubted_stay_where_they_are(void **state)
{
    static CUdeviceptr image[600], hits[600];
    CUdeviceptr first = LOW;
    struct made m;
    make(&m, (struct spw_param[]){{0, 4800}}, 1);
    void *params[] = {image};
    for (unsigned i = 0; i < 600; i++)
        image[i] = i == 2 ? RUBBISH : LOW + i;
    assert_int_equal(scan_telling(&m, params, hits, 600, 3), 599);
    image[2] = LOW + 2;
    assert_int_equal(scan_telling(&m, params, hits, 600, 3), 600);
    assert_true(is_doubted(2));
    assert_int_equal(spw_scan_part(&told.doubted, hits, 600), 0);
    assert_memory_equal(hits, image, sizeof(image));
    spw_scan_doubted_init(&told.doubted);
    assert_int_equal(spw_scan_part(&told.doubted, &first, 1), 0);
}

static void addresses_outside_of_the_arena_are_rubbish_and_nothing_is_not(void **state)
{
    CUdeviceptr image[6] = {LOW, HIGH - 1, 0, LOW - 1, HIGH, 1}, hits[6];
    struct made m;
    make(&m, (struct spw_param[]){{0, 48}}, 1);
    void *params[] = {image};
    assert_int_equal(scan_telling(&m, params, hits, 6, 0), 2);
    for (unsigned word = 0; word < 6; word++)
        assert_int_equal(is_doubted_place(&m, word), word >= 3);
    for (unsigned word = 0; word < 6; word++)
        image[word] = LOW + word;
    assert_int_equal(scan_telling(&m, params, hits, 6, 0), 6);
    for (unsigned hit = 0; hit < 6; hit++)
        assert_int_equal(is_doubted(hit), hit >= 3);
}

/* By where they lie in the image of all parameters: neither another struct's places nor another function's. */
static void places_are_told_apart(void **state)
{
    CUdeviceptr first[2] = {LOW, LOW}, word = LOW, second[80], hits[128];
    struct made m, other;
    const struct spw_param list[] = {{0, 16}, {16, 8}, {24, sizeof second}};
    make(&m, list, 3);
    make(&other, list, 3);
    for (unsigned i = 0; i < 80; i++)
        second[i] = LOW + i;
    second[1] = second[65] = second[66] = RUBBISH;
    void *params[] = {first, &word, second};
    assert_int_equal(scan_telling(&m, params, hits, 128, 0), 80);
    assert_int_equal(doubted_places(&m), 3);
    assert_true(is_doubted_place(&m, 3 + 1) && is_doubted_place(&m, 3 + 65) && is_doubted_place(&m, 3 + 66));

    second[1] = second[65] = second[66] = LOW;
    assert_int_equal(scan_telling(&m, params, hits, 128, 0), 83);
    for (unsigned hit = 0; hit < 83; hit++) /* first comes the word, then the first struct */
        assert_int_equal(is_doubted(hit), hit == 3 + 1 || hit == 3 + 65 || hit == 3 + 66);
    assert_int_equal(scan_telling(&other, params, hits, 128, 0), 83);
    for (unsigned hit = 0; hit < 83; hit++)
        assert_false(is_doubted(hit));
}

/* Who finds out that a hit leads nowhere says so by its number; those of words have no place, and what follows the hits of
 * the launch was found elsewhere. */
static void the_place_of_a_hit_that_leads_nowhere_is_doubted(void **state)
{
    CUdeviceptr word = LOW, image[6] = {LOW, 0, LOW + 8, 0, LOW + 16, 0}, hits[8];
    struct made m;
    make(&m, (struct spw_param[]){{0, 8}, {8, 48}, {56, 8}}, 3);
    void *params[] = {&word, image, &word};
    assert_int_equal(scan_telling(&m, params, hits, 8, 6), 5);
    for (unsigned hit = 0; hit < 8; hit++)
        if (hit != 3)
            assert_false(is_doubted(hit));
    spw_scan_doubt(NULL, 3);
    spw_scan_doubt(&told.doubted, 0);
    spw_scan_doubt(&told.doubted, 1);
    spw_scan_doubt(&told.doubted, 5);
    assert_int_equal(doubted_places(&m), 0);
    spw_scan_doubt(&told.doubted, 3);
    spw_scan_doubt(&told.doubted, 3);
    assert_int_equal(doubted_places(&m), 1);
    assert_true(is_doubted_place(&m, 3));
    assert_false(is_doubted(3)); /* what this launch is known by stays as it is */
    assert_int_equal(scan_telling(&m, params, hits, 8, 6), 5);
    for (unsigned hit = 0; hit < 5; hit++)
        assert_int_equal(is_doubted(hit), hit == 3);
}

static void what_nobody_asks_for_is_noted_all_the_same(void **state)
{
    CUdeviceptr image[2] = {LOW, RUBBISH}, hits[2];
    struct made m;
    make(&m, (struct spw_param[]){{0, 16}}, 1);
    void *params[] = {image};
    assert_int_equal(scan(&m, params, NULL, hits, 2), 1);
    image[1] = LOW;
    assert_int_equal(scan(&m, params, NULL, hits, 2), 2);
    assert_int_equal(scan_telling(&m, params, hits, 2, 0), 2);
    assert_true(!is_doubted(0) && is_doubted(1));
    assert_false(spw_scan_is_doubted(NULL, 1));
}

static void without_room_for_notes_all_is_trusted(void **state)
{
    CUdeviceptr image[2] = {LOW, RUBBISH}, hits[2];
    struct made m;
    make(&m, (struct spw_param[]){{0, 16}}, 1);
    m.layout.places = NULL;
    void *params[] = {image};
    assert_int_equal(scan_telling(&m, params, hits, 2, 0), 1);
    image[1] = LOW;
    assert_int_equal(scan_telling(&m, params, hits, 2, 0), 2);
    spw_scan_doubt(&told.doubted, 0);
    assert_true(!is_doubted(0) && !is_doubted(1));
    image[1] = 0;
    assert_int_equal(scan_telling(&m, params, hits, 2, 0), 1);
    image[1] = LOW;
    assert_int_equal(scan_telling(&m, params, hits, 2, 0), 2);
    assert_false(spw_scan_comes_and_goes(&told.doubted, 1));
}

/* Places go along with their hits, wherever these are brought. */
static void a_place_that_was_given_nothing_comes_and_goes_from_then_on(void **state)
{
    CUdeviceptr word = 0, image[70], hits[71];
    struct made m;
    make(&m, (struct spw_param[]){{0, 8}, {8, sizeof(image)}}, 2);
    void *params[] = {&word, image};
    for (unsigned i = 0; i < 70; i++)
        image[i] = i == 1 || i == 66 ? 0 : i == 3 ? RUBBISH : LOW + i;
    assert_int_equal(scan_telling(&m, params, hits, 71, 3), 67);
    for (unsigned hit = 0; hit < 67; hit++)
        assert_false(spw_scan_comes_and_goes(&told.doubted, hit));
    assert_int_equal(doubted_places(&m), 1);

    word = image[1] = image[3] = image[66] = LOW;
    for (int again = 0; again < 2; again++) {
        assert_int_equal(scan_telling(&m, params, hits, 71, 3), 71);
        for (unsigned hit = 0; hit < 72; hit++) /* the word's comes first: no place of a structure */
            assert_int_equal(spw_scan_comes_and_goes(&told.doubted, hit), hit == 2 || hit == 67);
    }
    assert_int_equal(spw_scan_part(&told.doubted, hits, 71), 1);
    for (unsigned hit = 0; hit < 71; hit++)
        assert_int_equal(spw_scan_comes_and_goes(&told.doubted, hit), hit == 2 || hit == 66);
    assert_false(spw_scan_comes_and_goes(NULL, 2));
}

/* A launch of a function for itself that is given nothing in the second place, and another that is not. */
static bool is_noted_to_be_nothing(void)
{
    CUdeviceptr image[2] = {LOW, 0}, hits[2];
    struct made m;
    make(&m, (struct spw_param[]){{0, 16}}, 1);
    void *params[] = {image};
    assert_int_equal(scan_telling(&m, params, hits, 2, 0), 1);
    image[1] = LOW;
    assert_int_equal(scan_telling(&m, params, hits, 2, 0), 2);
    return spw_scan_comes_and_goes(&told.doubted, 1);
}

/* But where nothing that is known has come for as long as four iterations take. */
static void while_iterations_are_known_places_stay_as_they_are(void **state)
{
    const struct spw_iteration_place sure = {.sure = SPW_ITERATION_SURE, .length = 10},
                                     shorter = {.sure = SPW_ITERATION_SURE, .length = 5},
                                     likely = {.sure = SPW_ITERATION_LIKELY, .length = 1000}, none = {0};
    spw_scan_reset();
    spw_scan_told(&none);
    spw_scan_told(&likely);
    assert_true(is_noted_to_be_nothing());
    spw_scan_told(&sure);
    spw_scan_told(&shorter);
    assert_false(is_noted_to_be_nothing());
    for (int astray = 0; astray < 40; astray++)
        spw_scan_told(&none);
    assert_false(is_noted_to_be_nothing());
    spw_scan_told(&none);
    assert_true(is_noted_to_be_nothing());
    spw_scan_told(&likely);
    assert_false(is_noted_to_be_nothing());
    spw_scan_reset();
    assert_true(is_noted_to_be_nothing());
}

/* Of a structure that is known, zeros may be ours; and without whom it is for, nobody can say. */
static void zeros_that_may_be_ours_are_not_noted(void **state)
{
    CUdeviceptr image[2] = {LOW, LOW}, hits[2];
    struct made m;
    make(&m, (struct spw_param[]){{0, 16}}, 1);
    void *params[] = {image};
    for (int turn = 0; turn < 40; turn++) {
        image[1] = turn % 2 ? LOW : 0;
        spw_scan_doubted_init(&told.doubted);
        told.doubted.filled = true;
        (void)spw_scan_launch(&m.layout, params, NULL, LOW, HIGH, hits, 2, turn % 4 < 2 ? &told.doubted : NULL);
    }
    assert_int_equal(scan_telling(&m, params, hits, 2, 0), 2);
    assert_false(spw_scan_comes_and_goes(&told.doubted, 1));
}

/* A launch without structs, or one whose parameters come packed, has no places at all. */
static void hits_outside_of_structs_have_no_places(void **state)
{
    struct made m;
    CUdeviceptr a = LOW, hits[4], image[4] = {LOW, RUBBISH, LOW, LOW};
    size_t bytes = sizeof image;
    void *params[] = {&a},
         *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, image, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    make(&m, (struct spw_param[]){{0, 8}}, 1);
    assert_int_equal(scan_telling(&m, params, hits, 4, 0), 1);
    assert_null(told.doubted.layout);
    spw_scan_doubt(&told.doubted, 0);
    assert_int_equal(doubted_places(&m), 0);

    make(&m, (struct spw_param[]){{0, 32}}, 1);
    spw_scan_doubted_init(&told.doubted);
    assert_int_equal(spw_scan_launch(&m.layout, NULL, extra, LOW, HIGH, hits, 4, &told.doubted), 3);
    assert_null(told.doubted.layout);
    assert_int_equal(doubted_places(&m), 0);
}

/* Words of half steps lie across each other: one of them says nothing of the next. */
static void structs_of_half_steps_have_no_places(void **state)
{
    CUdeviceptr odd[2], even[2] = {LOW + 8, LOW + 16}, hits[8];
    struct made m;
    make(&m, (struct spw_param[]){{0, 12}, {16, 16}, {36, 16}}, 3);
    void *params[] = {odd, even, odd};
    odd[0] = odd[1] = RUBBISH;
    assert_int_equal(scan_telling(&m, params, hits, 8, 7), 2);
    assert_int_equal(doubted_places(&m), 0);
    odd[0] = LOW;
    assert_int_equal(scan_telling(&m, params, hits, 8, 7), 4);
    for (unsigned hit = 0; hit < 4; hit++)
        assert_false(is_doubted(hit));
    spw_scan_doubt(&told.doubted, 0);
    spw_scan_doubt(&told.doubted, 3);
    assert_int_equal(doubted_places(&m), 0);
    spw_scan_doubt(&told.doubted, 2);
    assert_true(doubted_places(&m) == 1 && is_doubted_place(&m, 3));
}

/* Only so many hits are told apart: the others count, and lie in nobody's way. */
static void hits_beyond_those_that_are_told_apart_are_trusted(void **state)
{
    static CUdeviceptr image[600], hits[1024];
    struct made m;
    make(&m, (struct spw_param[]){{0, sizeof image}}, 1);
    void *params[] = {image};
    image[511] = image[512] = image[550] = RUBBISH;
    for (unsigned i = 0; i < 511; i++)
        image[i] = LOW + i;
    assert_int_equal(scan_telling(&m, params, hits, 1024, 599), 511);
    for (unsigned i = 511; i < 600; i++)
        image[i] = LOW + i;
    assert_int_equal(scan_telling(&m, params, hits, 1024, 599), 600);
    assert_memory_equal(hits, image, sizeof image);
    for (unsigned hit = 0; hit < 600; hit++)
        assert_int_equal(is_doubted(hit), hit == 511);
    assert_ptr_equal(told.doubted.layout, &m.layout);
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(told.behind[i], 599);
    assert_int_equal(doubted_places(&m), 3);
    spw_scan_doubt(&told.doubted, 510);
    assert_true(is_doubted_place(&m, 510));
    for (unsigned hit = 512; hit < 530; hit++)
        spw_scan_doubt(&told.doubted, hit);
    assert_int_equal(doubted_places(&m), 4);

    make(&m, (struct spw_param[]){{0, sizeof image - 4}}, 1);
    assert_int_equal(scan_telling(&m, params, hits, 1024, 599), 599);
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(told.behind[i], 599);
}

/* What came before there was no more room is doubted as ever, but nobody is told more. */
static void too_many_hits_are_refused_whoever_wants_to_know_of_them(void **state)
{
    CUdeviceptr image[6] = {RUBBISH, LOW, LOW, LOW, LOW, LOW}, hits[6];
    struct made m;
    for (unsigned room = 0; room < 5; room++) {
        for (unsigned i = 0; i < 6; i++)
            hits[i] = 77;
        make(&m, (struct spw_param[]){{0, 48}}, 1);
        void *params[] = {image};
        assert_int_equal(scan_telling(&m, params, hits, room, 5), -E2BIG);
        assert_int_equal(hits[room], 77);
        assert_int_equal(doubted_places(&m), 1);
        for (unsigned hit = 0; hit < 6; hit++)
            spw_scan_doubt(&told.doubted, hit);
        assert_int_equal(doubted_places(&m), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pointer_parameter_in_the_arena_is_a_hit),
        cmocka_unit_test(nothing_is_a_hit_while_there_is_no_arena),
        cmocka_unit_test(a_parameter_may_lie_at_any_host_address),
        cmocka_unit_test(pointers_inside_a_struct_are_found),
        cmocka_unit_test(a_struct_of_odd_size_is_read_in_half_steps),
        cmocka_unit_test(a_whole_image_of_addresses_fits_the_room),
        cmocka_unit_test(too_many_hits_are_refused_and_nothing_is_written_past_the_room),
        cmocka_unit_test(a_place_that_was_given_rubbish_is_doubted_from_then_on),
        cmocka_unit_test(doubted_hits_come_behind_the_others_each_in_their_order),
        cmocka_unit_test(hits_without_places_and_more_than_can_be_doubted_stay_where_they_are),
        cmocka_unit_test(addresses_outside_of_the_arena_are_rubbish_and_nothing_is_not),
        cmocka_unit_test(places_are_told_apart),
        cmocka_unit_test(the_place_of_a_hit_that_leads_nowhere_is_doubted),
        cmocka_unit_test(what_nobody_asks_for_is_noted_all_the_same),
        cmocka_unit_test(without_room_for_notes_all_is_trusted),
        cmocka_unit_test(a_place_that_was_given_nothing_comes_and_goes_from_then_on),
        cmocka_unit_test(while_iterations_are_known_places_stay_as_they_are),
        cmocka_unit_test(zeros_that_may_be_ours_are_not_noted),
        cmocka_unit_test(hits_outside_of_structs_have_no_places),
        cmocka_unit_test(structs_of_half_steps_have_no_places),
        cmocka_unit_test(hits_beyond_those_that_are_told_apart_are_trusted),
        cmocka_unit_test(too_many_hits_are_refused_whoever_wants_to_know_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
