/* images.c - finds where an image lies and how long it is, keeps what is needed to load it again, and does so. */
#include "images.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fatbinary_section.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "architectures.h"
#include "lock.h"
#include "ask.h"
#include "cubin.h"
#include "globals.h"
#include "result.h"

enum { SAMPLE = 32 /* bytes that reveal another image at the same address */ };

#define FAT_MAGIC UINT32_C(0xba55ed50)

struct fat_header { /* in front of everything that a fat binary holds */
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* behind it */
};

struct spw_image {
    enum spw_image_call call;
    const char *lacks; /* why it cannot be loaded again; NULL: it can */
    const void *given; /* as the program gave it, until it is kept; then as it is given to the driver again */
    char *path;        /* of a file */
    struct stat file;  /* its state before it was loaded */
    bool is_preserved;
    bool is_wrapped;             /* the image comes in a `wrapper` */
    __fatBinC_Wrapper_t wrapper; /* points to the image as it is kept */
    void *copy;                  /* NULL: it stays where the program has it */
    size_t copied_bytes;
    ElfW(Addr) object; /* load address of the object that it lies in */
    bool is_in_object;
    size_t bytes;        /* of the image; 0: its form is not known, or it is a file */
    size_t sample_bytes; /* for an image that is not copied */
    unsigned char sample[SAMPLE];
    bool is_hashed;
    struct spw_hash hash; /* of all its bytes */
    unsigned option_count, library_option_count;
    CUjit_option *options; /* behind these lie their values, the library's options and their values */
    void **values;
    CUlibraryOption *library_options;
    void **library_values;
};

static size_t copied_bytes;

/* ---- options ---- */

enum option { KEPT, LEFT_OUT, UNKNOWN };

static enum option look_at_option(CUjit_option option)
{
    switch (option) {
    case CU_JIT_WALL_TIME:
    case CU_JIT_INFO_LOG_BUFFER:
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
    case CU_JIT_ERROR_LOG_BUFFER:
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
    case CU_JIT_LOG_VERBOSE:
        return LEFT_OUT;
    case CU_JIT_MAX_REGISTERS:
    case CU_JIT_THREADS_PER_BLOCK:
    case CU_JIT_OPTIMIZATION_LEVEL:
    case CU_JIT_TARGET_FROM_CUCONTEXT:
    case CU_JIT_TARGET:
    case CU_JIT_FALLBACK_STRATEGY:
    case CU_JIT_GENERATE_DEBUG_INFO:
    case CU_JIT_GENERATE_LINE_INFO:
    case CU_JIT_CACHE_MODE:
    case CU_JIT_FAST_COMPILE:
    case CU_JIT_LTO:
    case CU_JIT_FTZ:
    case CU_JIT_PREC_DIV:
    case CU_JIT_PREC_SQRT:
    case CU_JIT_FMA:
    case CU_JIT_OPTIMIZE_UNUSED_DEVICE_VARIABLES:
    case CU_JIT_POSITION_INDEPENDENT_CODE:
    case CU_JIT_MIN_CTA_PER_SM:
    case CU_JIT_MAX_THREADS_PER_BLOCK:
    case CU_JIT_OVERRIDE_DIRECTIVE_VALUES:
    case CU_JIT_SPLIT_COMPILE:
        return KEPT;
    default: /* lists of the program's symbols, and options of newer drivers */
        return UNKNOWN;
    }
}

static void keep_options(struct spw_image *image, const struct spw_image_told *told)
{
    for (unsigned i = 0; i < told->option_count; i++) {
        const enum option option = look_at_option(told->options[i]);
        if (option == UNKNOWN)
            image->lacks = "it was loaded with options that are not known";
        if (option != KEPT)
            continue;
        image->options[image->option_count] = told->options[i];
        image->values[image->option_count++] = told->values ? told->values[i] : NULL;
    }
    for (unsigned i = 0; i < told->library_option_count; i++) {
        if (told->library_options[i] != CU_LIBRARY_BINARY_IS_PRESERVED)
            image->lacks = "it was loaded with tables of the program's, or options that are not known";
        image->library_options[image->library_option_count] = told->library_options[i];
        image->library_values[image->library_option_count++] = told->library_values ? told->library_values[i] : NULL;
        image->is_preserved |= told->library_options[i] == CU_LIBRARY_BINARY_IS_PRESERVED;
    }
}

