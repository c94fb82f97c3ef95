/* shape.c - makes a shape of an iteration in the history, and keeps an index of its contexts. */
#include "detect/shape.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t key_of(const struct spw_context *context, int which)
{
    return spw_live_mix(context->hash[which] + (uint64_t)which);
}

static struct spw_shape_place *find_place(const struct spw_shape *shape, uint64_t hash)
{
    size_t i = hash & (shape->place_capacity - 1);
    while (shape->places[i].used && shape->places[i].hash != hash)
        i = (i + 1) & (shape->place_capacity - 1);
    return &shape->places[i];
}

/* Indexes the contexts. The shape repeats, so a context may begin in the iteration before. */
static void make_index(struct spw_shape *shape)
{
    const uint32_t n = shape->backbone, longest = SPW_CONTEXT_TOKENS[SPW_CONTEXT_16];
    struct spw_context context = {0};
    for (uint32_t t = 0; t < n + longest - 1; t++) {
        uint64_t left[SPW_CONTEXTS];
        for (int k = 0; k < SPW_CONTEXTS; k++)
            left[k] = t >= SPW_CONTEXT_TOKENS[k] ? shape->steps[(t - SPW_CONTEXT_TOKENS[k]) % n].token : 0;
        spw_context_take(&context, shape->steps[t % n].token, left);
        if (t < longest - 1)
            continue;
        for (int k = SPW_CONTEXT_4; k <= SPW_CONTEXT_16; k++) {
            struct spw_shape_place *place = find_place(shape, key_of(&context, k));
            place->many = place->used;
            *place =
                (struct spw_shape_place){.hash = key_of(&context, k), .position = t % n, .many = place->used, .used = true};
        }
    }
}

/* Returns 16 if the first 16 tokens occur only at the beginning, else UINT32_MAX. Fewer tokens are never enough: an
 * iteration that was learned with noise in it may lack the place that usually has the same tokens. */
static uint32_t distinct_after(const struct spw_shape *shape)
{
    static const uint64_t none[SPW_CONTEXTS] = {0};
    struct spw_context context = {0};
    for (uint32_t t = 0; t < SPW_CONTEXT_TOKENS[SPW_CONTEXT_16]; t++)
        spw_context_take(&context, shape->steps[t % shape->backbone].token, none);
    return find_place(shape, key_of(&context, SPW_CONTEXT_16))->many ? UINT32_MAX : SPW_CONTEXT_TOKENS[SPW_CONTEXT_16];
}

bool spw_shape_locate(const struct spw_shape *shape, const struct spw_context *context, bool short_too, uint32_t *ret_step)
{
    for (int k = SPW_CONTEXT_16; k >= (short_too ? SPW_CONTEXT_4 : SPW_CONTEXT_16); k--) {
        if (context->since < SPW_CONTEXT_TOKENS[k])
            continue;
        const struct spw_shape_place *place = find_place(shape, key_of(context, k));
        if (!place->used || place->many)
            continue;
        *ret_step = place->position;
        return true;
    }
    return false;
}

uint64_t spw_shape_hash(const struct spw_shape *shape)
{
    uint64_t hash = shape->steps[shape->backbone].prefix;
    for (uint32_t i = 0; i < shape->beside_count; i++)
        hash = spw_live_mix(hash + shape->besides[i].token + shape->besides[i].ordinal);
    return hash;
}

static int compare_functions(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void make_functions(struct spw_shape *shape)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < shape->backbone; n++)
        if (shape->steps[n].launch)
            shape->functions[count++] = shape->steps[n].function;
    qsort(shape->functions, count, sizeof(*shape->functions), compare_functions);
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || shape->functions[i] != shape->functions[i - 1])
            shape->functions[shape->function_count++] = shape->functions[i];
}

bool spw_shape_launches(const struct spw_shape *shape, uint64_t function)
{
    return bsearch(&function, shape->functions, shape->function_count, sizeof(function), compare_functions) != NULL;
}

struct spw_shape *spw_shape_make_room(uint32_t backbone, uint32_t besides, uint32_t allocs)
{
    struct spw_shape *shape = calloc(1, sizeof(*shape));
    if (!shape)
        return NULL;
    shape->backbone = backbone;
    shape->beside_count = besides;
    shape->alloc_count = allocs;
    shape->length = backbone + besides;
    for (shape->place_capacity = 16; shape->place_capacity < 4 * (size_t)backbone;)
        shape->place_capacity *= 2;
    shape->steps = calloc((size_t)backbone + 2, sizeof(*shape->steps));
    shape->besides = calloc((size_t)besides + 1, sizeof(*shape->besides));
    shape->allocs = calloc((size_t)allocs + 1, sizeof(*shape->allocs));
    shape->places = calloc(shape->place_capacity, sizeof(*shape->places));
    shape->functions = calloc((size_t)backbone + 1, sizeof(*shape->functions));
    if (shape->steps && shape->besides && shape->allocs && shape->places && shape->functions)
        return shape;
    spw_shape_destroy(shape);
    return NULL;
}

