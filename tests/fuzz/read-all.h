/* read-all.h - reads bytes as a trace, uses all of every record, and stops the process when something is not as promised. */
#ifndef SPILLWAY_TESTS_FUZZ_READ_ALL_H
#define SPILLWAY_TESTS_FUZZ_READ_ALL_H
#include <stddef.h>
#include <stdint.h>

struct read_all {
    uint64_t records, problems; /* that came out */
    uint64_t sum;               /* of every byte of every record: the same for the same records */
};

/* Anything at all may stand in `data`. */
struct read_all read_all(const uint8_t *data, size_t bytes);
#endif
