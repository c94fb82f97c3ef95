/* variables.c - which module of an image has its variables at home, and where those of the others are. */
#include "variables.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { ALIGNMENT = 256 };

struct home { /* of one variable, for as long as the process lives */
    const void *address;
    size_t bytes;
    const struct variables *owner; /* whose variable is there; NULL: nobody's */
    struct home *next;
    unsigned char first[]; /* what the image has there */
};

struct variables {
    const struct simgpu_image *image;
    unsigned holders;
    unsigned char **own; /* by index; NULL: at home */
};

static struct home *homes;

void *variable_memory(uint64_t bytes)
{
    return aligned_alloc(ALIGNMENT, (bytes / ALIGNMENT + 1) * ALIGNMENT);
}

static struct home *home_of(const struct simgpu_global *g)
{
    struct home *h = homes;
    while (h && (h->address != g->address || h->bytes != g->bytes))
        h = h->next;
    if (h || !(h = malloc(sizeof *h + g->bytes)))
        return h;
    *h = (struct home){.address = g->address, .bytes = g->bytes, .next = homes};
    memcpy(h->first, g->address, g->bytes);
    homes = h;
    return h;
}

static int place(struct variables *v, uint32_t index)
{
    const struct simgpu_global *g = v->image->globals[index];
    struct home *h = home_of(g);
    if (!h)
        return -1;
    if (!h->owner) {
        h->owner = v;
        memcpy(g->address, h->first, g->bytes);
        return 0;
    }
    v->own[index] = variable_memory(g->bytes);
    if (!v->own[index])
        return -1;
    memcpy(v->own[index], h->first, g->bytes);
    return 0;
}

struct variables *variables_create(struct context *context, const struct simgpu_image *image)
{
    struct variables *v = image->global_count ? calloc(1, sizeof *v) : NULL;
    if (!v)
        return NULL;
    *v = (struct variables){image, 1, calloc(image->global_count, sizeof *v->own)};
    int r = v->own ? 0 : -1;
    for (uint32_t i = 0; i < image->global_count && r == 0; i++)
        r = place(v, i);
    if (r < 0) {
        variables_let_go(v);
        return NULL;
    }
    for (uint32_t i = 0; i < image->global_count; i++)
        (void)memory_add_global(context, (void *)(uintptr_t)variables_address(v, i), image->globals[i]->bytes);
    return v;
}

void variables_close(struct variables *v)
{
    for (uint32_t i = 0; v && i < v->image->global_count; i++)
        memory_remove_global((void *)(uintptr_t)variables_address(v, i));
}

struct variables *variables_hold(struct variables *v)
{
    if (v)
        v->holders++;
    return v;
}

void variables_let_go(struct variables *v)
{
    if (!v || --v->holders)
        return;
    for (struct home *h = homes; h; h = h->next)
        if (h->owner == v)
            h->owner = NULL;
    for (uint32_t i = 0; v->own && i < v->image->global_count; i++)
        free(v->own[i]);
    free(v->own);
    free(v);
}

uint64_t variables_address(const struct variables *v, uint32_t index)
{
    return (uint64_t)(uintptr_t)(v->own[index] ? v->own[index] : v->image->globals[index]->address);
}

static void change_places(unsigned char *a, unsigned char *b, size_t bytes)
{
    unsigned char aside[4096];
    for (size_t at = 0, part; at < bytes; at += part) {
        part = bytes - at < sizeof aside ? bytes - at : sizeof aside;
        memcpy(aside, a + at, part);
        memcpy(a + at, b + at, part);
        memcpy(b + at, aside, part);
    }
}

void variables_change_places(struct variables *v)
{
    for (uint32_t i = 0; v && i < v->image->global_count; i++)
        if (v->own[i])
            change_places(v->image->globals[i]->address, v->own[i], v->image->globals[i]->bytes);
}
