/* cubin.c - reads of a cubin what a driver has to know before anything runs: which kernels, with which parameters. */
#include "cubin.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec.h"
#include "layouts.h"
#include "settings.h"
#include "variables.h"

#define INFO   ".nv.info."
#define CODE   ".text."
#define SHARED ".nv.shared."
#define RESERVED \
    ".nv.shared.reserved.0" /* a file that has it counts what is the driver's with the shared memory of each kernel */

enum { MOST_BYTES = 1 << 28, MOST_PARAMS = 4096, RESERVED_BYTES = 1024 };

/* Of the attributes of a kernel: how long they are, and those that tell of parameters. */
enum { FORM_SIZED = 4, FORM_HALF = 3, PARAM = 0x17, PARAM_V2 = 0x45, PARAM_BYTES = 0x19 };

struct attribute { /* as it begins; FORM_SIZED: so many bytes follow */
    uint8_t form, kind;
    uint16_t number;
};

struct param { /* PARAM has its size in the upper 14 bits of `size` */
    uint32_t index;
    uint16_t ordinal, offset;
    uint32_t size;
};

struct file { /* a copy of the image */
    unsigned char *bytes;
    uint64_t size, hash;
    const Elf64_Shdr *sections;
    uint32_t count;
    const char *names;
};

bool cubin_takes(const void *candidate)
{
    char start[SELFMAG];
    return settings.layouts_path && exec_read(start, (uint64_t)(uintptr_t)candidate, sizeof start) &&
           memcmp(start, ELFMAG, SELFMAG) == 0;
}

/* ---- the file ---- */

