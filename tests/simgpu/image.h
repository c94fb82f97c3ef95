/* image.h - defines a "device program" of the simulated device: the form in which compiled kernels reach cuModuleLoadData()
 * and cuLibraryLoadData().
 *
 * On a GPU a module image is machine code. Here it is a table of host functions of the same process: a struct
 * simgpu_image, recognised by its magic. It is also a cubin that lists its variables, as a real one does, for readers of
 * images. The kernel header (kernel.h) makes these tables from ordinary CUDA C++, and the driver (driver/) reads them;
 * nothing else does. */
#ifndef SIMGPU_IMAGE_H
#define SIMGPU_IMAGE_H
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIMGPU_IMAGE_MAGIC "SIMGPU1" /* 7 bytes, where an ELF header has unused bytes among its first 16 */

struct simgpu_kernel;

struct simgpu_launch {     /* how a kernel was launched; valid for the length of the call */
    uint32_t grid[3];      /* blocks */
    uint32_t block[3];     /* threads per block */
    uint32_t shared_bytes; /* dynamic shared memory */
    uint64_t serial;       /* position of this launch in the order in which the device runs them, from 1 */
    uint64_t order;        /* of the blocks: 0: ascending, else a number that selects another order */
    const struct simgpu_kernel *kernel;
    uint64_t token; /* the token that describe() set for this launch, else 0 */
};

/* What a kernel does with bytes. None of these: it may read them. */
enum {
    SIMGPU_WRITES = 1,    /* may write them, and may read them */
    SIMGPU_READS = 2,     /* reads each of them */
    SIMGPU_READS_SOME = 4 /* reads some of them; others may never have been written */
};

struct simgpu_range { /* bytes that a kernel may touch */
    uint64_t address;
    uint64_t bytes;
    uint32_t how; /* SIMGPU_WRITES and so on */
};

#define SIMGPU_MAX_RANGES 512

struct simgpu_footprint { /* the cost and the touches of one launch, known before it runs */
    double flops;         /* arithmetic operations, before the scale factor of the device */
    double bytes;         /* device memory traffic in bytes, before the scale factor */
    /* Of a kernel that meets others: bytes over the link between devices, before the scale factor. */
    double link_bytes;
    uint32_t range_count; /* 0: nothing is touched */
    struct simgpu_range ranges[SIMGPU_MAX_RANGES];
    uint64_t token; /* for run() */
    /* Nonzero: the ranges are unknown; the driver then takes each pointer parameter for the whole of its allocation. */
    int unknown;
    int refused; /* nonzero: there was no memory to describe it */
};

enum {
    SIMGPU_PARAM_POINTER = 1, /* declared as a pointer */
    SIMGPU_PARAM_CONST = 2    /* declared as a pointer to const: read only */
};

struct simgpu_param { /* one kernel parameter in the device-side layout, as cuFuncGetParamInfo() returns it */
    uint32_t offset_bytes;
    uint32_t size_bytes;
    uint32_t flags;
};

/* A kernel that exchanges data with kernels of other devices, which may be in other processes. While it waits for them it
 * occupies its stream but no lane of the device. Once all are there it occupies the link, and then it runs. */
struct simgpu_meeting {
    /* Called with the time of the device's clock at which everything before it in its stream is complete: it offers what
     * it reads. */
    void (*arrive)(const struct simgpu_launch *launch, const void *image, double now_ns);
    /* Called again and again after that; it never waits. Returns nonzero once the kernel may go on, with the time of the
     * device's clock at which the last of the others came. It may also go on if the meeting was given up; run() then has
     * nothing to do. Until then it returns zero, with a time before which the last of them does not come: infinite if the
     * device need not wait for it. */
    int (*is_complete)(const struct simgpu_launch *launch, const void *image, double *ret_since_ns);
};

struct simgpu_kernel {
    const char *name; /* the result of cuFuncGetName(): mangled as by nvcc, or plain for extern "C" */
    uint32_t param_count;
    uint32_t param_bytes; /* size of the whole parameter image */
    const struct simgpu_param *params;
    /* Runs every thread of the launch on the calling host thread. `image` is the parameter image, laid out as in
     * params[]. */
    void (*run)(const struct simgpu_launch *launch, const void *image);
    /* Sets cost and ranges; NULL if the program declares none. */
    void (*describe)(const struct simgpu_launch *launch, const void *image, struct simgpu_footprint *ret_footprint);
    uint32_t static_shared_bytes;
    const struct simgpu_meeting *meeting; /* NULL: it meets no other kernel */
};

struct simgpu_global { /* a __device__ or __constant__ variable; kernels know it by its host address (driver/variables.h) */
    const char *name;
    void *address;
    size_t bytes;
    int is_constant; /* kernels do not write it */
};

enum simgpu_section {
    SIMGPU_NOTHING,
    SIMGPU_NAMES_OF_SECTIONS,
    SIMGPU_NAMES,
    SIMGPU_SYMBOLS,
    SIMGPU_VARIABLES,
    SIMGPU_CONSTANTS,
    SIMGPU_TEXT,
    SIMGPU_SECTIONS
};