/* ---- files ---- */

static bool is_file(const struct spw_image *image)
{
    return image->call == SPW_IMAGE_MODULE_FILE || image->call == SPW_IMAGE_LIBRARY_FILE;
}

static void find_file(struct spw_image *image)
{
    image->path = image->given ? realpath(image->given, NULL) : NULL;
    if (!image->path || stat(image->path, &image->file) < 0)
        image->lacks = "its file was not to be read";
}

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same_file(const struct spw_image *image)
{
    const struct stat *a = &image->file;
    struct stat b;
    return stat(image->path, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino && a->st_size == b.st_size &&
           is_same_time(a->st_mtim, b.st_mtim) && is_same_time(a->st_ctim, b.st_ctim);
}

/* ---- describing ---- */

struct spw_image *spw_image_describe(const struct spw_image_told *told)
{
    const bool lists_options =
        (told->options || !told->option_count) && (told->library_options || !told->library_option_count);
    const size_t options = lists_options ? told->option_count : 0, library = lists_options ? told->library_option_count : 0;
    struct spw_image *image = calloc(1, sizeof(*image) + (options + library) * (sizeof(void *) + sizeof(CUjit_option)));
    if (!image)
        return NULL;
    image->call = told->call;
    image->given = told->what;
    image->values = (void **)(image + 1);
    image->library_values = image->values + options;
    image->options = (CUjit_option *)(image->library_values + library);
    image->library_options = (CUlibraryOption *)(image->options + options);
    if (lists_options)
        keep_options(image, told);
    else
        image->lacks = "it was loaded with options that are not told"; /* the driver will refuse this */
    if (is_file(image))
        find_file(image);
    return image;
}

/* ---- where it lies ---- */

struct place {
    uintptr_t address;
    ElfW(Addr) object;
    bool found, is_writable;
};

static int look_into_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct place *place = arg;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || place->address - (info->dlpi_addr + segment->p_vaddr) >= segment->p_memsz)
            continue;
        place->found = true;
        place->object = info->dlpi_addr;
        place->is_writable = (segment->p_flags & PF_W) != 0;
        return 1;
    }
    return 0;
}

static struct place find_place(const void *address)
{
    struct place place = {.address = (uintptr_t)address};
    (void)dl_iterate_phdr(look_into_object, &place);
    return place;
}

/* ---- how long it is; 0: unknown ---- */

