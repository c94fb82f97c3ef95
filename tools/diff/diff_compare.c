/* diff_compare.c - makes tables from two models: each figure, category, site and operation once, with both values. */
#include "diff_model.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "live.h"

const char *diff_match_name(enum diff_match match)
{
    static const char *const names[DIFF_MATCHES] = {"none", "frames", "functions", "size and maker"};
    return names[match];
}

static struct diff_row *named_row(struct diff_table *t, struct diff_names *rows, const char *name)
{
    struct diff_row *row = diff_table_at(t, rows, name);
    if (row && !row->name && !(row->name = strdup(name)))
        return NULL;
    return row;
}

/* ---- notes and figures ---- */

__attribute__((format(printf, 2, 3))) static int note(struct diff *d, const char *format, ...)
{
    va_list values;
    if (SPW_GROW(d->notes, d->note_room, d->note_count + 1) < 0)
        return -ENOMEM;
    va_start(values, format);
    int n = vasprintf(&d->notes[d->note_count], format, values);
    va_end(values);
    if (n < 0)
        return -ENOMEM;
    d->note_count++;
    return 0;
}

static const char *which(bool before, bool after)
{
    return before && after ? "both runs" : before ? "the run before" : "the run after";
}

static const char *device_name(const struct model *m)
{
    return m->device_count && m->devices[0].name && m->devices[0].name[0] ? m->devices[0].name : "unknown";
}

static bool same_devices(const struct model *x, const struct model *y)
{
    if (x->device_count != y->device_count)
        return false;
    for (uint32_t i = 0; i < x->device_count; i++) {
        const struct model_device *a = &x->devices[i], *b = &y->devices[i];
        if (a->total_bytes != b->total_bytes || strcmp(a->name ? a->name : "", b->name ? b->name : ""))
            return false;
    }
    return true;
}

static int take_notes(struct diff *d)
{
    const struct model *x = d->model[DIFF_BEFORE], *y = d->model[DIFF_AFTER];
    bool without[] = {x->iteration_count == 0, y->iteration_count == 0};
    int r = 0;
    if (!same_devices(x, y))
        r |= x->device_count == y->device_count
                 ? note(d, "different devices (%s, %s): times tell of the devices too", device_name(x), device_name(y))
                 : note(d, "different numbers of devices: %u before, %u after", x->device_count, y->device_count);
    if (without[0] || without[1])
        r |= note(d, "no iteration was found in %s: totals of the runs are compared, not what lives at a peak",
                  which(without[0], without[1]));
    else if (!x->timed || !y->timed)
        r |= note(d, "the operations of %s were not timed: steps have the host's times only, kernels none",
                  which(!x->timed, !y->timed));
    if (!x->ended || !y->ended)
        r |= note(d, "%s did not end, or the trace was cut off", which(!x->ended, !y->ended));
    if (x->lost || y->lost)
        r |= note(d, "the trace of %s lacks records that could not be written", which(x->lost, y->lost));
    return r;
}

static int figure(struct diff *d, const char *name, enum diff_unit unit, const uint64_t value[DIFF_SIDES],
                  const bool known[DIFF_SIDES])
{
    if (!known[0] && !known[1])
        return 0;
    if (SPW_GROW(d->figures, d->figure_room, d->figure_count + 1) < 0)
        return -ENOMEM;
    struct diff_figure *f = &d->figures[d->figure_count];
    *f = (struct diff_figure){.unit = unit, .name = strdup(name)};
    if (!f->name)
        return -ENOMEM;
    for (int s = 0; s < DIFF_SIDES; s++) {
        f->known[s] = known[s];
        f->value[s] = known[s] ? value[s] : 0;
    }
    d->figure_count++;
    return 0;
}

/* Sums up the iteration's operations and bytes of one kind. */
static void sum_kind(const struct model *m, enum spw_op_kind kind, uint64_t *ret_count, uint64_t *ret_bytes)
{
    *ret_count = *ret_bytes = 0;
    for (uint32_t i = 0; i < m->iteration_count; i++)
        if (m->iteration[i].kind == kind) {
            *ret_count += 1;
            *ret_bytes += m->iteration[i].bytes;
        }
}

enum { OPERATIONS, KERNELS, PEAK, PERSISTENT, STEP, COMPUTE, HOST_STEP, TO_DEVICE, TO_HOST, FIGURES };

