/* join.c - fills a table over the rest of each branch and the slots available, and follows it to a reversal.
 *
 * Beaumont, Herrmann, Pallez and Shilova, Phil. Trans. R. Soc. A 378 (2020). The states that the first sweep stores cut the
 * branches into S segments, each with its first state in a slot. Of c slots, c - S are free after the turn. The segment
 * that is reversed i-th has these, the i - 1 of the segments before it, and its own, so it costs P(length, c - S + i).
 * Hence
 *   V(lengths, m) = min over branch b and l = 1 .. lengths[b] of P(l, m) + V(lengths less l of b, m + 1),  V(0, c + 1) = 0,
 * and the optimum is the sum of all lengths, for the sweep, plus the least V(all, m). At the turn all last states except
 * one are in slots too, so m is at least the number of branches. */
#include "chains/join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chains/revolve.h"

#define MOST_ENTRIES ((size_t)1 << 22)

struct entry {
    uint64_t advances; /* UINT64_MAX: not possible */
    uint32_t branch, length;
};

struct table {
    const struct spw_join *join;
    /* Of one step of a branch, among the combinations; at the end, their number. */
    size_t stride[SPW_JOIN_MOST_BRANCHES + 1];
    struct entry *entries; /* for each number of slots m = 1 .. slots + 1, all combinations */
    uint64_t *revolve;     /* P(l, m) */
    uint32_t longest;
};

uint64_t spw_join_state(const struct spw_join *join, uint32_t branch)
{
    uint64_t state = 0;
    for (uint32_t b = 0; b < branch; b++)
        state += join->steps[b] + 1;
    return state;
}

/* ---- the table ---- */

static struct entry *entry(const struct table *table, uint32_t m, size_t combination)
{
    return &table->entries[(m - 1) * table->stride[table->join->branches] + combination];
}

static uint32_t length_of(const struct table *table, size_t combination, uint32_t branch)
{
    return (uint32_t)(combination / table->stride[branch] % (table->join->steps[branch] + 1));
}

static void fill(const struct table *table, uint32_t m, size_t combination)
{
    struct entry *e = entry(table, m, combination);
    *e = (struct entry){.advances = UINT64_MAX};
    if (m > table->join->slots) {
        e->advances = combination == 0 ? 0 : UINT64_MAX;
        return;
    }
    for (uint32_t b = table->join->branches; b-- > 0;) {
        const uint32_t left = length_of(table, combination, b);
        for (uint32_t l = 1; l <= left; l++) {
            const uint64_t rest = entry(table, m + 1, combination - l * table->stride[b])->advances;
            const uint64_t own = table->revolve[(size_t)l * (table->join->slots + 1) + m];
            if (rest < UINT64_MAX && own + rest < e->advances)
                *e = (struct entry){own + rest, b, l};
        }
        if (left > 0 && table->join->in_order)
            return;
    }
}

static int fill_revolve(struct table *table)
{
    const size_t columns = (size_t)table->join->slots + 1;
    table->revolve = calloc((table->longest + 1) * columns, sizeof *table->revolve);
    if (!table->revolve)
        return -ENOMEM;
    for (uint32_t l = 1; l <= table->longest; l++)
        for (uint32_t m = 1; m < columns; m++)
            (void)spw_revolve_advances(l, m, &table->revolve[l * columns + m]); /* l is small enough for no overflow */
    return 0;
}

static int fill_table(struct table *table)
{
    const struct spw_join *join = table->join;
    table->stride[0] = 1;
    for (uint32_t b = 0; b < join->branches; b++) {
        if (join->steps[b] >= MOST_ENTRIES / table->stride[b])
            return -E2BIG;
        table->stride[b + 1] = table->stride[b] * (join->steps[b] + 1);
        table->longest = join->steps[b] > table->longest ? join->steps[b] : table->longest;
    }
    const size_t combinations = table->stride[join->branches];
    if (join->slots >= MOST_ENTRIES / combinations)
        return -E2BIG;
    table->entries = malloc(((size_t)join->slots + 1) * combinations * sizeof *table->entries);
    if (!table->entries)
        return -ENOMEM;
    const int r = fill_revolve(table);
    for (uint32_t m = join->slots + 1; m > 0 && r == 0; m--)
        for (size_t i = 0; i < combinations; i++)
            fill(table, m, i);
    return r;
}

/* ---- from the table to actions ---- */

struct segment {
    uint32_t branch, first, length, slot;
};

struct writer {
    const struct spw_join *join;
    struct spw_reversal *reversal;
    struct segment *segments; /* in the order in which they are reversed */
    uint32_t count;
    uint32_t *free_slots, free_count;
};

static int act(const struct writer *w, enum spw_action_kind kind, uint32_t slot, uint64_t state, uint64_t to)
{
    return spw_reversal_add(w->reversal, &(struct spw_reversal_action){kind, 0, slot, state, to});
}

