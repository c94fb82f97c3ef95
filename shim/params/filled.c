/* filled.c - copies a launch's parameters, with zeros in place of the unused parts of known structures. */
#include "filled.h"

#include <stdlib.h>

/* A launch as the kinds of structures see it. */
struct launch {
    const unsigned *grid;
    const unsigned char *first; /* its first parameter */
};

/* A spw_filled with its parts, in one allocation. */
struct filled {
    struct spw_filled filled;
    void *extra[5];
    size_t bytes; /* of the packed buffer */
    _Alignas(16) unsigned char image[];
};

static size_t room_of(const struct spw_layout *layout, const struct spw_struct *s)
{
    return ((size_t)layout->params[s->param].size_bytes + 15) & ~(size_t)15;
}

static struct filled *fill_plain(const struct spw_layout *layout, const struct launch *launch, void *const *params)
{
    size_t bytes = 0;
    bool any = false;
    for (unsigned i = 0; i < layout->struct_count; i++)
        bytes += room_of(layout, &layout->structs[i]);
    struct filled *f = malloc(sizeof(*f) + bytes + layout->param_count * sizeof(void *));
    if (!f)
        return NULL;
    f->filled.extra = NULL;
    f->filled.params = (void **)(f->image + bytes);
    memcpy(f->filled.params, params, layout->param_count * sizeof(void *));
    unsigned char *to = f->image;
    for (unsigned i = 0; i < layout->struct_count; i++) {
        const struct spw_struct *s = &layout->structs[i];
        memset(to, 0, room_of(layout, s));
        if (spw_struct_copy_used(s, launch->grid, launch->first, params[s->param], to)) {
            f->filled.params[s->param] = to;
            any = true;
        }
        to += room_of(layout, s);
    }
    if (any)
        return f;
    free(f);
    return NULL;
}

static struct filled *fill_packed(const struct spw_layout *layout, const struct launch *launch, const unsigned char *buffer,
                                  size_t bytes)
{
    bool any = false;
    struct filled *f = malloc(sizeof(*f) + bytes);
    if (!f)
        return NULL;
    f->filled.params = NULL;
    f->filled.extra = f->extra;
    f->bytes = bytes;
    memcpy(
        f->extra,
        ((void *[]){CU_LAUNCH_PARAM_BUFFER_POINTER, f->image, CU_LAUNCH_PARAM_BUFFER_SIZE, &f->bytes, CU_LAUNCH_PARAM_END}),
        sizeof(f->extra));
    memcpy(f->image, buffer, bytes);
    for (unsigned i = 0; i < layout->struct_count; i++) {
        const struct spw_struct *s = &layout->structs[i];
        const struct spw_param *p = &layout->params[s->param];
        memset(f->image + p->offset_bytes, 0, p->size_bytes);
        if (spw_struct_copy_used(s, launch->grid, launch->first, buffer + p->offset_bytes, f->image + p->offset_bytes))
            any = true;
        else
            memcpy(f->image + p->offset_bytes, buffer + p->offset_bytes, p->size_bytes);
    }
    if (any)
        return f;
    free(f);
    return NULL;
}

struct spw_filled *spw_structs_filled(const struct spw_layout *layout, const unsigned grid[3], void *const *params,
                                      void *const *extra)
{
    const bool packed = extra && extra[0] != CU_LAUNCH_PARAM_END;
    const void *buffer = NULL;
    size_t bytes = 0;
    if (packed ? params || spw_scan_buffer(extra, &buffer, &bytes) < 0 || bytes < layout->image_bytes : !params)
        return NULL;
    const struct launch launch = {grid, packed ? (const unsigned char *)buffer + layout->params[0].offset_bytes : params[0]};
    struct filled *f = packed ? fill_packed(layout, &launch, buffer, bytes) : fill_plain(layout, &launch, params);
    return f ? &f->filled : NULL;
}
