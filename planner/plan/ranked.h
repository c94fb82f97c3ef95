/* ranked.h - a priority queue: the item with the greatest value comes first, and among equal values the one with the
 * lowest index. */
#ifndef SPILLWAY_PLANNER_RANKED_H
#define SPILLWAY_PLANNER_RANKED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spw_ranked {
    double value;
    uint32_t index;
};

/* A binary heap with the greatest item first. Its owner makes sure that there is room. */
struct spw_ranking {
    struct spw_ranked *items;
    size_t count;
};

static inline bool spw_ranked_before(const struct spw_ranked *a, const struct spw_ranked *b)
{
    return a->value != b->value ? a->value > b->value : a->index < b->index;
}

static inline void spw_ranked_push(struct spw_ranking *ranking, double value, uint32_t index)
{
    const struct spw_ranked item = {value, index};
    size_t i = ranking->count++;
    for (; i > 0 && spw_ranked_before(&item, &ranking->items[(i - 1) / 2]); i = (i - 1) / 2)
        ranking->items[i] = ranking->items[(i - 1) / 2];
    ranking->items[i] = item;
}

/* Removes the first item. The heap may not be empty. */
static inline void spw_ranked_pop(struct spw_ranking *ranking)
{
    const struct spw_ranked moved = ranking->items[--ranking->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < ranking->count; i = child) {
        child += child + 1 < ranking->count && spw_ranked_before(&ranking->items[child + 1], &ranking->items[child]);
        if (!spw_ranked_before(&ranking->items[child], &moved))
            break;
        ranking->items[i] = ranking->items[child];
    }
    ranking->items[i] = moved;
}
#endif
