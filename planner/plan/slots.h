/* slots.h - how small allocations share device memory: their sizes fall into classes, and a slab has slots of one class. */
#ifndef SPILLWAY_PLANNER_SLOTS_H
#define SPILLWAY_PLANNER_SLOTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPW_SLOT_CLASSES = 96 };

/* Sizes 256, 512, … 2048, then four steps for each doubling: at most a fifth is lost to rounding. */
unsigned spw_slot_class(size_t bytes);
size_t spw_slot_class_bytes(unsigned class);

/* How large a slab is that is made for an allocation of that size, on a device that hands out granules. */
size_t spw_slot_slab_bytes(size_t granule_bytes, size_t bytes);

/* A slab takes a granule at least. One for such small allocations has so many slots that a few allocations of each of many
 * sizes take as many granules, and hardly anything of them: these share. */
bool spw_slot_is_shared(size_t slab_bytes, size_t bytes);

/* Classes whose free slots do for an allocation: from its own up to this one, which does not. */
unsigned spw_slot_class_end(size_t granule_bytes, size_t bytes);

/* The class of the slots of a slab that is made for an allocation. The first one that is shared has few slots, so that those
 * of other sizes can share it; `has_wide`: there is a slab of spw_slot_wide_class(). */
unsigned spw_slot_wide_class(size_t slab_bytes);
unsigned spw_slot_class_of_new(size_t slab_bytes, size_t bytes, bool has_wide);

/* ---- what allocations come to that are made and freed in some order ---- */

struct spw_slots { /* begins with `granule_bytes` and all else 0 */
    uint64_t granule_bytes;
    uint64_t bytes; /* of all slabs so far: none goes */
    uint64_t free[SPW_SLOT_CLASSES];
    bool has[SPW_SLOT_CLASSES]; /* a slab of the class */
};

/* An allocation of `bytes` (above 0, below 2^40). Its class, for giving it back. */
unsigned spw_slots_take(struct spw_slots *slots, size_t bytes);
void spw_slots_give(struct spw_slots *slots, unsigned class);
#endif
