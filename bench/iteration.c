/* iteration.c - feeds the iteration detector; `./dev bench` counts its instructions.
 *
 *     iteration follow N     N operations of a program whose iteration (2000 operations) is known
 *     iteration search N     N operations of a program that never repeats
 *     iteration layers N     N operations of a program that never repeats, but consists of loops
 *     iteration young N      like follow, but each operation comes with an allocation and a free
 *     iteration nothing N    generates the same numbers without a detector
 * Each operation touches four allocations. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detect/iteration.h"

enum { KEPT = 64, PERIOD = 2000, WARM_UP = 3 * PERIOD, YOUNG = 32, TOUCHES = 4 };

struct feed {
    struct spw_iteration *detector; /* NULL: no detector */
    uint64_t random, next_id, young[YOUNG];
    bool allocates;
    uint64_t sum; /* so that nothing is optimised away */
};

static uint64_t next_random(struct feed *feed)
{
    feed->random = feed->random * 6364136223846793005u + 1442695040888963407u;
    return feed->random >> 40;
}

static void allocate(struct feed *feed, uint64_t number, uint64_t bytes)
{
    uint64_t *const young = &feed->young[number % PERIOD % YOUNG];
    if (feed->detector && *young)
        spw_iteration_free(feed->detector, *young);
    *young = ++feed->next_id;
    if (feed->detector)
        spw_iteration_alloc(feed->detector, *young, bytes, 1);
}

/* `what` determines everything about the operation. */
static void operate(struct feed *feed, uint64_t number, uint64_t what)
{
    struct spw_iteration_touch touches[TOUCHES];
    struct spw_iteration_place place = {0};
    if (feed->allocates || number < YOUNG)
        allocate(feed, number, 512 * (1 + what % 13));
    for (uint64_t t = 0; t < TOUCHES; t++)
        touches[t] =
            t ? (struct spw_iteration_touch){.alloc = 1 + (what + t) % KEPT, .bytes = 4096}
              : (struct spw_iteration_touch){.alloc = feed->young[number % PERIOD % YOUNG], .bytes = 512 * (1 + what % 13)};
    const struct spw_iteration_op op = {.kind = SPW_ITERATION_LAUNCH,
                                        .function = what % 97,
                                        .geometry = what % 11,
                                        .touch_count = TOUCHES,
                                        .touches = touches};
    if (feed->detector)
        spw_iteration_add(feed->detector, &op, &place);
    feed->sum += place.ordinal + op.function + touches[1].alloc;
}

static uint64_t what_is(struct feed *feed, const char *mode, uint64_t number)
{
    const uint64_t random = next_random(feed);
    if (strcmp(mode, "search") == 0)
        return random;
    if (strcmp(mode, "layers") == 0)
        return number / 100 * 7 % 1000 + number % (5 + number / 100 % 9);
    return number % PERIOD * 31 % 1009;
}

int main(int argc, char **argv)
{
    const char *mode = argc == 3 ? argv[1] : "";
    static const char *const MODES[] = {"follow", "young", "search", "layers", "nothing"};
    bool known = false;
    for (size_t i = 0; i < sizeof(MODES) / sizeof(*MODES); i++)
        known = known || strcmp(mode, MODES[i]) == 0;
    if (!known)
        return fprintf(stderr, "usage: iteration follow | young | search | layers | nothing COUNT\n"), 2;
    struct feed feed = {.random = 1, .allocates = strcmp(mode, "young") == 0};
    if (strcmp(mode, "nothing") != 0 && spw_iteration_create(1 << 18, &feed.detector) < 0)
        return 3;
    for (uint64_t k = 0; k < KEPT; k++) {
        feed.next_id = k + 1;
        if (feed.detector)
            spw_iteration_alloc(feed.detector, feed.next_id, 4096, 0);
    }
    const uint64_t count = strtoull(argv[2], NULL, 10) + WARM_UP;
    for (uint64_t number = 0; number < count; number++)
        operate(&feed, number, what_is(&feed, mode, number));
    if (feed.detector)
        printf("%zu shapes, %zu bytes, sum %llu\n", spw_iteration_shape_count(feed.detector),
               spw_iteration_memory_bytes(feed.detector), (unsigned long long)feed.sum);
    spw_iteration_destroy(feed.detector);
    return 0;
}
