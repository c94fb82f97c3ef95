/* slots.h - says how small allocations share device memory: sizes fall into classes, and each slab has slots of one
 * class. */
#ifndef SPILLWAY_PLANNER_SLOTS_H
#define SPILLWAY_PLANNER_SLOTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPW_SLOT_CLASSES = 96 };

/* The class of a size. The classes are 256, 512, … 2048 bytes, then four steps for each doubling: rounding wastes at most
 * a fifth. */
unsigned spw_slot_class(size_t bytes);
size_t spw_slot_class_bytes(unsigned class);

/* Returns the size of a slab that is made for an allocation of `bytes`, on a device with granules of `granule_bytes`. */
size_t spw_slot_slab_bytes(size_t granule_bytes, size_t bytes);

/* Returns true if allocations of this size share slabs with other sizes. A slab takes at least one granule, so one for
 * very small allocations has many slots, and a few allocations of each of many sizes would take a granule per size and
 * leave nearly all of it unused. */
bool spw_slot_is_shared(size_t slab_bytes, size_t bytes);

/* The free slots that an allocation may use are those of the classes from its own up to, but not including, the returned
 * one. */
unsigned spw_slot_class_end(size_t granule_bytes, size_t bytes);

/* The class of the slots of a slab that is made for an allocation. The first shared slab has the few, large slots of
 * spw_slot_wide_class(), so that allocations of other sizes can use them. `has_wide`: there is such a slab already. */
unsigned spw_slot_wide_class(size_t slab_bytes);
unsigned spw_slot_class_of_new(size_t slab_bytes, size_t bytes, bool has_wide);

/* ---- the slabs that a sequence of allocations and frees needs ---- */

struct spw_slots { /* initially all 0 except `granule_bytes` */
    uint64_t granule_bytes;
    uint64_t bytes; /* of all slabs so far; slabs are never freed */
    uint64_t free[SPW_SLOT_CLASSES];
    bool has[SPW_SLOT_CLASSES]; /* there is a slab of the class */
};

/* Takes a slot for an allocation of `bytes` (above 0, below 2^40). Returns its class, for spw_slots_give(). */
unsigned spw_slots_take(struct spw_slots *slots, size_t bytes);
void spw_slots_give(struct spw_slots *slots, unsigned class);
#endif
