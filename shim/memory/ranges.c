/* ranges.c - keeps free ranges in segregated lists by length, and joins them through tags at their borders: every step
 * takes constant time.
 *
 * A free range has two tags: `length` in the record of its first granule, `start` in that of its last. When a neighbour is
 * given back, it finds the range through one of them. Granules in use have no tags, so their records stay untouched zero
 * pages.
 *
 * A class holds ranges of nearly the same length: exactly the same length below 64 granules, then 32 classes for each power
 * of two. Two levels of bitmaps find the next class that is not empty. */
#include "ranges.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

enum {
    SUB_BITS = 5,
    SUB_CLASSES = 1 << SUB_BITS,
    TOP_CLASSES = 30 - SUB_BITS + 2, /* 2^30 granules need one class more */
    CLASSES = TOP_CLASSES * SUB_CLASSES,
    LOOK_AT = 16, /* ranges of a class that are compared before the best of them is taken */
};

#define NONE UINT32_MAX

struct record {
    uint32_t length;     /* > 0: a free range of that many granules begins here */
    uint32_t start;      /* > 0: a free range that begins at start - 1 ends here */
    uint32_t prev, next; /* in the list of its class, if a free range begins here: granule + 1; 0 at the ends */
};

struct spw_ranges {
    uint32_t granules;
    uint32_t in_use, in_use_peak, reach;
    uint32_t refused_gives;
    uint32_t top_map; /* bit t: sub_maps[t] != 0 */
    uint32_t sub_maps[TOP_CLASSES];
    uint32_t heads[CLASSES]; /* granule + 1, 0: empty; not 0 exactly if the bit in sub_maps is set */
    struct record at[];      /* one per granule */
};

static size_t mapped_bytes(uint32_t granules)
{
    return sizeof(struct spw_ranges) + granules * sizeof(struct record);
}

static uint32_t class_of(uint32_t length)
{
    if (length < SUB_CLASSES)
        return length;
    uint32_t top = 31 - (uint32_t)__builtin_clz(length);
    return (top - SUB_BITS) * SUB_CLASSES + (length >> (top - SUB_BITS));
}

/* Returns the lowest class from `class` on that holds a range, or NONE. */
static uint32_t class_from(const struct spw_ranges *r, uint32_t class)
{
    uint32_t top = class / SUB_CLASSES;
    if (top >= TOP_CLASSES)
        return NONE;
    uint32_t subs = r->sub_maps[top] & (UINT32_MAX << class % SUB_CLASSES);
    if (subs == 0) {
        uint32_t tops = r->top_map & (UINT32_MAX << top << 1);
        if (tops == 0)
            return NONE;
        top = (uint32_t)__builtin_ctz(tops);
        subs = r->sub_maps[top];
    }
    return top * SUB_CLASSES + (uint32_t)__builtin_ctz(subs);
}

static void insert(struct spw_ranges *r, uint32_t first, uint32_t length)
{
    uint32_t class = class_of(length), head = r->heads[class];

    r->at[first].length = length;
    r->at[first + length - 1].start = first + 1;
    r->at[first].prev = 0;
    r->at[first].next = head;
    if (head != 0)
        r->at[head - 1].prev = first + 1;
    r->heads[class] = first + 1;
    r->sub_maps[class / SUB_CLASSES] |= UINT32_C(1) << class % SUB_CLASSES;
    r->top_map |= UINT32_C(1) << class / SUB_CLASSES;
}

static void take_out(struct spw_ranges *r, uint32_t first)
{
    struct record *range = &r->at[first];
    uint32_t class = class_of(range->length), top = class / SUB_CLASSES;

    if (range->next != 0)
        r->at[range->next - 1].prev = range->prev;
    if (range->prev != 0)
        r->at[range->prev - 1].next = range->next;
    else
        r->heads[class] = range->next;
    if (r->heads[class] == 0) {
        r->sub_maps[top] &= ~(UINT32_C(1) << class % SUB_CLASSES);
        if (r->sub_maps[top] == 0)
            r->top_map &= ~(UINT32_C(1) << top);
    }
    r->at[first + range->length - 1].start = 0;
    range->length = 0;
}

/* Returns the shortest range of a class that holds `granules`, the lowest among equals. Looks at `look_at` ranges at
 * most. */
static uint32_t closest_in(const struct spw_ranges *r, uint32_t class, uint32_t granules, uint32_t look_at)
{
    uint32_t best = NONE, best_length = UINT32_MAX;

    for (uint32_t link = r->heads[class]; link != 0 && look_at > 0; link = r->at[link - 1].next, look_at--) {
        uint32_t first = link - 1, length = r->at[first].length;
        if (length < granules || length > best_length)
            continue;
        if (length < best_length || first < best) {
            best = first;
            best_length = length;
        }
    }
    return best;
}

/* Returns the free range that a take of `granules` would use. Every range of a higher class fits. In the class of the
 * request itself some may be too short, and all of them are examined only if nothing else fits. */
static uint32_t closest(const struct spw_ranges *r, uint32_t granules)
{
    uint32_t class = class_of(granules);
    uint32_t best = closest_in(r, class, granules, LOOK_AT);
    if (best != NONE)
        return best;
    uint32_t higher = class_from(r, class + 1);
    if (higher != NONE)
        return closest_in(r, higher, granules, LOOK_AT);
    return closest_in(r, class, granules, UINT32_MAX);
}

int spw_ranges_create(uint32_t granules, struct spw_ranges **ret_ranges)
{
    if (granules == 0 || granules > SPW_RANGES_MAX_GRANULES)
        return -EINVAL;
    size_t bytes = mapped_bytes(granules);
    struct spw_ranges *r = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r == MAP_FAILED)
        return -ENOMEM;
    (void)madvise(r, bytes, MADV_NOHUGEPAGE); /* a touched record should cost 4 KiB, not 2 MiB */

    r->granules = granules;
    insert(r, 0, granules);
    *ret_ranges = r;
    return 0;
}

