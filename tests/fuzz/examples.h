/* examples.h - small traces to begin with. */
#ifndef SPILLWAY_TESTS_FUZZ_EXAMPLES_H
#define SPILLWAY_TESTS_FUZZ_EXAMPLES_H
#include <stddef.h>
#include <stdint.h>

enum { EXAMPLES = 7, EXAMPLE_TRAINING = 6 };

/* Example 0 … EXAMPLES - 1: the bytes of its file, the caller's to free. Stops the process when it cannot be made. */
uint8_t *make_example(unsigned which, size_t *ret_bytes);
#endif
