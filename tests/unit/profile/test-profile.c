/* test-profile.c - what runs learn of kernels: kept by what the kernels are, written and read again as it was, merged with
 * what others wrote, and refused as a whole where a byte of it is another. */
#include "profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing-memory.h"
#include "verdicts.h"

#define IDENTITY "spillway 1, a driver, a device"

#ifdef __SANITIZE_ADDRESS__
#define SLOWER 10
#else
#define SLOWER 1
#endif

enum { MUTATIONS = 1000000 / SLOWER, WRITERS = 10, EACH = 20, ITERATIONS = 3 };

static char folder[64], file[128];
static struct spw_profile *profile;
static uint64_t seed;
static char told[SPW_PROFILE_IDENTITY]; /* by the last decode() */

static uint64_t draw(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return seed >> 33;
}

static int begin(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/spillway-profile-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof(file), "%s/a/b/p.profile", folder);
    profile = spw_profile_create();
    seed = 1;
    return profile ? 0 : -1;
}

static int end(void **state)
{
    char command[128];
    (void)state;
    spw_profile_destroy(profile);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

/* Of number n, with so many scalar arguments. */
static struct spw_profile_class made(uint64_t n, const uint32_t *numbers, uint32_t count)
{
    return (struct spw_profile_class){.key = {.image = {{n, 1}}, .name = {{n, 2}}, .places = n, .hits = 3},
                                      .changed = 4,
                                      .seen_unchanged = {2, 2},
                                      .looks = 2,
                                      .tries = 2,
                                      .verdict = SPW_REPLAYABLE,
                                      .number_count = count,
                                      .numbers = numbers};
}

static const uint32_t numbers[] = {7, 8, 9, 0, 1, 0};

static void fill(struct spw_profile *p, uint64_t first, uint64_t count)
{
    for (uint64_t n = first; n < first + count; n++) {
        const struct spw_profile_class class = made(n, numbers, n % 2 ? 3 : 0);
        assert_true(spw_profile_put(p, &class));
    }
}

static void assert_filled(const struct spw_profile *p, uint64_t first, uint64_t count)
{
    for (uint64_t n = first; n < first + count; n++) {
        const struct spw_profile_class class = made(n, numbers, n % 2 ? 3 : 0);
        const struct spw_profile_class *found = spw_profile_find(p, &class.key);
        assert_non_null(found);
        assert_int_equal(found->changed, class.changed);
        assert_memory_equal(found->seen_unchanged, class.seen_unchanged, sizeof(class.seen_unchanged));
        assert_int_equal(found->looks, class.looks);
        assert_int_equal(found->verdict, class.verdict);
        assert_int_equal(found->number_count, class.number_count);
        if (class.number_count)
            assert_memory_equal(found->numbers, numbers, sizeof(numbers));
    }
}

static void what_was_put_is_found_by_all_of_its_key(void **state)
{
    (void)state;
    struct spw_profile_class class = made(1, numbers, 3);
    fill(profile, 1, 1);
    assert_filled(profile, 1, 1);
    for (unsigned byte = 0; byte < sizeof(class.key); byte++) {
        struct spw_profile_key other = class.key;
        ((unsigned char *)&other)[byte] ^= 1;
        assert_null(spw_profile_find(profile, &other));
    }
    assert_false(spw_profile_put(profile, &class)); /* nothing new */
}

static void what_is_for_good_stays_whatever_is_put(void **state)
{
    (void)state;
    struct spw_profile_class class = made(1, NULL, 0);
    class.verdict = SPW_REPLAY_DIFFERS;
    class.changed = 2;
    class.is_condemned = class.is_refuted = true;
    assert_true(spw_profile_put(profile, &class));
    class = made(1, NULL, 0);
    (void)spw_profile_put(profile, &class);
    const struct spw_profile_class *found = spw_profile_find(profile, &class.key);
    assert_int_equal(found->verdict, SPW_REPLAY_DIFFERS);
    assert_int_equal(found->changed, 6);
    assert_true(found->is_condemned && found->is_refuted);
}

static void a_full_table_keeps_what_it_has(void **state)
{
    (void)state;
    fill(profile, 0, SPW_PROFILE_CLASSES);
    struct spw_profile_class class = made(SPW_PROFILE_CLASSES, NULL, 0);
    assert_false(spw_profile_put(profile, &class));
    class = made(0, NULL, 0);
    class.looks = 3;
    assert_true(spw_profile_put(profile, &class));
    assert_int_equal(spw_profile_count(profile), SPW_PROFILE_CLASSES);
}

/* ---- iterations ---- */

static const float durations[] = {1.5f, -1, 3};

static struct spw_profile_iteration iteration(uint64_t hash, uint32_t choices)
{
    return (struct spw_profile_iteration){.hash = hash,
                                          .shape = "a shape",
                                          .shape_bytes = 8,
                                          .us = durations,
                                          .op_count = 3,
                                          .list = choices ? (const uint8_t *)"choices" : NULL,
                                          .choice_count = choices,
                                          .choices_of = choices ? hash + 1 : 0};
}

static bool put_iteration(struct spw_profile *into, uint64_t hash, uint32_t choices)
{
    const struct spw_profile_iteration it = iteration(hash, choices);
    return spw_profile_iterations_put(spw_profile_iterations_of(into), &it);
}

static void assert_iteration(struct spw_profile *from, uint64_t hash, uint32_t choices)
{
    const struct spw_profile_iteration *it = spw_profile_iterations_find(spw_profile_iterations_of(from), hash);
    assert_non_null(it);
    assert_int_equal(it->hash, hash);
    assert_int_equal(it->shape_bytes, 8);
    assert_memory_equal(it->shape, "a shape", 8);
    assert_int_equal(it->op_count, 3);
    assert_memory_equal(it->us, durations, sizeof(durations));
    assert_int_equal(it->choice_count, choices);
    if (choices)
        assert_memory_equal(it->list, "choices", 8);
    assert_int_equal(it->choices_of, choices ? hash + 1 : 0);
}

static void an_iteration_is_kept_with_the_plan_that_was_known_last(void **state)
{
    (void)state;
    assert_true(put_iteration(profile, 1, 0));
    assert_iteration(profile, 1, 0);
    assert_false(put_iteration(profile, 1, 0)); /* nothing new */
    assert_true(put_iteration(profile, 1, 8));
    assert_false(put_iteration(profile, 1, 0)); /* its plan stays */
    assert_iteration(profile, 1, 8);
    assert_null(spw_profile_iterations_find(spw_profile_iterations_of(profile), 2));
}

static void the_iteration_put_longest_ago_makes_room(void **state)
{
    (void)state;
    const struct spw_profile_iterations *all = spw_profile_iterations_of(profile);
    for (uint64_t hash = 1; hash <= SPW_PROFILE_ITERATIONS; hash++)
        assert_true(put_iteration(profile, hash, 8));
    (void)put_iteration(profile, 1, 0); /* which is the latest by that */
    assert_true(put_iteration(profile, 100, 0));
    assert_int_equal(spw_profile_iterations_count(all), SPW_PROFILE_ITERATIONS);
    assert_null(spw_profile_iterations_find(all, 2));
    assert_iteration(profile, 1, 8);
    assert_iteration(profile, 100, 0);
    assert_int_equal(spw_profile_iterations_next(all, NULL)->hash, 3);
}

static void an_iteration_that_is_too_long_is_not_kept(void **state)
{
    (void)state;
    struct spw_profile_iteration it = iteration(1, 0);
    char *shape = calloc(1, SPW_PROFILE_ITERATION_BYTES);
    assert_non_null(shape);
    it.shape = shape;
    it.shape_bytes = SPW_PROFILE_ITERATION_BYTES;
    assert_false(spw_profile_iterations_put(spw_profile_iterations_of(profile), &it));
    it.shape_bytes -= sizeof(durations);
    for (uint64_t hash = 1; hash <= 6; hash++) { /* more than all may have */
        it.hash = hash;
        assert_true(spw_profile_iterations_put(spw_profile_iterations_of(profile), &it));
    }
    free(shape);
    assert_int_equal(spw_profile_iterations_count(spw_profile_iterations_of(profile)),
                     SPW_PROFILE_ALL_ITERATIONS_BYTES / SPW_PROFILE_ITERATION_BYTES);
}

/* ---- as bytes ---- */

static void encode(char **bytes, size_t *size)
{
    fill(profile, 1, EACH);
    for (uint64_t hash = 1; hash <= ITERATIONS; hash++)
        assert_true(put_iteration(profile, hash, hash % 2 ? 8 : 0));
    assert_int_equal(spw_profile_encode(profile, IDENTITY, bytes, size), 0);
}

static int decode(const char *identity, const void *bytes, size_t size, struct spw_profile **ret)
{
    char other[SPW_PROFILE_IDENTITY] = "";
    *ret = spw_profile_create();
    const int r = spw_profile_decode(*ret, identity, bytes, size, other);
    if (r < 0)
        assert_int_equal(spw_profile_count(*ret), 0);
    memcpy(told, other, sizeof(told));
    return r;
}

static void bytes_tell_what_was_put(void **state)
{
    (void)state;
    char *bytes;
    size_t size;
    struct spw_profile *read;
    encode(&bytes, &size);
    assert_int_equal(decode(IDENTITY, bytes, size, &read), 0);
    assert_int_equal(spw_profile_count(read), EACH);
    assert_filled(read, 1, EACH);
    for (uint64_t hash = 1; hash <= ITERATIONS; hash++)
        assert_iteration(read, hash, hash % 2 ? 8 : 0);
    assert_int_equal(spw_profile_iterations_next(spw_profile_iterations_of(read), NULL)->hash, 1);
    spw_profile_destroy(read);
    assert_int_equal(decode("spillway 2, a driver, a device", bytes, size, &read), -ESTALE);
    assert_string_equal(told, IDENTITY);
    spw_profile_destroy(read);
    free(bytes);
}

static void another_byte_anywhere_or_another_length_is_noticed(void **state)
{
    (void)state;
    char *bytes;
    size_t size;
    struct spw_profile *read;
    encode(&bytes, &size);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= (char)(1 << i % 8);
        assert_int_equal(decode(IDENTITY, bytes, size, &read), -EBADMSG);
        spw_profile_destroy(read);
        bytes[i] ^= (char)(1 << i % 8);
        char *part = malloc(i ? i : 1); /* so that a read past its end is seen */
        memcpy(part, bytes, i);
        assert_int_equal(decode(IDENTITY, part, i, &read), -EBADMSG);
        spw_profile_destroy(read);
        free(part);
    }
    free(bytes);
}

