/* structs.c - the table of known kinds of structures. */
#include "structs.h"

#include <string.h>

/* A launch as the kinds see it. */
struct launch {
    const unsigned *grid;
    const unsigned char *first; /* its first parameter */
};

struct spw_struct_kind {
    bool (*recognise)(const char *name, const struct spw_param *params, unsigned param, struct spw_struct *ret);
    /* Copies to memory that is all zero. Returns false, and copies nothing, if the structure is not as expected. */
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

bool spw_struct_copy_used(const struct spw_struct *s, const unsigned grid[3], const unsigned char *first,
                          const unsigned char *from, unsigned char *to)
{
    const struct launch launch = {grid, first};
    return s->kind->copy_used(s, &launch, from, to);
}
