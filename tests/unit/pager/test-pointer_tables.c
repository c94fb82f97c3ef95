/* test-pointer_tables.c - addresses stored in device memory: learnt from copies, followed, replaced, bounded; and a random
 * comparison. */
#include "pinning.h"
#include "pointer_tables.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "pin.h"
#include "seek_kernel.h"
#include "tensormap.h"

#define LOW     UINT64_C(0x700000000000)
#define BLOCK   UINT64_C(0x10000) /* allocations here are blocks of 64 KiB, side by side */
#define AT(i)   (LOW + (i)*BLOCK)
#define OUTSIDE UINT64_C(0x300000000)

CUdeviceptr spw_arena_low = LOW, spw_arena_high = LOW + 64 * BLOCK;

/* ---- the engine ---- */

static CUdeviceptr pinned[64];
static unsigned pinned_count;
static bool pinned_everything;
static bool no_room; /* pinning fails */
_Thread_local int spw_pin_failure;

void spw_pin_address(CUdeviceptr address, const char *why)
{
    assert_non_null(why);
    if (no_room)
        spw_pin_failure = -ENOMEM;
    if (pinned_count < 64)
        pinned[pinned_count++] = address;
}

void spw_pin_lasting(CUdeviceptr address, const char *why)
{
    spw_pin_address(address, why);
}

void spw_pin_everything(const char *why)
{
    pinned_everything = true;
}

static bool met[64];

static enum spw_met meet(void *context, CUdeviceptr address, unsigned hit, CUdeviceptr *ret_low, CUdeviceptr *ret_high)
{
    unsigned i = (unsigned)((address - LOW) / BLOCK);
    bool again = met[i];
    met[i] = true;
    *ret_low = AT(i);
    *ret_high = AT(i + 1);
    return again ? SPW_MET_AGAIN : SPW_MET_FIRST;
}

static int setup(void **state)
{
    spw_pointer_tables_reset();
    pinned_count = 0;
    pinned_everything = false;
    no_room = false;
    spw_pin_failure = 0;
    memset(met, 0, sizeof met);
    return 0;
}

static void learn(CUdeviceptr destination, const CUdeviceptr *words, unsigned count)
{
    spw_pointer_tables_learn(destination, words, count * sizeof *words, &spw_pinning);
}

static int members(unsigned block, CUdeviceptr *list, unsigned room)
{
    return spw_pointer_tables_members(AT(block), AT(block + 1), list, room);
}

/* ---- learning ---- */

static void a_copy_of_addresses_makes_a_table(void **state)
{
    CUdeviceptr list[8], words[] = {AT(1), 17, AT(2) + 5, 0};
    learn(AT(0) + 64, words, 4);
    assert_true(spw_pointer_tables_any());
    assert_int_equal(members(0, list, 8), 2);
    assert_int_equal(list[0], AT(1));
    assert_int_equal(list[1], AT(2) + 5);
    assert_int_equal(members(1, list, 8), 0);
    assert_int_equal(pinned_count, 0);
}

static void a_copy_of_data_makes_none(void **state)
{
    CUdeviceptr words[] = {1, 2, LOW - 1, LOW + 64 * BLOCK};
    learn(AT(0), words, 4);
    assert_false(spw_pointer_tables_any());
}

/* However they lie in a long copy, at its ends and in the middle, and behind words that are none. */
static void addresses_in_long_copies_are_found(void **state)
{
    enum { WORDS = 16384 };
    static CUdeviceptr words[WORDS];
    const unsigned at[] = {0, 1, 62, 63, 64, 65, 1000, WORDS - 65, WORDS - 64, WORDS - 1};
    for (unsigned i = 0; i < sizeof at / sizeof *at; i++) {
        memset(words, 0, sizeof words);
        words[at[i]] = AT(5);
        learn(AT(0), words, WORDS);
        assert_int_equal(spw_pointer_tables_words, 1);
        assert_true(spw_pointer_tables_has(AT(0) + 8 * at[i], AT(0) + 8 * at[i] + 8));
    }
    learn(AT(0), words, WORDS - 1);
    assert_int_equal(spw_pointer_tables_words, 1); /* the last one is not overwritten */
    memset(words, 0, sizeof words);
    learn(AT(0), words, WORDS);
    assert_int_equal(spw_pointer_tables_words, 0);
}

