/* span.c - the ordered map of disjoint address ranges, as a treap. */
#include "span.h"

static uint32_t next_priority(void)
{
    static uint32_t x = 2463534242u; /* same order of insertions, same tree, on every machine */
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

struct span *span_from(const struct span_map *map, uint64_t address)
{
    struct span *best = NULL;
    for (struct span *s = map->root; s;) {
        if (s->end > address) {
            best = s;
            s = s->left;
        } else {
            s = s->right;
        }
    }
    return best;
}

struct span *span_find(const struct span_map *map, uint64_t address)
{
    struct span *s = map->root;
    while (s && (address < s->start || address >= s->end))
        s = address < s->start ? s->left : s->right;
    return s;
}

struct span *span_next(const struct span_map *map, const struct span *span)
{
    return span_from(map, span->end);
}

int span_meets(const struct span_map *map, uint64_t start, uint64_t end)
{
    const struct span *s = span_from(map, start);
    return s && s->start < end;
}

static void split(struct span *root, uint64_t start, struct span **ret_low, struct span **ret_high)
{
    if (!root) {
        *ret_low = *ret_high = NULL;
    } else if (root->start < start) {
        split(root->right, start, &root->right, ret_high);
        *ret_low = root;
    } else {
        split(root->left, start, ret_low, &root->left);
        *ret_high = root;
    }
}

static struct span *merge(struct span *low, struct span *high)
{
    if (!low)
        return high;
    if (!high)
        return low;
    if (low->priority > high->priority) {
        low->right = merge(low->right, high);
        return low;
    }
    high->left = merge(low, high->left);
    return high;
}

void span_insert(struct span_map *map, struct span *span)
{
    struct span **at = &map->root;
    span->priority = next_priority();
    while (*at && (*at)->priority >= span->priority)
        at = span->start < (*at)->start ? &(*at)->left : &(*at)->right;
    split(*at, span->start, &span->left, &span->right);
    *at = span;
    map->count++;
}

void span_remove(struct span_map *map, struct span *span)
{
    struct span **at = &map->root;
    while (*at != span)
        at = span->start < (*at)->start ? &(*at)->left : &(*at)->right;
    *at = merge(span->left, span->right);
    map->count--;
}
