/* test-outside.c - tensors that were given addresses of memory which is not ours are known, however these get around. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "arena.h"
#include "driver.h"
#include "outside.h"

enum { KIB = 1024 };

static const CUdeviceptr HOST = 0x7f1234500000, ARENA = 0x200000000000;
static unsigned questions;

/* 64 KiB of host memory. */
static CUresult attribute(void *data, CUpointer_attribute what, CUdeviceptr word)
{
    questions++;
    *(CUmemorytype *)data = CU_MEMORYTYPE_HOST;
    return word - HOST < (size_t)64 * KIB ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static int setup(void **state)
{
    spw_driver.cuPointerGetAttribute = attribute;
    spw_arena_low = ARENA;
    spw_arena_high = ARENA + ((uint64_t)1 << 30);
    spw_outside_reset();
    spw_outside_lies_at(HOST, (size_t)64 * KIB);
    questions = 0;
    return 0;
}

static CUdeviceptr at(size_t kib)
{
    return ARENA + kib * KIB;
}

static bool has(size_t kib)
{
    return spw_outside_has(at(kib), at(kib + 1));
}

/* 1 KiB to there, all zeroes but for one word at `byte`. */
static void upload(size_t kib, size_t byte, CUdeviceptr word)
{
    unsigned char bytes[KIB] = {0};
    memcpy(bytes + byte, &word, sizeof(word));
    spw_outside_learn(at(kib), bytes, sizeof(bytes));
}

static void an_address_counts_wherever_it_is_in_the_copy(void **state)
{
    static const size_t places[] = {0, 8, 512, KIB - 8};
    for (size_t i = 0; i < 4; i++) {
        upload(i, places[i], HOST + 4096 * i + i);
        assert_true(has(i));
    }
    assert_false(has(4));
    assert_int_equal(spw_outside_count, 4);
}

static void other_words_do_not(void **state)
{
    static const CUdeviceptr others[] = {
        0, 17, 0xffffffff, (CUdeviceptr)-1, 0x3f8000003f800000, 0x200000000100, 0x7f1234600000};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        upload(i, 16, others[i]);
    upload(20, 12, HOST); /* across two words: no kernel reads an address there */
    assert_int_equal(spw_outside_count, 0);
    assert_in_range(questions, 0, 1);
}

static void where_there_is_no_such_memory_nobody_is_asked(void **state)
{
    spw_outside_reset();
    upload(0, 0, HOST);
    assert_int_equal(questions, 0);
    assert_false(has(0));
}

static void a_copy_of_the_tensor_has_them_too(void **state)
{
    upload(0, 8, HOST);
    spw_outside_copied(at(8), at(0), KIB);
    spw_outside_copied(at(9), at(1), KIB);
    assert_true(has(8));
    assert_false(has(9));
    spw_outside_copied(at(8), at(1), KIB);
    assert_false(has(8));
}

static void what_is_written_over_is_forgotten_and_the_rest_is_not(void **state)
{
    upload(0, 8, HOST);
    spw_outside_copied(at(4), at(0), 4 * KIB); /* what is copied has one somewhere: all of it counts */
    spw_outside_forget(at(5), at(6));
    assert_true(has(4));
    assert_false(has(5));
    assert_true(has(6));
    assert_true(has(7));
    upload(6, 0, 1);
    assert_false(has(6));
    spw_outside_forget(at(0), at(100));
    assert_int_equal(spw_outside_count, 0);
}

/* Asking takes time: after so many questions the answer is yes. */
static void data_that_look_like_addresses_count_at_last(void **state)
{
    CUdeviceptr words[KIB / 8];
    spw_outside_lies_at(HOST + ((uint64_t)2 << 30), 1); /* they lie between the two */
    for (size_t i = 0; i < KIB / 8; i++)
        words[i] = HOST + ((uint64_t)1 << 30) + i;
    spw_outside_learn(at(0), words, 60 * sizeof(*words));
    assert_false(has(0));
    spw_outside_learn(at(0), words, sizeof(words));
    assert_true(has(0));
    assert_in_range(questions, 100, 130);
}

static void no_place_is_lost_when_there_are_many(void **state)
{
    for (size_t i = 0; i < (size_t)2 * SPW_OUTSIDE_MAX; i++)
        upload(i * 7 % (2 * SPW_OUTSIDE_MAX) * 2, 0, HOST); /* in no order, and a gap behind each */
    assert_in_range(spw_outside_count, 1, SPW_OUTSIDE_MAX);
    for (size_t i = 0; i < (size_t)2 * SPW_OUTSIDE_MAX; i++)
        assert_true(has(2 * i));
    spw_outside_forget(at(3), at(4)); /* cannot be cut where there is no room for it */
    assert_true(has(2) && has(4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_address_counts_wherever_it_is_in_the_copy, setup),
        cmocka_unit_test_setup(other_words_do_not, setup),
        cmocka_unit_test_setup(where_there_is_no_such_memory_nobody_is_asked, setup),
        cmocka_unit_test_setup(a_copy_of_the_tensor_has_them_too, setup),
        cmocka_unit_test_setup(what_is_written_over_is_forgotten_and_the_rest_is_not, setup),
        cmocka_unit_test_setup(data_that_look_like_addresses_count_at_last, setup),
        cmocka_unit_test_setup(no_place_is_lost_when_there_are_many, setup),
    };
    return cmocka_run_group_tests_name("outside", tests, NULL, NULL);
}
