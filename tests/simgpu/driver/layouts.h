/* layouts.h - describes kernels that exist as machine code only: their parameters, and what they do with them.
 *
 * The table is text, a heading and a line for each kernel:
 *
 *     simgpu-layouts 1 anything that says what it was made from
 *     NAME bytes=24 shared=0 registers=32 params=0:8,8:8,16:4 uses=0:8:writes,8:8:reads,16:4:value
 *
 * `bytes` is the size of the parameter image; `params` has the offset and size of each parameter; `uses` (offset, size,
 * how) says what the kernel does with which bytes of the image. Bytes without a use do not count: they may be padding.
 *
 *     value                  a number on which the result depends
 *     flops                  a double: the operations that the launch does
 *     reads, writes          the address of a tensor; null and addresses of nothing are allowed. Of what is written, the
 *                            kernel counts as reading what the program had written there before
 *     reads/B, overwrites/B  the address of bytes in a tensor, and only of these: at offset B of the image are five numbers
 *                            of 8 bytes: bytes of a row, rows, bytes from one row to the next, slices of that many rows,
 *                            bytes from one slice to the next. What is overwritten is not read
 *     table/E/B              the address of addresses of tensors, in a tensor that the program has copied from the host; it
 *                            ends at the address that is at offset E of the image. The tensors are read, and if B is 1
 *                            written
 *     words/K                words of 8 bytes: those that are addresses of tensors are read, the first K of them written;
 *                            the others are numbers
 *     addresses/K            the same, but words that are no addresses do not count
 *     tensors/D/M/W/B/N      addresses[D][M]: D lists of M tensors each. At offset B of the image are numbers of N bytes,
 *                            the i-th of which says on which of the M the launch's block i works; only those count. Bit d
 *                            of W: list d is written
 *     tensors/D/M/W/x        the same if the launch has a block for each of the M that counts; y: a row of blocks
 *
 * A kernel of an image that the program itself made has the name NAME@HASH (cubin.h).
 *
 * The file named by SIMGPU_LAYOUTS is read when it is first needed; images that are such text themselves add to it. */
#ifndef SIMGPU_DRIVER_LAYOUTS_H
#define SIMGPU_DRIVER_LAYOUTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../image.h"

#define LAYOUTS_HEADING "simgpu-layouts 1"
#define LAYOUTS_IMAGE   ".version 0.0 " LAYOUTS_HEADING /* of an image: to others it is PTX without variables */

#define LAYOUT_MOST_TENSORS 4096 /* in a list */

enum how { USE_VALUE, USE_FLOPS, USE_READS, USE_WRITES, USE_OVERWRITES, USE_TABLE, USE_WORDS, USE_ADDRESSES, USE_TENSORS };

struct use {
    uint32_t offset, bytes; /* in the image, completely inside it */
    enum how how;
    bool is_part;    /* reads, overwrites: not of the whole tensor, but of the bytes in `region` */
    uint32_t region; /* offset of their description in the image */
    /* Offset in the image of the end of a table; `written`: its tensors are written. */
    uint32_t table_end;
    uint32_t first_written;        /* of words and addresses: number of addresses that are written */
    uint32_t lists, most, written; /* of tensors; `written` is a mask of lists */
    /* x, y: as many of the tensors as the grid has blocks in that direction; 0: those that are named. */
    char along;
    /* Offset in the image of numbers of that size; they end with the image at the latest. */
    uint32_t blocks, block_bytes;
};

struct layout {
    struct simgpu_kernel kernel; /* first, so that an opaque kernel is identified by it */
    uint64_t name_hash;
    bool is_listed; /* as launched */
    uint32_t use_count;
    const struct use *uses;
};

/* Adds the contents of the text, which has to stay where it is. Returns false, with a message on stderr, if it is no
 * table. */
bool layouts_add(const char *text);

/* Returns the kernel's layout, always the same, valid until the process ends. NULL, with a message on stderr once for
 * each name: there is none, or it cannot be read. */
const struct layout *layouts_find(const char *name);
/* Returns the layout of the kernel that this line describes: an existing one, else the line's, whose absence is reported
 * if `say`. Takes over the line, which was allocated. NULL: it cannot be read, or there is no memory. */
const struct layout *layouts_find_or_add(char *line, bool say);

/* FNV-1a: identifies kernels in digests, and images in the table. */
uint64_t layouts_hash(const void *bytes, size_t count);
#endif
