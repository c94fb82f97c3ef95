/* cubin.c - reads an ELF file within its bounds. */
#include "cubin.h"

#include <string.h>

enum { MACHINE = 190 /* EM_CUDA */ };

bool spw_cubin_read(const struct spw_cubin *f, uint64_t offset, void *to, size_t bytes)
{
    if (offset > f->all.count || bytes > f->all.count - offset)
        return false;
    memcpy(to, f->all.bytes + offset, bytes);
    return true;
}

bool spw_cubin_section(const struct spw_cubin *f, uint64_t number, Elf64_Shdr *ret)
{
    return number < f->sections && spw_cubin_read(f, f->header.e_shoff + number * sizeof(*ret), ret, sizeof(*ret));
}

const char *spw_cubin_name(const struct spw_cubin *f, uint64_t section, uint64_t offset)
{
    Elf64_Shdr names;
    if (!spw_cubin_section(f, section, &names) || names.sh_type != SHT_STRTAB || names.sh_offset > f->all.count ||
        names.sh_size > f->all.count - names.sh_offset || offset >= names.sh_size)
        return NULL;
    const char *name = f->all.bytes + names.sh_offset + offset;
    return memchr(name, 0, names.sh_size - offset) ? name : NULL;
}

const char *spw_cubin_section_name(const struct spw_cubin *f, const Elf64_Shdr *section)
{
    return spw_cubin_name(f, f->names, section->sh_name);
}

/* If there are more sections than fit into the header's fields, the first section holds their number. */
bool spw_cubin_open(struct spw_cubin *f, struct spw_image_part all)
{
    Elf64_Shdr first = {0};
    *f = (struct spw_cubin){.all = all};
    if (!spw_cubin_read(f, 0, &f->header, sizeof(f->header)) || f->header.e_ident[EI_CLASS] != ELFCLASS64 ||
        f->header.e_ident[EI_DATA] != ELFDATA2LSB || f->header.e_machine != MACHINE ||
        f->header.e_shentsize != sizeof(Elf64_Shdr) || f->header.e_shoff > all.count ||
        !spw_cubin_read(f, f->header.e_shoff, &first, sizeof(first)))
        return false;
    f->sections = f->header.e_shnum ? f->header.e_shnum : first.sh_size;
    f->names = f->header.e_shstrndx == SHN_XINDEX ? first.sh_link : f->header.e_shstrndx;
    return f->sections <= (all.count - f->header.e_shoff) / sizeof(Elf64_Shdr);
}

static void add_to_hash(struct spw_hash *hash, const void *bytes, size_t size)
{
    struct spw_hash both[2] = {*hash};
    spw_hash_host(bytes, size, &both[1]);
    spw_hash_host(both, sizeof(both), hash);
}

void spw_cubin_hash(const struct spw_cubin *f, struct spw_hash *ret_hash)
{
    *ret_hash = (struct spw_hash){0};
    add_to_hash(ret_hash, &f->header, sizeof(f->header));
    for (uint64_t i = 0; i < f->sections; i++) {
        Elf64_Shdr section;
        if (!spw_cubin_section(f, i, &section))
            return;
        add_to_hash(ret_hash, &section, sizeof(section));
        const bool is_there = section.sh_type != SHT_NOBITS && section.sh_offset <= f->all.count &&
                              section.sh_size <= f->all.count - section.sh_offset;
        if (is_there)
            add_to_hash(ret_hash, f->all.bytes + section.sh_offset, section.sh_size);
    }
}
