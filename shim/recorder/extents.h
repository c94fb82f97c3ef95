/* extents.h - which allocation of the program lies at an address, wherever the driver put it.
 *
 * For the recorder, which also sees memory that is not in an arena. An address that was looked up lately is found again at
 * once; else it takes two array accesses for large allocations, and a short binary search more where several share 2 MiB. */
#ifndef SPILLWAY_SHIM_EXTENTS_H
#define SPILLWAY_SHIM_EXTENTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stored_words.h"

struct spw_extent {
    uint64_t start, bytes; /* bytes 0: a spare one */
    uint64_t id;           /* of its ALLOC record */
    void *context;         /* whose it is; NULL: it goes by being freed only */
    uint8_t kind;          /* enum spw_alloc_kind */
    uint8_t device;
    struct spw_stored_words pointers; /* their places are offsets */
    uint64_t met;                     /* the last walk that came by */
    struct spw_extent *next, *previous;
};

/* The extents that reach into one stretch of SPW_EXTENT_BIN bytes, in order of address; they do not overlap. */
struct spw_extent_bin {
    uint32_t count, room;
    union {
        struct spw_extent *one; /* while room is 0; NULL when count is 0 */
        struct spw_extent **many;
    };
};

enum { SPW_EXTENT_BIN_SHIFT = 21, SPW_EXTENT_LEAF_BITS = 13, SPW_EXTENT_TOP_BITS = 14, SPW_EXTENTS_LATELY = 1024 };

struct spw_extents {
    struct spw_extent_bin **top; /* by the upper bits of an address; NULL until the first extent */
    struct spw_extent *all;      /* newest first */
    uint64_t low, high;          /* no extent begins below or ends above */
    size_t count;
    struct spw_extent *spare; /* extents are used again and never given back, so that `lately` always points to one */
    struct spw_extent *lately[SPW_EXTENTS_LATELY]; /* by hash of an address: who was found there */
};

struct spw_extent *spw_extents_search(struct spw_extents *extents, uint64_t address);

/* The extent that holds an address, interior ones too; NULL: none. For an address that is known to lie between `low` and
 * `high`. In a header because each launch does it for each address. */
static inline struct spw_extent *spw_extents_find_between(struct spw_extents *extents, uint64_t address)
{
    struct spw_extent *e = extents->lately[(address >> 8 ^ address >> 20) % SPW_EXTENTS_LATELY];
    return e && address - e->start < e->bytes ? e : spw_extents_search(extents, address);
}

/* The same for any address. */
static inline struct spw_extent *spw_extents_find(struct spw_extents *extents, uint64_t address)
{
    return address - extents->low < extents->high - extents->low ? spw_extents_find_between(extents, address) : NULL;
}

/* Adds one. Whatever it overlaps is stale (its end was not seen) and is removed, through `gone` if that is not NULL. Of no
 * bytes: as if of one. NULL: no memory, or an address of more than 48 bits. */
struct spw_extent *spw_extents_add(struct spw_extents *extents, uint64_t start, uint64_t bytes,
                                   void (*gone)(void *context, const struct spw_extent *e), void *context);

void spw_extents_remove(struct spw_extents *extents, struct spw_extent *extent); /* it is spare then */
void spw_extents_clear(struct spw_extents *extents);
#endif
