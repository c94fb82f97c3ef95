/* alias_map.h - which pieces of memory are mapped at addresses that have no business with them any more (deferred_unmap.h).
 *
 * They count like any others: they may be taken from the pool and mapped anew, at a second address. They cannot be released,
 * since the driver keeps memory for as long as it is mapped anywhere. */
#ifndef SPILLWAY_SHIM_ALIAS_MAP_H
#define SPILLWAY_SHIM_ALIAS_MAP_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct spw_deferred_unmap;
struct spw_alias;

struct spw_alias_map {
    struct spw_alias *table; /* by handle; NULL: none */
};

/* One more address of a piece, and the newest. 0 or -ENOMEM. */
int spw_alias_map_add(struct spw_alias_map *a, CUmemGenericAllocationHandle handle, struct spw_deferred_unmap *stale);

/* It is unmapped there. True: nowhere else is it stale either, and somebody has wanted to release it. */
bool spw_alias_map_remove(struct spw_alias_map *a, CUmemGenericAllocationHandle handle,
                          const struct spw_deferred_unmap *stale);

/* The newest address that has had the piece, if the piece is still mapped there; its users came after those of the older
 * ones. NULL: there is none. */
struct spw_deferred_unmap *spw_alias_map_newest(const struct spw_alias_map *a, CUmemGenericAllocationHandle handle);

/* It is mapped at such an address. */
bool spw_alias_map_has(const struct spw_alias_map *a, CUmemGenericAllocationHandle handle);

/* The piece is to be released, which has to wait: true. False: it has no such address. */
bool spw_alias_map_defer_release(struct spw_alias_map *a, CUmemGenericAllocationHandle handle);

static inline bool spw_alias_map_any(const struct spw_alias_map *a)
{
    return a->table;
}

/* Forgets all: for tests. */
void spw_alias_map_reset(struct spw_alias_map *a);
#endif
