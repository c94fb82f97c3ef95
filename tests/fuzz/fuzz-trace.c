/* fuzz-trace.c - the same reading as mutations.c, led by libFuzzer to where it has not been yet.
 *
 *     fuzz-trace -max_len=100000 FOLDER     goes on from what it has kept in FOLDER, for ever */
#include <stdlib.h>
#include <string.h>

#include "examples.h"
#include "mutate.h"
#include "read-all.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t room, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    (void)read_all(data, bytes);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t room, unsigned seed)
{
    uint64_t state = seed;
    if (bytes > 64)
        return mutate(data, bytes, room, &state);
    /* Begin with something that is a trace. */
    size_t size;
    uint8_t *example = make_example(seed % EXAMPLES, &size);
    if (size <= room) {
        memcpy(data, example, size);
        bytes = size;
    }
    free(example);
    return bytes;
}
