/* structs.c - fills in what a launch passes with nothing but what it uses of the structures that are known. */
#include "structs.h"

#include <stdlib.h>

/* A launch as the kinds see it. */
struct launch {
    const unsigned *grid;
    const unsigned char *first; /* what it gives for the first parameter */
};

struct spw_struct_kind {
    bool (*recognise)(const char *name, const struct spw_param *params, unsigned param, struct spw_struct *ret);
    /* To where there are zeros. False: the structure is not as it should be, and nothing was copied. */
    bool (*copy_used)(const struct spw_struct *s, const struct launch *launch, const unsigned char *from, unsigned char *to);
};

/* ---- kinds ---- */

static bool is_lists(const char *name, const struct spw_param *params, unsigned param, struct spw_struct *ret)
{
    return param == 0 && spw_lists_recognise(name, params[param].size_bytes, &ret->lists);
}

static bool copy_lists(const struct spw_struct *s, const struct launch *launch, const unsigned char *from, unsigned char *to)
{
    return spw_lists_copy_used(&s->lists, launch->grid, from, to);
}

static bool is_inputs(const char *name, const struct spw_param *params, unsigned param, struct spw_struct *ret)
{
    return param == 1 && spw_inputs_recognise(name, params[param].size_bytes, &ret->inputs);
}

static bool copy_inputs(const struct spw_struct *s, const struct launch *launch, const unsigned char *from,
                        unsigned char *to)
{
    return spw_inputs_copy_used(&s->inputs, launch->grid, from, to);
}

static bool is_info(const char *name, const struct spw_param *params, unsigned param, struct spw_struct *ret)
{
    return spw_info_recognise(name, params[param].size_bytes, &ret->info);
}

static bool copy_info(const struct spw_struct *s, const struct launch *launch, const unsigned char *from, unsigned char *to)
{
    (void)launch;
    return spw_info_copy_used(&s->info, from, to);
}

static bool is_calculator(const char *name, const struct spw_param *params, unsigned param, struct spw_struct *ret)
{
    return param == 1 && params[0].size_bytes == sizeof(uint32_t) &&
           spw_calculator_recognise(name, params[param].size_bytes, &ret->calculator);
}

static bool copy_calculator(const struct spw_struct *s, const struct launch *launch, const unsigned char *from,
                            unsigned char *to)
{
    uint32_t elements;
    memcpy(&elements, launch->first, sizeof(elements));
    return spw_calculator_copy_used(&s->calculator, elements, from, to);
}

static bool is_result(const char *name, const struct spw_param *params, unsigned param, struct spw_struct *ret)
{
    return param == 2 && spw_result_recognise(name, params[param].size_bytes, &ret->inputs);
}

static bool copy_result(const struct spw_struct *s, const struct launch *launch, const unsigned char *from,
                        unsigned char *to)
{
    (void)launch;
    return spw_result_copy_used(&s->inputs, from, to);
}

static bool is_reduction(const char *name, const struct spw_param *params, unsigned param, struct spw_struct *ret)
{
    return param == 0 && spw_reduction_recognise(name, params[param].size_bytes, &ret->reduction);
}

static bool copy_reduction(const struct spw_struct *s, const struct launch *launch, const unsigned char *from,
                           unsigned char *to)
{
    (void)launch;
    return spw_reduction_copy_used(&s->reduction, from, to);
}

static const struct spw_struct_kind kinds[] = {{is_lists, copy_lists},   {is_inputs, copy_inputs},
                                               {is_info, copy_info},     {is_calculator, copy_calculator},
                                               {is_result, copy_result}, {is_reduction, copy_reduction}};

bool spw_struct_recognise(const char *name, const struct spw_param *params, unsigned count, unsigned param,
                          struct spw_struct *ret)
{
    *ret = (struct spw_struct){.param = (uint16_t)param};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && param < count; i++)
        if (kinds[i].recognise(name, params, param, ret)) {
            ret->kind = &kinds[i];
            return true;
        }
    return false;
}

/* ---- launches ---- */

/* The parts of a spw_filled, in one piece of memory. */
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
        if (s->kind->copy_used(s, launch, params[s->param], to)) {
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
        if (s->kind->copy_used(s, launch, buffer + p->offset_bytes, f->image + p->offset_bytes))
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
