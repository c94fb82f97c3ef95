/* ptx.c - reads of PTX text what a driver has to know before anything runs: which kernels, with which parameters. */
#include "ptx.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec.h"
#include "twins.h"

enum { LEAST_ROOM = 4096, MOST_TEXT = 1 << 24, MOST_KERNELS = 64, MOST_PARAM_BYTES = 32764 };

/* A copy of the text up to its final 0; NULL: it ends in memory that is not there, or does not end. Nothing behind the 0 is
 * looked at. */
static char *copy_text(const void *candidate)
{
    char *text = NULL;
    for (size_t length = 0, room = 0; length < MOST_TEXT; length++) {
        if (length == room) {
            room = room ? room * 2 : LEAST_ROOM;
            char *grown = realloc(text, room);
            if (!grown)
                break;
            text = grown;
        }
        if (!exec_read(text + length, (uint64_t)(uintptr_t)candidate + length, 1))
            break;
        if (!text[length])
            return text;
    }
    free(text);
    return NULL;
}

static void blank(char *from, const char *to)
{
    for (; from < to; from++)
        *from = ' ';
}

static void blank_comments(char *text)
{
    for (char *at = strchr(text, '/'); at; at = strchr(at + 1, '/')) {
        char *end = at[1] == '/' ? strchr(at, '\n') : at[1] == '*' ? strstr(at + 2, "*/") : at;
        blank(at, end == at ? at : end ? end + (at[1] == '*') * 2 : at + strlen(at));
    }
}

/* ---- words ---- */

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static const char *skip_space(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

/* Behind the word, where it stands there; else NULL. */
static const char *behind(const char *at, const char *word)
{
    at = skip_space(at);
    size_t length = strlen(word);
    bool there = strncmp(at, word, length) == 0 && !(is_of_name(word[length - 1]) && is_of_name(at[length]));
    return there ? at + length : NULL;
}

static const char *find_word(const char *at, const char *word)
{
    for (at = strstr(at, word); at && is_of_name(at[strlen(word)]); at = strstr(at + 1, word))
        ;
    return at;
}

static size_t name_length(const char *at)
{
    size_t length = 0;
    while (is_of_name(at[length]))
        length++;
    return length;
}

static const char *read_number(const char *at, uint32_t *ret)
{
    char *end;
    at = skip_space(at);
    if (!isdigit((unsigned char)*at))
        return NULL;
    unsigned long number = strtoul(at, &end, 0);
    if (number > MOST_PARAM_BYTES)
        return NULL;
    *ret = (uint32_t)number;
    return end;
}

/* ---- parameters ---- */

struct layout {
    uint32_t count, bytes;
    bool as_twin; /* so far */
};

/* A type, and with its size the alignment; 0: no type. */
static uint32_t size_of_type(const char *at)
{
    static const char *const types[] = {".b8",  ".u8",  ".s8",  ".b16", ".u16", ".s16", ".f16", ".b32",
                                        ".u32", ".s32", ".f32", ".b64", ".u64", ".s64", ".f64"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (behind(at, types[i]))
            return (uint32_t)atoi(types[i] + 2) / 8;
    return 0;
}

/* What stands before the type, and in `.ptr` behind it: `.align` counts once, for the parameter itself. */
static const char *read_attributes(const char *at, uint32_t *ret_align)
{
    const char *next;
    while (at && (next = behind(at, ".align")))
        at = read_number(next, ret_align);
    return at;
}

/* Behind `.param .align 8 .b8 name[24]` or `.param .u64 .ptr .global .align 16 name`; NULL: it cannot be read. */
static const char *read_param(const char *at, struct layout *l, const struct simgpu_kernel *twin)
{
    uint32_t align = 0, ignored, elements = 1;
    at = behind(at, ".param");
    at = at ? read_attributes(at, &align) : NULL;
    uint32_t size = at ? size_of_type(at) : 0;
    if (size == 0)
        return NULL;
    at = skip_space(at) + 2 + strspn(skip_space(at) + 2, "0123456789");
    for (const char *next = behind(at, ".ptr"); next; next = behind(at, ".global"))
        at = next;
    at = read_attributes(at, &ignored);
    at = at ? skip_space(at) : NULL;
    if (!at || name_length(at) == 0)
        return NULL;
    at += name_length(at);
    const char *bracket = behind(at, "[");
    if (bracket && (!(at = read_number(bracket, &elements)) || !(at = behind(at, "]"))))
        return NULL;
    align = align ? align : size;
    uint32_t offset = (l->bytes + align - 1) / align * align, i = l->count++;
    l->bytes = offset + size * elements;
    l->as_twin &=
        i < twin->param_count && twin->params[i].offset_bytes == offset && twin->params[i].size_bytes == size * elements;
    return at;
}

static bool params_are(const char *at, const struct simgpu_kernel *twin)
{
    struct layout l = {.as_twin = true};
    at = behind(at, "(");
    if (at && !behind(at, ")"))
        for (at = read_param(at, &l, twin); at && behind(at, ","); at = read_param(behind(at, ","), &l, twin))
            ;
    if (!at)
        return twin->param_count == 0;
    return behind(at, ")") && l.as_twin && l.count == twin->param_count && l.bytes == twin->param_bytes;
}

/* ---- kernels ---- */

static CUresult refuse(const char *why, const char *name, size_t length)
{
    fprintf(stderr, "simgpu: PTX is refused: %s%.*s\n", why, (int)length, name);
    return CUDA_ERROR_INVALID_PTX;
}

static CUresult read_kernels(const char *text, const struct simgpu_kernel **ret_kernels, uint32_t *ret_count)
{
    *ret_count = 0;
    for (const char *at = find_word(text, ".entry"); at; at = find_word(at, ".entry")) {
        const char *name = skip_space(at + strlen(".entry"));
        size_t length = name_length(name);
        const struct simgpu_kernel *twin = twin_find(name, length);
        if (!twin)
            return refuse("nothing here does what this kernel does (tests/simgpu/driver/twins.c): ", name, length);
        if (!params_are(name + length, twin))
            return refuse("other parameters than its twin has: ", name, length);
        if (*ret_count == MOST_KERNELS)
            return refuse("too many kernels", "", 0);
        ret_kernels[(*ret_count)++] = twin;
        at = name;
    }
    return CUDA_SUCCESS;
}

static CUresult make_image(const char *text, struct simgpu_image **ret_image)
{
    const struct simgpu_kernel *kernels[MOST_KERNELS];
    uint32_t count;
    if (!find_word(text, ".target"))
        return refuse("it has no .target", "", 0);
    CUresult r = read_kernels(text, kernels, &count);
    if (r != CUDA_SUCCESS)
        return r;
    struct simgpu_image *image = calloc(1, sizeof *image + count * sizeof *kernels);
    if (!image)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(image + 1, kernels, count * sizeof *kernels);
    image->kernels = (const struct simgpu_kernel *const *)(image + 1);
    image->kernel_count = count;
    *ret_image = image;
    return CUDA_SUCCESS;
}

CUresult ptx_load(const void *candidate, struct simgpu_image **ret_image)
{
    char *text = copy_text(candidate);
    if (!text)
        return CUDA_ERROR_INVALID_IMAGE;
    blank_comments(text);
    CUresult r = behind(text, ".version") ? make_image(text, ret_image) : CUDA_ERROR_INVALID_IMAGE;
    free(text);
    return r;
}
