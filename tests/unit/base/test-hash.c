/* test-hash.c - bytes that differ in anything have another hash, and every bit of it depends on every bit of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hash.h"

enum { BYTES = 203 }; /* no multiple of a word */

static unsigned char bytes[BYTES + 64];

static struct spw_hash hash_of(const void *at, size_t size)
{
    struct spw_hash hash;
    spw_hash_host(at, size, &hash);
    return hash;
}

static bool same(struct spw_hash a, struct spw_hash b)
{
    /* Either sum alone tells. */
    assert_int_equal(a.word[0] == b.word[0], a.word[1] == b.word[1]);
    return spw_hash_equal(a, b);
}

static uint64_t random_word(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (*state >> 32) * UINT64_C(0x9e3779b97f4a7c15) ^ *state;
}

static int fill(void **state)
{
    uint64_t seed = 7;
    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(random_word(&seed) >> 20);
    return 0;
}

static void equal_bytes_have_equal_hashes_at_any_alignment(void **state)
{
    static unsigned char copy[BYTES + 16];
    struct spw_hash hash = hash_of(bytes, BYTES);
    for (size_t shift = 0; shift < 16; shift++) {
        memset(copy, (int)shift, sizeof(copy));
        memcpy(copy + shift, bytes, BYTES);
        assert_true(same(hash_of(copy + shift, BYTES), hash));
    }
}

static void a_changed_bit_anywhere_is_another_hash(void **state)
{
    struct spw_hash hash = hash_of(bytes, BYTES);
    for (size_t bit = 0; bit < (size_t)BYTES * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_false(same(hash_of(bytes, BYTES), hash));
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    assert_true(same(hash_of(bytes, BYTES), hash));
}

static void bytes_behind_the_end_do_not_count(void **state)
{
    for (size_t size = 0; size < 24; size++) {
        struct spw_hash hash = hash_of(bytes, size);
        bytes[size] ^= 0xff;
        assert_true(same(hash_of(bytes, size), hash));
        bytes[size] ^= 0xff;
    }
}

static void exchanged_words_are_another_hash(void **state)
{
    uint64_t words[16], seed = 3;
    for (int i = 0; i < 16; i++)
        words[i] = random_word(&seed);
    struct spw_hash hash = hash_of(words, sizeof(words));
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < i; k++) {
            uint64_t word = words[i];
            words[i] = words[k];
            words[k] = word;
            assert_false(same(hash_of(words, sizeof(words)), hash));
            words[k] = words[i];
            words[i] = word;
        }
}

static void a_block_that_moved_among_zeros_is_another_hash(void **state)
{
    struct spw_hash seen[64];
    for (unsigned at = 0; at < 64; at++) {
        unsigned char zeros[96] = {0};
        memcpy(zeros + at, bytes, 32);
        seen[at] = hash_of(zeros, sizeof(zeros));
        for (unsigned other = 0; other < at; other++)
            assert_false(same(seen[at], seen[other]));
    }
}

static void zeros_of_any_length_have_hashes_of_their_own(void **state)
{
    static const unsigned char zeros[512];
    static struct spw_hash seen[512];
    for (unsigned size = 0; size < 512; size++) {
        seen[size] = hash_of(size ? zeros : NULL, size);
        for (unsigned other = 0; other < size; other++)
            assert_false(same(seen[size], seen[other]));
    }
}

static void the_same_change_in_two_words_does_not_cancel(void **state)
{
    enum { WORDS = 64 };
    uint64_t words[WORDS], seed = 11;
    for (int i = 0; i < WORDS; i++)
        words[i] = random_word(&seed);
    struct spw_hash hash = hash_of(words, sizeof(words));
    for (int bit = 0; bit < 64; bit++)
        for (int i = 0; i < WORDS; i++)
            for (int k = 0; k < i; k++) {
                words[i] ^= UINT64_C(1) << bit;
                words[k] ^= UINT64_C(1) << bit;
                assert_false(spw_hash_equal(hash_of(words, sizeof(words)), hash));
                words[i] ^= UINT64_C(1) << bit;
                words[k] ^= UINT64_C(1) << bit;
            }
}

/* Of small numbers as well as of random ones. */
static void each_bit_of_a_word_changes_each_bit_of_the_hash_half_of_the_times(void **state)
{
    enum { TRIES = 4000 };
    static unsigned flips[64][128];
    uint64_t seed = 5;
    memset(flips, 0, sizeof(flips));
    for (int n = 0; n < TRIES; n++) {
        uint64_t words[2] = {0, n % 2 ? random_word(&seed) : (uint64_t)n};
        struct spw_hash hash = hash_of(words, sizeof(words));
        for (int bit = 0; bit < 64; bit++) {
            words[1] ^= UINT64_C(1) << bit;
            struct spw_hash other = hash_of(words, sizeof(words));
            words[1] ^= UINT64_C(1) << bit;
            for (int k = 0; k < 128; k++)
                flips[bit][k] += ((other.word[k / 64] ^ hash.word[k / 64]) >> k % 64) & 1;
        }
    }
    for (int bit = 0; bit < 64; bit++)
        for (int k = 0; k < 128; k++) {
            assert_true(flips[bit][k] > TRIES * 2 / 5);
            assert_true(flips[bit][k] < TRIES * 3 / 5);
        }
}

static void the_two_sums_tell_apart_independently(void **state)
{
    enum { WORDS = 1 << 16 };
    /* Of truncated sums some agree by chance: no more of both than chance makes. */
    static uint32_t first[WORDS], second[WORDS];
    unsigned both = 0, one = 0;
    for (uint64_t n = 0; n < WORDS; n++) {
        struct spw_hash hash = hash_of(&n, sizeof(n));
        first[n] = (uint32_t)hash.word[0] & 0xfff;
        second[n] = (uint32_t)hash.word[1] & 0xfff;
        both += first[n] == second[n];
        one += n && first[n] == first[n - 1];
    }
    assert_in_range(both, 4, 40); /* 16 are expected */
    assert_in_range(one, 4, 40);
}

static void the_hash_stays_what_it_is(void **state)
{
    static const unsigned char text[] = "spillway";
    struct spw_hash none = hash_of(NULL, 0), some = hash_of(text, 8), more = hash_of(text, 9);
    assert_int_equal(none.word[0], UINT64_C(0xcae71fd7a02c8d4b));
    assert_int_equal(none.word[1], UINT64_C(0x12a107d2cc033357));
    assert_int_equal(some.word[0], UINT64_C(0x46d2a7f63d421ec4));
    assert_int_equal(some.word[1], UINT64_C(0xa815dec3acab40b3));
    assert_int_equal(more.word[0], UINT64_C(0x39c68fe1008e8825));
    assert_int_equal(more.word[1], UINT64_C(0x672cc986e0010576));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_bytes_have_equal_hashes_at_any_alignment),
        cmocka_unit_test(a_changed_bit_anywhere_is_another_hash),
        cmocka_unit_test(bytes_behind_the_end_do_not_count),
        cmocka_unit_test(exchanged_words_are_another_hash),
        cmocka_unit_test(a_block_that_moved_among_zeros_is_another_hash),
        cmocka_unit_test(zeros_of_any_length_have_hashes_of_their_own),
        cmocka_unit_test(the_same_change_in_two_words_does_not_cancel),
        cmocka_unit_test(each_bit_of_a_word_changes_each_bit_of_the_hash_half_of_the_times),
        cmocka_unit_test(the_two_sums_tell_apart_independently),
        cmocka_unit_test(the_hash_stays_what_it_is),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
