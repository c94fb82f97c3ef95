/* prefetch.c - moves steps between slots: slot s is the place in the list just before compute step s.
 *
 * Within a slot copies out come first, then drops, then copies in. Moved steps keep that order, so the memory used
 * during compute step s is the maximum within slot s, and a tensor can be copied in earlier as long as it fits into each
 * slot on the way. The lane wants the copies back to back and the last one done in time (latest start, from the last one
 * backwards). */
#include "search/prefetch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"

struct arrival { /* a copy in */
    uint32_t tensor;
    uint32_t earliest, slot; /* the slot from which on the tensor is absent; the slot where the copy is put */
    uint32_t need;           /* the slot where it was */
    size_t step;             /* its index in the list */
};

struct tensor_place {
    uint32_t absent_from; /* the slot of its drop */
    uint32_t last_use;    /* the slot after the last compute step that touched it */
    uint32_t out;         /* the slot of its last copy out */
    uint32_t changed;     /* 1 + the slot in which it was copied in, to find a drop in the same slot */
    bool there;
};

enum { OUTS, DROPS, ARRIVALS, COMPUTE, PARTS }; /* of a slot, in this order */
enum { BLOCK = 32 };                            /* slots that are handled together */

struct spw_prefetcher {
    const struct spw_graph *graph;
    struct tensor_place *places;
    struct spw_step *steps; /* the new list */
    uint32_t *slots;        /* of each old step: its new slot */
    uint64_t *level;        /* of each slot: bytes in use during its compute step; at first only the change */
    /* Of each block of slots: the maximum of its slots; what to add to the level of each. */
    uint64_t *most, *more;
    uint32_t *begin; /* of each part of each slot: number of steps before it */
    double *time_us; /* of each slot: when its compute step starts */
    struct arrival *arrivals;
    size_t room, arrival_count;
    size_t step; /* the one that is being read */
    uint32_t slot_count;
};

void spw_prefetcher_destroy(struct spw_prefetcher *p)
{
    if (!p)
        return;
    free(p->places);
    free(p->steps);
    free(p->slots);
    free(p->level);
    free(p->most);
    free(p->more);
    free(p->begin);
    free(p->time_us);
    free(p->arrivals);
    free(p);
}

int spw_prefetcher_create(const struct spw_graph *graph, struct spw_prefetcher **ret_prefetcher)
{
    struct spw_prefetcher *p = calloc(1, sizeof *p);
    if (!p)
        return -ENOMEM;
    p->graph = graph;
    p->places = malloc(((size_t)graph->tensor_count + 1) * sizeof *p->places);
    if (!p->places) {
        free(p);
        return -ENOMEM;
    }
    *ret_prefetcher = p;
    return 0;
}

static int make_room(struct spw_prefetcher *p, size_t steps)
{
    const size_t room = steps + steps / 4 + 64;
    if (steps + 2 <= p->room)
        return 0;
    const size_t had = p->room, had_blocks = had ? had / BLOCK + 1 : 0, blocks = room / BLOCK + 1;
    if (SPW_RESIZE(p->steps, had, room) < 0 || SPW_RESIZE(p->slots, had, room) < 0 || SPW_RESIZE(p->level, had, room) < 0 ||
        SPW_RESIZE(p->most, had_blocks, blocks) < 0 || SPW_RESIZE(p->more, had_blocks, blocks) < 0 ||
        SPW_RESIZE(p->begin, PARTS * had, PARTS * room) < 0 || SPW_RESIZE(p->time_us, had, room) < 0 ||
        SPW_RESIZE(p->arrivals, had, room) < 0)
        return -ENOMEM;
    p->room = room;
    return 0;
}

/* ---- reading the list ---- */

static void place_at_start(struct spw_prefetcher *p, const struct spw_schedule *schedule)
{
    uint64_t there = 0;
    for (uint32_t i = 0; i < p->graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &p->graph->tensors[i];
        const bool is_there = t->persistent ? schedule->start[i] != SPW_START_HOST : t->initial;
        p->places[i] = (struct tensor_place){.there = is_there};
        there += is_there ? t->bytes : 0;
    }
    p->level[0] = there;
}

