/* model_share.c - divides the iteration's time among its operations, since those of several streams run at once. */
#include <errno.h>
#include <stdlib.h>

#include "model_parts.h"

static int by_start(const void *a, const void *b)
{
    const struct model_op *const *x = a, *const *y = b;
    if ((*x)->start_ns != (*y)->start_ns)
        return (*x)->start_ns < (*y)->start_ns ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

int model_share_time(struct model_op *ops, uint32_t count)
{
    struct model_op **sorted = malloc(((size_t)count + 1) * sizeof(*sorted));
    uint64_t until_ns = 0;
    if (!sorted)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = &ops[i];
    qsort(sorted, count, sizeof(*sorted), by_start);
    for (uint32_t i = 0; i < count; i++) {
        struct model_op *o = sorted[i];
        const uint64_t end_ns = o->start_ns + o->duration_ns, from_ns = o->start_ns > until_ns ? o->start_ns : until_ns;
        o->share_ns = end_ns > from_ns ? end_ns - from_ns : 0;
        until_ns = end_ns > until_ns ? end_ns : until_ns;
    }
    free(sorted);
    return 0;
}
