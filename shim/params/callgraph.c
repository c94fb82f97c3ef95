/* callgraph.c - goes from functions that print to their callers, section by section, until it finds no more. */
#include "callgraph.h"

#include <stdlib.h>
#include <string.h>

/* Types of sections beside those of ELF. Code for later architectures comes in two forms; MERC_ marks the second. */
enum {
    TYPE_INFO = 0x70000000,
    TYPE_CALLGRAPH = 0x70000001,
    TYPE_PROTOTYPES = 0x70000002,
    TYPE_GLOBAL_VALUES = 0x70000008,
    TYPE_RELOCATION_ACTIONS = 0x7000000b,
    TYPE_MERC_SHARED = 0x70000015,
    TYPE_MERC_CODE = 0x70000016,
    TYPE_CONSTANTS_USER = 0x7000007c,
    TYPE_CONSTANTS_PIC = 0x7000007d,
    TYPE_MERC_RELA = 0x70000082,
    TYPE_MERC_INFO = 0x70000083,
    TYPE_CONSTANTS_OPTIMIZER = 0x70000084,
    TYPE_MERC_SYMBOLS = 0x70000085,
    TYPE_COMPATIBILITY = 0x70000086
};

/* The parts of .nv.callgraph, by the value in place of a callee in front of the first pair of each part. */
#define PART_CALLS   UINT32_C(0xffffffff) /* caller, function */
#define PART_TARGETS UINT32_C(0xfffffffe) /* function whose address is taken, its type */
#define PART_POINTER UINT32_C(0xfffffffd) /* caller through a pointer, type */
#define PART_TAKES   UINT32_C(0xfffffffc) /* function that takes an address, function */

enum { FORMAT_SIZED = 4, ATTRIBUTE_EXTERNS = 0x0f }; /* in .nv.info */
enum { NESTED_MAX = 64 };                            /* depth of calls */
enum { IS_CODE = 1, PRINTS = 2 };

struct graph {
    const struct spw_cubin *cubin;
    unsigned char *sections; /* flags of each section */
    bool is_changed, has_calls;
    bool is_found; /* a user of a function that prints */
};

static const char damaged[] = "a cubin is not as such are";

/* ---- sections ---- */

static bool is_known(uint32_t type)
{
    static const uint32_t types[] = {SHT_NULL,           SHT_PROGBITS,
                                     SHT_SYMTAB,         SHT_STRTAB,
                                     SHT_RELA,           SHT_NOTE,
                                     SHT_NOBITS,         SHT_REL,
                                     TYPE_INFO,          TYPE_CALLGRAPH,
                                     TYPE_PROTOTYPES,    TYPE_GLOBAL_VALUES,
                                     TYPE_MERC_SHARED,   TYPE_MERC_CODE,
                                     TYPE_MERC_RELA,     TYPE_MERC_INFO,
                                     TYPE_MERC_SYMBOLS,  TYPE_CONSTANTS_USER,
                                     TYPE_CONSTANTS_PIC, TYPE_CONSTANTS_OPTIMIZER,
                                     TYPE_COMPATIBILITY, TYPE_RELOCATION_ACTIONS};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (types[i] == type)
            return true;
    return false;
}

static bool is_code(const struct graph *g, uint64_t section)
{
    return section < g->cubin->sections && g->sections[section] & IS_CODE;
}

static bool is_info(const Elf64_Shdr *section)
{
    return section->sh_type == TYPE_INFO || section->sh_type == TYPE_MERC_INFO;
}

/* Returns the section of code that another section belongs to; 0: none. */
static uint64_t owner_of(const struct graph *g, const Elf64_Shdr *section)
{
    return section->sh_flags & SHF_INFO_LINK && is_code(g, section->sh_info) ? section->sh_info : 0;
}

static void mark(struct graph *g, uint64_t section)
{
    g->is_changed |= !(g->sections[section] & PRINTS);
    g->sections[section] |= PRINTS;
}

/* ---- symbols ---- */

static bool read_symbol(const struct graph *g, uint64_t table, uint64_t number, Elf64_Sym *ret)
{
    Elf64_Shdr section;
    return spw_cubin_section(g->cubin, table, &section) &&
           (section.sh_type == SHT_SYMTAB || section.sh_type == TYPE_MERC_SYMBOLS) && section.sh_entsize == sizeof(*ret) &&
           number < section.sh_size / sizeof(*ret) &&
           spw_cubin_read(g->cubin, section.sh_offset + number * sizeof(*ret), ret, sizeof(*ret)) &&
           (ret->st_shndx < SHN_LORESERVE || ret->st_shndx == SHN_ABS || ret->st_shndx == SHN_COMMON);
}