static void touch(struct spw_prefetcher *p, const struct spw_step *step, uint32_t slot)
{
    const struct spw_graph_op *op = &p->graph->ops[step->id];
    for (uint32_t i = 0; i < op->read_count + op->write_count; i++) {
        const struct spw_touched_tensor *touched = &p->graph->touched[op->first_read + i];
        struct tensor_place *place = &p->places[touched->tensor];
        if (step->kind == SPW_STEP_REPLAY && touched->side)
            continue;
        if (!place->there) {
            place->there = true;
            p->level[slot] += p->graph->tensors[touched->tensor].bytes;
        }
        place->last_use = slot + 1;
    }
}

static uint32_t later(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Places one step other than compute, which is in `slot`. Returns its new slot, or SPW_NO_INDEX if it cannot be handled. */
static uint32_t place_step(struct spw_prefetcher *p, const struct spw_step *step, uint32_t slot)
{
    struct tensor_place *place = &p->places[step->id];
    const uint64_t bytes = p->graph->tensors[step->id].bytes;
    if (step->kind == SPW_STEP_D2H) {
        if (place->changed == slot + 1)
            return SPW_NO_INDEX;
        place->out = slot;
        return slot;
    }
    if (step->kind == SPW_STEP_DROP) {
        if (place->changed == slot + 1)
            return SPW_NO_INDEX;
        place->there = false;
        place->absent_from = later(place->last_use, place->out);
        p->level[place->absent_from] -= bytes;
        return place->absent_from;
    }
    p->arrivals[p->arrival_count++] = (struct arrival){step->id, later(place->absent_from, place->out), slot, slot, p->step};
    place->there = true;
    place->changed = slot + 1;
    place->out = slot;
    place->last_use =
        /* Drops come before it in its slot, so its own drop has to wait for the next slot, even if nothing uses it. */
        slot + 1;
    p->level[slot] += bytes;
    return slot;
}

/* Sorts copies in. Of those needed at the same time the largest comes first, since it is hardest to fit in. */
static void sort_arrivals(struct spw_prefetcher *p)
{
    for (size_t i = 1; i < p->arrival_count; i++) {
        const struct arrival moved = p->arrivals[i];
        const uint64_t bytes = p->graph->tensors[moved.tensor].bytes;
        size_t j = i;
        for (; j > 0 && p->arrivals[j - 1].need == moved.need && p->graph->tensors[p->arrivals[j - 1].tensor].bytes < bytes;
             j--)
            p->arrivals[j] = p->arrivals[j - 1];
        p->arrivals[j] = moved;
    }
}

static int read_list(struct spw_prefetcher *p, const struct spw_schedule *schedule, const double *start_us)
{
    uint32_t slot = 0;
    double now_us = 0;
    place_at_start(p, schedule);
    p->arrival_count = 0;
    for (size_t i = 0; i < schedule->count; i++) {
        const struct spw_step *step = &schedule->steps[i];
        p->step = i;
        p->slots[i] = slot;
        if (step->kind <= SPW_STEP_REPLAY) {
            touch(p, step, slot);
            p->time_us[slot] = start_us ? start_us[i] : now_us;
            now_us = p->time_us[slot] + p->graph->ops[step->id].us;
            p->level[++slot] = 0;
        } else if ((p->slots[i] = place_step(p, step, slot)) == SPW_NO_INDEX) {
            return -EINVAL;
        }
    }
    p->time_us[slot] = now_us;
    p->slot_count = slot + 1;
    for (slot = 1; slot < p->slot_count; slot++)
        p->level[slot] += p->level[slot - 1];
    return 0;
}

/* ---- moving copies in ---- */

/* Returns the last slot that begins no later than `at_us`, among those up to `slot`. */
static uint32_t slot_at(const struct spw_prefetcher *p, double at_us, uint32_t slot)
{
    uint32_t low = 0, high = slot;
    while (low < high) {
        const uint32_t middle = (low + high + 1) / 2;
        if (p->time_us[middle] <= at_us)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static void gather_blocks(struct spw_prefetcher *p)
{
    for (uint32_t slot = 0; slot < p->slot_count; slot++) {
        if (slot % BLOCK == 0)
            p->most[slot / BLOCK] = p->more[slot / BLOCK] = 0;
        if (p->level[slot] > p->most[slot / BLOCK])
            p->most[slot / BLOCK] = p->level[slot];
    }
}

/* Adds the bytes to the slots from `need` down to `wanted`, as far as there is room. Returns the last slot that had room. */
static uint32_t extend(struct spw_prefetcher *p, uint32_t need, uint32_t wanted, uint64_t bytes, uint64_t budget_bytes)
{
    uint32_t slot = need;
    while (slot > wanted) {
        const uint32_t block = (slot - 1) / BLOCK;
        if (slot % BLOCK == 0 && slot - wanted >= BLOCK && p->most[block] + bytes <= budget_bytes) {
            p->more[block] += bytes;
            p->most[block] += bytes;
            slot -= BLOCK;
            continue;
        }
        const uint64_t level = p->level[slot - 1] + p->more[block] + bytes;
        if (level > budget_bytes)
            break;
        p->level[--slot] += bytes;
        if (level > p->most[block])
            p->most[block] = level;
    }
    return slot;
}

static void move_arrivals(struct spw_prefetcher *p, uint64_t budget_bytes, double lead)
{
    double latest_us = p->time_us[p->slot_count - 1];
    for (size_t i = p->arrival_count; i-- > 0;) {
        struct arrival *arrival = &p->arrivals[i];
        const double need_us = p->time_us[arrival->need];
        latest_us = (need_us < latest_us ? need_us : latest_us) - p->graph->tensors[arrival->tensor].h2d_us * (1 + lead);
        arrival->slot = later(arrival->earliest, slot_at(p, latest_us, arrival->need));
    }
    gather_blocks(p);
    for (size_t i = 0; i < p->arrival_count; i++) {
        struct arrival *arrival = &p->arrivals[i];
        arrival->slot = extend(p, arrival->need, arrival->slot, p->graph->tensors[arrival->tensor].bytes, budget_bytes);
    }
}

/* ---- writing the list ---- */

static uint32_t *place_in(struct spw_prefetcher *p, uint32_t slot, uint32_t kind)
{
    static const uint32_t parts[SPW_STEP_KINDS] = {COMPUTE, COMPUTE, OUTS, ARRIVALS, DROPS};
    return &p->begin[PARTS * slot + parts[kind]];
}

/* Counts the steps in each part of each slot, then puts every step in its place. */
static void write_list(struct spw_prefetcher *p, struct spw_schedule *schedule)
{
    uint32_t before = 0;
    for (size_t i = 0; i < p->arrival_count; i++)
        p->slots[p->arrivals[i].step] = p->arrivals[i].slot;
    memset(p->begin, 0, PARTS * p->slot_count * sizeof *p->begin);
    for (size_t i = 0; i < schedule->count; i++)
        ++*place_in(p, p->slots[i], schedule->steps[i].kind);
    for (uint32_t i = 0; i < PARTS * p->slot_count; i++) {
        const uint32_t count = p->begin[i];
        p->begin[i] = before;
        before += count;
    }
    for (size_t i = 0; i < schedule->count; i++)
        if (schedule->steps[i].kind != SPW_STEP_H2D)
            p->steps[(*place_in(p, p->slots[i], schedule->steps[i].kind))++] = schedule->steps[i];
    for (size_t i = 0; i < p->arrival_count; i++)
        p->steps[(*place_in(p, p->arrivals[i].slot, SPW_STEP_H2D))++] =
            (struct spw_step){SPW_STEP_H2D, p->arrivals[i].tensor};
    memcpy(schedule->steps, p->steps, schedule->count * sizeof *p->steps);
}

int spw_prefetch(struct spw_prefetcher *prefetcher, struct spw_schedule *schedule, uint64_t budget_bytes,
                 const double *start_us, double lead)
{
    int r = make_room(prefetcher, schedule->count);
    if (r == 0)
        r = read_list(prefetcher, schedule, start_us);
    if (r < 0)
        return r;
    sort_arrivals(prefetcher);
    move_arrivals(prefetcher, budget_bytes, lead);
    write_list(prefetcher, schedule);
    return 0;
}
