/* module_variables.c - the list of variables, and copies into a twin. */
#include "module_variables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "ask.h"
#include "result.h"
#include "streams.h"

int spw_module_variables_add(struct spw_module_variable **list, const char *name, CUcontext context, CUdeviceptr address,
                             size_t bytes)
{
    struct spw_module_variable *v = calloc(1, sizeof(*v));
    char *own = v ? strdup(name) : NULL;
    if (!own) {
        free(v);
        return -ENOMEM;
    }
    *v = (struct spw_module_variable){own, context, address, bytes, false, false, *list};
    *list = v;
    return 0;
}

struct spw_module_variable *spw_module_variables_find(struct spw_module_variable *list, CUdeviceptr address)
{
    struct spw_module_variable *v = list;
    while (v && v->address != address)
        v = v->next;
    return v;
}

void spw_module_variables_free(struct spw_module_variable **list, const CUcontext *of)
{
    for (struct spw_module_variable **link = list; *link;) {
        struct spw_module_variable *v = *link;
        if (of && v->context != *of) {
            link = &v->next;
            continue;
        }
        *link = v->next;
        free(v->name);
        free(v);
    }
}

bool spw_module_variables_write(struct spw_module_variable *list, CUdeviceptr address, size_t bytes)
{
    bool any = false;
    for (struct spw_module_variable *v = list; v; v = v->next)
        if (spw_module_variable_overlaps(v, address, bytes))
            any = v->is_written = v->is_being_written = true;
    return any;
}

void spw_module_variables_written(struct spw_module_variable *list)
{
    for (struct spw_module_variable *v = list; v; v = v->next)
        v->is_being_written = false;
}

bool spw_module_variables_being_written(const struct spw_module_variable *list, bool or_written)
{
    const struct spw_module_variable *v = list;
    while (v && !v->is_being_written && !(or_written && v->is_written))
        v = v->next;
    return v;
}

static int address_there(const struct spw_module_variable *v, void *handle, bool is_library, CUdeviceptr *ret_address)
{
    size_t bytes = 0;
    const int r = spw_result(is_library ? SPW_ASK(cuLibraryGetGlobal, ret_address, &bytes, handle, v->name)
                                        : SPW_ASK(cuModuleGetGlobal_v2, ret_address, &bytes, handle, v->name));
    return r == 0 && bytes != v->bytes ? -ESTALE : r;
}

int spw_module_variables_copy(const struct spw_module_variable *list, CUcontext context, void *handle, bool is_library,
                              const struct spw_stream *s)
{
    int r = 0;
    for (const struct spw_module_variable *v = list; v && r == 0; v = v->next) {
        CUdeviceptr to = 0;
        if (!v->is_written || v->context != context)
            continue;
        r = address_there(v, handle, is_library, &to);
        if (r == 0)
            r = spw_result(SPW_ASK(cuMemcpyDtoDAsync_v2, to, v->address, v->bytes, s->handle));
    }
    return r;
}

bool spw_holds_addresses(const void *from, size_t bytes)
{
    CUdeviceptr word;
    for (size_t at = 0; at + sizeof(word) <= bytes; at += 4) {
        memcpy(&word, (const char *)from + at, sizeof(word));
        if (spw_in_arena(word))
            return true;
    }
    return false;
}

bool spw_may_change_yet(const void *from)
{
    CUmemorytype type;
    return SPW_ASK_QUIETLY(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)from) ==
           CUDA_SUCCESS;
}
