/* globals_cubin.c - finds variables in a cubin's symbol table. */
#include "globals_cubin.h"

#include <string.h>

#include "callgraph.h"
#include "cubin.h"

enum { TYPE_TEXTURE = 10, TYPE_SURFACE = 11 };

static const char damaged[] = "a cubin is not as such are";

enum place { NOWHERE, VARIABLES, CONSTANTS, UNKNOWN };

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* From ABI 8 on the architecture is in the second byte of the flags, before that in the first. */
bool spw_globals_cubin_is_for(struct spw_image_part all, uint32_t architecture)
{
    struct spw_cubin f;
    if (!spw_cubin_open(&f, all))
        return false;
    const unsigned shift = f.header.e_ident[EI_ABIVERSION] >= 8 ? 8 : 0;
    return (f.header.e_flags >> shift & 0xff) == architecture;
}

/* Memory that kernels do not share, of a block or a thread, and parameters are no variables. */
static enum place place_of(const char *section, uint64_t flags)
{
    if (begins(section, ".nv.global"))
        return VARIABLES;
    if (strcmp(section, ".nv.constant3") == 0)
        return CONSTANTS;
    const char *what = begins(section, ".nv.merc.") ? section + strlen(".nv.merc") : section; /* see is_repeated() */
    const bool is_own = begins(what, ".nv.shared") || begins(what, ".nv.local") || begins(what, ".nv.reserved");
    return flags & SHF_WRITE && !is_own ? UNKNOWN : NOWHERE;
}

static const char *look_at_symbol(struct spw_globals *g, const struct spw_cubin *f, const Elf64_Sym *symbol,
                                  const char *name)
{
    const unsigned type = ELF64_ST_TYPE(symbol->st_info);
    Elf64_Shdr section;
    if (type == TYPE_TEXTURE || type == TYPE_SURFACE)
        return "it has textures or surfaces";
    if (type == STT_SECTION || type == STT_FILE || symbol->st_shndx == SHN_ABS)
        return NULL;
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_COMMON) {
        const char *why = spw_globals_calls(name, strlen(name));
        return why || type == STT_FUNC || !*name || *name == '.' ? why : spw_globals_add(g, name, strlen(name), false);
    }
    if (type == STT_FUNC)
        return NULL;
    const char *section_name = spw_cubin_section(f, symbol->st_shndx, &section) ? spw_cubin_section_name(f, &section) : NULL;
    if (!section_name)
        return damaged;
    const enum place place = place_of(section_name, section.sh_flags);
    if (place == UNKNOWN)
        return "it has variables in places that are not known";
    const bool is_text = begins(section_name, ".nv.global.init") && spw_globals_is_text(name, strlen(name));
    return place == NOWHERE ? NULL : spw_globals_add(g, name, strlen(name), place == CONSTANTS || is_text);
}

static const char *list_symbols(struct spw_globals *g, const struct spw_cubin *f, const Elf64_Shdr *table, bool *prints)
{
    const char *why = NULL;
    Elf64_Sym symbol;
    if (table->sh_entsize != sizeof(symbol))
        return damaged;
    for (uint64_t i = 0; i < table->sh_size / sizeof(symbol) && !why; i++) {
        if (!spw_cubin_read(f, table->sh_offset + i * sizeof(symbol), &symbol, sizeof(symbol)))
            return damaged;
        const char *name = spw_cubin_name(f, table->sh_link, symbol.st_name);
        why = name ? look_at_symbol(g, f, &symbol, name) : damaged;
        *prints |= name && symbol.st_shndx == SHN_UNDEF && spw_globals_is_print(name, strlen(name));
    }
    return why;
}

/* Returns true if symbols cover the whole section, except for padding between them. */
static bool is_named(const struct spw_cubin *f, const Elf64_Shdr *table, const Elf64_Shdr *section, uint64_t number)
{
    uint64_t bytes = 0;
    Elf64_Sym symbol;
    for (uint64_t i = 0; i < table->sh_size / sizeof(symbol); i++)
        if (spw_cubin_read(f, table->sh_offset + i * sizeof(symbol), &symbol, sizeof(symbol)) && symbol.st_shndx == number &&
            symbol.st_size && symbol.st_size <= section->sh_size && ELF64_ST_TYPE(symbol.st_info) != STT_SECTION)
            bytes += symbol.st_size + (section->sh_addralign > 1 ? section->sh_addralign - 1 : 0);
    return bytes >= section->sh_size;
}

/* Code for later architectures comes in two forms, and so do its sections: ".nv.merc.X" has the same contents as ".X". */
static bool is_repeated(const struct spw_cubin *f, const Elf64_Shdr *section, const char *name)
{
    static const char with[] = ".nv.merc.";
    Elf64_Shdr other;
    if (!begins(name, with) || section->sh_offset > f->all.count || section->sh_size > f->all.count - section->sh_offset)
        return false;
    for (uint64_t i = 0; i < f->sections && spw_cubin_section(f, i, &other); i++) {
        const char *other_name = spw_cubin_section_name(f, &other);
        if (other_name && strcmp(other_name, name + sizeof(with) - 2) == 0)
            return other.sh_type == SHT_PROGBITS && other.sh_size == section->sh_size && other.sh_offset <= f->all.count &&
                   other.sh_size <= f->all.count - other.sh_offset &&
                   memcmp(f->all.bytes + other.sh_offset, f->all.bytes + section->sh_offset, section->sh_size) == 0;
    }
    return false;
}

/* Variables without names were stripped. Nobody can change constants without a name. */
static const char *find_nameless(const struct spw_cubin *f, const Elf64_Shdr *table)
{
    for (uint64_t i = 0; i < f->sections; i++) {
        Elf64_Shdr section;
        if (!spw_cubin_section(f, i, &section))
            return damaged;
        const char *name = spw_cubin_section_name(f, &section);
        if (section.sh_type != SHT_NULL && !name)
            return damaged;
        if (name && section.sh_type != SHT_NULL && place_of(name, section.sh_flags) != NOWHERE &&
            place_of(name, section.sh_flags) != CONSTANTS && section.sh_flags & SHF_ALLOC &&
            !is_named(f, table, &section, i) && !is_repeated(f, &section, name))
            return "they have no names";
    }
    return NULL;
}

const char *spw_globals_of_cubin(struct spw_globals *g, struct spw_image_part all)
{
    struct spw_cubin f;
    Elf64_Shdr section, table = {.sh_type = SHT_NULL};
    bool prints = false;
    if (!spw_cubin_open(&f, all))
        return damaged;
    for (uint64_t i = 0; i < f.sections; i++) {
        if (!spw_cubin_section(&f, i, &section))
            return damaged;
        if (section.sh_type != SHT_SYMTAB)
            continue;
        if (table.sh_type == SHT_SYMTAB)
            return damaged; /* there may be only one */
        table = section;
    }
    if (table.sh_type != SHT_SYMTAB)
        return "they have no names";
    const char *why = list_symbols(g, &f, &table, &prints);
    if (!why)
        why = find_nameless(&f, &table);
    g->calls_pointers |= spw_callgraph_has_pointers(&f);
    return why || !prints ? why : spw_callgraph_list_printing(g, &f);
}
