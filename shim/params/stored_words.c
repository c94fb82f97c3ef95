/* stored_words.c - finds, replaces and moves words of a sorted array. */
#include "stored_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"

uint32_t spw_stored_words_at(const struct spw_stored_words *w, uint64_t place)
{
    uint32_t low = 0, high = w->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (w->list[middle].place < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void spw_stored_words_overlapping(const struct spw_stored_words *w, uint64_t low, uint64_t high, uint32_t *ret_first,
                                  uint32_t *ret_end)
{
    *ret_first = spw_stored_words_at(w, low < 7 ? 0 : low - 7);
    *ret_end = spw_stored_words_at(w, high);
}

int spw_stored_words_replace(struct spw_stored_words *w, uint64_t low, uint64_t high, const struct spw_stored_word *added,
                             uint32_t count, uint32_t most)
{
    uint32_t first, end;
    int r = 0;
    spw_stored_words_overlapping(w, low, high, &first, &end);
    const uint32_t others = w->count - (end - first);
    if (count > most || others > most - count)
        r = -ENOBUFS;
    else
        r = SPW_GROW(w->list, w->room, others + count);
    if (r < 0)
        count = 0;
    if (w->count > end)
        memmove(&w->list[first + count], &w->list[end], (w->count - end) * sizeof(*w->list));
    if (count)
        memcpy(&w->list[first], added, count * sizeof(*added));
    w->count = others + count;
    return r;
}

struct spw_stored_word *spw_stored_words_moved(const struct spw_stored_words *w, uint64_t to, uint64_t from, uint64_t bytes,
                                               uint32_t *ret_count)
{
    const uint32_t first = spw_stored_words_at(w, from), end = bytes < 8 ? first : spw_stored_words_at(w, from + bytes - 7);
    const uint32_t count = *ret_count = end - first;
    struct spw_stored_word *list = count ? malloc(count * sizeof(*list)) : NULL;
    for (uint32_t i = 0; list && i < count; i++)
        list[i] = (struct spw_stored_word){w->list[first + i].place - from + to, w->list[first + i].member,
                                           w->list[first + i].is_found};
    return list;
}
