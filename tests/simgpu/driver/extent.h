/* extent.h - allocates pieces of a numbered space (addresses, offsets in a file), first fit. */
#ifndef SIMGPU_DRIVER_EXTENT_H
#define SIMGPU_DRIVER_EXTENT_H
#include <stddef.h>
#include <stdint.h>

struct extent {
    uint64_t start, end;
};

struct extents { /* the free pieces, sorted, never adjacent */
    struct extent *pieces;
    size_t count, room;
};

/* Makes [start, end) free. Returns 0 or -ENOMEM. */
int extents_init(struct extents *extents, uint64_t start, uint64_t end);
/* Takes `bytes` at a multiple of `alignment` (a power of two). Returns 0 or -ENOMEM. */
int extents_take(struct extents *extents, uint64_t bytes, uint64_t alignment, uint64_t *ret_start);
/* Takes exactly [start, start + bytes). Returns 0, or -EBUSY if a part of it is taken. */
int extents_take_at(struct extents *extents, uint64_t start, uint64_t bytes);
/* Returns a piece. Without memory for the list the piece is lost, which only costs space. */
void extents_give(struct extents *extents, uint64_t start, uint64_t bytes);
#endif
