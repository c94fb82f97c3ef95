/* symbols.c - asks libdw what lies at an address of a module's file, and caches the answers. */
#include "symbols.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "grow.h"

struct answer {
    uint64_t address;
    char *text;
};

struct symbols {
    const struct model_module *modules;
    uint32_t module_count;
    Dwfl *dwfl;
    Dwfl_Module **opened;   /* by module; NULL if the file is not the one that was traced */
    struct answer *answers; /* sorted by address */
    size_t count, room;
};

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                         .find_debuginfo = dwfl_standard_find_debuginfo,
                                         .section_address = dwfl_offline_section_address};

/* Addresses of the process minus the module's base are those of its file. So each file is reported at a place of its own,
 * far from the others. */
static uint64_t place_of(uint32_t module)
{
    return (uint64_t)(module + 1) << 40;
}

/* The path comes from the trace: opening it must not wait for a writer, and it must not be a device. */
static bool is_file(const char *path)
{
    struct stat found;
    return path[0] == '/' && stat(path, &found) == 0 && S_ISREG(found.st_mode);
}

static Dwfl_Module *open_module(struct symbols *s, uint32_t index)
{
    const struct model_module *m = &s->modules[index];
    const unsigned char *id;
    GElf_Addr address;
    dwfl_report_begin_add(s->dwfl);
    Dwfl_Module *module = dwfl_report_elf(s->dwfl, m->path, m->path, -1, place_of(index), false);
    dwfl_report_end(s->dwfl, NULL, NULL);
    if (!module || m->build_id_bytes == 0)
        return module;
    GElf_Addr bias;
    if (!dwfl_module_getelf(module, &bias))
        return NULL;
    int n = dwfl_module_build_id(module, &id, &address);
    return n == (int)m->build_id_bytes && !memcmp(id, m->build_id, (size_t)n) ? module : NULL;
}

struct symbols *symbols_create(const struct model_module *modules, uint32_t count)
{
    struct symbols *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->modules = modules;
    s->module_count = count;
    s->dwfl = dwfl_begin(&callbacks);
    s->opened = calloc(count + 1, sizeof(Dwfl_Module *));
    for (uint32_t i = 0; s->dwfl && s->opened && i < count; i++)
        if (modules[i].path && is_file(modules[i].path))
            s->opened[i] = open_module(s, i);
    return s;
}

void symbols_destroy(struct symbols *s)
{
    if (!s)
        return;
    if (s->dwfl)
        dwfl_end(s->dwfl);
    for (size_t i = 0; i < s->count; i++)
        free(s->answers[i].text);
    free(s->answers);
    free(s->opened);
    free(s);
}

char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Gets the address of a file's byte according to its program headers, at the place where the module was reported. */
static bool file_address(Dwfl_Module *module, uint64_t file_offset, GElf_Addr *ret_address)
{
    GElf_Addr bias;
    size_t count;
    Elf *elf = dwfl_module_getelf(module, &bias);
    if (!elf || elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr p;
        if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || file_offset - p.p_offset >= p.p_filesz)
            continue;
        *ret_address = file_offset - p.p_offset + p.p_vaddr + bias;
        return true;
    }
    return false;
}

static bool number_of(Dwarf_Die *die, unsigned attribute, Dwarf_Word *ret)
{
    Dwarf_Attribute found;
    return dwarf_attr(die, attribute, &found) && dwarf_formudata(&found, ret) == 0;
}

/* Returns where an inlined function was called. */
static const char *call_of(Dwarf_Die *unit, Dwarf_Die *inlined, int *ret_line)
{
    Dwarf_Word file, line;
    Dwarf_Files *files;
    size_t count;
    if (!number_of(inlined, DW_AT_call_line, &line) || !number_of(inlined, DW_AT_call_file, &file) ||
        dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count)
        return NULL;
    *ret_line = (int)line;
    return dwarf_filesrc(files, file, NULL, NULL);
}

/* Returns file and line; NULL if unknown. If other functions are inlined there, it is the innermost line in the same file
 * as the function that has the symbol. */
static const char *line_of(Dwfl_Module *module, GElf_Addr at, int *ret_line)
{
    enum { DEPTH = 32 };
    struct {
        const char *file;
        int line;
    } places[DEPTH] = {{NULL, 0}};
    Dwarf_Addr bias;
    Dwarf_Die *unit = dwfl_module_addrdie(module, at, &bias), *innermost = NULL, *scopes = NULL;
    Dwfl_Line *where = dwfl_module_getsrc(module, at);
    int last = 0, i = 0;
    places[0].file = where ? dwfl_lineinfo(where, NULL, &places[0].line, NULL, NULL, NULL) : NULL;
    int n = unit && dwarf_getscopes(unit, at - bias, &innermost) > 0 ? dwarf_getscopes_die(innermost, &scopes) : 0;
    for (int k = 0; k < n && last + 1 < DEPTH && dwarf_tag(&scopes[k]) != DW_TAG_subprogram; k++)
        if (dwarf_tag(&scopes[k]) == DW_TAG_inlined_subroutine &&
            (places[last + 1].file = call_of(unit, &scopes[k], &places[last + 1].line)))
            last++;
    while (i < last && (!places[i].file || strcmp(places[i].file, places[last].file) != 0))
        i++;
    free(innermost);
    free(scopes);
    *ret_line = places[i].line;
    return places[i].file;
}

static char *describe_inside(Dwfl_Module *module, const char *path, GElf_Addr at)
{
    GElf_Off offset = 0;
    GElf_Sym symbol;
    char *text = NULL, *readable;
    int line = 0, status;
    const char *name = dwfl_module_addrinfo(module, at, &offset, &symbol, NULL, NULL, NULL);
    const char *file = name ? line_of(module, at, &line) : NULL;
    if (!name)
        return NULL;
    readable = __cxa_demangle(name, NULL, NULL, &status);
    int n =
        file ? asprintf(&text, "%s (%s:%d)", readable ? readable : name, base_name(file), line)
             : asprintf(&text, "%s+0x%llx in %s", readable ? readable : name, (unsigned long long)offset, base_name(path));
    free(readable);
    return n < 0 ? NULL : text;
}

static char *describe(const struct symbols *s, uint64_t address)
{
    char *text = NULL;
    uint64_t call = address - 1;                   /* the call is before the address that it returns to */
    for (uint32_t i = s->module_count; i-- > 0;) { /* the newest first: one may have replaced an older one */
        const struct model_module *m = &s->modules[i];
        GElf_Addr at;
        if (!m->path || call - m->start >= m->end - m->start)
            continue;
        uint64_t offset = call - m->start + m->file_offset;
        if (s->opened[i] && file_address(s->opened[i], offset, &at) && (text = describe_inside(s->opened[i], m->path, at)))
            return text;
        return asprintf(&text, "%s+0x%llx", base_name(m->path), (unsigned long long)offset) < 0 ? NULL : text;
    }
    return asprintf(&text, "0x%llx", (unsigned long long)address) < 0 ? NULL : text;
}

const char *symbols_text(struct symbols *s, uint64_t address)
{
    size_t low = 0, high = s ? s->count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->answers[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!s || (low < s->count && s->answers[low].address == address))
        return s ? s->answers[low].text : "?";
    char *text = s->opened ? describe(s, address) : NULL;
    if (!text || SPW_GROW(s->answers, s->room, s->count + 1) < 0) {
        free(text);
        return "?";
    }
    memmove(s->answers + low + 1, s->answers + low, (s->count - low) * sizeof(*s->answers));
    s->answers[low] = (struct answer){address, text};
    s->count++;
    return text;
}
