/* extents.h - finds the allocation of the program that lies at an address, wherever the driver put it.
 *
 * For the recorder, which also sees memory that is not in an arena. An address that was looked up lately is found again at
 * once. Else it takes two array accesses for a large allocation, and a short binary search more if several allocations
 * share 2 MiB. */
#ifndef SPILLWAY_SHIM_EXTENTS_H
#define SPILLWAY_SHIM_EXTENTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stored_words.h"

struct spw_extent {
    uint64_t start, bytes; /* bytes 0: a spare record */
    uint64_t id;           /* the id of its ALLOC record */
    void *context;         /* the context that it belongs to; NULL: it ends only by being freed */
    uint8_t kind;          /* enum spw_alloc_kind */
    uint8_t device;
    struct spw_stored_words pointers; /* addresses stored in it; their places are offsets */
    uint64_t met;                     /* number of the last walk that visited it */
    struct spw_extent *next, *previous;
};

/* The extents that reach into one stretch of SPW_EXTENT_BIN bytes, in the order of their addresses; they do not overlap. */
struct spw_extent_bin {
    uint32_t count, room;
    union {
        struct spw_extent *one; /* while room is 0; NULL if count is 0 */
        struct spw_extent **many;
    };
};

enum { SPW_EXTENT_BIN_SHIFT = 21, SPW_EXTENT_LEAF_BITS = 13, SPW_EXTENT_TOP_BITS = 14, SPW_EXTENTS_LATELY = 1024 };

struct spw_extents {
    struct spw_extent_bin **top; /* by the upper bits of an address; NULL until the first extent */
    struct spw_extent *all;      /* newest first */
    uint64_t low, high;          /* no extent begins below `low` or ends above `high` */
    size_t count;
    struct spw_extent *spare; /* removed extents are reused and never freed, so that `lately` always points to an extent */
    struct spw_extent *lately[SPW_EXTENTS_LATELY]; /* by hash of an address: the extent that was last found there */
};

struct spw_extent *spw_extents_search(struct spw_extents *extents, uint64_t address);

/* Returns the extent that holds an address, interior addresses too; NULL if none. For an address that is known to lie
 * between `low` and `high`. In a header, since each launch does this for each address. */
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

/* Adds an extent. Whatever it overlaps is stale (its end was not seen) and is removed, after a call of `gone` if that is
 * not NULL. 0 bytes count as one. Returns NULL if there is no memory, or the address has more than 48 bits. */
struct spw_extent *spw_extents_add(struct spw_extents *extents, uint64_t start, uint64_t bytes,
                                   void (*gone)(void *context, const struct spw_extent *e), void *context);

void spw_extents_remove(struct spw_extents *extents, struct spw_extent *extent); /* it becomes spare */
void spw_extents_clear(struct spw_extents *extents);
#endif
