/* diff_names.c - what a place of a program is called where many places share their innermost frames.
 *
 * The frame that says most comes first in a stack, but a training program allocates everything in one function: so the first
 * frame that no other place shares goes before it, as in "layer::forward (model.cc:12) > tensor::tensor (tensor.cc:3)". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff_model.h"

struct stack {
    struct diff_row *row;
    const char **frames; /* from the one that says most outwards */
    uint32_t count;
    uint32_t shared; /* how many the most similar of the others has too */
};

static int take_stack(struct model *m, uint32_t site, struct stack *stack)
{
    const struct model_site *s = &m->sites[site];
    const char *most = model_site_text(m, site);
    uint32_t first = 0;
    while (first + 1 < s->count && strcmp(model_frame_text(m, s->frames[first]), most))
        first++;
    stack->frames = calloc(s->count + 1, sizeof(*stack->frames));
    if (!stack->frames)
        return -ENOMEM;
    for (uint32_t i = first; i < s->count; i++)
        stack->frames[stack->count++] = model_frame_text(m, s->frames[i]);
    return 0;
}

static uint32_t shared_by(const struct stack *x, const struct stack *y)
{
    uint32_t n = 0;
    while (n < x->count && n < y->count && !strcmp(x->frames[n], y->frames[n]))
        n++;
    return n;
}

static int by_frames(const void *a, const void *b)
{
    const struct stack *x = a, *y = b;
    uint32_t n = shared_by(x, y);
    if (n < x->count && n < y->count)
        return strcmp(x->frames[n], y->frames[n]);
    return x->count < y->count ? -1 : x->count > y->count;
}

/* Without parameters and template arguments: "a<b>::c(d) (e.cc:1)" becomes "a::c (e.cc:1)". */
static void put_frame(const char *text, FILE *to)
{
    size_t length = diff_function_length(text);
    int depth = 0;
    bool plain = length == 0 || memmem(text, length, "operator", 8);
    const char *name = strncmp(text, "void ", 5) ? text : text + 5;
    for (const char *at = name; !plain && at < text + length; at++) {
        depth += *at == '<' || *at == '(';
        if (depth == 0)
            fputc(*at, to);
        depth -= *at == '>' || *at == ')';
    }
    fputs(plain ? text : text + length, to);
}

static int name(struct stack *stack)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return -ENOMEM;
    uint32_t apart = stack->shared < stack->count ? stack->shared : stack->count - 1;
    if (apart > 0) {
        put_frame(stack->frames[apart], to);
        fputs(" > ", to);
    }
    put_frame(stack->frames[0], to);
    bool failed = ferror(to);
    if (fclose(to) != 0 || failed) {
        free(text);
        return -ENOMEM;
    }
    stack->row->name = text;
    return 0;
}

static int name_stacks(struct stack *list, size_t count)
{
    int r = 0;
    if (count)
        qsort(list, count, sizeof(*list), by_frames); /* the most similar one is next to each */
    for (size_t i = 0; i + 1 < count; i++) {
        uint32_t n = shared_by(&list[i], &list[i + 1]);
        list[i].shared = n > list[i].shared ? n : list[i].shared;
        list[i + 1].shared = n;
    }
    for (size_t i = 0; i < count && r == 0; i++)
        r = name(&list[i]);
    return r;
}

int diff_name_sites(struct diff *d)
{
    struct stack *list = calloc(d->sites.count + 1, sizeof(*list));
    size_t count = 0;
    int r = list ? 0 : -ENOMEM;
    for (size_t i = 0; i < d->sites.count && r == 0; i++) {
        struct diff_row *row = &d->sites.rows[i];
        enum diff_side side = row->site[DIFF_AFTER] != MODEL_NONE ? DIFF_AFTER : DIFF_BEFORE;
        uint32_t site = row->site[side];
        if (row->name)
            continue;
        if (site == MODEL_NONE || d->model[side]->sites[site].count == 0) {
            row->name = strdup("unknown");
            r = row->name ? 0 : -ENOMEM;
        } else {
            list[count].row = row;
            r = take_stack(d->model[side], site, &list[count++]);
        }
    }
    r = r ? r : name_stacks(list, count);
    for (size_t i = 0; i < count; i++)
        free(list[i].frames);
    free(list);
    return r;
}
