/* globals.c - recognises the forms of images, and splits fat binaries into their parts. */
#include "globals.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "architectures.h"
#include "globals_cubin.h"
#include "globals_ptx.h"
#include "unpack.h"

#define FAT_MAGIC  UINT32_C(0xba55ed50)
#define ZSTD_MAGIC UINT32_C(0xfd2fb528)

enum { PART_PTX = 1, PART_CUBIN = 2, PART_IS_LZ4 = 0x2000 };

struct fat_header { /* as in images.c */
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
};

struct part_header { /* the part of it that is read; it may be longer */
    uint16_t kind, unused;
    uint32_t header_bytes;
    uint64_t bytes;        /* behind it */
    uint32_t packed_bytes; /* if it is compressed; 0: it is not */
    uint32_t others[2];
    uint32_t architecture; /* of a cubin: 10 X + y */
    uint32_t more[2];
    uint64_t flags, unused_too;
    uint64_t unpacked_bytes;
};

static const char no_memory[] = "there was no memory to list them";
static const char damaged[] = "a fat binary is not as such are";

/* ---- fat binaries ---- */

static bool is_cubin(struct spw_image_part part)
{
    return part.count > SELFMAG && memcmp(part.bytes, ELFMAG, SELFMAG) == 0;
}

/* Returns true if no device takes the part. */
static bool is_for_others(const struct part_header *header, struct spw_image_part part, const bool *architectures)
{
    return architectures && header->architecture < SPW_ARCHITECTURES && !architectures[header->architecture] &&
           spw_globals_cubin_is_for(part, header->architecture);
}

static const char *list_part(struct spw_globals *g, const struct part_header *header, struct spw_image_part part,
                             const bool *architectures)
{
    if (header->kind == PART_CUBIN && !is_cubin(part))
        return damaged;
    if (header->kind == PART_CUBIN)
        return is_for_others(header, part, architectures) ? NULL : spw_globals_of_cubin(g, part);
    return header->kind == PART_PTX ? spw_globals_of_ptx(g, part) : "a fat binary has parts of unknown kinds";
}

static bool unpack(const struct part_header *header, struct spw_image_part packed, char *to)
{
    uint32_t magic = 0;
    if (packed.count >= sizeof(magic))
        memcpy(&magic, packed.bytes, sizeof(magic));
    if (magic == ZSTD_MAGIC)
        return spw_unpack_zstd(packed.bytes, packed.count, to, header->unpacked_bytes);
    return header->flags & PART_IS_LZ4 && spw_unpack_lz4(packed.bytes, packed.count, to, header->unpacked_bytes);
}

static const char *list_packed(struct spw_globals *g, const struct part_header *header, struct spw_image_part packed,
                               const bool *architectures)
{
    if (header->packed_bytes > packed.count || header->unpacked_bytes > SPW_GLOBALS_MAX_PART)
        return damaged;
    packed.count = header->packed_bytes;
    char *bytes = malloc(header->unpacked_bytes);
    if (!bytes)
        return no_memory;
    const struct spw_image_part part = {bytes, header->unpacked_bytes};
    const char *why = unpack(header, packed, bytes) ? list_part(g, header, part, architectures)
                                                    : "a fat binary is compressed in a way that is not known";
    free(bytes);
    return why;
}

/* Lists the parts one after the other, to the end. */
static const char *list_fat(struct spw_globals *g, struct spw_image_part image, const bool *architectures)
{
    struct fat_header fat;
    struct part_header header;
    const char *why = NULL;
    if (image.count < sizeof(fat))
        return damaged;
    memcpy(&fat, image.bytes, sizeof(fat));
    if (fat.version != 1 || fat.header_bytes < sizeof(fat) || fat.header_bytes > image.count ||
        fat.bytes > image.count - fat.header_bytes)
        return damaged;
    size_t at = fat.header_bytes, left = fat.bytes;
    while (left && !why) {
        if (left < sizeof(header))
            return damaged;
        memcpy(&header, image.bytes + at, sizeof(header));
        if (header.header_bytes < sizeof(header) || header.header_bytes > left || header.bytes > left - header.header_bytes)
            return damaged;
        const struct spw_image_part part = {image.bytes + at + header.header_bytes, header.bytes};
        why =
            header.packed_bytes ? list_packed(g, &header, part, architectures) : list_part(g, &header, part, architectures);
        at += header.header_bytes + header.bytes;
        left -= header.header_bytes + header.bytes;
    }
    return why;
}

/* ---- all ---- */

const char *spw_globals_list(const void *image, size_t bytes, const bool *architectures, struct spw_globals *ret)
{
    const struct spw_image_part all = {image, bytes};
    uint32_t magic = 0;
    *ret = (struct spw_globals){0};
    if (bytes >= sizeof(magic))
        memcpy(&magic, image, sizeof(magic));
    const char *why = is_cubin(all)        ? spw_globals_of_cubin(ret, all)
                      : magic == FAT_MAGIC ? list_fat(ret, all, architectures)
                                           : spw_globals_of_ptx(ret, all);
    if (why)
        spw_globals_finish(ret);
    return why;
}
