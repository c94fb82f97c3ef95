/* reports.c - damaged traces of a training program through everything that the tools make of a trace: each is shown or
 * refused with a reason, within bounded memory and time.
 *
 *     reports [COUNT [FIRST [TRACE]]]     mutation number FIRST and the COUNT - 1 after it; 3000 from 0 on when not said
 *
 * Mutations are of a small program that was made up, or of the trace in the file TRACE. What fails is repeated with
 * `reports 1 NUMBER`. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples.h"
#include "model.h"
#include "mutate.h"
#include "records.h"
#include "show-all.h"
#include "training.h"

enum {
    MOST_KIB = 64 << 10, /* more than without damage; a few times what the definitions need whose ids are believed */
    PLANNED_IN = 32,     /* one of so many, since planning takes longer than all the rest */
    MOST_SECONDS = 30,   /* for a hundred mutations, on the slowest machine with sanitizers */
};

#define PLANNING_S 0.001 /* what is planned is looked at, not how good it is */

static uint8_t file[MUTATE_ROOM];

static uint8_t *load(const char *path, size_t *ret_bytes)
{
    FILE *in = fopen(path, "rb");
    uint8_t *bytes = malloc(MUTATE_ROOM);
    if (!in || !bytes) {
        perror(path);
        exit(2);
    }
    *ret_bytes = fread(bytes, 1, MUTATE_ROOM, in);
    (void)fclose(in);
    return bytes;
}

/* The most memory that was resident so far. Sanitizers keep what was freed, and are not asked. */
static long peak_kib(void)
{
    long kib = 0;
#ifndef SANITIZED
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    if (status)
        (void)fclose(status);
#endif
    return kib;
}

static struct show_all show_one(const uint8_t *original, size_t bytes, uint64_t number)
{
    uint64_t seed = number;
    memcpy(file, original, bytes);
    for (uint64_t times = 1 + random_number(&seed) % 3; times > 0; times--)
        bytes = mutate(file, bytes, sizeof file, &seed);
    const uint64_t at_op = random_number(&seed);
    return show_all(file, bytes, at_op % 4 ? MODEL_NO_OP : at_op / 4 % (2 * TRAINING_STEPS * TRAINING_OPS),
                    number % PLANNED_IN ? 0 : PLANNING_S);
}

int main(int argc, char **argv)
{
    const uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 3000, first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    uint64_t whole = 0, shown = 0, iterations = 0, taken = 0, planned = 0;
    size_t bytes;
    uint8_t *original = argc > 3 ? load(argv[3], &bytes) : make_example(EXAMPLE_TRAINING, &bytes);
    const struct show_all before = show_all(original, bytes, MODEL_NO_OP, PLANNING_S);
    const long kib = peak_kib();
    bool well = before.whole && before.taken && before.planned;
    if (!well)
        fprintf(stderr, "reports: there is no iteration that could be planned for to begin with\n");
    for (uint64_t i = 0; i < count && well; i++) {
        if (i % 100 == 0)
            alarm(MOST_SECONDS);
        const struct show_all all = show_one(original, bytes, first + i);
        whole += all.whole;
        shown += all.shown;
        iterations += all.iteration;
        taken += all.taken;
        planned += all.planned;
        well = peak_kib() - kib <= MOST_KIB;
        if (!well)
            fprintf(stderr, "mutation %llu: took %ld KiB\n", (unsigned long long)(first + i), peak_kib() - kib);
    }
    alarm(0);
    free(original);
    printf(
        "1..1\n# of %llu: %llu whole, %llu shown, %llu with an iteration, %llu with one that can be planned for, %llu with "
        "plans; at most %ld KiB more\n",
        (unsigned long long)count, (unsigned long long)whole, (unsigned long long)shown, (unsigned long long)iterations,
        (unsigned long long)taken, (unsigned long long)planned, peak_kib() - kib);
    printf("%sok 1 - damaged traces are shown in all forms or refused, within bounded memory and time\n",
           well ? "" : "not ");
    return well ? 0 : 1;
}
