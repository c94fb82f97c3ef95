/* cache_merge.c - finds neighbouring pieces of cached blocks that are together as long as an allocation, and makes one
 * block of them. */
#include "cache_merge.h"

/* Neighbouring pieces: from piece number `piece` of `first` to the one before number `end_piece` of `last`. */
struct window {
    struct spw_block *first, *last;
    uint32_t piece, end_piece;
    uint32_t granules; /* in these pieces */
    uint64_t touched;  /* granules of all blocks that the pieces belong to */
};

static bool may_serve(const struct spw_block *b, const struct spw_stream *s)
{
    const struct spw_object *o = &b->object;
    return o->attention == SPW_FREE && !b->holds && !b->host_copy && b->memory.granules == b->granules &&
           (spw_uses_seen_done_locked(&o->uses) || (s && spw_uses_plainly_only(&o->uses, s)));
}

/* The block at a granule if it may serve, else NULL. */
static struct spw_block *server_at(const struct spw_device *d, uint64_t granule, const struct spw_stream *s)
{
    struct spw_object *o = granule < d->arena_bytes >> d->granule_shift ? d->table[granule] : NULL;
    return o && o->kind == SPW_KIND_BLOCK && may_serve(spw_block_of(o), s) ? spw_block_of(o) : NULL;
}

/* Adds the next piece to the window. Returns false if the neighbour may not serve. */
static bool extend(const struct spw_device *d, struct window *w, const struct spw_stream *s)
{
    if (w->end_piece == w->last->memory.count) {
        struct spw_block *next = server_at(d, (uint64_t)w->last->first + w->last->granules, s);
        if (!next)
            return false;
        if (w->granules == 0)
            *w = (struct window){.first = next};
        w->last = next;
        w->end_piece = 0;
        w->touched += next->granules;
    }
    w->granules += spw_memory_piece(&w->last->memory, w->end_piece++).granules;
    return true;
}

/* Removes the first piece from the window. */
static void shorten(const struct spw_device *d, struct window *w)
{
    w->granules -= spw_memory_piece(&w->first->memory, w->piece++).granules;
    if (w->piece < w->first->memory.count || w->first == w->last)
        return;
    w->touched -= w->first->granules;
    w->first = spw_block_of(d->table[w->first->first + w->first->granules]);
    w->piece = 0;
}

/* Looks at all windows of the right length in the row of neighbours that begins with `b`; keeps in *best the one whose
 * blocks have the least left over. */
static void look_along(const struct spw_device *d, struct spw_block *b, uint32_t granules, const struct spw_stream *s,
                       struct window *best)
{
    struct window w = {.first = b, .last = b, .touched = b->granules};
    while (extend(d, &w, s)) {
        while (w.granules > granules)
            shorten(d, &w);
        if (w.granules == granules && (!best->first || w.touched < best->touched))
            *best = w;
    }
}

/* Cuts the block behind its first `keep` pieces; both parts are cached. Returns the second part, or NULL without memory for
 * it. */
static struct spw_block *cut(struct spw_device *d, struct spw_block *b, uint32_t keep)
{
    struct spw_block *rest;
    spw_block_uncache_this_locked(d, b);
    int r = spw_block_split_locked(d, b, keep, &rest);
    spw_block_cache_locked(d, b);
    if (r < 0)
        return NULL;
    spw_block_cache_locked(d, rest);
    return rest;
}

/* Makes one block of the window. If that fails half-way for want of memory, what is left are cached blocks of other sizes,
 * no less useful than before. */
static struct spw_block *make(struct spw_device *d, const struct window *w)
{
    struct spw_block *b = w->first, *next;
    if (w->end_piece < w->last->memory.count && !cut(d, w->last, w->end_piece))
        return NULL;
    if (w->piece && !(b = cut(d, b, w->piece)))
        return NULL;
    const uint32_t end = b->first + w->granules;
    spw_block_uncache_this_locked(d, b);
    while (b->first + b->granules < end) {
        next = spw_block_of(d->table[b->first + b->granules]);
        spw_block_uncache_this_locked(d, next);
        if (spw_block_join_locked(d, b, next) == 0)
            continue;
        spw_block_cache_locked(d, b);
        spw_block_cache_locked(d, next);
        return NULL;
    }
    return b;
}

struct spw_block *spw_cache_merge_locked(struct spw_device *d, uint32_t granules, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct window best = {0};
    if (d->free_bytes >> d->granule_shift < granules)
        return NULL;
    for (uint32_t i = 0; i < d->block_count; i++) {
        struct spw_block *b = d->blocks[i];
        if (may_serve(b, s) && !(b->first && server_at(d, b->first - 1, s)))
            look_along(d, b, granules, s, &best);
    }
    return best.first ? make(d, &best) : NULL;
}
