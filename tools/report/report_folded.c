/* report_folded.c - writes stacks with a number, for flame graphs. */
#include <errno.h>
#include <stdlib.h>

#include "live.h"
#include "report.h"

static uint64_t start_of(const struct model *m, uint32_t op)
{
    return m->timed ? m->iteration[op].start_ns : m->iteration[op].time_ns - m->iteration[0].time_ns;
}

/* Returns the seconds from before operation `first` to after `last`. */
static double seconds_between(const struct model *m, uint32_t first, uint32_t last)
{
    uint64_t end = last + 1 < m->iteration_count ? start_of(m, last + 1) : m->iteration_ns, start = start_of(m, first);
    return end > start ? (double)(end - start) / 1e9 : 0;
}

static double weigh(const struct model *m, const struct model_tensor *t, enum report_weight weight)
{
    double bytes = (double)t->bytes;
    switch (weight) {
    case REPORT_PEAK_BYTES:
        return t->alloc_before <= m->peak_at && t->free_after >= m->peak_at ? bytes : 0;
    case REPORT_BYTE_SECONDS:
        return bytes * seconds_between(m, t->alloc_before, t->free_after);
    default:
        return bytes * (double)t->longest_idle_ns / 1e9;
    }
}

/* Prints a frame without semicolons, which separate frames, and newlines, which separate stacks. */
static void put_frame(const char *text, FILE *to)
{
    for (const char *at = text; *at; at++)
        fputc(*at == ';' || *at == '\n' ? ':' : *at, to);
}

static void put_stack(struct model *m, uint32_t site, double weight, FILE *to)
{
    const uint32_t count = site ? m->sites[site].count : 0;
    if (count == 0)
        fputs("unknown", to);
    for (uint32_t k = count; k-- > 0;) {
        put_frame(model_frame_text(m, m->sites[site].frames[k]), to);
        if (k)
            fputc(';', to);
    }
    fprintf(to, " %.0f\n", weight);
}

int report_folded(struct model *m, enum report_weight weight, FILE *to)
{
    double *by_site = calloc(m->site_count + 1, sizeof(*by_site));
    if (!by_site)
        return -ENOMEM;
    for (uint32_t i = 0; i < m->tensor_count; i++) {
        const struct model_tensor *t = &m->tensors[i];
        if (live_is_of_device(t->kind))
            by_site[t->site == MODEL_NONE ? 0 : t->site] += weigh(m, t, weight);
    }
    for (uint32_t s = 0; s <= m->site_count; s++)
        if (by_site[s] >= 0.5)
            put_stack(m, s, by_site[s], to);
    free(by_site);
    return shown_end(to);
}
