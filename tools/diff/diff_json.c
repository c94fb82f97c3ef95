/* diff_json.c - a comparison as one JSON object, with every row of its tables. */
#include <string.h>

#include "diff_print.h"
#include "shown.h"

static json_t *integer(uint64_t n)
{
    return json_integer((json_int_t)n);
}

static json_t *ratio(const uint64_t value[DIFF_SIDES])
{
    double before = (double)value[DIFF_BEFORE];
    return value[DIFF_BEFORE] ? json_real(((double)value[DIFF_AFTER] - before) / before) : json_null();
}

/* Unknown values become null. */
static json_t *pair(const uint64_t value[DIFF_SIDES], bool before, bool after)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "before", before ? integer(value[0]) : json_null(), "after",
                     after ? integer(value[1]) : json_null(), "change",
                     before && after ? integer(value[1] - value[0]) : json_null(), "relative",
                     before && after ? ratio(value) : json_null());
}

static json_t *run_of(const struct model *m, const char *path)
{
    json_t *devices = json_array();
    for (uint32_t i = 0; i < m->device_count; i++)
        json_array_append_new(devices, json_pack("{s:i, s:o, s:o}", "ordinal", (int)m->devices[i].ordinal, "name",
                                                 shown_string(m->devices[i].name), "total_bytes",
                                                 integer(m->devices[i].total_bytes)));
    return json_pack("{s:o, s:o, s:b, s:b, s:o}", "trace", shown_string(path), "command", shown_string(m->command),
                     "iteration", m->iteration_count > 0, "timed", m->timed, "devices", devices);
}

static json_t *figures_of(const struct diff *d)
{
    static const char *const units[] = {[DIFF_COUNT] = "count", [DIFF_BYTES] = "bytes", [DIFF_NS] = "ns"};
    json_t *list = json_array();
    for (size_t i = 0; i < d->figure_count; i++) {
        const struct diff_figure *f = &d->figures[i];
        json_t *o = pair(f->value, f->known[0], f->known[1]);
        json_object_set_new(o, "name", shown_string(f->name));
        json_object_set_new(o, "unit", json_string(units[f->unit]));
        json_array_append_new(list, o);
    }
    return list;
}

/* Returns the stack in the second run if it has the site, else in the first. */
static json_t *stack_of(const struct diff *d, const struct diff_row *row)
{
    enum diff_side side = row->site[DIFF_AFTER] != MODEL_NONE ? DIFF_AFTER : DIFF_BEFORE;
    struct model *m = d->model[side];
    json_t *stack = json_array();
    if (row->site[side] == MODEL_NONE)
        return stack;
    const struct model_site *s = &m->sites[row->site[side]];
    for (uint32_t i = 0; i < s->count; i++)
        json_array_append_new(stack, shown_string(model_frame_text(m, s->frames[i])));
    return stack;
}

static json_t *categories_of(const struct diff *d)
{
    json_t *list = json_array();
    for (size_t i = 0; i < d->categories.count; i++) {
        const struct diff_row *row = &d->categories.rows[i];
        json_array_append_new(list,
                              json_pack("{s:o, s:o, s:o}", "name", shown_string(row->name), "bytes_at_peak",
                                        pair(row->amount, true, true), "tensors_at_peak", pair(row->count, true, true)));
    }
    return list;
}

static json_t *sites_of(const struct diff *d)
{
    json_t *list = json_array();
    for (size_t i = 0; i < d->sites.count; i++) {
        const struct diff_row *row = &d->sites.rows[i];
        json_array_append_new(list, json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:o}", "name", shown_string(row->name),
                                              "stack", stack_of(d, row), "matched", diff_match_name(row->match),
                                              "bytes_at_peak", pair(row->amount, true, true), "tensors_at_peak",
                                              pair(row->count, true, true), "bytes", pair(row->all_amount, true, true),
                                              "tensors", pair(row->all_count, true, true)));
    }
    return list;
}

static json_t *operations_of(const struct diff *d)
{
    json_t *list = json_array();
    for (size_t i = 0; i < d->operations.count; i++) {
        const struct diff_row *row = &d->operations.rows[i];
        json_array_append_new(list,
                              json_pack("{s:o, s:o, s:o}", "name", shown_string(row->name), "count",
                                        pair(row->count, true, true), "time_ns", pair(row->amount, d->timed, d->timed)));
    }
    return list;
}

json_t *diff_json(const struct diff *d, const char *const paths[DIFF_SIDES])
{
    static const char *const verdicts[] = {[DIFF_NOTHING] = "none", [DIFF_TIMES] = "times", [DIFF_MORE] = "more"};
    json_t *notes = json_array();
    for (size_t i = 0; i < d->note_count; i++)
        json_array_append_new(notes, shown_string(d->notes[i]));
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "format", "spillway-diff/1", "difference",
                     verdicts[d->verdict], "notes", notes, "before", run_of(d->model[DIFF_BEFORE], paths[DIFF_BEFORE]),
                     "after", run_of(d->model[DIFF_AFTER], paths[DIFF_AFTER]), "figures", figures_of(d), "categories",
                     categories_of(d), "sites", sites_of(d), "operations", operations_of(d));
}