static size_t end_of(uint64_t offset, uint64_t count, uint64_t each)
{
    const bool fits = offset <= SPW_IMAGES_MAX_BYTES && count <= SPW_IMAGES_MAX_BYTES && each <= SPW_IMAGES_MAX_BYTES;
    return fits ? (size_t)(offset + count * each) : SIZE_MAX;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Returns the end of all sections or segments, as their headers say. There are `count` headers at `offset`. */
static size_t end_of_parts(const char *image, bool sections, uint64_t offset, uint64_t count)
{
    const size_t each = sections ? sizeof(Elf64_Shdr) : sizeof(Elf64_Phdr);
    size_t bytes = end_of(offset, count, each);
    for (uint64_t i = 0; i < count && bytes <= SPW_IMAGES_MAX_BYTES; i++) {
        Elf64_Shdr section = {.sh_type = SHT_NOBITS};
        Elf64_Phdr segment = {0};
        memcpy(sections ? (void *)&section : (void *)&segment, image + offset + i * each, each);
        if (section.sh_type != SHT_NOBITS)
            bytes = larger(bytes, end_of(section.sh_offset, 1, section.sh_size));
        bytes = larger(bytes, end_of(segment.p_offset, 1, segment.p_filesz));
    }
    return bytes;
}

/* If there are more sections than fit into the header's field, the first section holds their number. */
static size_t elf_bytes(const char *image)
{
    Elf64_Ehdr header;
    Elf64_Shdr first;
    memcpy(&header, image, sizeof(header));
    if (header.e_ident[EI_CLASS] != ELFCLASS64)
        return 0;
    uint64_t sections = header.e_shoff ? header.e_shnum : 0;
    if (header.e_shoff && header.e_shoff < SPW_IMAGES_MAX_BYTES && !sections) {
        memcpy(&first, image + header.e_shoff, sizeof(first));
        sections = first.sh_size;
    }
    return larger(end_of_parts(image, true, header.e_shoff, sections),
                  end_of_parts(image, false, header.e_phoff, header.e_phnum));
}

static size_t fat_bytes(const void *image)
{
    struct fat_header header;
    memcpy(&header, image, sizeof(header));
    return end_of(header.header_bytes, 1, header.bytes);
}

/* PTX begins with a directive or a comment. */
static size_t text_bytes(const char *image)
{
    const char *first = image;
    while (isspace((unsigned char)*first))
        first++;
    return *first == '.' || *first == '/' ? strnlen(image, SPW_IMAGES_MAX_BYTES) + 1 : 0;
}

static size_t bytes_of(const void *image)
{
    uint32_t magic;
    memcpy(&magic, image, sizeof(magic));
    if (memcmp(&magic, ELFMAG, SELFMAG) == 0)
        return elf_bytes(image);
    return magic == FAT_MAGIC ? fat_bytes(image) : text_bytes(image);
}

/* ---- keeping ---- */

static void copy_image(struct spw_image *image, const void *from, size_t bytes)
{
    if (bytes == 0)
        image->lacks = "its form is not known, and it may be changed or freed where it lies";
    else if (bytes > SPW_IMAGES_MAX_BYTES - copied_bytes)
        image->lacks = "there is no room for a copy of what it was loaded from";
    else if (!(image->copy = malloc(bytes)))
        image->lacks = "there was no memory for a copy of what it was loaded from";
    if (!image->copy)
        return;
    memcpy(image->copy, from, bytes);
    image->copied_bytes = bytes;
    copied_bytes += bytes;
}

static void take_sample(struct spw_image *image, const void *from, size_t bytes)
{
    image->sample_bytes = bytes && bytes < SAMPLE ? bytes : SAMPLE;
    memcpy(image->sample, from, image->sample_bytes);
}

/* A wrapper of another version leads to several images. */
static const void *unwrap(struct spw_image *image)
{
    memcpy(&image->wrapper.magic, image->given, sizeof(image->wrapper.magic));
    image->is_wrapped = image->wrapper.magic == FATBINC_MAGIC;
    if (!image->is_wrapped)
        return image->given;
    memcpy(&image->wrapper, image->given, sizeof(image->wrapper));
    if (image->wrapper.version != FATBINC_VERSION)
        image->lacks = "it was linked of several images";
    return image->wrapper.data;
}

void spw_image_keep_locked(struct spw_image *image)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (is_file(image) || image->lacks)
        return;
    const void *data = unwrap(image);
    if (image->lacks)
        return;
    const struct place place = find_place(data);
    const size_t bytes = image->bytes = bytes_of(data);
    image->object = place.object;
    image->is_in_object = place.found && !(place.is_writable && bytes);
    if (!image->is_preserved && !image->is_in_object)
        copy_image(image, data, bytes);
    else
        take_sample(image, data, bytes);
    if (image->copy)
        data = image->copy;
    image->wrapper.data = data;
    image->given = image->is_wrapped ? (const void *)&image->wrapper : data;
}

void spw_image_free_locked(struct spw_image *image)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!image)
        return;
    copied_bytes -= image->copied_bytes;
    free(image->copy);
    free(image->path);
    free(image);
}

const char *spw_image_lacks(const struct spw_image *image)
{
    return image->lacks;
}

size_t spw_image_bytes(const struct spw_image *image)
{
    return is_file(image) ? (size_t)image->file.st_size : image->bytes;
}

bool spw_image_is_library(const struct spw_image *image)
{
    return image->call == SPW_IMAGE_LIBRARY_DATA || image->call == SPW_IMAGE_LIBRARY_FILE;
}

size_t spw_images_copied_bytes_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return copied_bytes;
}

/* ---- loading again ---- */

/* For an image in a loaded object, whether the object still exists is checked first. */
static bool is_still_there(const struct spw_image *image)
{
    if (is_file(image))
        return is_same_file(image);
    if (image->copy)
        return true;
    if (image->is_in_object) {
        const struct place place = find_place(image->wrapper.data);
        if (!place.found || place.object != image->object)
            return false;
    }
    return memcmp(image->wrapper.data, image->sample, image->sample_bytes) == 0;
}

