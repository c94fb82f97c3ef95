/* handle_ids.c - a hash table of handles, with open addressing, since each launch looks up two. */
#include "handle_ids.h"

#include <stdlib.h>
#include <string.h>

struct spw_handle_id {
    uint64_t handle, owner;
    uint32_t id; /* 0: an empty place */
};

static size_t start_of(const struct spw_handle_ids *set, uint64_t handle, uint64_t owner)
{
    return (size_t)((handle ^ owner) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (set->room - 1);
}

/* Returns the place of the handle, or the empty place where it belongs; the table is never full. */
static struct spw_handle_id *place_of(const struct spw_handle_ids *set, uint64_t handle, uint64_t owner)
{
    size_t i = start_of(set, handle, owner);
    while (set->places[i].id && (set->places[i].handle != handle || set->places[i].owner != owner))
        i = (i + 1) & (set->room - 1);
    return &set->places[i];
}

static bool make_room(struct spw_handle_ids *set)
{
    struct spw_handle_ids bigger = {.room = set->room ? 2 * set->room : 64, .count = set->count, .last = set->last};
    bigger.places = calloc(bigger.room, sizeof(*bigger.places));
    if (!bigger.places)
        return false;
    for (size_t i = 0; i < set->room; i++)
        if (set->places[i].id)
            *place_of(&bigger, set->places[i].handle, set->places[i].owner) = set->places[i];
    free(set->places);
    *set = bigger;
    return true;
}

uint32_t spw_handle_id_find(const struct spw_handle_ids *set, const void *handle, uint64_t owner)
{
    return set->room ? place_of(set, (uint64_t)(uintptr_t)handle, owner)->id : 0;
}

uint32_t spw_handle_id_of(struct spw_handle_ids *set, const void *handle, uint64_t owner, bool *ret_new)
{
    uint32_t id = spw_handle_id_find(set, handle, owner);
    *ret_new = false;
    if (id)
        return id;
    if (2 * (set->count + 1) > set->room && !make_room(set))
        return 0;
    *place_of(set, (uint64_t)(uintptr_t)handle, owner) =
        (struct spw_handle_id){(uint64_t)(uintptr_t)handle, owner, set->last + 1};
    set->count++;
    *ret_new = true;
    return ++set->last;
}

/* Removes the handle, and moves up those that it had displaced. */
void spw_handle_id_gone(struct spw_handle_ids *set, const void *handle, uint64_t owner)
{
    if (!spw_handle_id_find(set, handle, owner))
        return;
    struct spw_handle_id *hole = place_of(set, (uint64_t)(uintptr_t)handle, owner);
    hole->id = 0;
    set->count--;
    for (size_t i = (size_t)(hole - set->places + 1) & (set->room - 1); set->places[i].id; i = (i + 1) & (set->room - 1)) {
        struct spw_handle_id moved = set->places[i];
        set->places[i].id = 0;
        *place_of(set, moved.handle, moved.owner) = moved;
    }
}

void spw_handle_ids_clear(struct spw_handle_ids *set)
{
    free(set->places);
    *set = (struct spw_handle_ids){.last = set->last};
}
