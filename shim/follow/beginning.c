/* beginning.c - finds the iteration that begins with an operation. */
#include "beginning.h"

enum {
    ALIKE = 16, /* a difference of one part in so many counts as none */
};

static uint32_t first_of_backbone(const struct spw_course *course)
{
    uint32_t op = 0;
    while (op < course->op_count && !course->ops[op].backbone)
        op++;
    return op;
}

/* Returns the bytes that the iteration allocates before its first operation of the backbone: they may be allocated
 * already. */
static uint64_t bytes_before(const struct spw_course *course, uint32_t first)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < course->ops[first].first_alloc; i++)
        bytes += course->tensors[course->live_count + i].bytes;
    return bytes;
}

bool spw_beginning_left(const struct spw_plan_executor *on)
{
    struct spw_beginning *b = &on->now->beginning;
    const bool is_far = on->place.cursor.op > on->now->course->op_count / ALIKE;
    b->misses += b->is_guessed && is_far;
    b->is_guessed = false;
    b->is_known = true;
    b->live_bytes = on->live_bytes;
    b->made_bytes = on->made_bytes;
    return !is_far;
}

void spw_beginning_proved(struct spw_tuned_iterations *iterations, struct spw_tuned_iteration *tuned, uint32_t left)
{
    struct spw_tuned_iteration *before = left ? spw_tuned_iterations_find(iterations, left) : NULL;
    tuned->beginning.misses = 0;
    tuned->beginning.is_guessed = false;
    if (before)
        before->beginning.next = tuned->id;
}

bool spw_beginning_is_doubted(const struct spw_tuned_iteration *tuned)
{
    return tuned->beginning.misses > 0;
}

static bool begins(const struct spw_course *course, const struct spw_beginning *b, uint64_t key, uint64_t live_bytes)
{
    const uint32_t first = first_of_backbone(course);
    if (first == course->op_count || course->ops[first].key != key)
        return false;
    const uint64_t most = b->made_bytes / ALIKE + bytes_before(course, first);
    return (live_bytes > b->live_bytes ? live_bytes - b->live_bytes : b->live_bytes - live_bytes) <= most;
}

static bool may_begin(const struct spw_tuned_iteration *tuned, uint64_t key, uint64_t live_bytes)
{
    const struct spw_beginning *b = &tuned->beginning;
    return tuned->course && b->is_known && b->misses == 0 && begins(tuned->course, b, key, live_bytes);
}

bool spw_beginning_comes_again(const struct spw_plan_executor *on, uint64_t key)
{
    const struct spw_beginning now = {.live_bytes = on->live_bytes, .made_bytes = on->made_bytes};
    return begins(on->now->course, &now, key, on->device->live_bytes);
}

struct spw_tuned_iteration *spw_beginning_find(struct spw_tuned_iterations *iterations, uint32_t left, uint64_t key,
                                               uint64_t live_bytes)
{
    const struct spw_tuned_iteration *before = left ? spw_tuned_iterations_find(iterations, left) : NULL;
    struct spw_tuned_iteration *found = NULL, *same = NULL;
    for (unsigned i = 0; i < iterations->count; i++) {
        struct spw_tuned_iteration *it = &iterations->list[i];
        if (!may_begin(it, key, live_bytes))
            continue;
        if (before && it->id == before->beginning.next)
            return it;
        if (it == before)
            same = it;
        if (!found || it->last_used > found->last_used)
            found = it;
    }
    return same ? same : found;
}
