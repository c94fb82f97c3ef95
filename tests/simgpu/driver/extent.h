/* extent.h - hands out pieces of a numbered space (addresses, offsets in a file), first fit. */
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

/* Makes [start, end) free. 0 or -ENOMEM. */
int extents_init(struct extents *extents, uint64_t start, uint64_t end);
/* Takes `bytes` at a multiple of `alignment` (a power of two). 0 or -ENOMEM. */
int extents_take(struct extents *extents, uint64_t bytes, uint64_t alignment, uint64_t *ret_start);
/* Takes exactly [start, start + bytes). 0, or -EBUSY where a part of it is taken. */
int extents_take_at(struct extents *extents, uint64_t start, uint64_t bytes);
/* Gives back what was taken. Without memory for its own list the piece is lost, which only costs room. */
void extents_give(struct extents *extents, uint64_t start, uint64_t bytes);
#endif
