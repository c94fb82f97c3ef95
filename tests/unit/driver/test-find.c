/* test-find.c - reading the loader's cache, damaged ones included. */
#include "find.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#if defined(__x86_64__)
#define NATIVE 0x0303
#else
#define NATIVE 0x0a03
#endif

/* A cache with three libraries, two of one name: the first of them for another machine. */
struct image {
    char magic[20];
    uint32_t entry_count, string_bytes, unused[5];
    struct {
        int32_t flags;
        uint32_t name, path, os_version;
        uint64_t hwcap;
    } entries[4];
    char strings[128];
};

static const char strings[] = "libcuda.so.1\0/other/libcuda.so.1\0/a/libcuda.so.1\0libm.so.6\0/b/libcuda.so.1";
#define AT(text) ((uint32_t)(offsetof(struct image, strings) + (size_t)(text)))

static struct image make_image(void)
{
    struct image image = {.magic = {0}, .entry_count = 4, .string_bytes = sizeof(strings)};
    memcpy(image.magic, "glibc-ld.so.cache1.1", 20);
    memcpy(image.strings, strings, sizeof(strings));
    image.entries[0].flags = 0x0003;
    image.entries[0].name = AT(0);
    image.entries[0].path = AT(13);
    image.entries[1].flags = NATIVE;
    image.entries[1].name = AT(0);
    image.entries[1].path = AT(33);
    image.entries[2].flags = NATIVE;
    image.entries[2].name = AT(49);
    image.entries[2].path = AT(33);
    image.entries[3].flags = NATIVE;
    image.entries[3].name = AT(0);
    image.entries[3].path = AT(59);
    return image;
}

static void libraries_for_this_machine_are_found_in_order(void **state)
{
    struct image image = make_image();
    assert_string_equal(spw_find_in_cache(&image, sizeof(image), "libcuda.so.1", 0), "/a/libcuda.so.1");
    assert_string_equal(spw_find_in_cache(&image, sizeof(image), "libcuda.so.1", 1), "/b/libcuda.so.1");
    assert_null(spw_find_in_cache(&image, sizeof(image), "libcuda.so.1", 2));
    assert_null(spw_find_in_cache(&image, sizeof(image), "libcuda.so", 0));
}

/* Distributions may put the older format first; the offsets count from the newer one. */
static void an_older_cache_may_come_first(void **state)
{
    struct image image = make_image();
    char *both = calloc(1, 48 + sizeof(image));
    memcpy(both, "ld.so-1.7.0", 11);
    memcpy(both + 48, &image, sizeof(image));
    assert_string_equal(spw_find_in_cache(both, 48 + sizeof(image), "libcuda.so.1", 0), "/a/libcuda.so.1");
    free(both);
}

/* Cut anywhere, with the cut at the end of what may be read. */
static void a_cache_that_is_cut_off_is_no_trouble(void **state)
{
    struct image image = make_image();
    for (size_t size = 0; size < sizeof(image); size++) {
        char *cut = malloc(size + !size);
        memcpy(cut, &image, size);
        spw_find_in_cache(cut, size, "libcuda.so.1", 1);
        free(cut);
    }
    assert_null(spw_find_in_cache(&image, offsetof(struct image, strings), "libcuda.so.1", 0));
}

static void wrong_numbers_are_no_trouble(void **state)
{
    struct image image = make_image();
    image.entry_count = UINT32_MAX;
    assert_null(spw_find_in_cache(&image, sizeof(image), "libcuda.so.1", 0));
    image = make_image();
    image.entries[1].path = UINT32_MAX;
    assert_null(spw_find_in_cache(&image, sizeof(image), "libcuda.so.1", 0));
    image = make_image();
    image.entries[1].name = UINT32_MAX;
    assert_string_equal(spw_find_in_cache(&image, sizeof(image), "libcuda.so.1", 0), "/b/libcuda.so.1");
    image = make_image();
    memset(image.strings + 59, 'x', sizeof(image.strings) - 59); /* a path without an end */
    assert_null(spw_find_in_cache(&image, sizeof(image), "libcuda.so.1", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libraries_for_this_machine_are_found_in_order),
        cmocka_unit_test(an_older_cache_may_come_first),
        cmocka_unit_test(a_cache_that_is_cut_off_is_no_trouble),
        cmocka_unit_test(wrong_numbers_are_no_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
