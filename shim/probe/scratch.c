/* scratch.c - computes the memory for trials: enough for a launch of each kind, up to a fifth of the budget. */
#include "scratch.h"

#include <stdlib.h>

#include "probe_snapshot.h"
#include "course/course.h"
#include "digest.h"
#include "reclaim.h"

static uint64_t touched_bytes(const struct spw_course *course, uint32_t op)
{
    uint64_t bytes = 0;
    const struct spw_course_op *o = &course->ops[op];
    for (uint32_t i = 0; i < o->touch_count; i++)
        bytes += spw_probe_snapshot_rounded(course->tensors[course->touches[o->first_touch + i].tensor].bytes);
    return bytes;
}

/* Returns what a trial of the operation puts aside: tensors that have contents before it count twice. */
static uint64_t tried_bytes(const struct spw_course *course, uint32_t op)
{
    uint64_t bytes = touched_bytes(course, op);
    const struct spw_course_op *o = &course->ops[op];
    for (uint32_t i = 0; i < o->touch_count; i++) {
        const uint32_t tensor = course->touches[o->first_touch + i].tensor;
        const bool is_fresh = tensor >= course->live_count && course->tensors[tensor].first_use == op;
        bytes += is_fresh ? 0 : spw_probe_snapshot_rounded(course->tensors[tensor].bytes);
    }
    return bytes;
}

/* Returns the budget without what digests take of it. */
static uint64_t budget_of(const struct spw_device *d)
{
    const uint64_t ring = spw_digests_bytes_locked(d) ? 0 : SPW_DIGEST_SLOTS * sizeof(struct spw_hash);
    return d->handles.budget_bytes > ring ? d->handles.budget_bytes - ring : 0;
}

/* Returns the bytes that its tensors are mapped to, without small ones, which lie in slabs. */
static uint64_t mapped_bytes(const struct spw_device *d, const struct spw_course *course, uint32_t op)
{
    const uint64_t granule = (uint64_t)1 << d->granule_shift;
    const struct spw_course_op *o = &course->ops[op];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < o->touch_count; i++) {
        const uint64_t tensor = course->tensors[course->touches[o->first_touch + i].tensor].bytes;
        bytes += tensor < d->small_bytes ? 0 : (tensor + granule - 1) & ~(granule - 1);
    }
    return bytes;
}

/* Returns what the largest operation needs, plus what stays on the device anyway. */
static uint64_t needed_bytes(const struct spw_device *d, const struct spw_course *course)
{
    uint64_t most = 0;
    for (uint32_t o = 0; o < course->op_count; o++) {
        const uint64_t bytes = mapped_bytes(d, course, o);
        most = bytes > most ? bytes : most;
    }
    return most + spw_reclaim_unmovable_bytes_locked(d);
}

struct sized { /* an operation, and the bytes that a trial puts aside */
    uint64_t function, bytes;
    uint32_t hits;
};

static int by_kind(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    if (x->hits != y->hits)
        return x->hits < y->hits ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Returns the bytes that are enough to try the smallest launch of each kind; kinds that take more than `limit` are left
 * out. Two kinds may look alike here (they differ in which parameters are addresses), but then their sizes hardly
 * differ. */
static uint64_t bytes_for_each_kind(const struct spw_course *course, uint64_t limit)
{
    struct sized *list = calloc((size_t)course->op_count + 1, sizeof(*list));
    uint64_t most = 0;
    for (uint32_t o = 0; list && o < course->op_count; o++)
        list[o] = (struct sized){course->calls[o].function, tried_bytes(course, o), course->calls[o].hit_count};
    if (list)
        qsort(list, course->op_count, sizeof(*list), by_kind);
    for (uint32_t o = 0; list && o < course->op_count; o++) {
        const bool is_first = o == 0 || list[o].function != list[o - 1].function || list[o].hits != list[o - 1].hits;
        if (is_first && list[o].function && list[o].bytes <= limit && list[o].bytes > most)
            most = list[o].bytes;
    }
    free(list);
    return most;
}

uint64_t spw_scratch_bytes_locked(const struct spw_device *d, const struct spw_course *course)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint64_t slots = 1 << 20, limit = budget_of(d) / SPW_SCRATCH_SHARE;
    const uint64_t useful = bytes_for_each_kind(course, limit);
    return useful + slots < limit ? useful + slots : limit;
}

bool spw_scratch_leaves_room_locked(const struct spw_device *d, const struct spw_course *course)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return needed_bytes(d, course) <= budget_of(d);
}
