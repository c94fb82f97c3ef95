/* pieces.h - lists the pieces of physical memory behind one range of addresses. */
#ifndef SPILLWAY_SHIM_PIECES_H
#define SPILLWAY_SHIM_PIECES_H
#include <cuda.h>
#include <stdint.h>

/* Size of the largest pieces. Larger ones would save few mappings, and take long to release where smaller ones are
 * wanted. */
enum { SPW_PIECE_GRANULES = 64 };

struct spw_piece {
    CUmemGenericAllocationHandle handle; /* of exactly that many granules */
    uint32_t granules;
};

/* The pieces that lie, or will lie, behind a range of addresses, in order. All zero: none. */
struct spw_memory {
    union {
        CUmemGenericAllocationHandle handle; /* the usual case of one piece */
        struct spw_piece *pieces;            /* several pieces */
    };
    uint32_t count;    /* number of pieces */
    uint32_t granules; /* in all of them */
};

static inline struct spw_piece spw_memory_piece(const struct spw_memory *m, uint32_t i)
{
    return m->count > 1 ? m->pieces[i] : (struct spw_piece){m->handle, m->granules};
}

/* Appends a piece. Returns 0 or -ENOMEM. */
int spw_memory_append(struct spw_memory *memory, struct spw_piece piece);

/* Removes the last piece, which exists, and returns it. */
struct spw_piece spw_memory_remove_last(struct spw_memory *memory);

/* Moves the pieces behind the first `keep` to `rest`, which has none. Returns 0, or -ENOMEM; then nothing was moved. */
int spw_memory_split(struct spw_memory *memory, uint32_t keep, struct spw_memory *rest);

/* Moves all pieces of `from` behind those of `into`. Returns 0, or -ENOMEM; then nothing was moved. */
int spw_memory_join(struct spw_memory *into, struct spw_memory *from);
#endif
