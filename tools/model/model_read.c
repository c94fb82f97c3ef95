/* model_read.c - reads a trace in two passes, and returns the model. */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model_parts.h"
#include "site_names.h"
#include "symbols.h"

struct reading {
    const struct model_options *options;
    uint64_t before, all; /* bytes of the previous pass, and of both */
};

static void progress(void *context, uint64_t bytes)
{
    const struct reading *r = context;
    if (r->options->progress)
        r->options->progress(r->options->context, r->before + bytes, r->all);
}

static uint32_t count_timed(const struct model_run *run, const struct model_span *span)
{
    uint32_t n = 0;
    for (uint64_t op = span->first; op < span->end; op++)
        n += model_run_is_timed(run, op);
    return n;
}

/* Returns how informative an iteration is: the share of its operations that are timed counts most, then how many
 * iterations of the run are like it, then whether it has the usual length. */
static double worth(const struct model *m, const struct model_run *run, const struct model_span *span)
{
    const uint64_t length = span->end - span->first, usual = m->shapes[span->shape].length,
                   times = m->shapes[span->shape].count;
    const double timed = run->timed ? (double)count_timed(run, span) / (double)length : 0;
    const double unusual = (double)(length > usual ? length - usual : usual - length) / (double)usual;
    const double large =
        m->sizes_change ? (double)span->peak_bytes / (double)(m->shapes[span->shape].most_peak_bytes + 1) : 0;
    return timed + 2 * (double)(usual * times) / (double)(m->ops + 1) - unusual + large;
}

/* Chooses an iteration. Among equal ones it takes the last, since everything has warmed up by then. */
static const struct model_span *choose(const struct model *m, const struct model_run *run, uint64_t at_op)
{
    const struct model_span *best = NULL;
    double most = -1;
    for (size_t i = 0; i < run->span_count; i++) {
        const struct model_span *s = &run->spans[i];
        if (at_op != MODEL_NO_OP) {
            if (at_op >= s->first && at_op < s->end)
                return s;
            continue;
        }
        double w = worth(m, run, s);
        if (w >= most) {
            most = w;
            best = s;
        }
    }
    return best;
}

static int read_iteration(const char *path, struct model *m, const struct model_run *run, struct reading *reading)
{
    const struct model_span *span = choose(m, run, reading->options->at_op);
    struct spw_trace_reader *reader;
    struct spw_trace_problem ignored;
    if (!span || span->end - span->first >= MODEL_NONE)
        return 0;
    m->shape = span->shape;
    m->first_op = span->first;
    int r = spw_trace_open(path, &reader, &ignored);
    if (r < 0)
        return r;
    r = model_iteration_read(reader, m, span->first, span->end, progress, reading);
    spw_trace_close(reader);
    return r;
}

int model_read(const char *path, const struct model_options *options, struct model **ret_model,
               struct spw_trace_problem *ret_problem)
{
    struct spw_trace_reader *reader;
    struct model_run run;
    struct model *m = calloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    int r = spw_trace_open(path, &reader, ret_problem);
    if (r < 0) {
        free(m);
        return r;
    }
    struct reading reading = {.options = options, .all = 2 * spw_trace_size_bytes(reader)};
    r = model_run_read(reader, m, &run, options->partial, ret_problem, progress, &reading);
    reading.before = spw_trace_size_bytes(reader);
    spw_trace_close(reader);
    if (r == 0 || (r == -EBADMSG && options->partial)) {
        int second = read_iteration(path, m, &run, &reading);
        r = second < 0 ? second : r;
    }
    model_run_free(&run);
    if (r == 0 || (r == -EBADMSG && options->partial)) {
        *ret_model = m;
        return r;
    }
    model_free(m);
    return r;
}

void model_free(struct model *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->device_count; i++)
        free(m->devices[i].name);
    for (uint32_t i = 0; i < m->function_count; i++) {
        free(m->functions[i].name);
        free(m->functions[i].readable);
    }
    for (uint32_t i = 0; i < m->module_count; i++)
        free(m->modules[i].path);
    for (uint32_t i = 0; i < m->site_count; i++)
        free(m->sites[i].frames);
    for (uint32_t i = 0; i < m->refusal_count; i++)
        model_refusal_clear(&m->refusals[i]);
    void *const owned[] = {m->mode,    m->version,         m->command, m->host,   m->devices, m->functions,
                           m->modules, m->sites,           m->streams, m->shapes, m->tensors, m->iteration,
                           m->touches, m->iteration_waits, m->refusals};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        free(owned[i]);
    for (uint32_t i = 0; m->site_names && i < m->site_count; i++)
        free(m->site_names[i]);
    free(m->site_names);
    symbols_destroy(m->symbols);
    free(m);
}

/* Lists the sites of the iteration's tensors that have a stack, each once. Returns their number. */
static size_t take_stacks(struct model *m, struct site_stack *list)
{
    size_t count = 0;
    bool *taken = calloc(m->site_count + 1, sizeof(*taken));
    for (uint32_t i = 0; taken && i < m->tensor_count; i++) {
        const uint32_t site = m->tensors[i].site;
        if (site == MODEL_NONE || site >= m->site_count || m->sites[site].count == 0 || taken[site])
            continue;
        taken[site] = true;
        if (site_stack_take(m, site, &list[count]) == 0)
            count++;
    }
    free(taken);
    return count;
}

/* Without memory for a name, the site has its text only. */
static void name_sites(struct model *m)
{
    struct site_stack *list = calloc(m->site_count + 1, sizeof(*list));
    m->site_names = calloc(m->site_count + 1, sizeof(*m->site_names));
    size_t count = list && m->site_names ? take_stacks(m, list) : 0;
    (void)site_names(list, count);
    for (size_t i = 0; i < count; i++) {
        m->site_names[list[i].site] = list[i].name;
        free(list[i].frames);
    }
    free(list);
}

const char *model_site_name(struct model *m, uint32_t site)
{
    if (!m->site_names)
        name_sites(m);
    const char *name = m->site_names && site < m->site_count ? m->site_names[site] : NULL;
    return name ? name : model_site_text(m, site);
}
