/* damaged.h - images are damaged at random, and end where no memory is: whoever reads outside of one is found. */
#ifndef SPILLWAY_TESTS_DAMAGED_H
#define SPILLWAY_TESTS_DAMAGED_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DAMAGE_ROUNDS = 4000, DAMAGE_ROOM = 64 << 10 };

static uint64_t damage_seed = 20261123;

static inline uint32_t damage_number(void)
{
    damage_seed = damage_seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(damage_seed >> 33);
}

/* Reads the image cut short, with up to 5 bytes changed, so many times. */
static inline void damage(const void *image, size_t bytes, const char *(*read)(const void *image, size_t bytes))
{
    static const unsigned char telling[] = {0, 1, 0x7f, 0x80, 0xff};
    const size_t page = (size_t)getpagesize();
    char *room = mmap(NULL, DAMAGE_ROOM + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(room, MAP_FAILED);
    assert_true(bytes <= DAMAGE_ROOM);
    assert_int_equal(mprotect(room + DAMAGE_ROOM, page, PROT_NONE), 0);
    for (unsigned round = 0; round < DAMAGE_ROUNDS; round++) {
        const size_t kept = damage_number() % 4 ? bytes : damage_number() % (bytes + 1);
        char *at = room + DAMAGE_ROOM - kept;
        memcpy(at, image, kept);
        for (unsigned k = damage_number() % 6; k && kept; k--)
            at[damage_number() % 2 ? damage_number() % kept : damage_number() % (kept < 1024 ? kept : 1024)] =
                (char)(damage_number() % 2 ? telling[damage_number() % sizeof(telling)] : damage_number());
        (void)read(at, kept);
    }
    assert_int_equal(munmap(room, DAMAGE_ROOM + page), 0);
}
#endif
