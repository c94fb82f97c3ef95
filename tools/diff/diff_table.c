/* diff_table.c - tables of rows with two values each, found by a key while they are filled, then sorted by change. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "diff_model.h"
#include "grow.h"

struct named {
    char *name;
    uint64_t number;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

uint64_t *diff_names_at(struct diff_names *names, const char *name)
{
    const struct named wanted = {.name = (char *)(uintptr_t)name};
    struct named **found = tfind(&wanted, &names->root, by_name);
    if (found)
        return &(*found)->number;
    struct named *made = calloc(1, sizeof(*made));
    if (made && (made->name = strdup(name)) && tsearch(made, &names->root, by_name))
        return &made->number;
    free(made ? made->name : NULL);
    free(made);
    return NULL;
}

static void free_named(void *named)
{
    free(((struct named *)named)->name);
    free(named);
}

void diff_names_free(struct diff_names *names)
{
    tdestroy(names->root, free_named);
    names->root = NULL;
}

struct diff_row *diff_table_at(struct diff_table *t, struct diff_names *rows, const char *key)
{
    uint64_t *number = diff_names_at(rows, key);
    if (!number)
        return NULL;
    if (*number == 0) {
        if (SPW_GROW(t->rows, t->room, t->count + 1) < 0)
            return NULL;
        t->rows[t->count++] = (struct diff_row){.site = {MODEL_NONE, MODEL_NONE}};
        *number = t->count;
    }
    return &t->rows[*number - 1];
}

uint64_t diff_distance(const uint64_t value[DIFF_SIDES])
{
    return value[0] > value[1] ? value[0] - value[1] : value[1] - value[0];
}

static int descending(uint64_t x, uint64_t y)
{
    return x > y ? -1 : x < y;
}

static int by_change(const void *a, const void *b)
{
    const struct diff_row *x = a, *y = b;
    int order = descending(diff_distance(x->amount), diff_distance(y->amount));
    order = order ? order : descending(diff_distance(x->count), diff_distance(y->count));
    order = order ? order : descending(diff_distance(x->all_amount), diff_distance(y->all_amount));
    order = order ? order : descending(x->amount[1], y->amount[1]);
    order = order ? order : descending(x->all_amount[1], y->all_amount[1]);
    return order ? order : strcmp(x->name, y->name);
}

void diff_table_sort(struct diff_table *t)
{
    if (t->count)
        qsort(t->rows, t->count, sizeof(*t->rows), by_change);
}

void diff_table_free(struct diff_table *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->rows[i].name);
    free(t->rows);
}
