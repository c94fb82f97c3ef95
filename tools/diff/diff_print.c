/* diff_print.c - prints a comparison for a terminal or a log: first the figures, then each table with its largest changes.
 *
 * Numbers are exact, so that each column adds up to its last line; bytes are whole, times in microseconds. */
#include "diff_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shown.h"

enum { COLUMNS = 100, NUMBER = 40 };

/* ---- numbers ---- */

/* Formats 12,345,678, or nanoseconds as 12,345.678 microseconds, in the buffer of NUMBER bytes, which it returns. */
static const char *number(uint64_t value, enum diff_unit unit, char *buffer)
{
    char digits[24], *to = buffer;
    int n = snprintf(digits, sizeof(digits), unit == DIFF_NS ? "%04" PRIu64 : "%" PRIu64, value);
    int whole = unit == DIFF_NS ? n - 3 : n;
    for (int i = 0; i < n; i++) {
        if (i == whole)
            *to++ = '.';
        else if (i > 0 && i < whole && (whole - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return buffer;
}

static const char *change(const uint64_t value[DIFF_SIDES], enum diff_unit unit, char *buffer)
{
    if (value[0] == value[1])
        return "=";
    buffer[0] = value[1] > value[0] ? '+' : '-';
    number(value[1] > value[0] ? value[1] - value[0] : value[0] - value[1], unit, buffer + 1);
    return buffer;
}

static const char *relative(const uint64_t value[DIFF_SIDES], char *buffer)
{
    if (value[0] == value[1] || value[0] == 0)
        return "";
    double ratio = (double)value[1] / (double)value[0];
    snprintf(buffer, NUMBER,
             ratio < 100      ? "%+.1f%%"
             : ratio < 100000 ? "x%.0f"
                              : "x%.0e",
             ratio < 100 ? 100 * (ratio - 1) : ratio);
    return buffer;
}

/* Prints a name. Names come from another process: no character in them moves the cursor, and a name is cut between two
 * letters. */
static void put_name(const char *name, int width, FILE *to)
{
    size_t length = strlen(name);
    size_t room = width > 3 ? (size_t)width : 3;
    bool cut = length > room;
    if (cut)
        for (length = room - 3; length && ((unsigned char)name[length] & 0xc0) == 0x80;)
            length--;
    for (size_t i = 0; i < length; i++)
        fputc((unsigned char)name[i] < 0x20 || name[i] == 0x7f ? '?' : name[i], to);
    fputs(cut ? "...\n" : "\n", to);
}

/* ---- the runs and the figures ---- */

static void tell_run(const char *which, const char *path, const struct model *m, FILE *to)
{
    char total[32], peak[32], time[32];
    fprintf(to, "%-7s ", which);
    put_name(path, COLUMNS - 8, to);
    fprintf(to, "  command  ");
    put_name(m->command ? m->command : "", COLUMNS - 11, to);
    for (uint32_t i = 0; i < m->device_count; i++) {
        const struct model_device *d = &m->devices[i];
        fprintf(to, "  device %" PRIu32 " %s, ", d->ordinal, shown_bytes(d->total_bytes, total));
        put_name(d->name && d->name[0] ? d->name : "unknown", COLUMNS - 28, to);
    }
    if (m->iteration_count)
        fprintf(to, "  one iteration: peak %s, %s %s\n", shown_bytes(m->peak_bytes, peak), shown_time(m->iteration_ns, time),
                m->timed ? "on the device" : "between calls of the host");
}

/* Breaks a note between words if it is too long for a line. */
static void put_note(const char *text, FILE *to)
{
    const char *start = "note: ";
    while (strlen(text) > COLUMNS - 6) {
        char line[COLUMNS];
        int length = COLUMNS - 6;
        while (length > 0 && text[length] != ' ')
            length--;
        if (length == 0)
            break; /* one long word: it is cut */
        snprintf(line, sizeof(line), "%.*s", length, text);
        fputs(start, to);
        put_name(line, COLUMNS - 6, to);
        text += length + 1;
        start = "      ";
    }
    fputs(start, to);
    put_name(text, COLUMNS - 6, to);
}

static void put_notes(const struct diff *d, FILE *to)
{
    for (size_t i = 0; i < d->note_count; i++)
        put_note(d->notes[i], to);
}

static int at_least(int width, int least)
{
    return width > least ? width : least;
}

static void tell_figures(const struct diff *d, FILE *to)
{
    static const char *const units[] = {[DIFF_COUNT] = "", [DIFF_BYTES] = ", bytes", [DIFF_NS] = ", us"};
    char a[NUMBER], b[NUMBER], c[NUMBER], r[NUMBER];
    int width = 8;
    for (size_t i = 0; i < d->figure_count; i++)
        for (int s = 0; s < DIFF_SIDES; s++)
            width = at_least((int)strlen(number(d->figures[i].value[s], d->figures[i].unit, a)), width);
    fprintf(to, "\n%*s %*s %*s %8s  figure\n", width, "before", width, "after", width + 1, "change", "");
    for (size_t i = 0; i < d->figure_count; i++) {
        const struct diff_figure *f = &d->figures[i];
        bool both = f->known[0] && f->known[1];
        fprintf(to, "%*s %*s %*s %8s  %s%s\n", width, f->known[0] ? number(f->value[0], f->unit, a) : "-", width,
                f->known[1] ? number(f->value[1], f->unit, b) : "-", width + 1, both ? change(f->value, f->unit, c) : "",
                both ? relative(f->value, r) : "", f->name, units[f->unit]);
    }
}

/* ---- tables ---- */

struct columns {
    const struct diff_table *table;
    enum diff_unit unit;
    bool counts, amounts; /* which of the two are shown */
    int count_width, amount_width;
};

static bool is_changed(const struct diff_row *row)
{
    return row->count[0] != row->count[1] || row->amount[0] != row->amount[1];
}

static void add(struct diff_row *sum, const struct diff_row *row)
{
    for (int s = 0; s < DIFF_SIDES; s++) {
        sum->count[s] += row->count[s];
        sum->amount[s] += row->amount[s];
    }
}

static void put_row(const struct columns *c, const struct diff_row *row, const char *name, FILE *to)
{
    char x[NUMBER], y[NUMBER], z[NUMBER], r[NUMBER];
    int used = 0;
    if (c->counts)
        used += fprintf(to, "%*s %*s %*s ", c->count_width, number(row->count[0], DIFF_COUNT, x), c->count_width,
                        number(row->count[1], DIFF_COUNT, y), c->count_width + 1, change(row->count, DIFF_COUNT, z));
    if (c->amounts)
        used += fprintf(to, "%*s %*s %*s ", c->amount_width, number(row->amount[0], c->unit, x), c->amount_width,
                        number(row->amount[1], c->unit, y), c->amount_width + 1, change(row->amount, c->unit, z));
    used += fprintf(to, "%8s  ", relative(c->amounts ? row->amount : row->count, r));
    put_name(name, COLUMNS - used, to);
}

/* Computes the widths from the sums, which are the widest numbers. */
static void measure(struct columns *c, const struct diff_row *all)
{
    char buffer[NUMBER];
    c->count_width = c->amount_width = 6;
    for (int s = 0; s < DIFF_SIDES; s++) {
        c->count_width = at_least((int)strlen(number(all->count[s], DIFF_COUNT, buffer)), c->count_width);
        c->amount_width = at_least((int)strlen(number(all->amount[s], c->unit, buffer)), c->amount_width);
    }
}

static void put_heading(const struct columns *c, const char *amount, const char *name, FILE *to)
{
    if (c->counts)
        fprintf(to, "%*s %*s %*s ", c->count_width, "before", c->count_width, "after", c->count_width + 1, "change");
    if (c->amounts)
        fprintf(to, "%*s %*s %*s ", c->amount_width, "before", c->amount_width, "after", c->amount_width + 1, "change");
    fprintf(to, "%8s  %s%s\n", "", name, c->amounts ? amount : "");
}

static void tell_table(struct columns c, const char *title, const char *amount, const char *name, size_t top, FILE *to)
{
    struct diff_row all = {0}, rest = {0};
    char text[64];
    size_t shown = 0;
    if (c.table->count == 0)
        return;
    while (shown < c.table->count && shown < top && is_changed(&c.table->rows[shown]))
        shown++;
    for (size_t i = 0; i < c.table->count; i++) {
        add(&all, &c.table->rows[i]);
        if (i >= shown)
            add(&rest, &c.table->rows[i]);
    }
    measure(&c, &all);
    fprintf(to, "\n%s\n", title);
    put_heading(&c, amount, name, to);
    for (size_t i = 0; i < shown; i++)
        put_row(&c, &c.table->rows[i], c.table->rows[i].name, to);
    if (shown < c.table->count) {
        snprintf(text, sizeof(text), is_changed(&rest) || shown == top ? "[%zu others]" : "[%zu without change]",
                 c.table->count - shown);
        put_row(&c, &rest, text, to);
    }
    put_row(&c, &all, "[all]", to);
}

/* Prints the rows that the other run does not have. */
static void tell_only(const struct diff_table *t, enum diff_side side, enum diff_unit unit, bool amounts, const char *title,
                      size_t top, FILE *to)
{
    size_t count = 0;
    char x[NUMBER], y[NUMBER];
    for (size_t i = 0; i < t->count; i++) {
        const struct diff_row *row = &t->rows[i];
        if (row->all_count[side] == 0 || row->all_count[!side] != 0)
            continue;
        if (count++ == 0)
            fprintf(to, "\nonly %s: %s\n", side == DIFF_BEFORE ? "before" : "after", title);
        if (count > top)
            continue;
        int used = amounts ? fprintf(to, "%18s ", number(row->all_amount[side], unit, x)) : 0;
        used += fprintf(to, "%10s  ", number(row->all_count[side], DIFF_COUNT, y));
        put_name(row->name, COLUMNS - used, to);
    }
    if (count > top)
        fprintf(to, "%*s  [%zu %s]\n", amounts ? 29 : 10, "", count - top, top ? "others" : "in all");
}

static void tell_iterations(const struct diff *d, size_t top, FILE *to)
{
    const struct columns bytes = {.unit = DIFF_BYTES, .amounts = true};
    struct columns categories = bytes, sites = bytes;
    categories.table = &d->categories;
    sites.table = &d->sites;
    tell_table(categories, "at the peak, by what it is for (guessed)", ", bytes", "category", MODEL_CATEGORIES, to);
    tell_table(sites, "at the peak, by where it was allocated", ", bytes", "site", top, to);
}

static const char *operations_title(const struct diff *d)
{
    return d->timed ? "operations, us and how many" : d->iterations ? "operations, how many" : "kernels, how many";
}

void diff_text(const struct diff *d, const char *const paths[DIFF_SIDES], size_t top, FILE *to)
{
    static const char *const verdicts[] = {[DIFF_NOTHING] = "no difference", [DIFF_TIMES] = "no difference but in times"};
    if (d->verdict != DIFF_MORE)
        fprintf(to, "%s\n", verdicts[d->verdict]);
    if (d->verdict == DIFF_NOTHING) {
        put_notes(d, to);
        return;
    }
    tell_run("before", paths[DIFF_BEFORE], d->model[DIFF_BEFORE], to);
    tell_run("after", paths[DIFF_AFTER], d->model[DIFF_AFTER], to);
    put_notes(d, to);
    tell_figures(d, to);
    if (d->verdict == DIFF_MORE)
        tell_iterations(d, top, to);
    const struct columns operations = {.table = &d->operations, .unit = DIFF_NS, .counts = true, .amounts = d->timed};
    tell_table(operations, d->iterations ? "operations of an iteration" : "kernels of the run",
               ": how many, and how long in us", "name", top, to);
    for (enum diff_side s = DIFF_BEFORE; s <= DIFF_AFTER; s++) {
        tell_only(&d->sites, s, DIFF_BYTES, true, "bytes and tensors of an iteration, by where they were allocated", top,
                  to);
        tell_only(&d->operations, s, DIFF_NS, d->timed, operations_title(d), top, to);
    }
}
