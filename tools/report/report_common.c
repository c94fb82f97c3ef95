/* report_common.c - computes what several forms of a report need. */
#include <stdlib.h>

#include "live.h"
#include "report.h"

static const struct model *sorting;

static int by_size(const void *a, const void *b)
{
    const struct model_tensor *x = &sorting->tensors[*(const uint32_t *)a], *y = &sorting->tensors[*(const uint32_t *)b];
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes ? 1 : x->alloc < y->alloc ? -1 : x->alloc > y->alloc;
}

uint32_t *report_at_peak(const struct model *m, uint32_t *ret_count)
{
    uint32_t *list = calloc(m->tensor_count + 1, sizeof(*list)), n = 0;
    for (uint32_t i = 0; list && i < m->tensor_count; i++) {
        const struct model_tensor *t = &m->tensors[i];
        if (live_is_of_device(t->kind) && t->alloc_before <= m->peak_at && t->free_after >= m->peak_at)
            list[n++] = i;
    }
    sorting = m;
    if (list)
        qsort(list, n, sizeof(*list), by_size);
    *ret_count = n;
    return list;
}