/* Of bytes that begin and end anywhere: the words that lie wholly in them. */
static void ends_of_copies_that_are_no_whole_words_are_left_out(void **state)
{
    static CUdeviceptr words[200];
    for (unsigned i = 0; i < 200; i++)
        words[i] = AT(5);
    for (unsigned begin = 0; begin < 16; begin++)
        for (unsigned bytes = 0; bytes < 40; bytes++) {
            spw_pointer_tables_reset();
            spw_pointer_tables_learn(AT(0) + begin, (const char *)words + begin % 8, bytes, &spw_pinning);
            unsigned first = (begin + 7) / 8, end = (begin + bytes) / 8;
            assert_int_equal(spw_pointer_tables_words, end > first ? end - first : 0);
        }
}

static void what_is_found_replaces_what_was_known(void **state)
{
    CUdeviceptr list[8], words[] = {AT(1), 5, AT(2)}, others[] = {0, AT(3), 7};
    struct spw_pointer_tables_find find;
    assert_int_equal(spw_pointer_tables_found(AT(0), words, sizeof words, &find), 0);
    assert_true(find.is_new && find.is_stored);
    assert_int_equal(spw_pointer_tables_found(AT(0), words, sizeof words, &find), 0);
    assert_false(find.is_new);
    assert_true(find.is_stored); /* nobody has told of them */
    assert_int_equal(spw_pointer_tables_found(AT(0), others, sizeof others, &find), 0);
    assert_true(find.is_new && find.is_stored);
    assert_int_equal(members(0, list, 8), 1);
    assert_int_equal(list[0], AT(3));
    assert_true(spw_pointer_tables_has(AT(0) + 8, AT(0) + 9));
    assert_false(spw_pointer_tables_has(AT(0) + 16, AT(0) + 64));
    assert_int_equal(pinned_count, 0);
    spw_pointer_tables_pin("graphs", &spw_pinning);
    assert_int_equal(spw_pointer_tables_found(AT(0), others, sizeof others, &find), 1);
    assert_int_equal(pinned_count, 1); /* that one by the call before */
}

/* A kernel that is only given what a copy told of has stored nothing. */
static void what_a_copy_told_of_is_not_stored(void **state)
{
    const CUdeviceptr words[] = {AT(1), AT(2)}, others[] = {AT(1), AT(3)};
    struct spw_pointer_tables_find find;
    spw_pointer_tables_learn(AT(0), words, sizeof words, &spw_pinning);
    assert_int_equal(spw_pointer_tables_found(AT(0), words, sizeof words, &find), 0);
    assert_false(find.is_new || find.is_stored);
    assert_int_equal(spw_pointer_tables_found(AT(0), others, sizeof others, &find), 0);
    assert_true(find.is_new && find.is_stored);
    spw_pointer_tables_copied(AT(8), AT(0), sizeof others, &spw_pinning);
    assert_int_equal(spw_pointer_tables_found(AT(8), others, sizeof others, &find), 0);
    assert_true(!find.is_new && find.is_stored);
    spw_pointer_tables_learn(AT(0), others, sizeof others, &spw_pinning);
    assert_int_equal(spw_pointer_tables_found(AT(0), others, sizeof others, &find), 0);
    assert_false(find.is_new || find.is_stored);
}

static bool is_told(CUdeviceptr at, uint64_t *ret_sum)
{
    return spw_pointer_tables_told(at, at + 32, ret_sum);
}

static void what_copies_told_of_comes_to_a_sum(void **state)
{
    const CUdeviceptr words[] = {AT(1), 7, AT(2)}, swapped[] = {AT(2), 7, AT(1)};
    struct spw_pointer_tables_find find;
    uint64_t sum, other;
    assert_true(is_told(AT(0), &sum));
    assert_int_equal(sum, 0);
    learn(AT(0), words, 3);
    assert_true(is_told(AT(0), &sum));
    assert_int_equal(sum, spw_seek_term(0, AT(1)) + spw_seek_term(2, AT(2)));
    learn(AT(0), swapped, 3);
    assert_true(is_told(AT(0), &other));
    assert_true(other != sum);
    learn(AT(4), words, 3);
    assert_false(is_told(AT(4) + 4, &sum)); /* they do not lie where the range has its words */
    spw_pointer_tables_being_told++;
    assert_false(is_told(AT(0), &sum));
    spw_pointer_tables_being_told--;
    assert_int_equal(spw_pointer_tables_found(AT(0), words, sizeof words, &find), 0);
    assert_false(is_told(AT(0), &sum)); /* a kernel has stored some */
}

