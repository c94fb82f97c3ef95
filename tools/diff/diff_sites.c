/* diff_sites.c - matches the sites where the two runs allocate: by frames, by functions, or by what is allocated there.
 *
 * Addresses differ from run to run, so a site is identified by the names of its frames. A line that moved or a library
 * that was rebuilt changes these too, so the remaining sites are compared by functions alone, and the rest of these
 * tensor by tensor. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff_model.h"
#include "live.h"

#include "site_names.h"

struct place {                /* a site that has a tensor in the iteration */
    char *keys[DIFF_MATCHES]; /* by frames and by functions; NULL: nothing is known */
    enum diff_match match;
};

struct places {
    struct model *model;
    struct place *list; /* by site */
};

/* Returns the key, one line for each frame. NULL with errno 0: there is nothing to compare by; else no memory. */
static char *key_of(struct model *m, uint32_t site, enum diff_match match)
{
    const struct model_site *s = &m->sites[site];
    char *key = NULL;
    size_t size;
    bool known = false, nameless = false;
    errno = ENOMEM;
    FILE *to = open_memstream(&key, &size);
    if (!to)
        return NULL;
    for (uint32_t i = 0; i < s->count; i++) {
        const char *text = model_frame_text(m, s->frames[i]);
        /* It is in no file, and differs from run to run. */
        bool address = !strncmp(text, "0x", 2) || !strcmp(text, "?");
        size_t length = match == DIFF_BY_FUNCTIONS ? site_function_length(text) : address ? 0 : strlen(text);
        known |= length > 0;
        nameless |= length == 0;
        fprintf(to, "%.*s\n", (int)length, text);
    }
    bool failed = ferror(to);
    errno = ENOMEM;
    if (fclose(to) != 0 || failed) {
        free(key);
        return NULL;
    }
    if (!known || (nameless && match == DIFF_BY_FUNCTIONS)) {
        free(key);
        key = NULL;
        errno = 0;
    }
    return key;
}

static void free_places(struct places *p)
{
    for (uint32_t i = 0; p->list && i < p->model->site_count; i++)
        for (int k = 0; k < DIFF_MATCHES; k++)
            free(p->list[i].keys[k]);
    free(p->list);
    p->list = NULL;
}

static uint32_t site_of(const struct model *m, uint32_t tensor)
{
    return live_is_of_device(m->tensors[tensor].kind) ? m->tensors[tensor].site : MODEL_NONE;
}

/* Makes the keys of this kind for the sites that are not matched yet, and marks in `found` which side has which key. */
static int make_keys(struct places *p, int side, enum diff_match match, struct diff_names *found)
{
    for (uint32_t i = 0; i < p->model->tensor_count; i++) {
        uint32_t site = site_of(p->model, i);
        if (site == MODEL_NONE || p->list[site].match || p->list[site].keys[match])
            continue;
        p->list[site].keys[match] = key_of(p->model, site, match);
        if (!p->list[site].keys[match]) {
            if (errno)
                return -ENOMEM;
            continue;
        }
        uint64_t *sides = diff_names_at(found, p->list[site].keys[match]);
        if (!sides)
            return -ENOMEM;
        *sides |= 1U << side;
    }
    return 0;
}

/* Matches the keys that both sides have. */
static void settle(struct places *p, enum diff_match match, struct diff_names *found)
{
    for (uint32_t i = 0; i < p->model->site_count; i++) {
        struct place *place = &p->list[i];
        uint64_t *sides = place->match || !place->keys[match] ? NULL : diff_names_at(found, place->keys[match]);
        if (sides && *sides == 3)
            place->match = match;
    }
}

static int match_places(struct places places[DIFF_SIDES], enum diff_match match)
{
    struct diff_names found = {0};
    int r = 0;
    for (int s = 0; s < DIFF_SIDES && r == 0; s++)
        r = make_keys(&places[s], s, match, &found);
    for (int s = 0; s < DIFF_SIDES && r == 0; s++)
        settle(&places[s], match, &found);
    diff_names_free(&found);
    return r;
}

/* ---- tensors ---- */

static char *size_and_maker(const struct model *m, const struct model_tensor *t)
{
    char *text;
    int n = t->first_write == MODEL_NONE || t->first_write >= m->iteration_count
                ? asprintf(&text, "%" PRIu64 " bytes that the iteration does not write", t->bytes)
                : asprintf(&text, "%" PRIu64 " bytes made by %s", t->bytes, model_op_name(m, &m->iteration[t->first_write]));
    return n < 0 ? NULL : text;
}

