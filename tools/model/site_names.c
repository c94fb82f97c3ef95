/* site_names.c - finds what distinguishes stacks, and makes names from it. */
#include "site_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t site_function_length(const char *frame)
{
    size_t length = strlen(frame);
    if (!strncmp(frame, "0x", 2) || !strcmp(frame, "?"))
        return 0;
    for (const char *at = frame + length; length && frame[length - 1] == ')' && at > frame; at--)
        if (at[0] == '(' && at[-1] == ' ' && strchr(at, ':'))
            return (size_t)(at - 1 - frame);
    const char *offset = NULL;
    for (const char *at = strstr(frame, "+0x"); at; at = strstr(at + 1, "+0x"))
        offset = at;
    if (!offset)
        return length;
    return strstr(offset, " in ") ? (size_t)(offset - frame) : 0;
}

int site_stack_take(struct model *m, uint32_t site, struct site_stack *stack)
{
    const struct model_site *s = &m->sites[site];
    const char *most = model_site_text(m, site);
    uint32_t first = 0;
    while (first + 1 < s->count && strcmp(model_frame_text(m, s->frames[first]), most))
        first++;
    *stack = (struct site_stack){.site = site};
    stack->frames = calloc(s->count + 1, sizeof(*stack->frames));
    if (!stack->frames)
        return -ENOMEM;
    for (uint32_t i = first; i < s->count; i++)
        stack->frames[stack->count++] = model_frame_text(m, s->frames[i]);
    return 0;
}

static uint32_t shared_by(const struct site_stack *x, const struct site_stack *y)
{
    uint32_t n = 0;
    while (n < x->count && n < y->count && !strcmp(x->frames[n], y->frames[n]))
        n++;
    return n;
}

static int by_frames(const void *a, const void *b)
{
    const struct site_stack *x = a, *y = b;
    uint32_t n = shared_by(x, y);
    if (n < x->count && n < y->count)
        return strcmp(x->frames[n], y->frames[n]);
    return x->count < y->count ? -1 : x->count > y->count;
}

/* Prints a frame without parameters and template arguments: "a<b>::c(d) (e.cc:1)" becomes "a::c (e.cc:1)". */
static void put_frame(const char *text, FILE *to)
{
    size_t length = site_function_length(text);
    int depth = 0;
    bool plain = length == 0 || memmem(text, length, "operator", 8);
    const char *name = strncmp(text, "void ", 5) ? text : text + 5;
    const char *copy = memmem(text, length, " [clone", 7); /* a copy made by the compiler */
    for (const char *at = name; !plain && at < (copy ? copy : text + length); at++) {
        depth += *at == '<' || *at == '(';
        if (depth == 0)
            fputc(*at, to);
        depth -= *at == '>' || *at == ')';
    }
    fputs(plain ? text : text + length, to);
}

static bool is_in_between(const char *frame)
{
    return !strncmp(frame, "std::", 5) || !strncmp(frame, "void std::", 10);
}

/* Returns the first frame outwards that distinguishes the stack and is not just a library's template in between. */
static uint32_t apart_at(const struct site_stack *stack)
{
    const uint32_t first = stack->shared < stack->count ? stack->shared : stack->count - 1;
    for (uint32_t i = first; i < stack->count; i++)
        if (!is_in_between(stack->frames[i]))
            return i;
    return first;
}

/* Names a stack. `more`: with the frame before the distinguishing one, if there is one between that and the first. */
static int name(struct site_stack *stack, bool more)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return -ENOMEM;
    const uint32_t apart = apart_at(stack);
    uint32_t middle = apart ? apart - 1 : 0;
    while (middle > 0 && is_in_between(stack->frames[middle]))
        middle--;
    if (apart > 0) {
        put_frame(stack->frames[apart], to);
        fputs(" > ", to);
    }
    if (more && middle > 0) {
        put_frame(stack->frames[middle], to);
        fputs(" > ", to);
    }
    put_frame(stack->frames[0], to);
    bool failed = ferror(to);
    if (fclose(to) != 0 || failed) {
        free(text);
        return -ENOMEM;
    }
    free(stack->name);
    stack->name = text;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct site_stack *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : by_frames(x, y);
}

/* Gives longer names to stacks with the same name: different stacks may share the frame that distinguishes each from its
 * neighbours. */
static int name_longer_where_the_same(struct site_stack *list, size_t count)
{
    int r = 0;
    qsort(list, count, sizeof(*list), by_name);
    for (size_t i = 0, end; i < count && r == 0; i = end) {
        for (end = i + 1; end < count && !strcmp(list[i].name, list[end].name); end++)
            ;
        const bool differ = by_frames(&list[i], &list[end - 1]) != 0;
        for (size_t k = i; k < end && differ && r == 0; k++)
            r = name(&list[k], true);
    }
    return r;
}

int site_names(struct site_stack *list, size_t count)
{
    int r = 0;
    if (count)
        qsort(list, count, sizeof(*list), by_frames); /* similar stacks become neighbours */
    for (size_t i = 0, end; i < count; i = end) {     /* each group of stacks that are equal in all frames */
        for (end = i + 1; end < count && by_frames(&list[i], &list[end]) == 0; end++)
            ;
        const uint32_t before = i ? shared_by(&list[i - 1], &list[i]) : 0;
        const uint32_t behind = end < count ? shared_by(&list[i], &list[end]) : 0;
        for (size_t k = i; k < end; k++)
            list[k].shared = before > behind ? before : behind;
    }
    for (size_t i = 0; i < count && r == 0; i++)
        r = name(&list[i], false);
    return r == 0 && count ? name_longer_where_the_same(list, count) : r;
}
