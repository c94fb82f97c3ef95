/* live.c - a hash table of live allocations; a removal moves slots back, so that there are no markers of removed ones. */
#include "detect/live.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 256, SLIGHT_SHARE = 1 << 16 };

static size_t home(const struct spw_live *live, uint64_t id)
{
    return (id * 0x9e3779b97f4a7c15u >> 20) & (live->capacity - 1);
}

static uint64_t share(const struct spw_live_entry *entry)
{
    return entry->slight ? 0 : spw_live_mix(entry->bytes ^ (uint64_t)entry->kind << 56) | 1;
}

int spw_live_init(struct spw_live *live)
{
    *live = (struct spw_live){.slots = calloc(FIRST_CAPACITY, sizeof(*live->slots)), .capacity = FIRST_CAPACITY};
    return live->slots ? 0 : -ENOMEM;
}

void spw_live_finish(struct spw_live *live)
{
    free(live->slots);
    live->slots = NULL;
}

static struct spw_live_entry *place(struct spw_live *live, const struct spw_live_entry *entry)
{
    size_t i = home(live, entry->id);
    while (live->slots[i].id)
        i = (i + 1) & (live->capacity - 1);
    live->slots[i] = *entry;
    return &live->slots[i];
}

static int grow(struct spw_live *live)
{
    struct spw_live larger = *live;
    larger.capacity *= 2;
    larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
    if (!larger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < live->capacity; i++)
        if (live->slots[i].id)
            place(&larger, &live->slots[i]);
    free(live->slots);
    *live = larger;
    return 0;
}

int spw_live_add(struct spw_live *live, const struct spw_live_entry *entry)
{
    if (entry->id <= live->newest)
        return -EINVAL;
    if (2 * (live->count + 1) > live->capacity) {
        const int r = grow(live);
        if (r < 0)
            return r;
    }
    struct spw_live_entry *added = place(live, entry);
    added->slight = added->bytes <= live->slight;
    live->count++;
    live->newest = added->id;
    live->bytes += added->bytes;
    live->hash += share(added);
    if (live->bytes > live->most) {
        live->most = live->bytes;
        live->slight = live->most / SLIGHT_SHARE;
    }
    return 0;
}

struct spw_live_entry *spw_live_find(const struct spw_live *live, uint64_t id)
{
    for (size_t i = home(live, id); live->slots[i].id; i = (i + 1) & (live->capacity - 1))
        if (live->slots[i].id == id)
            return id ? &live->slots[i] : NULL;
    return NULL;
}

int spw_live_remove(struct spw_live *live, uint64_t id)
{
    struct spw_live_entry *entry = spw_live_find(live, id);
    if (!entry)
        return -ENOENT;
    live->count--;
    live->bytes -= entry->bytes;
    live->hash -= share(entry);

    /* Moves an entry after the hole into it if a look-up of that entry would pass the hole. */
    const size_t mask = live->capacity - 1;
    size_t hole = (size_t)(entry - live->slots);
    for (size_t i = (hole + 1) & mask; live->slots[i].id; i = (i + 1) & mask)
        if (((i - home(live, live->slots[i].id)) & mask) >= ((i - hole) & mask)) {
            live->slots[hole] = live->slots[i];
            hole = i;
        }
    live->slots[hole].id = 0;
    return 0;
}