void spw_ranges_destroy(struct spw_ranges *r)
{
    if (r != NULL)
        (void)munmap(r, mapped_bytes(r->granules));
}

int spw_ranges_take(struct spw_ranges *r, uint32_t granules, uint32_t *ret_first)
{
    if (granules == 0)
        return -EINVAL;
    if (granules > r->granules)
        return -ENOMEM;
    uint32_t first = closest(r, granules);
    if (first == NONE)
        return -ENOMEM;

    uint32_t length = r->at[first].length;
    take_out(r, first);
    if (length > granules)
        insert(r, first + granules, length - granules);
    r->in_use += granules;
    if (r->in_use > r->in_use_peak)
        r->in_use_peak = r->in_use;
    if (first + granules > r->reach)
        r->reach = first + granules;
    *ret_first = first;
    return 0;
}

/* Checks both borders, so every range that is given twice is noticed, though not every overlap. */
static bool can_be_given(const struct spw_ranges *r, uint32_t first, uint32_t granules)
{
    if (granules == 0 || granules > r->in_use || first > r->granules - granules)
        return false;
    const struct record *begin = &r->at[first], *end = &r->at[first + granules - 1];
    return begin->length == 0 && begin->start == 0 && end->length == 0 && end->start == 0;
}

void spw_ranges_give(struct spw_ranges *r, uint32_t first, uint32_t granules)
{
    if (!can_be_given(r, first, granules)) {
        r->refused_gives++;
        return;
    }
    r->in_use -= granules;

    uint32_t end = first + granules;
    if (end < r->granules && r->at[end].length != 0) {
        uint32_t length = r->at[end].length;
        take_out(r, end);
        end += length;
    }
    if (first > 0 && r->at[first - 1].start != 0) {
        first = r->at[first - 1].start - 1;
        take_out(r, first);
    }
    insert(r, first, end - first);
}

int64_t spw_ranges_leftover(const struct spw_ranges *r, uint32_t granules)
{
    if (granules == 0 || granules > r->granules)
        return -ENOMEM;
    uint32_t first = closest(r, granules);
    return first == NONE ? -ENOMEM : (int64_t)r->at[first].length - granules;
}

uint32_t spw_ranges_granules(const struct spw_ranges *r)
{
    return r->granules;
}

uint32_t spw_ranges_in_use(const struct spw_ranges *r)
{
    return r->in_use;
}

uint32_t spw_ranges_in_use_peak(const struct spw_ranges *r)
{
    return r->in_use_peak;
}

uint32_t spw_ranges_reach(const struct spw_ranges *r)
{
    return r->reach;
}

uint32_t spw_ranges_longest_free(const struct spw_ranges *r)
{
    if (r->top_map == 0)
        return 0;
    uint32_t top = 31 - (uint32_t)__builtin_clz(r->top_map);
    uint32_t class = top * SUB_CLASSES + 31 - (uint32_t)__builtin_clz(r->sub_maps[top]);
    uint32_t longest = 0;
    for (uint32_t link = r->heads[class]; link != 0; link = r->at[link - 1].next)
        longest = r->at[link - 1].length > longest ? r->at[link - 1].length : longest;
    return longest;
}

/* Returns true if the tags of the free range at `first` are intact, nothing inside it is tagged, and no free range follows
 * directly. */
static bool check_range(const struct spw_ranges *r, uint32_t first)
{
    uint32_t length = r->at[first].length;
    if (length > r->granules - first)
        return false;
    uint32_t last = first + length - 1;
    if (r->at[last].start != first + 1)
        return false;
    for (uint32_t i = first; i <= last; i++)
        if ((i > first && r->at[i].length != 0) || (i < last && r->at[i].start != 0))
            return false;
    return last + 1 == r->granules || r->at[last + 1].length == 0;
}

/* Returns how many ranges the list of a class holds, or NONE if it is broken or holds a range of another class. */
static uint32_t check_class(const struct spw_ranges *r, uint32_t class)
{
    uint32_t count = 0, prev = 0;
    for (uint32_t link = r->heads[class]; link != 0; prev = link, link = r->at[link - 1].next) {
        if (link > r->granules || count == r->granules)
            return NONE;
        const struct record *range = &r->at[link - 1];
        if (range->length == 0 || class_of(range->length) != class || range->prev != prev)
            return NONE;
        count++;
    }
    uint32_t top = class / SUB_CLASSES;
    bool marked = r->sub_maps[top] >> class % SUB_CLASSES & 1;
    bool top_marked = r->top_map >> top & 1;
    return marked == (count > 0) && top_marked == (r->sub_maps[top] != 0) ? count : NONE;
}

bool spw_ranges_check(const struct spw_ranges *r)
{
    uint32_t free_ranges = 0, free_granules = 0, listed = 0;

    for (uint32_t i = 0; i < r->granules; i += r->at[i].length != 0 ? r->at[i].length : 1) {
        if (r->at[i].length == 0) {
            if (r->at[i].start != 0)
                return false;
            continue;
        }
        if (!check_range(r, i))
            return false;
        free_ranges++;
        free_granules += r->at[i].length;
    }
    for (uint32_t class = 0; class < CLASSES; class ++) {
        uint32_t count = check_class(r, class);
        if (count == NONE)
            return false;
        listed += count;
    }
    return r->refused_gives == 0 && listed == free_ranges && free_granules == r->granules - r->in_use &&
           r->in_use <= r->in_use_peak && r->in_use_peak <= r->reach && r->reach <= r->granules;
}
