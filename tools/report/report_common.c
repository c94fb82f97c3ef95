/* report_common.c - what all forms of a report say alike. */
#include <errno.h>
#include <stdlib.h>

#include "live.h"
#include "report.h"

const char *report_bytes(uint64_t bytes, char *buffer)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double x = (double)bytes;
    unsigned u = 0;
    for (; x >= 1024 && u < 4; u++)
        x /= 1024;
    snprintf(buffer, 32, u && x < 100 ? "%.1f %s" : "%.0f %s", x, units[u]);
    return buffer;
}

const char *report_time(uint64_t ns, char *buffer)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double x = (double)ns;
    unsigned u = 0;
    for (; x >= 1000 && u < 3; u++)
        x /= 1000;
    snprintf(buffer, 32, u ? "%.2f %s" : "%.0f %s", x, units[u]);
    return buffer;
}

const char *report_op_name(const struct model *m, const struct model_op *op)
{
    static const char *const names[SPW_OP_KINDS] = {[SPW_OP_LAUNCH] = "unknown kernel",
                                                    [SPW_OP_GRAPH] = "graph",
                                                    [SPW_OP_COPY_H2D] = "copy host to device",
                                                    [SPW_OP_COPY_D2H] = "copy device to host",
                                                    [SPW_OP_COPY_D2D] = "copy on the device",
                                                    [SPW_OP_COPY_H2H] = "copy on the host",
                                                    [SPW_OP_SET] = "set",
                                                    [SPW_OP_HOST_FUNCTION] = "host function",
                                                    [SPW_OP_VALUE] = "wait for or write a word"};
    const char *readable = op->function != MODEL_NONE ? m->functions[op->function].readable : NULL;
    return readable ? readable : names[op->kind];
}

int report_end(FILE *to)
{
    if (fflush(to) != 0)
        return -errno;
    if (!ferror(to))
        return 0;
    errno = 0; /* by now that of another call: the stream is asked again */
    return fputc('\n', to) == EOF || fflush(to) != 0 ? errno ? -errno : -EIO : -EIO;
}

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
