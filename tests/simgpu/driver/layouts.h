/* layouts.h - kernels that exist as machine code only: their parameters, and what they do with them.
 *
 * The table is text, a heading and a line for each kernel:
 *
 *     simgpu-layouts 1 anything that says what it was made from
 *     NAME bytes=24 shared=0 registers=32 params=0:8,8:8,16:4 uses=0:8:writes,8:8:reads,16:4:value
 *
 * `bytes` is the size of the parameter image; `params` the offset and size of each parameter; `uses` (offset, size, how)
 * says what the kernel does with which bytes of the image. Bytes that no use names don't count: they may be padding.
 *
 *     value                  a number that the result depends on
 *     flops                  a double: the operations that the launch does
 *     reads, writes          the address of a tensor; null and addresses of nothing are allowed. Of what is written
 *                            the kernel is taken to read what the program had written there before
 *     reads/B, overwrites/B  the address of bytes in a tensor, and only of these: at offset B of the image are five numbers
 *                            of 8 bytes: bytes of a row, rows, bytes from one row to the next, slices of so many rows,
 *                            bytes from one slice to the next. What is overwritten isn't read
 *     table/E/B              the address of addresses of tensors, in a tensor that the program has copied from the host: up
 * to the address that is at offset E of the image. What they lead to is read, and if B is 1 written words/K words of 8
 * bytes: those that are addresses of tensors are read, the first K of them written; the others are numbers addresses/K the
 * same, but what is no address doesn't count tensors/D/M/W/B/N      addresses[D][M]: D lists of M tensors each. At offset B
 * of the image are numbers of N bytes, the i-th of which says which of the M the launch's block i works on; only those
 * count. Bit d of W: list d is written tensors/D/M/W/x        the same where the launch has a block for each of the M that
 * counts; y: a row of blocks
 *
 * A kernel of an image that the program made by itself goes by NAME@HASH (cubin.h).
 *
 * The file that SIMGPU_LAYOUTS names is read at the first need; images that are such text themselves add to it. */
#ifndef SIMGPU_DRIVER_LAYOUTS_H
#define SIMGPU_DRIVER_LAYOUTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../image.h"

#define LAYOUTS_HEADING "simgpu-layouts 1"
#define LAYOUTS_IMAGE   ".version 0.0 " LAYOUTS_HEADING /* of an image: to anyone else it is PTX without variables */

#define LAYOUT_MOST_TENSORS 4096 /* in a list */

enum how { USE_VALUE, USE_FLOPS, USE_READS, USE_WRITES, USE_OVERWRITES, USE_TABLE, USE_WORDS, USE_ADDRESSES, USE_TENSORS };

struct use {
    uint32_t offset, bytes; /* in the image, and inside it */
    enum how how;
    bool is_part;                  /* reads, overwrites: not of the whole tensor, but of the bytes that are told */
    uint32_t region;               /* there */
    uint32_t table_end;            /* where in the image it says where a table ends; `written`: what it leads to is */
    uint32_t first_written;        /* of words and addresses: that many of the addresses */
    uint32_t lists, most, written; /* of tensors; `written` is a mask of lists */
    char along;                    /* x, y: as many of the tensors as the grid has blocks there; 0: those that are named */
    uint32_t blocks, block_bytes;  /* where in the image, by numbers of that size; to the end of the image at most */
};

struct layout {
    struct simgpu_kernel kernel; /* first: a kernel that is opaque is known by it */
    uint64_t name_hash;
    bool is_listed; /* as launched */
    uint32_t use_count;
    const struct use *uses;
};

/* Adds what the text says, which stays where it is. False, said on stderr: it is no table. */
bool layouts_add(const char *text);

/* The kernel's layout, the same for every question, good until the process ends. NULL, said on stderr once for each name:
 * there is none, or it can't be read. */
const struct layout *layouts_find(const char *name);
/* The layout of the kernel that this line is about, which has been allocated and is not the caller's any more: the one that
 * there is already, else the line's, and with `say` that there was none is said. NULL: it can't be read, or no memory. */
const struct layout *layouts_find_or_add(char *line, bool say);

/* FNV-1a: names kernels in digests, and images in the table. */
uint64_t layouts_hash(const void *bytes, size_t count);
#endif