enum { HEADER = 48, TOLD = 32 /* behind its hash */ };

/* As of somebody who makes the hash right: at offsets 8 (size) and 16 (hash) of the header, of what comes behind it. */
static void sign(char *bytes, size_t size)
{
    struct spw_hash hash;
    const uint64_t rest = size - HEADER;
    spw_hash_host(bytes + HEADER, rest, &hash);
    memcpy(bytes + 8, &rest, sizeof(rest));
    memcpy(bytes + 16, &hash, sizeof(hash));
}

static void whatever_bytes_say_they_are_read_within_their_bounds(void **state)
{
    (void)state;
    char *bytes;
    size_t size, read_count = 0;
    encode(&bytes, &size);
    for (unsigned i = 0; i < MUTATIONS; i++) {
        struct spw_profile *read;
        const size_t length = draw() % 4 ? size : HEADER + draw() % (size - HEADER);
        char *other = malloc(length);
        memcpy(other, bytes, length);
        for (uint64_t flips = 1 + draw() % 4; flips; flips--)
            other[TOLD + draw() % (length - TOLD)] = (char)(draw() % 3 ? draw() : 0xff);
        sign(other, length);
        const int r = decode(IDENTITY, other, length, &read);
        assert_true(r == 0 || r == -EBADMSG || r == -ESTALE);
        read_count += r == 0;
        spw_profile_destroy(read);
        free(other);
    }
    assert_in_range(read_count, MUTATIONS / 20, MUTATIONS - MUTATIONS / 20); /* both happened */
    free(bytes);
}

