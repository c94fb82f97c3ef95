/* mutations.c - reads many damaged traces, the same ones each time: none may crash, hang, or take more memory than a frame.
 *
 *     mutations [COUNT [FIRST]]     mutation number FIRST and the COUNT - 1 after it; 20000 from 0 on when not said
 *
 * A mutation is made from its number alone: what fails is repeated with `mutations 1 NUMBER`. The test's own calls of malloc
 * and its like are counted by the linker's --wrap. */
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples.h"
#include "mutate.h"
#include "read-all.h"
#include "records.h"

enum {
    MOST_BYTES = 16 << 20, /* a window of two packed frames, an unpacked frame, its longest list, twice while one grows */
    MOST_SECONDS = 30,     /* for a hundred mutations, on the slowest machine with sanitizers */
};

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void __real_free(void *old);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void __wrap_free(void *old);

static size_t used_bytes, peak_bytes;

static void *count(void *made)
{
    used_bytes += malloc_usable_size(made);
    if (used_bytes > peak_bytes)
        peak_bytes = used_bytes;
    return made;
}

void *__wrap_malloc(size_t bytes)
{
    return count(__real_malloc(bytes));
}

void *__wrap_calloc(size_t number, size_t bytes)
{
    return count(__real_calloc(number, bytes));
}

void *__wrap_realloc(void *old, size_t bytes)
{
    const size_t before = malloc_usable_size(old);
    void *made = __real_realloc(old, bytes);
    if (!made)
        return NULL;
    (void)count(made); /* both are alive while one is copied to the other */
    used_bytes -= before;
    return made;
}

void __wrap_free(void *old)
{
    used_bytes -= malloc_usable_size(old);
    __real_free(old);
}

static struct {
    uint8_t *bytes;
    size_t size;
} examples[EXAMPLES];

static uint8_t file[MUTATE_ROOM];

static bool read_one(uint64_t number, struct read_all *sum)
{
    uint64_t seed = number;
    const unsigned which = (unsigned)(random_number(&seed) % EXAMPLES);
    size_t bytes = examples[which].size;
    memcpy(file, examples[which].bytes, bytes);
    for (uint64_t times = 1 + random_number(&seed) % 3; times > 0; times--)
        bytes = mutate(file, bytes, sizeof file, &seed);

    const size_t before = used_bytes;
    peak_bytes = used_bytes;
    const struct read_all all = read_all(file, bytes);
    sum->records += all.records;
    sum->problems += all.problems;
    sum->sum += all.sum;
    if (used_bytes != before)
        return fprintf(stderr, "mutation %llu: %zu bytes were not given back\n", (unsigned long long)number,
                       used_bytes - before),
               false;
    if (peak_bytes - before > MOST_BYTES)
        return fprintf(stderr, "mutation %llu: took %zu bytes\n", (unsigned long long)number, peak_bytes - before), false;
    return true;
}

int main(int argc, char **argv)
{
    const uint64_t mutations = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000,
                   first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    struct read_all sum = {0};
    bool well = true;
    size_t most = 0;
    for (unsigned i = 0; i < EXAMPLES; i++)
        examples[i].bytes = make_example(i, &examples[i].size);
    for (uint64_t i = 0; i < mutations && well; i++) {
        if (i % 100 == 0)
            alarm(MOST_SECONDS);
        well = read_one(first + i, &sum);
        most = peak_bytes > most ? peak_bytes : most;
    }
    alarm(0);
    for (unsigned i = 0; i < EXAMPLES; i++)
        free(examples[i].bytes);
    printf("1..1\n# %llu records, %llu problems, sum %016llx, at most %zu KiB\n", (unsigned long long)sum.records,
           (unsigned long long)sum.problems, (unsigned long long)sum.sum, most >> 10);
    printf("%sok 1 - damaged traces are read or refused within bounded memory and time\n", well ? "" : "not ");
    return well ? 0 : 1;
}
