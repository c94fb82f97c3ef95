/* cubin.h - reads a cubin, which is an ELF file: its sections, their names, and the names of symbols.
 *
 * Nothing outside the file is read, however damaged it is. No state; any thread. */
#ifndef SPILLWAY_SHIM_CUBIN_H
#define SPILLWAY_SHIM_CUBIN_H
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "globals_parts.h"
#include "hash.h"

struct spw_cubin {
    struct spw_image_part all;
    Elf64_Ehdr header;
    uint64_t sections; /* number of sections */
    uint32_t names;    /* the section that holds the names of sections */
};

/* Returns false if it is no cubin. */
bool spw_cubin_open(struct spw_cubin *ret, struct spw_image_part all);

/* Return false if the file has no such bytes, or no such section. */
bool spw_cubin_read(const struct spw_cubin *f, uint64_t offset, void *to, size_t bytes);
bool spw_cubin_section(const struct spw_cubin *f, uint64_t number, Elf64_Shdr *ret);

/* Hashes the header, the sections and their contents, but not what lies between them. */
void spw_cubin_hash(const struct spw_cubin *f, struct spw_hash *ret_hash);

/* The first returns the name at `offset` of a section of names, the second the name of a section; NULL if there is none. */
const char *spw_cubin_name(const struct spw_cubin *f, uint64_t section, uint64_t offset);
const char *spw_cubin_section_name(const struct spw_cubin *f, const Elf64_Shdr *section);
#endif