static const char *name_of(const struct graph *g, uint64_t table, const Elf64_Sym *symbol)
{
    Elf64_Shdr section;
    return spw_cubin_section(g->cubin, table, &section) ? spw_cubin_name(g->cubin, section.sh_link, symbol->st_name) : NULL;
}

/* Returns true if a user of the symbol may print. */
static bool symbol_prints(struct graph *g, uint64_t table, const Elf64_Sym *symbol)
{
    if (symbol->st_shndx != SHN_UNDEF)
        return is_code(g, symbol->st_shndx) && g->sections[symbol->st_shndx] & PRINTS;
    const char *name = name_of(g, table, symbol);
    const bool prints = !name || spw_globals_is_print(name, strlen(name));
    g->is_found |= prints;
    return prints;
}

/* ---- statements about calls ---- */

static const char *follow_pair(struct graph *g, uint64_t table, uint32_t part, const uint32_t pair[2])
{
    Elf64_Sym caller, callee;
    if (part == PART_TARGETS)
        return NULL;
    if (!part || !read_symbol(g, table, pair[0], &caller) || !is_code(g, caller.st_shndx))
        return damaged;
    if (part == PART_POINTER) {
        mark(g, caller.st_shndx);
        return NULL;
    }
    if (!read_symbol(g, table, pair[1], &callee))
        return damaged;
    if (symbol_prints(g, table, &callee))
        mark(g, caller.st_shndx);
    return NULL;
}

static const char *follow_calls(struct graph *g, const Elf64_Shdr *section)
{
    uint32_t pair[2], part = 0;
    const char *why = section->sh_size % sizeof(pair) ? damaged : NULL;
    for (uint64_t at = 0; at < section->sh_size && !why; at += sizeof(pair)) {
        if (!spw_cubin_read(g->cubin, section->sh_offset + at, pair, sizeof(pair)))
            return damaged;
        if (pair[1] >= PART_TAKES)
            part = pair[1];
        else
            why = follow_pair(g, section->sh_link, part, pair);
    }
    g->has_calls = true;
    return why;
}

bool spw_callgraph_has_pointers(const struct spw_cubin *cubin)
{
    Elf64_Shdr section;
    for (uint64_t i = 0; i < cubin->sections && spw_cubin_section(cubin, i, &section); i++) {
        uint32_t pair[2], part = 0;
        for (uint64_t at = 0; section.sh_type == TYPE_CALLGRAPH && at < section.sh_size; at += sizeof(pair)) {
            if (section.sh_size - at < sizeof(pair) || !spw_cubin_read(cubin, section.sh_offset + at, pair, sizeof(pair)))
                return true;
            if (pair[1] >= PART_TAKES)
                part = pair[1];
            else if (part != PART_CALLS)
                return true;
        }
    }
    return false;
}

static const char *follow_externs(struct graph *g, const Elf64_Shdr *section, uint64_t offset, uint16_t bytes)
{
    const uint64_t owner = owner_of(g, section);
    for (uint16_t at = 0; at + sizeof(uint32_t) <= bytes; at += sizeof(uint32_t)) {
        uint32_t number;
        Elf64_Sym symbol;
        if (!spw_cubin_read(g->cubin, offset + at, &number, sizeof(number)) ||
            !read_symbol(g, section->sh_link, number, &symbol))
            return damaged;
        if (!symbol_prints(g, section->sh_link, &symbol))
            continue;
        if (!owner)
            return spw_globals_unknown_printing;
        mark(g, owner);
    }
    return bytes % sizeof(uint32_t) ? damaged : NULL;
}

/* Follows attributes: each has a format, and a value or the number of bytes that follow. */
static const char *follow_info(struct graph *g, const Elf64_Shdr *section)
{
    struct {
        uint8_t format, attribute;
        uint16_t value;
    } a;
    const char *why = NULL;
    uint64_t at = 0;
    while (at < section->sh_size && !why) {
        if (section->sh_size - at < sizeof(a) || !spw_cubin_read(g->cubin, section->sh_offset + at, &a, sizeof(a)) ||
            a.format == 0 || a.format > FORMAT_SIZED)
            return damaged;
        at += sizeof(a);
        if (a.format != FORMAT_SIZED)
            continue;
        if (a.value > section->sh_size - at)
            return damaged;
        if (a.attribute == ATTRIBUTE_EXTERNS)
            why = follow_externs(g, section, section->sh_offset + at, a.value);
        at += a.value;
    }
    return why;
}

/* Addresses of others' functions lie in constants of the whole cubin, from where the code that calls them reads them. */
static bool is_for_calls(const struct graph *g, const Elf64_Shdr *target)
{
    const char *name = spw_cubin_section_name(g->cubin, target);
    return name && (strcmp(name, ".nv.constant4") == 0 || strcmp(name, ".nv.merc.nv.constant.pic") == 0);
}

