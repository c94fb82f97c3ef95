/* live.c - a hash table with open addressing, since it is searched several times for every operation of a trace. */
#include "live.h"

#include <errno.h>
#include <stdlib.h>

#include "model.h"

#define REMOVED UINT64_MAX

static size_t start_of(const struct live *l, uint64_t id)
{
    return (size_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (l->room - 1);
}

static struct live_entry *place_for(struct live *l, uint64_t id)
{
    size_t i = start_of(l, id);
    while (l->places[i].id && l->places[i].id != id)
        i = (i + 1) & (l->room - 1);
    return &l->places[i];
}

static int rebuild(struct live *l)
{
    struct live old = *l;
    size_t room = 64;
    while (room < 4 * (l->count + 1))
        room *= 2;
    struct live_entry *places = calloc(room, sizeof(*places));
    if (!places)
        return -ENOMEM;
    l->places = places;
    l->room = room;
    l->removed = 0;
    for (size_t i = 0; i < old.room; i++)
        if (old.places[i].id && old.places[i].id != REMOVED)
            *place_for(l, old.places[i].id) = old.places[i];
    free(old.places);
    return 0;
}

int live_add(struct live *l, const struct spw_record_alloc *a)
{
    if (a->id == 0 || a->id == REMOVED)
        return 0; /* no record can refer to this id */
    if (2 * (l->count + l->removed + 1) > l->room && rebuild(l) < 0)
        return -ENOMEM;
    struct live_entry *e = place_for(l, a->id);
    if (e->id == 0)
        l->count++;
    *e = (struct live_entry){.id = a->id,
                             .bytes = a->bytes,
                             .address = a->address,
                             .device = a->device,
                             .site = a->site,
                             .kind = a->kind,
                             .tensor = MODEL_NONE};
    return 0;
}

struct live_entry *live_find(const struct live *l, uint64_t id)
{
    if (l->room == 0 || id == 0 || id == REMOVED)
        return NULL;
    for (size_t i = start_of(l, id); l->places[i].id; i = (i + 1) & (l->room - 1))
        if (l->places[i].id == id)
            return &l->places[i];
    return NULL;
}

void live_remove(struct live *l, uint64_t id)
{
    struct live_entry *e = live_find(l, id);
    if (!e)
        return;
    e->id = REMOVED;
    l->count--;
    l->removed++;
}

void live_clear(struct live *l)
{
    free(l->places);
    *l = (struct live){0};
}

bool live_is_entry(const struct live_entry *e)
{
    return e->id != 0 && e->id != REMOVED;
}

bool live_is_of_device(uint32_t kind)
{
    return kind == SPW_ALLOC_PLAIN || kind == SPW_ALLOC_ASYNC || kind == SPW_ALLOC_MANAGED || kind == SPW_ALLOC_VMM;
}