/* A kernel loads a pointer from where it is aligned on the device; how the host's copy lies does not matter. */
static void addresses_are_looked_for_where_the_device_aligns_them(void **state)
{
    char bytes[40] = {0};
    CUdeviceptr list[2], address = AT(3);
    memcpy(bytes + 5, &address, 8);
    spw_pointer_tables_learn(AT(0) + 3, bytes, 40, &spw_pinning);
    assert_int_equal(members(0, list, 2), 1);
    assert_int_equal(list[0], address);
    setup(state);
    spw_pointer_tables_learn(AT(0) + 4, bytes, 40, &spw_pinning);
    assert_false(spw_pointer_tables_any());
}

static void a_later_copy_replaces_what_was_there(void **state)
{
    CUdeviceptr list[8], first[] = {AT(1), AT(2), AT(3)}, second[] = {AT(4)}, none[] = {0};
    learn(AT(0), first, 3);
    learn(AT(0) + 8, second, 1);
    assert_int_equal(members(0, list, 8), 3);
    assert_int_equal(list[1], AT(4));
    learn(AT(0), none, 1);
    assert_int_equal(members(0, list, 8), 2);
    spw_pointer_tables_learn(AT(0) + 23, "x", 1, &spw_pinning); /* one byte of the last word */
    assert_int_equal(members(0, list, 8), 1);
}

static void a_freed_allocation_holds_no_table(void **state)
{
    CUdeviceptr list[8], words[] = {AT(1), AT(2)};
    learn(AT(0), words, 2);
    learn(AT(5), words, 2);
    spw_pointer_tables_forget(AT(0), AT(1));
    assert_int_equal(members(0, list, 8), 0);
    assert_int_equal(members(5, list, 8), 2);
    spw_pointer_tables_forget(AT(5), AT(6));
    assert_false(spw_pointer_tables_any());
}

static void a_table_with_more_members_than_room_says_so(void **state)
{
    CUdeviceptr list[3] = {0, 0, 77}, words[] = {AT(1), AT(2), AT(3)};
    learn(AT(0), words, 3);
    assert_int_equal(members(0, list, 2), -E2BIG);
    assert_int_equal(list[2], 77);
}

/* ---- outside of the arena ---- */

static void addresses_in_a_module_variable_are_pinned(void **state)
{
    CUdeviceptr words[] = {AT(1), AT(1), AT(2)};
    learn(OUTSIDE, words, 3);
    assert_false(spw_pointer_tables_any());
    assert_int_equal(pinned_count, 2);
    assert_int_equal(pinned[1], AT(2));
}

static void a_table_copied_to_a_module_variable_is_pinned(void **state)
{
    CUdeviceptr words[] = {AT(1), AT(2)};
    learn(AT(0), words, 2);
    spw_pointer_tables_copied(OUTSIDE, AT(0) + 8, 8, &spw_pinning);
    assert_int_equal(pinned_count, 1);
    assert_int_equal(pinned[0], AT(2));
}

/* ---- copies on the device ---- */

static void a_copied_table_is_a_table(void **state)
{
    CUdeviceptr list[8], words[] = {AT(1), AT(2), AT(3)};
    learn(AT(0), words, 3);
    spw_pointer_tables_copied(AT(5) + 100, AT(0) + 4, 16, &spw_pinning); /* only the second word whole */
    assert_int_equal(members(5, list, 8), 1);
    assert_int_equal(list[0], AT(2));
}

/* The program says host and means device: the driver may well do it; we must not read there. */
static void a_copy_from_the_host_that_is_none_is_not_read(void **state)
{
    CUdeviceptr list[2], words[] = {AT(1)};
    learn(AT(0), words, 1);
    spw_pointer_tables_learn(AT(5), (const void *)(uintptr_t)AT(0), 8, &spw_pinning);
    assert_int_equal(members(5, list, 2), 1);
}

static void a_table_overwritten_by_a_copy_is_gone(void **state)
{
    CUdeviceptr list[8], words[] = {AT(1), AT(2)};
    learn(AT(0), words, 2);
    spw_pointer_tables_copied(AT(0), AT(7), BLOCK, &spw_pinning);
    assert_int_equal(members(0, list, 8), 0);
}

static void a_table_may_be_moved_onto_itself(void **state)
{
    CUdeviceptr list[8], words[] = {AT(1), AT(2), AT(3)};
    learn(AT(0), words, 3);
    spw_pointer_tables_copied(AT(0) + 8, AT(0), 24, &spw_pinning);
    assert_int_equal(members(0, list, 8), 3); /* 1 1 2 3, the repeated one told once */
    assert_int_equal(list[2], AT(3));
}

/* ---- following ---- */