static uint64_t end_of(uint64_t offset, uint64_t bytes)
{
    return offset > MOST_BYTES || bytes > MOST_BYTES ? UINT64_MAX : offset + bytes;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Its bytes, by what it says of itself; 0: it can't be so. */
static uint64_t size_of(uint64_t at, const Elf64_Ehdr *header)
{
    uint64_t size = larger(end_of(header->e_shoff, sizeof(Elf64_Shdr) * (uint64_t)header->e_shnum),
                           end_of(header->e_phoff, (uint64_t)header->e_phentsize * header->e_phnum));
    for (uint32_t i = 0; i < header->e_shnum && size <= MOST_BYTES; i++) {
        Elf64_Shdr section;
        if (!exec_read(&section, at + header->e_shoff + i * sizeof section, sizeof section))
            return 0;
        if (section.sh_type != SHT_NOBITS)
            size = larger(size, end_of(section.sh_offset, section.sh_size));
    }
    return size <= MOST_BYTES ? size : 0;
}

static bool read_file(struct file *f, uint64_t at)
{
    Elf64_Ehdr header;
    if (!exec_read(&header, at, sizeof header) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shstrndx >= header.e_shnum ||
        header.e_shoff % _Alignof(Elf64_Shdr) || (f->size = size_of(at, &header)) < sizeof header)
        return false;
    f->bytes = malloc(f->size + 1); /* so that a name that is cut off ends */
    if (!f->bytes || !exec_read(f->bytes, at, f->size))
        return false;
    f->bytes[f->size] = 0;
    f->sections = (const Elf64_Shdr *)(const void *)(f->bytes + header.e_shoff);
    f->count = header.e_shnum;
    f->names = (const char *)f->bytes + f->sections[header.e_shstrndx].sh_offset;
    f->hash = layouts_hash(f->bytes, f->size);
    return f->sections[header.e_shstrndx].sh_type != SHT_NOBITS;
}

static const char *name_of(const struct file *f, const Elf64_Shdr *section)
{
    const char *name = f->names + section->sh_name;
    return name < (const char *)f->bytes + f->size ? name : "";
}

/* NULL: there is none. */
static const Elf64_Shdr *section_of(const struct file *f, const char *start, const char *end)
{
    for (uint32_t i = 0; i < f->count; i++) {
        const char *name = name_of(f, &f->sections[i]);
        if (strncmp(name, start, strlen(start)) == 0 && strcmp(name + strlen(start), end) == 0)
            return &f->sections[i];
    }
    return NULL;
}

/* ---- a kernel ---- */

struct params {
    uint32_t bytes, count; /* of the image of all; of those that are told */
    struct {
        uint32_t offset, size;
    } of[MOST_PARAMS];
};

static void add_param(struct params *params, const unsigned char *data, bool second)
{
    struct param p;
    memcpy(&p, data, sizeof p);
    if (p.ordinal >= MOST_PARAMS)
        return;
    params->of[p.ordinal].offset = p.offset;
    params->of[p.ordinal].size = second ? p.size : p.size >> 18;
    params->count = p.ordinal >= params->count ? p.ordinal + 1u : params->count;
}

static void read_params(const struct file *f, const Elf64_Shdr *info, struct params *ret)
{
    const unsigned char *data = f->bytes + info->sh_offset;
    struct attribute a;
    memset(ret, 0, sizeof *ret);
    if (info->sh_type == SHT_NOBITS)
        return;
    for (uint64_t at = 0; at + sizeof a <= info->sh_size; at += sizeof a + (a.form == FORM_SIZED ? a.number : 0)) {
        memcpy(&a, data + at, sizeof a);
        if (a.kind == PARAM_BYTES && a.form == FORM_HALF)
            ret->bytes = a.number;
        else if ((a.kind == PARAM || a.kind == PARAM_V2) && a.form == FORM_SIZED && a.number >= sizeof(struct param) &&
                 at + sizeof a + a.number <= info->sh_size)
            add_param(ret, data + at + sizeof a, a.kind == PARAM_V2);
    }
}

static uint64_t shared_bytes(const struct file *f, const char *kernel)
{
    const Elf64_Shdr *shared = section_of(f, SHARED, kernel);
    uint64_t bytes = shared ? shared->sh_size : 0, reserved = section_of(f, RESERVED, "") ? RESERVED_BYTES : 0;
    return bytes > reserved ? bytes - reserved : 0;
}

/* The line that a table has of it, or would have if it knew no more than the file says. */
static char *line_of(const struct file *f, const Elf64_Shdr *info, const char *name)
{
    static struct params params; /* too large for a stack; the driver's lock is held */
    char *text = NULL;
    size_t length;
    FILE *line = open_memstream(&text, &length);
    if (!line)
        return NULL;
    read_params(f, info, &params);
    fprintf(line, "%s@%016llx bytes=%u shared=%llu registers=32 params=", name, (unsigned long long)f->hash, params.bytes,
            (unsigned long long)shared_bytes(f, name));
    for (uint32_t i = 0; i < params.count; i++)
        fprintf(line, "%s%u:%u", i ? "," : "", params.of[i].offset, params.of[i].size);
    fprintf(line, "%s uses=", params.count ? "" : "-");
    for (uint32_t i = 0; i < params.count; i++) {
        uint32_t size = params.of[i].size;
        fprintf(line, "%s%u:%u:", i ? "," : "", params.of[i].offset, size);
        fprintf(line, size < 8 ? "value" : "words/%u", size / 8);
    }
    fprintf(line, "%s\n", params.count ? "" : "-");
    return fclose(line) == 0 ? text : (free(text), NULL);
}

/* ---- all of them ---- */

/* Whole at once, since several processes may make the same. */
static void put_aside(const struct file *f)
{
    char path[4096], made[4096 + 16];
    int length = snprintf(path, sizeof path, "%s/%016llx.cubin", settings.images_path, (unsigned long long)f->hash);
    if (length < 0 || (size_t)length >= sizeof path || access(path, F_OK) == 0)
        return;
    snprintf(made, sizeof made, "%s.%d", path, (int)getpid());
    int fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    bool good = fd >= 0 && write(fd, f->bytes, f->size) == (ssize_t)f->size;
    if (fd >= 0)
        close(fd);
    if (!good || rename(made, path) < 0)
        fprintf(stderr, "simgpu: %s can't be written\n", path);
}

static bool add_kernel(const struct file *f, const Elf64_Shdr *info, const struct simgpu_kernel **ret_kernel)
{
    const char *name = name_of(f, info) + strlen(INFO);
    char *line = line_of(f, info, name);
    const struct layout *l = line ? layouts_find_or_add(line, !settings.images_path) : NULL;
    *ret_kernel = l ? &l->kernel : NULL;
    return l;
}

/* ---- variables ---- */

/* The symbols, and how many; 0: there are none. */
static const Elf64_Sym *symbols_of(const struct file *f, const char **ret_names, uint64_t *ret_count)
{
    for (uint32_t i = 0; i < f->count; i++) {
        const Elf64_Shdr *s = &f->sections[i];
        if (s->sh_type == SHT_SYMTAB && s->sh_link < f->count && s->sh_offset % _Alignof(Elf64_Sym) == 0 &&
            f->sections[s->sh_link].sh_type == SHT_STRTAB) {
            *ret_names = (const char *)f->bytes + f->sections[s->sh_link].sh_offset;
            *ret_count = s->sh_size / sizeof(Elf64_Sym);
            return (const Elf64_Sym *)(const void *)(f->bytes + s->sh_offset);
        }
    }
    *ret_count = 0;
    return NULL;
}

/* Where the file has what the variable is at first, or where it has nothing and all is 0. NULL: this is no variable. */
static const Elf64_Shdr *place_of(const struct file *f, const Elf64_Sym *symbol)
{
    static const char *const places[] = {".nv.global.init", ".nv.global", ".nv.constant3"};
    if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_shndx >= f->count)
        return NULL;
    const Elf64_Shdr *s = &f->sections[symbol->st_shndx];
    bool inside =
        symbol->st_size <= MOST_BYTES && symbol->st_value <= s->sh_size && symbol->st_size <= s->sh_size - symbol->st_value;
    for (size_t i = 0; inside && i < sizeof places / sizeof *places; i++)
        if (strcmp(name_of(f, s), places[i]) == 0)
            return s;
    return NULL;
}