static void without_memory_nothing_is_lost(void **state)
{
    (void)state;
    char *bytes, *again;
    size_t size, same;
    encode(&bytes, &size);
    for (long allowed = 0;; allowed++) {
        struct spw_profile *read = spw_profile_create();
        char other[SPW_PROFILE_IDENTITY];
        memory_fails_after(allowed);
        const int r = spw_profile_decode(read, IDENTITY, bytes, size, other);
        (void)memory_is_back();
        assert_true(r == 0 || r == -ENOMEM);
        const size_t count = spw_profile_count(read) + spw_profile_iterations_count(spw_profile_iterations_of(read));
        spw_profile_destroy(read);
        if (count == EACH + ITERATIONS)
            break;
        assert_in_range(allowed, 0, 20 * EACH);
    }
    memory_fails_after(0);
    assert_int_equal(spw_profile_encode(profile, IDENTITY, &again, &same), -ENOMEM);
    (void)memory_is_back();
    assert_filled(profile, 1, EACH);
    free(bytes);
}

/* ---- as files ---- */

static int load(struct spw_profile **ret, const char *path)
{
    char other[SPW_PROFILE_IDENTITY];
    *ret = spw_profile_create();
    return spw_profile_load(*ret, path, IDENTITY, other);
}

static void a_file_holds_what_all_have_put(void **state)
{
    (void)state;
    struct spw_profile *read;
    assert_int_equal(load(&read, file), -ENOENT);
    spw_profile_destroy(read);
    for (unsigned i = 0; i < WRITERS; i++)
        if (fork() == 0) {
            struct spw_profile *own = spw_profile_create();
            fill(own, (uint64_t)i * EACH, EACH);
            _exit(spw_profile_save(own, file, IDENTITY) == 0 ? 0 : 1);
        }
    for (int status; wait(&status) > 0;)
        assert_int_equal(status, 0);
    assert_int_equal(load(&read, file), 0);
    assert_int_equal(spw_profile_count(read), WRITERS * EACH);
    assert_filled(read, 0, (uint64_t)WRITERS * EACH);
    spw_profile_destroy(read);
    char command[160];
    snprintf(command, sizeof(command), "test $(ls %s/a/b | wc -l) = 1", folder); /* nothing half written lies about */
    assert_int_equal(system(command), 0);
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void what_is_no_profile_is_not_read_and_replaced(void **state)
{
    (void)state;
    struct spw_profile *read;
    char other[160];
    fill(profile, 1, EACH);
    assert_int_equal(spw_profile_save(profile, file, IDENTITY), 0);
    put(file, "not a profile");
    assert_int_equal(load(&read, file), -EBADMSG);
    spw_profile_destroy(read);
    assert_int_equal(spw_profile_save(profile, file, IDENTITY), 0);
    assert_int_equal(load(&read, file), 0);
    assert_filled(read, 1, EACH);
    spw_profile_destroy(read);

    assert_int_equal(load(&read, folder), -EBADMSG);
    spw_profile_destroy(read);
    snprintf(other, sizeof(other), "%s/pipe", folder);
    assert_int_equal(mkfifo(other, 0600), 0);
    assert_int_equal(load(&read, other), -EBADMSG); /* and nobody waits for a writer */
    spw_profile_destroy(read);
}

static void what_cannot_be_written_says_why_and_leaves_nothing(void **state)
{
    (void)state;
    char below[160], command[160];
    snprintf(below, sizeof(below), "%s/plain", folder);
    put(below, "");
    snprintf(below, sizeof(below), "%s/plain/p.profile", folder);
    assert_int_equal(spw_profile_save(profile, below, IDENTITY), -ENOTDIR);
    snprintf(below, sizeof(below), "%s/taken", folder);
    assert_int_equal(mkdir(below, 0700), 0);
    assert_true(spw_profile_save(profile, below, IDENTITY) < 0);
    snprintf(command, sizeof(command), "test \"$(ls %s)\" = \"$(printf 'plain\\ntaken')\"", folder);
    assert_int_equal(system(command), 0);
}

static void the_cache_folder_is_the_users(void **state)
{
    (void)state;
    char path[256], other[256];
    setenv("XDG_CACHE_HOME", "/x", 1);
    setenv("HOME", "/h", 1);
    assert_int_equal(spw_profile_path("", IDENTITY, path, sizeof(path)), 0);
    assert_int_equal(strncmp(path, "/x/spillway/", strlen("/x/spillway/")), 0);
    assert_int_equal(spw_profile_path("", "another", other, sizeof(other)), 0);
    assert_string_not_equal(path, other);
    unsetenv("XDG_CACHE_HOME");
    assert_int_equal(spw_profile_path("", IDENTITY, path, sizeof(path)), 0);
    assert_int_equal(strncmp(path, "/h/.cache/spillway/", strlen("/h/.cache/spillway/")), 0);
    assert_int_equal(spw_profile_path("own", IDENTITY, path, sizeof(path)), 0);
    assert_string_equal(path, "own");
    assert_int_equal(spw_profile_path("", IDENTITY, path, 20), -ENAMETOOLONG);
    unsetenv("HOME");
    assert_int_equal(spw_profile_path("", IDENTITY, path, sizeof(path)), -ENOENT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(what_was_put_is_found_by_all_of_its_key),
        TEST(what_is_for_good_stays_whatever_is_put),
        TEST(a_full_table_keeps_what_it_has),
        TEST(an_iteration_is_kept_with_the_plan_that_was_known_last),
        TEST(the_iteration_put_longest_ago_makes_room),
        TEST(an_iteration_that_is_too_long_is_not_kept),
        TEST(bytes_tell_what_was_put),
        TEST(another_byte_anywhere_or_another_length_is_noticed),
        TEST(whatever_bytes_say_they_are_read_within_their_bounds),
        TEST(without_memory_nothing_is_lost),
        TEST(a_file_holds_what_all_have_put),
        TEST(what_is_no_profile_is_not_read_and_replaced),
        TEST(what_cannot_be_written_says_why_and_leaves_nothing),
        TEST(the_cache_folder_is_the_users),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