static struct spw_shape *make_room_for(const struct spw_history *history, const struct spw_window *window)
{
    uint32_t besides = 0, allocs = 0;
    for (uint64_t e = window->begin_event; e < window->end_event; e++) {
        besides += spw_event_at(history, e)->kind == SPW_EVENT_BESIDE;
        allocs += spw_event_at(history, e)->kind == SPW_EVENT_ALLOC;
    }
    return spw_shape_make_room((uint32_t)(window->end - window->begin), besides, allocs);
}

/* Marks an allocation as freed. Ids rise, so it is found by binary search. */
static void note_free(struct spw_shape *shape, uint32_t count, uint32_t id)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if ((int32_t)(shape->allocs[middle].id - id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < count && shape->allocs[low].id == id)
        shape->allocs[low].freed = true;
}

static void take_down(struct spw_shape *shape, const struct spw_history *history, const struct spw_window *window)
{
    uint32_t n = 0, besides = 0, allocs = 0;
    shape->boundary_live_bytes = spw_event_at(history, window->begin_event)->live_bytes;
    for (uint64_t e = window->begin_event; e < window->end_event; e++) {
        const struct spw_event *event = spw_event_at(history, e);
        if (event->kind == SPW_EVENT_BESIDE) {
            shape->besides[besides++].token = event->value;
        } else if (event->kind == SPW_EVENT_ALLOC) {
            shape->allocs[allocs++] =
                (struct spw_shape_alloc){.bytes = event->value, .kind = event->alloc_kind, .id = event->id};
        } else if (event->kind == SPW_EVENT_FREE) {
            note_free(shape, allocs, (uint32_t)event->value);
        } else {
            const struct spw_bone *bone = spw_bone_at(history, event->value);
            shape->steps[n] = (struct spw_shape_step){.token = bone->token,
                                                      .function = bone->function,
                                                      .live_bytes = (int64_t)(bone->live_bytes - shape->boundary_live_bytes),
                                                      .besides = shape->steps[n].besides,
                                                      .allocs = shape->steps[n].allocs,
                                                      .launch = bone->launch,
                                                      .hint = bone->hint};
            n++;
            shape->steps[n].besides = besides;
            shape->steps[n].allocs = allocs;
        }
    }
    shape->steps[n + 1] = (struct spw_shape_step){.besides = besides, .allocs = allocs};
}

/* Numbers operations in order: those of a gap come before the step after it. */
static void number_operations(struct spw_shape *shape)
{
    for (uint32_t n = 0; n <= shape->backbone; n++) {
        for (uint32_t i = shape->steps[n].besides; i < shape->steps[n + 1].besides; i++)
            shape->besides[i].ordinal = i + n;
        shape->steps[n].ordinal = n + shape->steps[n + 1].besides;
    }
    shape->steps[shape->backbone + 1].ordinal = shape->length;
}

void spw_shape_complete(struct spw_shape *shape)
{
    uint64_t prefix = 0;
    if (!shape->backbone)
        return; /* there is no such shape */
    number_operations(shape);
    for (uint32_t n = 0; n < shape->backbone; n++) {
        shape->steps[n].prefix = prefix;
        prefix = spw_live_mix(prefix + shape->steps[n].token);
        shape->sum += spw_live_mix(shape->steps[n].token);
        shape->hints |= shape->steps[n].hint;
    }
    shape->steps[shape->backbone].prefix = prefix;
    make_index(shape);
    make_functions(shape);
    shape->distinct_after = distinct_after(shape);
}

int spw_shape_create(const struct spw_history *history, const struct spw_window *window, struct spw_shape **ret_shape)
{
    struct spw_shape *shape = make_room_for(history, window);
    if (!shape)
        return -ENOMEM;
    take_down(shape, history, window);
    spw_shape_complete(shape);
    *ret_shape = shape;
    return 0;
}

void spw_shape_destroy(struct spw_shape *shape)
{
    if (!shape)
        return;
    free(shape->steps);
    free(shape->besides);
    free(shape->allocs);
    free(shape->places);
    free(shape->functions);
    free(shape);
}

size_t spw_shape_memory_bytes(const struct spw_shape *shape)
{
    return sizeof(*shape) + (shape->backbone + 2) * sizeof(*shape->steps) + shape->beside_count * sizeof(*shape->besides) +
           shape->alloc_count * sizeof(*shape->allocs) + shape->place_capacity * sizeof(*shape->places) +
           shape->backbone * sizeof(*shape->functions);
}
