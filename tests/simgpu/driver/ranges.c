/* ranges.c - sets of bytes in arrays of ranges. */
#include "ranges.h"

#include <stdlib.h>
#include <string.h>

size_t ranges_from(const struct ranges *set, uint64_t address)
{
    size_t from = 0, to = set->count;
    while (from < to) {
        size_t middle = (from + to) / 2;
        if (set->at[middle].end > address)
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}

/* Puts up to two ranges in the place of those from `first` to before `last`. */
static bool replace(struct ranges *set, size_t first, size_t last, const struct range *by, size_t count)
{
    const size_t new_count = set->count - (last - first) + count;
    if (new_count > set->room) {
        size_t room = set->room ? 2 * set->room : 4;
        struct range *grown = realloc(set->at, room * sizeof *grown);
        if (!grown)
            return false;
        set->at = grown;
        set->room = room;
    }
    if (first + count != last && last < set->count)
        memmove(set->at + first + count, set->at + last, (set->count - last) * sizeof *set->at);
    for (size_t i = 0; i < count; i++)
        set->at[first + i] = by[i];
    set->count = new_count;
    return true;
}

bool ranges_add(struct ranges *set, uint64_t start, uint64_t end)
{
    if (start >= end)
        return true;
    /* Those that merely touch it become one with it, too. */
    size_t first = ranges_from(set, start - (start > 0)), last = first;
    struct range merged = {start, end};
    for (; last < set->count && set->at[last].start <= end; last++) {
        if (set->at[last].start < merged.start)
            merged.start = set->at[last].start;
        if (set->at[last].end > merged.end)
            merged.end = set->at[last].end;
    }
    return replace(set, first, last, &merged, 1);
}

bool ranges_remove(struct ranges *set, uint64_t start, uint64_t end)
{
    struct range left[2];
    size_t count = 0, first = ranges_from(set, start), last = first;
    if (start >= end)
        return true;
    while (last < set->count && set->at[last].start < end)
        last++;
    if (first == last)
        return true;
    if (set->at[first].start < start)
        left[count++] = (struct range){set->at[first].start, start};
    if (set->at[last - 1].end > end)
        left[count++] = (struct range){end, set->at[last - 1].end};
    return replace(set, first, last, left, count);
}

bool ranges_add_part(struct ranges *set, const struct ranges *from, uint64_t start, uint64_t end, uint64_t by)
{
    for (size_t i = ranges_from(from, start); i < from->count && from->at[i].start < end; i++) {
        const struct range r = from->at[i];
        if (!ranges_add(set, (r.start > start ? r.start : start) + by, (r.end < end ? r.end : end) + by))
            return false;
    }
    return true;
}

bool ranges_hold(const struct ranges *set, uint64_t start, uint64_t end)
{
    const size_t i = ranges_from(set, start);
    return start >= end || (i < set->count && set->at[i].start <= start && set->at[i].end >= end);
}

bool ranges_equal(const struct ranges *a, const struct ranges *b)
{
    return a->count == b->count && (a->count == 0 || memcmp(a->at, b->at, a->count * sizeof *a->at) == 0);
}

void ranges_finish(struct ranges *set)
{
    free(set->at);
    *set = (struct ranges){0};
}
