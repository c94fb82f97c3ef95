/* kernel_types.c - applies the types of parameters to the hits of a launch. */
#include "kernel_types.h"

#include <string.h>

#include "elementwise.h"

enum { MOST = 64 };

void spw_kernel_types_read(const char *name, const struct spw_layout *layout, struct spw_kernel_types *ret_types)
{
    enum spw_pointee pointees[MOST];
    const unsigned count = spw_signature_read(name, pointees, MOST);
    *ret_types = (struct spw_kernel_types){.tensors = spw_elementwise_tensors(name, layout->params, layout->param_count)};
    for (unsigned i = 0; i < count && count == layout->param_count; i++) {
        ret_types->constant |= (uint64_t)(pointees[i] == SPW_POINTEE_CONST) << i;
        ret_types->mutable |= (uint64_t)(pointees[i] == SPW_POINTEE_MUTABLE) << i;
    }
}

static void declare(struct spw_declared *d, bool constant, bool mutable, unsigned hit)
{
    if (hit >= 64)
        return;
    d->constant |= (uint64_t)constant << hit;
    d->mutable |= (uint64_t) mutable << hit;
}

static bool is_left_out(struct spw_no_hits except, size_t offset)
{
    for (unsigned i = 0; i < except.count; i++)
        if (except.words[i] * sizeof(CUdeviceptr) == offset)
            return true;
    return false;
}

/* The addresses in longer parameters follow as hits, in their order. */
static void declare_tensors(const struct spw_kernel_types *types, const struct spw_layout *layout, void *const *params,
                            CUdeviceptr low, CUdeviceptr extent, struct spw_no_hits except, unsigned hit,
                            struct spw_declared *ret_declared)
{
    CUdeviceptr word;
    for (int i = 0; i <= types->tensors; i++) {
        const struct spw_param *p = &layout->params[i];
        const size_t step = (p->offset_bytes | p->size_bytes) % 8 ? 4 : 8;
        const size_t bytes = spw_layout_is_number(layout, (unsigned)i) ? 0 : p->size_bytes;
        for (size_t at = 0; bytes > sizeof(word) && at + sizeof(word) <= bytes; at += step) {
            memcpy(&word, (const char *)params[i] + at, sizeof(word));
            if (word - low < extent && !is_left_out(except, p->offset_bytes + at))
                declare(ret_declared, i == types->tensors && at, i == types->tensors && !at, hit++);
        }
    }
}

void spw_kernel_types_of_hits(const struct spw_kernel_types *types, const struct spw_layout *layout, void *const *params,
                              CUdeviceptr low, CUdeviceptr high, struct spw_no_hits except,
                              struct spw_declared *ret_declared)
{
    unsigned hit = 0;
    *ret_declared = (struct spw_declared){0};
    for (unsigned k = 0; k < layout->word_count; k++) {
        const unsigned i = layout->words[k];
        CUdeviceptr word;
        memcpy(&word, params[i], sizeof(word));
        if (word - low < high - low)
            declare(ret_declared, i < 64 && types->constant >> i & 1, i < 64 && types->mutable >> i & 1, hit++);
    }
    declare_tensors(types, layout, params, low, high - low, except, hit, ret_declared);
}