/* Works on copies of the options, since the driver may write to them. */
static CUresult load(const struct spw_image *image, struct spw_image *own, void **ret_handle)
{
    CUmodule *module = (CUmodule *)ret_handle;
    CUlibrary *library = (CUlibrary *)ret_handle;
    switch (image->call) {
    case SPW_IMAGE_MODULE_FILE:
        return SPW_ASK(cuModuleLoad, module, image->path);
    case SPW_IMAGE_MODULE_FAT:
        return SPW_ASK(cuModuleLoadFatBinary, module, image->given);
    case SPW_IMAGE_MODULE_DATA:
        if (!own->option_count)
            return SPW_ASK(cuModuleLoadData, module, image->given);
        return SPW_ASK(cuModuleLoadDataEx, module, image->given, own->option_count, own->options, own->values);
    case SPW_IMAGE_LIBRARY_FILE:
        return SPW_ASK(cuLibraryLoadFromFile, library, image->path, own->options, own->values, own->option_count,
                       own->library_options, own->library_values, own->library_option_count);
    case SPW_IMAGE_LIBRARY_DATA:
        return SPW_ASK(cuLibraryLoadData, library, image->given, own->options, own->values, own->option_count,
                       own->library_options, own->library_values, own->library_option_count);
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}

int spw_image_load_locked(const struct spw_image *image, void **ret_handle)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct spw_image_told told = {.call = SPW_IMAGE_MODULE_DATA,
                                        .option_count = image->option_count,
                                        .options = image->options,
                                        .values = image->values,
                                        .library_option_count = image->library_option_count,
                                        .library_options = image->library_options,
                                        .library_values = image->library_values};
    void *handle = NULL;
    if (image->lacks || !is_still_there(image))
        return -ESTALE;
    struct spw_image *own = spw_image_describe(&told);
    const int r = own ? spw_result(load(image, own, &handle)) : -ENOMEM;
    free(own);
    if (r == 0)
        *ret_handle = handle;
    return r;
}

void spw_image_unload_locked(const struct spw_image *image, void *handle)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (spw_image_is_library(image))
        (void)SPW_ASK(cuLibraryUnload, handle);
    else
        (void)SPW_ASK(cuModuleUnload, handle);
}

/* ---- its contents ---- */

/* Returns the contents of a file, which the caller frees; NULL: it cannot be read. */
static char *read_file(const struct spw_image *image)
{
    const size_t bytes = (size_t)image->file.st_size;
    FILE *file = bytes <= SPW_IMAGES_MAX_BYTES ? fopen(image->path, "re") : NULL;
    char *contents = file ? malloc(bytes + 1) : NULL;
    if (contents && fread(contents, 1, bytes, file) != bytes) {
        free(contents);
        contents = NULL;
    }
    if (file)
        (void)fclose(file);
    return contents;
}

/* For a file, `contents`. */
static const void *bytes_in(const struct spw_image *image, const char *contents)
{
    return is_file(image) ? (const void *)contents : (const void *)image->wrapper.data;
}

const char *spw_image_globals_locked(const struct spw_image *image, struct spw_globals *ret)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    *ret = (struct spw_globals){0};
    if (image->lacks || !is_still_there(image))
        return "what it was loaded from is not there any more, or has changed";
    if (!spw_image_bytes(image))
        return "its form is not known";
    char *contents = is_file(image) ? read_file(image) : NULL;
    if (is_file(image) && !contents)
        return "its file cannot be read";
    const char *why = spw_globals_list(bytes_in(image, contents), spw_image_bytes(image), spw_architectures_locked(), ret);
    free(contents);
    return why;
}

static void hash_contents(struct spw_image_part all, struct spw_hash *ret_hash)
{
    struct spw_cubin cubin;
    if (spw_cubin_open(&cubin, all))
        spw_cubin_hash(&cubin, ret_hash);
    else
        spw_hash_host(all.bytes, all.count, ret_hash);
}

bool spw_image_hash_locked(struct spw_image *image, struct spw_hash *ret_hash)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const size_t bytes = spw_image_bytes(image);
    if (!image->is_hashed && !image->lacks && bytes && bytes <= SPW_IMAGES_MAX_BYTES && is_still_there(image)) {
        char *contents = is_file(image) ? read_file(image) : NULL;
        image->is_hashed = contents || !is_file(image);
        if (image->is_hashed)
            hash_contents((struct spw_image_part){bytes_in(image, contents), bytes}, &image->hash);
        free(contents);
    }
    *ret_hash = image->hash;
    return image->is_hashed;
}
