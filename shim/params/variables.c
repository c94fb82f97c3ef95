/* variables.c - finds variables in both modules. */
#include "variables.h"

#include <stdlib.h>

#include "ask.h"
#include "driver.h"
#include "result.h"

enum { ALIGNMENT = 16, GAP = 16 /* less than this between two variables is padding of the same module */ };

/* ---- where they are ---- */

static CUresult ask(bool is_library, void *module, const char *name, CUdeviceptr *address, size_t *bytes)
{
    return is_library ? SPW_ASK_QUIETLY(cuLibraryGetGlobal, address, bytes, (CUlibrary)module, name)
                      : SPW_ASK_QUIETLY(cuModuleGetGlobal_v2, address, bytes, (CUmodule)module, name);
}

/* Only one answer of the driver counts as none: that there is no variable of that name. */
static const char *find(const char *name, bool is_library, void *original, void *twin, struct spw_variable_piece *ret)
{
    unsigned is_managed = 0;
    size_t twin_bytes = 0;
    CUresult result = ask(is_library, original, name, &ret->original, &ret->bytes);
    if (result == CUDA_ERROR_NOT_FOUND) {
        ret->bytes = 0;
        return NULL;
    }
    if (result != CUDA_SUCCESS)
        return "the driver does not tell where its variables are";
    (void)spw_driver.cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, ret->original);
    if (is_managed)
        return "the host may write its variables";
    result = ask(is_library, twin, name, &ret->twin, &twin_bytes);
    return result == CUDA_SUCCESS && twin_bytes == ret->bytes ? NULL : "a second instance of it has other variables";
}

static int by_address(const void *a, const void *b)
{
    const struct spw_variable_piece *x = a, *y = b;
    return x->original < y->original ? -1 : x->original > y->original;
}

/* Joins neighbours that lie alike in both modules into one piece. */
static void join(struct spw_variables *v)
{
    uint32_t count = 0;
    qsort(v->pieces, v->count, sizeof(*v->pieces), by_address);
    for (uint32_t i = 0; i < v->count; i++) {
        const struct spw_variable_piece *p = &v->pieces[i];
        struct spw_variable_piece *last = count ? &v->pieces[count - 1] : NULL;
        const CUdeviceptr ahead = last ? p->original - last->original : 0;
        if (last && ahead < last->bytes + GAP && p->twin - last->twin == ahead)
            last->bytes = ahead + p->bytes > last->bytes ? ahead + p->bytes : last->bytes;
        else
            v->pieces[count++] = *p;
    }
    v->count = count;
}

static const char *lay_out(struct spw_variables *v)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < v->count; i++) {
        struct spw_variable_piece *p = &v->pieces[i];
        if (p->bytes > SPW_VARIABLES_MAX_BYTES || bytes > SPW_VARIABLES_MAX_BYTES)
            break;
        p->offset = (uint32_t)(bytes + p->original % ALIGNMENT);
        bytes = (p->offset + p->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        v->bytes = (uint32_t)bytes;
        if (i + 1 == v->count && bytes <= SPW_VARIABLES_MAX_BYTES)
            return NULL;
    }
    return "its variables are too large to be saved with each launch";
}

const char *spw_variables_find(const struct spw_globals *names, bool is_library, void *original, void *twin,
                               struct spw_variables **ret_variables)
{
    const char *why = NULL;
    struct spw_variables *v = calloc(1, sizeof(*v) + names->count * sizeof(*v->pieces));
    *ret_variables = NULL;
    if (!v)
        return "there was no memory for a list of its variables";
    for (uint32_t i = 0; i < names->count && !why; i++) {
        if (names->list[i].is_constant)
            continue;
        why = find(names->list[i].name, is_library, original, twin, &v->pieces[v->count]);
        v->may_hold_addresses |= !why && v->pieces[v->count].bytes >= sizeof(CUdeviceptr);
        v->count += !why && v->pieces[v->count].bytes;
    }
    if (!why && v->count) {
        join(v);
        why = lay_out(v);
    }
    if (why || !v->count)
        free(v);
    else
        *ret_variables = v;
    return why;
}

void spw_variables_free(struct spw_variables *v)
{
    free(v);
}