static void find_segments(struct writer *w, const struct table *table, uint32_t m)
{
    size_t combination = table->stride[w->join->branches] - 1;
    for (; m <= w->join->slots; m++) {
        const struct entry *e = entry(table, m, combination);
        combination -= e->length * table->stride[e->branch];
        w->segments[w->count++] =
            (struct segment){e->branch, length_of(table, combination, e->branch), e->length, e->branch};
    }
}

/* Runs one branch to its end and stores the states where its segments begin. The first one reversed is the last in the
 * sweep. */
static int sweep(struct writer *w, uint32_t branch)
{
    const uint64_t state = spw_join_state(w->join, branch);
    uint64_t at = 0;
    int r = act(w, SPW_ACTION_RESTORE, branch, state, 0);
    for (uint32_t i = w->count; i-- > 0 && r == 0;) {
        struct segment *segment = &w->segments[i];
        if (segment->branch != branch || segment->first == 0)
            continue;
        r = act(w, SPW_ACTION_ADVANCE, 0, state + at, state + segment->first);
        at = segment->first;
        segment->slot = w->free_slots[--w->free_count];
        if (r == 0)
            r = act(w, SPW_ACTION_STORE, segment->slot, state + at, 0);
    }
    if (r == 0)
        r = act(w, SPW_ACTION_ADVANCE, 0, state + at, state + w->join->steps[branch]);
    return r;
}

static int turn(struct writer *w)
{
    uint32_t ends[SPW_JOIN_MOST_BRANCHES] = {0};
    int r = 0;
    for (uint32_t b = 0; b < w->join->branches && r == 0; b++) {
        r = sweep(w, b);
        if (r < 0 || b + 1 == w->join->branches)
            break;
        ends[b] = w->free_slots[--w->free_count];
        r = act(w, SPW_ACTION_STORE, ends[b], spw_join_state(w->join, b) + w->join->steps[b], 0);
    }
    if (r == 0)
        r = act(w, SPW_ACTION_TURN, 0, 0, 0);
    for (uint32_t b = 0; b + 1 < w->join->branches && r == 0; b++) {
        r = act(w, SPW_ACTION_DISCARD, ends[b], spw_join_state(w->join, b) + w->join->steps[b], 0);
        w->free_slots[w->free_count++] = ends[b];
    }
    return r;
}

/* Slot 0 of Revolve is the segment's own; the others are free slots. */
static int reverse(struct writer *w, const struct segment *segment)
{
    const uint64_t state = spw_join_state(w->join, segment->branch) + segment->first;
    struct spw_revolve revolve;
    struct spw_reversal_action action;
    int r = act(w, SPW_ACTION_RESTORE, segment->slot, state, 0), more = 1;
    spw_revolve_init(&revolve, segment->length, (uint64_t)w->free_count + 1);
    while (r == 0 && (more = spw_revolve_next(&revolve, &action)) > 0) {
        if (action.slot == 0 && (action.kind == SPW_ACTION_STORE || action.kind == SPW_ACTION_DISCARD))
            continue;
        action.slot = action.slot > 0 ? w->free_slots[w->free_count - action.slot] : segment->slot;
        action.state += state;
        action.to += state;
        r = spw_reversal_add(w->reversal, &action);
    }
    spw_revolve_finish(&revolve);
    if (r == 0 && more < 0)
        r = more;
    if (r == 0)
        r = act(w, SPW_ACTION_DISCARD, segment->slot, state, 0);
    w->free_slots[w->free_count++] = segment->slot;
    return r;
}

static int write_actions(const struct table *table, uint32_t m, struct spw_reversal *reversal)
{
    const struct spw_join *join = table->join;
    struct writer w = {join, reversal, .segments = calloc(join->slots, sizeof *w.segments),
                       .free_slots = calloc(join->slots, sizeof *w.free_slots)};
    int r = w.segments && w.free_slots ? 0 : -ENOMEM;
    if (r == 0) {
        find_segments(&w, table, m);
        for (uint32_t slot = join->slots; slot-- > join->branches;)
            w.free_slots[w.free_count++] = slot;
        r = turn(&w);
    }
    for (uint32_t i = 0; i < w.count && r == 0; i++)
        r = reverse(&w, &w.segments[i]);
    free(w.segments);
    free(w.free_slots);
    return r;
}

int spw_join_reverse(const struct spw_join *join, uint64_t *ret_advances, struct spw_reversal *reversal)
{
    if (join->slots < 2 * join->branches - 1)
        return -ENOSPC;
    struct table table = {.join = join};
    int r = fill_table(&table);
    if (r == 0) {
        const size_t all = table.stride[join->branches] - 1;
        uint32_t best = join->branches;
        for (uint32_t m = best; m <= join->slots; m++)
            if (entry(&table, m, all)->advances < entry(&table, best, all)->advances)
                best = m;
        uint64_t advances = entry(&table, best, all)->advances;
        if (advances == UINT64_MAX)
            r = -ENOSPC;
        for (uint32_t b = 0; b < join->branches; b++)
            advances += join->steps[b];
        if (r == 0)
            *ret_advances = advances;
        if (r == 0 && reversal)
            r = write_actions(&table, best, reversal);
    }
    free(table.entries);
    free(table.revolve);
    return r;
}