/* It stays. */
static const struct simgpu_global *make_global(const struct file *f, const Elf64_Sym *symbol, const char *name)
{
    const Elf64_Shdr *s = place_of(f, symbol);
    struct simgpu_global *g = malloc(sizeof *g);
    void *home = variable_memory(symbol->st_size);
    char *copy = name < (const char *)f->bytes + f->size ? strdup(name) : NULL;
    if (!g || !home || !copy) {
        free(g);
        free(home);
        free(copy);
        return NULL;
    }
    memset(home, 0, symbol->st_size);
    if (s->sh_type != SHT_NOBITS)
        memcpy(home, f->bytes + s->sh_offset + symbol->st_value, symbol->st_size);
    *g = (struct simgpu_global){.name = copy, .address = home, .bytes = symbol->st_size};
    return g;
}

static bool add_globals(const struct file *f, struct simgpu_image *image)
{
    const char *names;
    uint64_t count;
    const Elf64_Sym *symbols = symbols_of(f, &names, &count);
    const struct simgpu_global **globals = calloc(count + 1, sizeof *globals);
    image->globals = globals;
    for (uint64_t i = 0; globals && i < count; i++) {
        if (!place_of(f, &symbols[i]))
            continue;
        if (!(globals[image->global_count] = make_global(f, &symbols[i], names + symbols[i].st_name)))
            return false;
        image->global_count++;
    }
    return globals;
}

/* ---- the image ---- */

struct kept { /* until the process ends: modules that are gone may have kernels on their way */
    struct kept *next;
    uint64_t hash;
    struct simgpu_image image;
};

static struct kept *kept;

static CUresult make_image(const struct file *f, const struct simgpu_image **ret_image)
{
    struct kept *k = calloc(1, sizeof *k + f->count * sizeof k->image.kernels[0]);
    if (!k)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const struct simgpu_kernel **kernels = (const struct simgpu_kernel **)(k + 1);
    k->image.kernels = kernels;
    bool good = add_globals(f, &k->image);
    for (uint32_t i = 0; good && i < f->count; i++) {
        const char *name = name_of(f, &f->sections[i]);
        if (strncmp(name, INFO, strlen(INFO)) == 0 && section_of(f, CODE, name + strlen(INFO)))
            good = add_kernel(f, &f->sections[i], &kernels[k->image.kernel_count++]);
    }
    if (!good) {
        free(k);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    k->hash = f->hash;
    k->next = kept;
    kept = k;
    *ret_image = &k->image;
    return CUDA_SUCCESS;
}

CUresult cubin_load(const void *candidate, const struct simgpu_image **ret_image)
{
    struct file f = {0};
    CUresult r = read_file(&f, (uint64_t)(uintptr_t)candidate) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
    const struct kept *k = kept;
    while (r == CUDA_SUCCESS && k && k->hash != f.hash)
        k = k->next;
    if (k && r == CUDA_SUCCESS)
        *ret_image = &k->image;
    else if (r == CUDA_SUCCESS)
        r = make_image(&f, ret_image);
    if (r == CUDA_SUCCESS && settings.images_path)
        put_aside(&f);
    free(f.bytes);
    return r;
}
