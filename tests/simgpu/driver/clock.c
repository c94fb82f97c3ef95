/* clock.c - vector clocks, shared between operations until something new is learned. */
#include "clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct clock {
    unsigned refs, count;
    uint64_t at[];
};

static struct {
    uint64_t *positions; /* per slot: the newest number used there, so that a slot used again goes on counting */
    bool *taken;
    unsigned count, first_free; /* before first_free all are taken */
    struct clock *host;
    uint64_t host_version;
} all;

static uint64_t clock_at(const struct clock *c, unsigned slot)
{
    return c && slot < c->count ? c->at[slot] : 0;
}

static void clock_drop(struct clock *c)
{
    if (c && --c->refs == 0)
        free(c);
}

static struct clock *clock_keep(struct clock *c)
{
    if (c)
        c->refs++;
    return c;
}

/* Whether `known` already holds everything of `other`. */
static bool covers(const struct clock *known, const struct clock *other)
{
    if (!other || known == other)
        return true;
    for (unsigned i = 0; i < other->count; i++)
        if (clock_at(known, i) < other->at[i])
            return false;
    return true;
}

/* A new table with the larger of both for each slot; without memory the older knowledge stays. */
static void join(struct clock **known, const struct clock *other, unsigned slot, uint64_t position)
{
    bool own = clock_at(*known, slot) >= position;
    if (own && covers(*known, other))
        return;
    unsigned count = *known ? (*known)->count : 0;
    if (other && other->count > count)
        count = other->count;
    if (position && slot >= count)
        count = slot + 1;
    struct clock *c = malloc(sizeof *c + count * sizeof c->at[0]);
    if (!c)
        return;
    c->refs = 1;
    c->count = count;
    for (unsigned i = 0; i < count; i++) {
        uint64_t a = clock_at(*known, i), b = clock_at(other, i);
        c->at[i] = a > b ? a : b;
    }
    if (position && c->at[slot] < position)
        c->at[slot] = position;
    clock_drop(*known);
    *known = c;
}

/* A place that nobody has. One whose newest operation the host hasn't seen complete waits, since its next owner would seem
 * to come after that; but not for ever, since every clock is as long as there are places. */
static unsigned free_slot(void)
{
    enum { MANY = 4096 };
    unsigned slot = all.first_free;
    while (slot < all.count && (all.taken[slot] || !host_knows(slot, all.positions[slot])))
        slot++;
    if (slot >= MANY)
        for (slot = all.first_free; slot < all.count && all.taken[slot];)
            slot++;
    return slot;
}

int timeline_init(struct timeline *t)
{
    unsigned slot = free_slot();
    if (slot == all.count) {
        unsigned count = all.count ? 2 * all.count : 64;
        uint64_t *positions = realloc(all.positions, count * sizeof *positions);
        if (!positions)
            return -ENOMEM;
        all.positions = positions;
        bool *taken = realloc(all.taken, count * sizeof *taken);
        if (!taken)
            return -ENOMEM;
        all.taken = taken;
        memset(positions + all.count, 0, (count - all.count) * sizeof *positions);
        memset(taken + all.count, 0, (count - all.count) * sizeof *taken);
        all.count = count;
    }
    all.taken[slot] = true;
    while (all.first_free < all.count && all.taken[all.first_free])
        all.first_free++;
    *t = (struct timeline){.slot = slot, .position = all.positions[slot]};
    return 0;
}

void timeline_finish(struct timeline *t)
{
    all.positions[t->slot] = t->position;
    all.taken[t->slot] = false;
    if (t->slot < all.first_free)
        all.first_free = t->slot;
    clock_drop(t->known);
    t->known = NULL;
}

struct when timeline_next(struct timeline *t)
{
    if (t->host_version != all.host_version) {
        join(&t->known, all.host, 0, 0);
        t->host_version = all.host_version;
    }
    return (struct when){clock_keep(t->known), t->slot, ++t->position};
}

void timeline_follow(struct timeline *t, const struct when *other)
{
    if (other->slot == t->slot)
        join(&t->known, other->known, 0, 0);
    else
        join(&t->known, other->known, other->slot, other->position);
}

struct when when_keep(const struct when *w)
{
    clock_keep(w->known);
    return *w;
}

void when_drop(struct when *w)
{
    clock_drop(w->known);
    w->known = NULL;
}

bool when_ordered(const struct when *earlier, const struct when *later)
{
    if (earlier->slot == later->slot)
        return earlier->position <= later->position;
    return clock_at(later->known, earlier->slot) >= earlier->position;
}

void host_learn(const struct when *w)
{
    const struct clock *before = all.host;
    join(&all.host, w->known, w->slot, w->position);
    if (all.host != before)
        all.host_version++;
}

bool host_knows(unsigned slot, uint64_t position)
{
    return clock_at(all.host, slot) >= position;
}

uint64_t host_knowledge_version(void)
{
    return all.host_version;
}
