/* slots.c - computes classes of sizes, and the slabs that a sequence of allocations needs. */
#include "plan/slots.h"

enum { CLASS_STEP = 256, LINEAR_CLASSES = 8, SLOTS_WANTED = 8, FEW = 256 };

#define SLAB_LEAST_BYTES ((size_t)64 << 10)

unsigned spw_slot_class(size_t bytes)
{
    size_t units = (bytes + CLASS_STEP - 1) / CLASS_STEP;
    if (units <= LINEAR_CLASSES)
        return (unsigned)units - 1;
    unsigned top = 63 - (unsigned)__builtin_clzll(units - 1);
    unsigned quarter = (unsigned)((units - 1) >> (top - 2)) & 3;
    return LINEAR_CLASSES + (top - 3) * 4 + quarter;
}

size_t spw_slot_class_bytes(unsigned c)
{
    if (c < LINEAR_CLASSES)
        return (size_t)(c + 1) * CLASS_STEP;
    unsigned top = (c - LINEAR_CLASSES) / 4 + 3, quarter = (c - LINEAR_CLASSES) % 4;
    return ((((size_t)4 + quarter + 1) << (top - 2))) * CLASS_STEP; /* NOLINT(clang-analyzer-core.*): top is at most 64 */
}

size_t spw_slot_slab_bytes(size_t granule, size_t bytes)
{
    size_t wanted = spw_slot_class_bytes(spw_slot_class(bytes)) * SLOTS_WANTED;
    if (wanted < SLAB_LEAST_BYTES && granule < SLAB_LEAST_BYTES)
        wanted = SLAB_LEAST_BYTES;
    return (wanted + granule - 1) / granule * granule;
}

bool spw_slot_is_shared(size_t slab_bytes, size_t bytes)
{
    return slab_bytes > FEW * spw_slot_class_bytes(spw_slot_class(bytes));
}

unsigned spw_slot_class_end(size_t granule, size_t bytes)
{
    const bool is_shared = spw_slot_is_shared(spw_slot_slab_bytes(granule, bytes), bytes);
    return is_shared ? SPW_SLOT_CLASSES : spw_slot_class(bytes) + 1;
}

unsigned spw_slot_wide_class(size_t slab_bytes)
{
    return spw_slot_class(slab_bytes / FEW);
}

unsigned spw_slot_class_of_new(size_t slab_bytes, size_t bytes, bool has_wide)
{
    return spw_slot_is_shared(slab_bytes, bytes) && !has_wide ? spw_slot_wide_class(slab_bytes) : spw_slot_class(bytes);
}

unsigned spw_slots_take(struct spw_slots *slots, size_t bytes)
{
    const unsigned end = spw_slot_class_end(slots->granule_bytes, bytes);
    for (unsigned c = spw_slot_class(bytes); c < end; c++)
        if (slots->free[c]) {
            slots->free[c]--;
            return c;
        }
    const size_t slab_bytes = spw_slot_slab_bytes(slots->granule_bytes, bytes);
    const unsigned c = spw_slot_class_of_new(slab_bytes, bytes, slots->has[spw_slot_wide_class(slab_bytes)]);
    slots->bytes += slab_bytes;
    slots->has[c] = true;
    slots->free[c] += slab_bytes / spw_slot_class_bytes(c) - 1;
    return c;
}

void spw_slots_give(struct spw_slots *slots, unsigned class)
{
    slots->free[class]++;
}