#define SIMGPU_SECTION_NAMES "\0.shstrtab\0.strtab\0.symtab\0.nv.global\0.nv.constant3\0.text"
#define SIMGPU_MAX_GLOBALS   64
#define SIMGPU_MAX_NAMES     4096

struct simgpu_image {
    Elf64_Ehdr header;
    uint32_t kernel_count, global_count;
    const struct simgpu_kernel *const *kernels;
    const struct simgpu_global *const *globals;
    uint64_t code; /* instead of machine code: a different number for each source */
    /* Filled in by simgpu_image_list(). */
    Elf64_Shdr sections[SIMGPU_SECTIONS];
    char section_names[sizeof(SIMGPU_SECTION_NAMES)];
    Elf64_Sym symbols[1 + SIMGPU_MAX_GLOBALS];
    char names[SIMGPU_MAX_NAMES]; /* of variables */
};

/* The first bytes of an image that is not listed. */
#define SIMGPU_IMAGE_IDENT \
    { \
        ELFMAG0, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT, 0x41, 8, 'S', 'I', 'M', 'G', 'P', 'U', '1' \
    }
#define SIMGPU_IMAGE_HEADER \
    { \
        .e_ident = SIMGPU_IMAGE_IDENT \
    }

static inline int simgpu_image_is(const void *header)
{
    return memcmp((const char *)header + EI_PAD, SIMGPU_IMAGE_MAGIC, EI_NIDENT - EI_PAD) == 0;
}

static inline void simgpu_image_section(struct simgpu_image *image, enum simgpu_section number, uint32_t name, uint32_t type,
                                        uint64_t flags, size_t offset, size_t bytes)
{
    Elf64_Shdr *s = &image->sections[number];
    s->sh_name = name;
    s->sh_type = type;
    s->sh_flags = flags;
    s->sh_offset = offset;
    s->sh_size = bytes;
}

/* Makes the image a cubin that lists its variables. Returns 0, or -1 if there are too many; then it is no cubin. */
static inline int simgpu_image_list(struct simgpu_image *image)
{
    const unsigned char ident[EI_NIDENT] = SIMGPU_IMAGE_IDENT;
    size_t used = 1, bytes[2] = {0, 0};
    memset(&image->header, 0, sizeof(image->header));
    memcpy(image->header.e_ident, ident, sizeof(ident));
    if (image->global_count > SIMGPU_MAX_GLOBALS)
        return -1;
    for (uint32_t i = 0; i < image->global_count; i++) {
        const struct simgpu_global *g = image->globals[i];
        const size_t length = strlen(g->name) + 1;
        Elf64_Sym *symbol = &image->symbols[1 + i];
        if (length > SIMGPU_MAX_NAMES - used)
            return -1;
        memcpy(image->names + used, g->name, length);
        symbol->st_name = (Elf64_Word)used;
        symbol->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
        symbol->st_shndx = g->is_constant ? SIMGPU_CONSTANTS : SIMGPU_VARIABLES;
        symbol->st_value = bytes[g->is_constant != 0];
        symbol->st_size = g->bytes;
        bytes[g->is_constant != 0] += g->bytes;
        used += length;
    }
    image->header.e_machine = 190; /* EM_CUDA */
    image->header.e_type = ET_EXEC;
    image->header.e_version = EV_CURRENT;
    image->header.e_ehsize = sizeof(Elf64_Ehdr);
    image->header.e_shentsize = sizeof(Elf64_Shdr);
    image->header.e_shnum = SIMGPU_SECTIONS;
    image->header.e_shoff = offsetof(struct simgpu_image, sections);
    image->header.e_shstrndx = SIMGPU_NAMES_OF_SECTIONS;
    memcpy(image->section_names, SIMGPU_SECTION_NAMES, sizeof(SIMGPU_SECTION_NAMES));
    simgpu_image_section(image, SIMGPU_NAMES_OF_SECTIONS, 1, SHT_STRTAB, 0, offsetof(struct simgpu_image, section_names),
                         sizeof(SIMGPU_SECTION_NAMES));
    simgpu_image_section(image, SIMGPU_NAMES, 11, SHT_STRTAB, 0, offsetof(struct simgpu_image, names), used);
    simgpu_image_section(image, SIMGPU_SYMBOLS, 19, SHT_SYMTAB, 0, offsetof(struct simgpu_image, symbols),
                         (1 + image->global_count) * sizeof(Elf64_Sym));
    image->sections[SIMGPU_SYMBOLS].sh_entsize = sizeof(Elf64_Sym);
    image->sections[SIMGPU_SYMBOLS].sh_link = SIMGPU_NAMES;
    simgpu_image_section(image, SIMGPU_VARIABLES, 27, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0, bytes[0]);
    simgpu_image_section(image, SIMGPU_CONSTANTS, 38, SHT_NOBITS, SHF_ALLOC, 0, bytes[1]);
    simgpu_image_section(image, SIMGPU_TEXT, 52, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
                         offsetof(struct simgpu_image, code), sizeof(image->code));
    return 0;
}

#ifdef __cplusplus
}
#endif
#endif