static const struct {
    const char *name;
    enum diff_unit unit;
} iteration_figures[FIGURES] = {[OPERATIONS] = {"operations of an iteration", DIFF_COUNT},
                                [KERNELS] = {"kernels of an iteration", DIFF_COUNT},
                                [PEAK] = {"peak of an iteration", DIFF_BYTES},
                                [PERSISTENT] = {"lives on between iterations", DIFF_BYTES},
                                [STEP] = {"step on the device", DIFF_NS},
                                [COMPUTE] = {"compute of a step", DIFF_NS},
                                [HOST_STEP] = {"step on the host, median", DIFF_NS},
                                [TO_DEVICE] = {"copied to the device", DIFF_BYTES},
                                [TO_HOST] = {"copied to the host", DIFF_BYTES}};

static int compare_iterations(struct diff *d)
{
    uint64_t value[FIGURES][DIFF_SIDES], ignored;
    bool known[FIGURES][DIFF_SIDES];
    int r = 0;
    for (int s = 0; s < DIFF_SIDES; s++) {
        const struct model *m = d->model[s];
        for (int f = 0; f < FIGURES; f++)
            known[f][s] = true;
        known[STEP][s] = known[COMPUTE][s] = m->timed;
        value[OPERATIONS][s] = m->iteration_count;
        value[PEAK][s] = m->peak_bytes;
        value[PERSISTENT][s] = m->persistent_bytes;
        value[STEP][s] = m->iteration_ns;
        value[COMPUTE][s] = m->compute_ns;
        value[HOST_STEP][s] = m->shapes[m->shape].time_ns;
        sum_kind(m, SPW_OP_LAUNCH, &value[KERNELS][s], &ignored);
        sum_kind(m, SPW_OP_COPY_H2D, &ignored, &value[TO_DEVICE][s]);
        sum_kind(m, SPW_OP_COPY_D2H, &ignored, &value[TO_HOST][s]);
    }
    for (int f = 0; f < FIGURES && r == 0; f++)
        r = figure(d, iteration_figures[f].name, iteration_figures[f].unit, value[f], known[f]);
    return r;
}

static int compare_runs(struct diff *d)
{
    const struct model *x = d->model[DIFF_BEFORE], *y = d->model[DIFF_AFTER];
    static const bool both[] = {true, true};
#define RUN(name, unit, field) figure(d, name, unit, (uint64_t[]){x->field, y->field}, both)
    int r = RUN("operations of the run", DIFF_COUNT, ops);
    r |= RUN("kernels of the run", DIFF_COUNT, op_count[SPW_OP_LAUNCH]);
    r |= RUN("allocations of the run", DIFF_COUNT, allocs);
    r |= RUN("copied to the device", DIFF_BYTES, op_bytes[SPW_OP_COPY_H2D]);
    r |= RUN("copied to the host", DIFF_BYTES, op_bytes[SPW_OP_COPY_D2H]);
    r |= RUN("time of the run", DIFF_NS, duration_ns);
#undef RUN
    return r ? -ENOMEM : 0;
}

static int compare_devices(struct diff *d)
{
    const struct model *x = d->model[DIFF_BEFORE], *y = d->model[DIFF_AFTER];
    uint32_t count = x->device_count > y->device_count ? x->device_count : y->device_count;
    int r = 0;
    for (uint32_t i = 0; i < count && r == 0; i++) {
        char name[64];
        bool known[] = {i < x->device_count, i < y->device_count};
        uint64_t peak[] = {known[0] ? x->devices[i].peak_bytes : 0, known[1] ? y->devices[i].peak_bytes : 0};
        snprintf(name, sizeof(name), "peak of the run, device %u", known[1] ? y->devices[i].ordinal : x->devices[i].ordinal);
        r = figure(d, name, DIFF_BYTES, peak, known);
    }
    return r;
}

/* ---- tables ---- */

static int compare_categories(struct diff *d)
{
    struct diff_names rows = {0};
    int r = 0;
    for (int s = 0; s < DIFF_SIDES; s++) {
        const struct model *m = d->model[s];
        for (uint32_t i = 0; i < m->tensor_count && r == 0; i++) {
            const struct model_tensor *t = &m->tensors[i];
            if (!live_is_of_device(t->kind) || t->alloc_before > m->peak_at || t->free_after < m->peak_at)
                continue;
            struct diff_row *row = named_row(&d->categories, &rows, model_category_name(t->category));
            if (!row) {
                r = -ENOMEM;
                break;
            }
            row->count[s]++;
            row->amount[s] += t->bytes;
        }
    }
    diff_names_free(&rows);
    return r;
}