static void tables_of_tables_are_followed_and_cycles_end(void **state)
{
    CUdeviceptr hits[16] = {AT(0) + 12}, to_1[] = {AT(1), AT(2)}, to_2[] = {AT(3)}, back[] = {AT(0), AT(1)};
    learn(AT(0), to_1, 2);
    learn(AT(1), to_2, 1);
    learn(AT(3), back, 2);
    learn(AT(9), to_2, 1);
    int n = spw_pointer_tables_reach(hits, 1, 16, meet, NULL);
    assert_int_equal(n, 1 + 2 + 1);
    assert_true(met[0] && met[1] && met[2] && met[3]);
    assert_false(met[9]);
}

/* A large table of few tensors needs room for few. */
static void each_allocation_is_reached_once(void **state)
{
    static CUdeviceptr words[16384];
    CUdeviceptr hits[16] = {AT(0)};
    for (unsigned i = 0; i < 16384; i++)
        words[i] = AT(1 + i % 12) + 8 * (i % 512);
    learn(AT(0), words, 16384);
    assert_int_equal(spw_pointer_tables_reach(hits, 1, 16, meet, NULL), 1 + 12);
}

static void following_stops_when_there_is_no_room(void **state)
{
    CUdeviceptr hits[3] = {AT(0)}, words[] = {AT(1), AT(2), AT(3)};
    learn(AT(0), words, 3);
    assert_int_equal(spw_pointer_tables_reach(hits, 1, 3, meet, NULL), -E2BIG);
}

/* ---- graphs ---- */

static void once_graphs_exist_members_are_pinned(void **state)
{
    CUdeviceptr before[] = {AT(1), AT(2)}, after[] = {AT(3)};
    learn(AT(0), before, 2);
    assert_int_equal(pinned_count, 0);
    spw_pointer_tables_pin("a graph uses it", &spw_pinning);
    assert_int_equal(pinned_count, 2);
    spw_pointer_tables_pin("a graph uses it", &spw_pinning);
    assert_int_equal(pinned_count, 2);
    learn(AT(4), after, 1);
    assert_int_equal(pinned_count, 3);
    assert_int_equal(pinned[2], AT(3));
}

/* The graph is refused then; the next one must not take them for pinned. */
static void members_that_could_not_be_pinned_are_tried_again(void **state)
{
    CUdeviceptr words[] = {AT(1)};
    learn(AT(0), words, 1);
    no_room = true;
    spw_pointer_tables_pin("a graph uses it", &spw_pinning);
    assert_int_equal(spw_pin_failure, -ENOMEM);
    no_room = false;
    spw_pin_failure = 0;
    pinned_count = 0;
    spw_pointer_tables_pin("a graph uses it", &spw_pinning);
    assert_int_equal(pinned_count, 1);
    assert_int_equal(spw_pin_failure, 0);
}

static void a_pin_that_failed_before_is_not_forgotten(void **state)
{
    spw_pin_failure = -ENOMEM;
    spw_pointer_tables_pin("a graph uses it", &spw_pinning);
    assert_int_equal(spw_pin_failure, -ENOMEM);
}

/* ---- tensor maps in device memory ---- */

static void a_tensor_map_that_hides_its_address_makes_a_table_too(void **state)
{
    struct {
        CUtensorMap map;
        CUdeviceptr plain[8];
    } source;
    CUdeviceptr list[4];
    memset(&source, 0x5a, sizeof source);
    source.plain[7] = AT(2);
    assert_int_equal(spw_tensormap_made(&source.map, AT(6)), 0);
    spw_pointer_tables_learn(AT(0), &source, sizeof source, &spw_pinning);
    assert_int_equal(members(0, list, 4), 2);
    assert_int_equal(list[0], AT(6)); /* in the order of their places */
    assert_int_equal(list[1], AT(2));
}

/* ---- anything ---- */

enum { PLACES = 256 }; /* words of eight blocks, 32 in each, that the random test writes to */

static CUdeviceptr place(unsigned i)
{
    return AT(i / 32) + 8 * (i % 32);
}

static void compare(const CUdeviceptr *model)
{
    for (unsigned block = 0; block < PLACES / 32; block++) {
        CUdeviceptr found[32], expected[32];
        unsigned n = 0;
        for (unsigned i = 32 * block; i < 32 * block + 32; i++)
            if (model[i] && (!n || expected[n - 1] != model[i]))
                expected[n++] = model[i];
        assert_int_equal(members(block, found, 32), n);
        assert_memory_equal(found, expected, n * sizeof *found);
    }
}