static bool is_placed(const struct places *p, const struct model_tensor *t)
{
    return t->site != MODEL_NONE && p->list[t->site].match;
}

static int mark_left_over(const struct places *p, int side, struct diff_names *found)
{
    const struct model *m = p->model;
    for (uint32_t i = 0; i < m->tensor_count; i++) {
        const struct model_tensor *t = &m->tensors[i];
        if (!live_is_of_device(t->kind) || is_placed(p, t))
            continue;
        char *key = size_and_maker(m, t);
        uint64_t *sides = key ? diff_names_at(found, key) : NULL;
        free(key);
        if (!sides)
            return -ENOMEM;
        *sides |= 1U << side;
    }
    return 0;
}

/* Returns what identifies the row of a tensor: a number for the kind of match, then the text that matched. Sites of the
 * same name that only one run has are one row. The caller frees it. NULL without memory. */
static char *row_key(const struct places *p, const struct model_tensor *t, struct diff_names *left_over,
                     enum diff_match *ret_match)
{
    const struct place *place = t->site == MODEL_NONE ? NULL : &p->list[t->site];
    char *key = NULL, *text = NULL;
    const char *what = "unknown";
    *ret_match = place ? place->match : DIFF_NOT_MATCHED;
    if (*ret_match == DIFF_NOT_MATCHED) {
        text = size_and_maker(p->model, t);
        uint64_t *sides = text ? diff_names_at(left_over, text) : NULL;
        if (!sides) {
            free(text);
            return NULL;
        }
        if (*sides == 3)
            *ret_match = DIFF_BY_SIZE_MAKER;
    }
    if (*ret_match == DIFF_BY_SIZE_MAKER)
        what = text;
    else if (*ret_match)
        what = place->keys[*ret_match];
    else if (place && place->keys[DIFF_BY_FRAMES])
        what = place->keys[DIFF_BY_FRAMES];
    int n = asprintf(&key, "%d%s", *ret_match, what);
    free(text);
    return n < 0 ? NULL : key;
}

static int add_tensor(struct diff *d, const struct places *p, int side, const struct model_tensor *t,
                      struct diff_names *left_over, struct diff_names *rows)
{
    enum diff_match match;
    const struct model *m = p->model;
    char *key = row_key(p, t, left_over, &match);
    struct diff_row *row = key ? diff_table_at(&d->sites, rows, key) : NULL;
    if (row && match == DIFF_BY_SIZE_MAKER && !row->name)
        row->name = strdup(key + 1);
    bool failed = !row || (match == DIFF_BY_SIZE_MAKER && !row->name);
    free(key);
    if (failed)
        return -ENOMEM;
    row->match = match;
    bool named = match != DIFF_BY_SIZE_MAKER && t->site != MODEL_NONE && p->list[t->site].keys[DIFF_BY_FRAMES];
    if (named && row->site[side] == MODEL_NONE)
        row->site[side] = t->site;
    row->all_count[side]++;
    row->all_amount[side] += t->bytes;
    if (t->alloc_before <= m->peak_at && t->free_after >= m->peak_at) {
        row->count[side]++;
        row->amount[side] += t->bytes;
    }
    return 0;
}

static int add_tensors(struct diff *d, const struct places *p, int side, struct diff_names *left_over,
                       struct diff_names *rows)
{
    int r = 0;
    for (uint32_t i = 0; i < p->model->tensor_count && r == 0; i++)
        if (live_is_of_device(p->model->tensors[i].kind))
            r = add_tensor(d, p, side, &p->model->tensors[i], left_over, rows);
    return r;
}

int diff_sites(struct diff *d)
{
    struct places places[DIFF_SIDES] = {{.model = d->model[0]}, {.model = d->model[1]}};
    struct diff_names left_over = {0}, rows = {0};
    int r = 0;
    for (int s = 0; s < DIFF_SIDES; s++) {
        places[s].list = calloc(places[s].model->site_count + 1, sizeof(struct place));
        r = places[s].list ? r : -ENOMEM;
    }
    r = r ? r : match_places(places, DIFF_BY_FRAMES);
    r = r ? r : match_places(places, DIFF_BY_FUNCTIONS);
    for (int s = 0; s < DIFF_SIDES && r == 0; s++)
        r = mark_left_over(&places[s], s, &left_over);
    for (int s = 0; s < DIFF_SIDES && r == 0; s++)
        r = add_tensors(d, &places[s], s, &left_over, &rows);
    diff_names_free(&left_over);
    diff_names_free(&rows);
    for (int s = 0; s < DIFF_SIDES; s++)
        free_places(&places[s]);
    return r;
}
