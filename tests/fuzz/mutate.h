/* mutate.h - damages a trace the way that finds mistakes: on the outside, in heads and behind the checksums. */
#ifndef SPILLWAY_TESTS_FUZZ_MUTATE_H
#define SPILLWAY_TESTS_FUZZ_MUTATE_H
#include <stddef.h>
#include <stdint.h>

enum { MUTATE_ROOM = 8 << 20 }; /* a file has this much room to grow */

/* Changes the file of `bytes` bytes in place, with checksums made right again most times; its new size. */
size_t mutate(uint8_t *file, size_t bytes, size_t room, uint64_t *seed);
#endif
