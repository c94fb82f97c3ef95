/* seek_losses.c - goes through the words that were read back, part by part. */
#include "seek_losses.h"

#include "allocation.h"
#include "ledger.h"
#include "lock.h"
#include "outside.h"
#include "ranges.h"

/* True if something lies there, or has lain there. */
static bool was_given_locked(CUdeviceptr address)
{
    const struct spw_device *d = spw_device_of_address(address);
    return d && (address - d->arena) >> d->granule_shift < spw_ranges_reach(d->ranges);
}

static bool accounts_for_locked(CUdeviceptr word)
{
    struct spw_allocation a;
    CUdeviceptr low, extent;
    if (spw_in_arena(word))
        return !was_given_locked(word) || spw_content_at_locked(word, &a);
    return spw_outside_extent(&low, &extent) && word - low < extent;
}

static bool is_told(const struct spw_seek_losses *l, uint64_t part)
{
    return !l->answer || l->answer->part[part];
}

void spw_seek_losses_begin(struct spw_seek_losses *losses, const struct spw_seek_answer *answer, CUdeviceptr address,
                           uint64_t bytes)
{
    *losses = (struct spw_seek_losses){answer, address, spw_seek_shift(bytes), UINT64_MAX, .is_accounted = true};
}

void spw_seek_losses_read_locked(struct spw_seek_losses *losses, CUdeviceptr at, const CUdeviceptr *word, uint64_t count)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t part = (at + i * sizeof(*word) - losses->address) >> losses->shift;
        if (part != losses->part) {
            losses->any |= !losses->is_accounted;
            losses->part = part;
            losses->is_accounted = !is_told(losses, part);
        }
        if (!losses->is_accounted)
            losses->is_accounted = accounts_for_locked(word[i]);
    }
}

bool spw_seek_losses_end(struct spw_seek_losses *losses)
{
    losses->any |= !losses->is_accounted;
    losses->is_accounted = true;
    return losses->any;
}