static void random_copies_agree_with_a_model(void **state)
{
    CUdeviceptr model[PLACES] = {0}, words[32];
    srandom(11);
    for (int step = 0; step < 20000; step++) {
        unsigned block = (unsigned)random() % 8, first = (unsigned)random() % 32, n = 1 + (unsigned)random() % (32 - first);
        unsigned from = 32 * ((unsigned)random() % 8) + (unsigned)random() % (33 - n);
        CUdeviceptr *to = &model[32 * block + first];
        switch (random() % 4) {
        case 0:
        case 1:
            for (unsigned i = 0; i < n; i++)
                words[i] = random() % 2 ? AT(random() % 64) : (CUdeviceptr)random() % 1000;
            learn(place(32 * block + first), words, n);
            for (unsigned i = 0; i < n; i++)
                to[i] = spw_in_arena(words[i]) ? words[i] : 0;
            break;
        case 2:
            spw_pointer_tables_copied(place(32 * block + first), place(from), 8 * n, &spw_pinning);
            memmove(to, &model[from], n * sizeof *to);
            break;
        default:
            spw_pointer_tables_forget(place(32 * block + first), place(32 * block + first) + 8 * n);
            memset(to, 0, n * sizeof *to);
        }
        compare(model);
    }
    assert_int_equal(pinned_count, 0);
}

/* The bound holds, and what does not fit is pinned instead of lost. */
static void more_addresses_than_can_be_remembered_are_pinned(void **state)
{
    static CUdeviceptr words[SPW_POINTER_TABLES_MAX_COPY / 8];
    spw_arena_high = LOW + (UINT64_C(1) << 40);
    for (unsigned i = 0; i < SPW_POINTER_TABLES_MAX_COPY / 8; i++)
        words[i] = AT(1);
    for (unsigned i = 0; i < SPW_POINTER_TABLES_MAX_WORDS / (SPW_POINTER_TABLES_MAX_COPY / 8); i++)
        spw_pointer_tables_learn(AT(64 * i), words, SPW_POINTER_TABLES_MAX_COPY, &spw_pinning);
    assert_int_equal(spw_pointer_tables_words, SPW_POINTER_TABLES_MAX_WORDS);
    assert_int_equal(pinned_count, 0);
    words[0] = AT(3);
    learn(AT(1000), words, 2);
    assert_int_equal(spw_pointer_tables_words, SPW_POINTER_TABLES_MAX_WORDS);
    assert_int_equal(pinned_count, 2);
    assert_int_equal(pinned[0], AT(3));
    spw_arena_high = LOW + 64 * BLOCK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_copy_of_addresses_makes_a_table, setup),
        cmocka_unit_test_setup(a_copy_of_data_makes_none, setup),
        cmocka_unit_test_setup(addresses_in_long_copies_are_found, setup),
        cmocka_unit_test_setup(ends_of_copies_that_are_no_whole_words_are_left_out, setup),
        cmocka_unit_test_setup(what_is_found_replaces_what_was_known, setup),
        cmocka_unit_test_setup(what_a_copy_told_of_is_not_stored, setup),
        cmocka_unit_test_setup(what_copies_told_of_comes_to_a_sum, setup),
        cmocka_unit_test_setup(each_allocation_is_reached_once, setup),
        cmocka_unit_test_setup(addresses_are_looked_for_where_the_device_aligns_them, setup),
        cmocka_unit_test_setup(a_later_copy_replaces_what_was_there, setup),
        cmocka_unit_test_setup(a_freed_allocation_holds_no_table, setup),
        cmocka_unit_test_setup(a_table_with_more_members_than_room_says_so, setup),
        cmocka_unit_test_setup(addresses_in_a_module_variable_are_pinned, setup),
        cmocka_unit_test_setup(a_table_copied_to_a_module_variable_is_pinned, setup),
        cmocka_unit_test_setup(a_copied_table_is_a_table, setup),
        cmocka_unit_test_setup(a_copy_from_the_host_that_is_none_is_not_read, setup),
        cmocka_unit_test_setup(a_table_overwritten_by_a_copy_is_gone, setup),
        cmocka_unit_test_setup(a_table_may_be_moved_onto_itself, setup),
        cmocka_unit_test_setup(tables_of_tables_are_followed_and_cycles_end, setup),
        cmocka_unit_test_setup(following_stops_when_there_is_no_room, setup),
        cmocka_unit_test_setup(once_graphs_exist_members_are_pinned, setup),
        cmocka_unit_test_setup(members_that_could_not_be_pinned_are_tried_again, setup),
        cmocka_unit_test_setup(a_pin_that_failed_before_is_not_forgotten, setup),
        cmocka_unit_test_setup(random_copies_agree_with_a_model, setup),
        cmocka_unit_test_setup(more_addresses_than_can_be_remembered_are_pinned, setup),
        cmocka_unit_test_setup(a_tensor_map_that_hides_its_address_makes_a_table_too, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
