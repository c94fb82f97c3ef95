/* boxes.h - describes which bytes a copy of rows and layers touches, for each form of copy that the driver has.
 *
 * A box is what is copied: `width` bytes of each row, `rows` rows of each layer, and `layers` layers. Each of its two ends
 * says where the first of these bytes lies, and how far it is from one row and layer to the next. A pitch of 0 means the
 * width of the box, and a height of 0 its number of rows: they lie one behind the other. Offsets count in rows and layers
 * of that size. */
#ifndef SPILLWAY_SHIM_BOXES_H
#define SPILLWAY_SHIM_BOXES_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

struct spw_box {
    struct spw_box_end {
        CUdeviceptr at;               /* 0: in an array, or nowhere */
        size_t row_bytes, layer_rows; /* bytes from one row to the next; rows from one layer to the next */
    } to, from;
    size_t width, rows, layers; /* width: bytes of a row */
};

/* Return the box of a copy; NULL: an empty box that lies nowhere. An operand that is an array has elements of unknown size,
 * which are taken to be one byte. */
struct spw_box spw_box_2d(const CUDA_MEMCPY2D *copy);
struct spw_box spw_box_3d(const CUDA_MEMCPY3D *copy);
struct spw_box spw_box_peer(const CUDA_MEMCPY3D_PEER *copy);
struct spw_box spw_box_batched(const CUDA_MEMCPY3D_BATCH_OP *copy);

/* Returns the size of the box, or SIZE_MAX if it overflows: the driver refuses such a copy. */
size_t spw_box_bytes(const struct spw_box *box);

/* Returns true if the copy has one row, so it is the same as a copy between linear memories. */
static inline bool spw_box_is_row(const struct spw_box *box)
{
    return box->rows == 1 && box->layers == 1;
}

/* Returns the bytes from the first byte of the box to the end of the last, at one of its ends. */
size_t spw_box_span(const struct spw_box *box, const struct spw_box_end *end);

/* Calls `each` for every row, with the address of its first byte at either end; not if an end lies in an array or
 * nowhere. */
void spw_box_rows(const struct spw_box *box, void (*each)(CUdeviceptr to, CUdeviceptr from, size_t bytes));
#endif