static const char *follow_relocations(struct graph *g, const Elf64_Shdr *section)
{
    const uint64_t entry = section->sh_type == SHT_REL ? sizeof(Elf64_Rel) : sizeof(Elf64_Rela);
    Elf64_Shdr target;
    if (section->sh_entsize != entry || section->sh_size % entry || !spw_cubin_section(g->cubin, section->sh_info, &target))
        return damaged;
    const uint64_t owner = is_code(g, section->sh_info) ? section->sh_info : owner_of(g, &target);
    if (!owner && (!(target.sh_flags & SHF_ALLOC) || is_for_calls(g, &target)))
        return NULL;
    for (uint64_t at = 0; at < section->sh_size; at += entry) {
        Elf64_Rel relocation;
        Elf64_Sym symbol;
        if (!spw_cubin_read(g->cubin, section->sh_offset + at, &relocation, sizeof(relocation)) ||
            !read_symbol(g, section->sh_link, ELF64_R_SYM(relocation.r_info), &symbol))
            return damaged;
        if (!symbol_prints(g, section->sh_link, &symbol))
            continue;
        if (owner)
            mark(g, owner);
        else if (symbol.st_shndx == SHN_UNDEF)
            return spw_globals_unknown_printing;
    }
    return NULL;
}

/* ---- from callee to caller ---- */

static const char *follow(struct graph *g)
{
    const char *why = NULL;
    Elf64_Shdr section;
    for (uint64_t i = 0; i < g->cubin->sections && !why; i++) {
        if (!spw_cubin_section(g->cubin, i, &section))
            return damaged;
        if (section.sh_type == TYPE_CALLGRAPH)
            why = follow_calls(g, &section);
        else if (is_info(&section))
            why = follow_info(g, &section);
        else if (section.sh_type == SHT_REL || section.sh_type == SHT_RELA || section.sh_type == TYPE_MERC_RELA)
            why = follow_relocations(g, &section);
    }
    return why;
}

/* Marks the sections of code. There has to be a statement about each of them. */
static const char *tell_sections(struct graph *g)
{
    Elf64_Shdr section;
    for (uint64_t i = 0; i < g->cubin->sections; i++) {
        if (!spw_cubin_section(g->cubin, i, &section))
            return damaged;
        if (!is_known(section.sh_type))
            return spw_globals_unknown_printing;
        if (section.sh_type == TYPE_MERC_CODE || (section.sh_type == SHT_PROGBITS && section.sh_flags & SHF_EXECINSTR))
            g->sections[i] = IS_CODE | PRINTS;
    }
    for (uint64_t i = 0; i < g->cubin->sections; i++)
        if (spw_cubin_section(g->cubin, i, &section) && is_info(&section) && owner_of(g, &section))
            g->sections[section.sh_info] = IS_CODE;
    g->is_changed = true;
    return NULL;
}

/* The statements have to lead to at least one printing function. */
static const char *find_printing(struct graph *g)
{
    const char *why = tell_sections(g);
    for (unsigned passes = 0; !why && g->is_changed; passes++) {
        g->is_changed = false;
        why = passes < NESTED_MAX ? follow(g) : spw_globals_unknown_printing;
    }
    return why || (g->is_found && g->has_calls) ? why : spw_globals_unknown_printing;
}

/* ---- kernels ---- */

/* Functions that kernels call are listed with the kernels. */
static const char *list_functions(struct spw_globals *globals, struct graph *g, uint64_t table, uint64_t count)
{
    const char *why = NULL;
    for (uint64_t i = 0; i < count && !why; i++) {
        Elf64_Sym symbol;
        const char *name = read_symbol(g, table, i, &symbol) ? name_of(g, table, &symbol) : NULL;
        if (!name)
            return damaged;
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF && symbol_prints(g, table, &symbol))
            why = spw_globals_add_printing(globals, name, strlen(name));
    }
    return why;
}

const char *spw_callgraph_list_printing(struct spw_globals *globals, const struct spw_cubin *cubin)
{
    struct graph g = {.cubin = cubin, .sections = calloc(cubin->sections, 1)};
    const char *why = g.sections ? find_printing(&g) : "there was no memory to list them";
    Elf64_Shdr section;
    for (uint64_t i = 0; i < cubin->sections && !why; i++)
        if (spw_cubin_section(cubin, i, &section) && (section.sh_type == SHT_SYMTAB || section.sh_type == TYPE_MERC_SYMBOLS))
            why = list_functions(globals, &g, i, section.sh_size / sizeof(Elf64_Sym));
    free(g.sections);
    return why;
}