static int add_operations(struct diff *d, int side, struct diff_names *rows, const char *name, uint64_t count, uint64_t ns)
{
    struct diff_row *row = count ? named_row(&d->operations, rows, name) : NULL;
    if (!row)
        return count ? -ENOMEM : 0;
    row->count[side] += count;
    row->amount[side] += ns;
    return 0;
}

/* Compares operations: of iterations, each by its name; of runs, the kernels, since only these are counted by name. */
static int compare_operations(struct diff *d)
{
    struct diff_names rows = {0};
    int r = 0;
    for (int s = 0; s < DIFF_SIDES; s++) {
        const struct model *m = d->model[s];
        for (uint32_t i = 0; d->iterations && i < m->iteration_count && r == 0; i++)
            r = add_operations(d, s, &rows, model_op_name(m, &m->iteration[i]), 1,
                               m->timed ? m->iteration[i].duration_ns : 0);
        for (uint32_t i = 0; !d->iterations && i < m->function_count && r == 0; i++) {
            const struct model_function *f = &m->functions[i];
            r = add_operations(d, s, &rows, f->readable ? f->readable : "unknown kernel", f->launches, 0);
        }
    }
    diff_names_free(&rows);
    return r;
}

/* Copies the counts to the totals of rows for which nothing else is known. */
static void complete(struct diff_table *t)
{
    for (size_t i = 0; i < t->count; i++) {
        memcpy(t->rows[i].all_count, t->rows[i].count, sizeof(t->rows[i].count));
        memcpy(t->rows[i].all_amount, t->rows[i].amount, sizeof(t->rows[i].amount));
    }
    diff_table_sort(t);
}

/* ---- the verdict ---- */

static bool rows_differ(const struct diff_table *t, bool amounts)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct diff_row *row = &t->rows[i];
        if (diff_distance(row->count) || diff_distance(row->all_count) ||
            (amounts && (diff_distance(row->amount) || diff_distance(row->all_amount))))
            return true;
    }
    return false;
}

static enum diff_verdict judge(const struct diff *d)
{
    bool times = false;
    bool both_or_none = !d->model[0]->iteration_count == !d->model[1]->iteration_count;
    if (!both_or_none || !same_devices(d->model[0], d->model[1]) || rows_differ(&d->categories, true) ||
        rows_differ(&d->sites, true) || rows_differ(&d->operations, false))
        return DIFF_MORE;
    for (size_t i = 0; i < d->figure_count; i++) {
        const struct diff_figure *f = &d->figures[i];
        if (f->known[0] == f->known[1] && !diff_distance(f->value))
            continue;
        if (f->unit != DIFF_NS)
            return DIFF_MORE;
        times = true;
    }
    return times || rows_differ(&d->operations, true) ? DIFF_TIMES : DIFF_NOTHING;
}

struct diff *diff_create(struct model *before, struct model *after)
{
    struct diff *d = calloc(1, sizeof(*d));
    if (!d)
        return NULL;
    d->model[DIFF_BEFORE] = before;
    d->model[DIFF_AFTER] = after;
    d->iterations = before->iteration_count && after->iteration_count;
    d->timed = d->iterations && before->timed && after->timed;
    int r = take_notes(d);
    r = r ? r : d->iterations ? compare_iterations(d) : compare_runs(d);
    r = r ? r : compare_devices(d);
    r = r ? r : compare_operations(d);
    if (d->iterations) {
        r = r ? r : compare_categories(d);
        r = r ? r : diff_sites(d);
        r = r ? r : diff_name_sites(d);
    }
    if (r) {
        diff_free(d);
        return NULL;
    }
    complete(&d->operations);
    complete(&d->categories);
    diff_table_sort(&d->sites);
    d->verdict = judge(d);
    return d;
}

void diff_free(struct diff *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->figure_count; i++)
        free(d->figures[i].name);
    for (size_t i = 0; i < d->note_count; i++)
        free(d->notes[i]);
    free(d->figures);
    free(d->notes);
    diff_table_free(&d->categories);
    diff_table_free(&d->sites);
    diff_table_free(&d->operations);
    free(d);
}
