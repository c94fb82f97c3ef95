/* iteration.c - takes events call by call, and tells where in its iteration the program is. */
#include "detect/iteration.h"

#include <errno.h>
#include <stdlib.h>

#include "detect/detector.h"

int spw_iteration_create(size_t max_operations, struct spw_iteration **ret_detector)
{
    struct spw_iteration *detector = calloc(1, sizeof(*detector));
    if (!detector)
        return -ENOMEM;
    int r = spw_history_init(&detector->history, max_operations);
    if (r == 0)
        r = spw_live_init(&detector->live);
    if (r == 0)
        r = spw_finder_init(&detector->finder, &detector->history);
    if (r < 0) {
        spw_iteration_destroy(detector);
        return r;
    }
    *ret_detector = detector;
    return 0;
}

void spw_iteration_destroy(struct spw_iteration *detector)
{
    if (!detector)
        return;
    for (size_t i = 0; i < detector->shape_count; i++)
        spw_shape_destroy(detector->shapes[i]);
    spw_remembered_finish(&detector->remembered);
    spw_finder_finish(&detector->finder);
    spw_live_finish(&detector->live);
    spw_history_finish(&detector->history);
    free(detector);
}

/* Adds an event other than a bone; it uses up a hint. */
static void add_event(struct spw_iteration *detector, struct spw_event event)
{
    spw_history_add_event(&detector->history, event);
    detector->hint_in_gap |= event.hint;
    detector->hint = false;
}

int spw_iteration_alloc(struct spw_iteration *detector, uint64_t id, uint64_t bytes, uint32_t kind)
{
    const struct spw_event event = {.kind = SPW_EVENT_ALLOC,
                                    .value = bytes,
                                    .live_bytes = detector->live.bytes,
                                    .id = (uint32_t)id,
                                    .alloc_kind = (uint16_t)kind,
                                    .hint = detector->hint};
    const struct spw_live_entry entry = {
        .id = id, .bytes = bytes, .kind = (uint16_t)kind, .event = detector->history.event_count};
    const int r = spw_live_add(&detector->live, &entry);
    if (r == 0)
        add_event(detector, event);
    return r;
}

int spw_iteration_free(struct spw_iteration *detector, uint64_t id)
{
    const struct spw_event event = {
        .kind = SPW_EVENT_FREE, .value = id, .live_bytes = detector->live.bytes, .hint = detector->hint};
    const int r = spw_live_remove(&detector->live, id);
    if (r == 0)
        add_event(detector, event);
    return r;
}

void spw_iteration_hint(struct spw_iteration *detector)
{
    detector->hint = true;
}

/* Returns how sure the place of the newest bone is, while on the path. */
static enum spw_iteration_sure how_sure(const struct spw_iteration *detector, uint64_t live_bytes)
{
    const struct spw_shape *shape = detector->shape;
    const bool same_memory =
        spw_live_alike(&detector->live, detector->start_live_bytes, shape->boundary_live_bytes) &&
        spw_live_alike(&detector->live, live_bytes,
                       detector->start_live_bytes + (uint64_t)shape->steps[detector->cursor - 1].live_bytes);
    return detector->whole && !detector->doubtful && same_memory ? SPW_ITERATION_SURE : SPW_ITERATION_LIKELY;
}

/* Handles a bone that has a hint, or is not the next step in the middle of an iteration. */
static __attribute__((noinline)) int find_place(struct spw_iteration *detector, uint64_t bone,
                                                struct spw_iteration_place *place)
{
    int r = 0;
    if (detector->suspect.lag)
        r = spw_search_compare(detector, bone, &place->learned);
    if (r < 0 || place->learned)
        return r;
    if (spw_bone_at(&detector->history, bone)->hint)
        spw_search_heed(detector, bone);
    if (detector->shape && detector->cursor == detector->shape->backbone)
        r = spw_merge_completed(detector, bone, &place->learned);
    if (!place->learned && detector->shape && !spw_follow(detector, bone) && detector->shape)
        spw_follow_leave(detector, bone);
    if (!detector->shape)
        return spw_search(detector, bone, &place->learned);
    if (detector->unsettled && (r < 0 || place->learned))
        spw_finder_restart(&detector->finder, bone + 1); /* the finder must see all bones or none */
    else if (detector->unsettled)
        return spw_search_doubt(detector, bone, &place->learned);
    return r;
}

static int take_bone(struct spw_iteration *detector, const struct spw_iteration_op *op, uint64_t token,
                     struct spw_iteration_place *place)
{
    struct spw_history *history = &detector->history;
    const uint64_t bone = history->bone_count;
    int r = 0;
    spw_history_add_bone(history, op, token, &detector->live, detector->hint, detector->hint_in_gap);
    const bool hint = detector->hint || detector->hint_in_gap;
    detector->hint = detector->hint_in_gap = false;
    if (hint || !detector->shape || !spw_follow_next(detector, token))
        r = find_place(detector, bone, place);
    if (!detector->shape)
        return r;
    place->sure = how_sure(detector, detector->live.bytes);
    place->shape = detector->shape->id;
    place->length = detector->shape->length;
    place->ordinal = detector->shape->steps[detector->cursor - 1].ordinal;
    place->began = detector->began;
    place->begins = detector->began == history->op_count;
    return r;
}

/* Returns true if an iteration has begun where the shape that is followed has no boundary. The next bone will tell which
 * one. */
static bool is_contradicted(const struct spw_iteration *detector)
{
    const struct spw_shape *shape = detector->shape;
    return (detector->hint || detector->hint_in_gap) && detector->cursor < shape->backbone &&
           !shape->steps[detector->cursor].hint;
}

static void take_beside(struct spw_iteration *detector, const struct spw_iteration_op *op, uint64_t token,
                        struct spw_iteration_place *place)
{
    if (detector->shape && !is_contradicted(detector)) {
        place->extra = !spw_follow_beside(detector, token, &place->ordinal, &place->begins);
        place->sure = detector->whole && !detector->doubtful ? SPW_ITERATION_SURE : SPW_ITERATION_LIKELY;
        place->shape = detector->shape->id;
        place->length = detector->shape->length;
        place->began = detector->began;
    }
    add_event(detector, (struct spw_event){.kind = SPW_EVENT_BESIDE,
                                           .value = token,
                                           .live_bytes = detector->live.bytes,
                                           .input = op->kind == SPW_ITERATION_COPY_H2D,
                                           .hint = detector->hint});
}

struct spw_iteration_op spw_iteration_op_of_any_size(const struct spw_iteration_op *op, struct spw_iteration_touch *list,
                                                     uint32_t room)
{
    struct spw_iteration_op told = *op;
    told.geometry = 0;
    told.touches = list;
    told.touch_count = op->touch_count < room ? op->touch_count : room;
    for (uint32_t i = 0; i < told.touch_count; i++)
        list[i] = (struct spw_iteration_touch){.alloc = op->touches[i].alloc};
    told.loose_count = told.touch_count;
    return told;
}

int spw_iteration_add(struct spw_iteration *detector, const struct spw_iteration_op *op,
                      struct spw_iteration_place *ret_place)
{
    const uint64_t token = spw_history_token(op);
    const bool beside = op->kind >= SPW_ITERATION_COPY_H2D;
    int r = 0;
    *ret_place = (struct spw_iteration_place){.sure = SPW_ITERATION_NO};
    if (beside)
        take_beside(detector, op, token, ret_place);
    else
        r = take_bone(detector, op, token, ret_place);
    detector->history.op_count++;
    return r;
}

bool spw_iteration_find_alloc(const struct spw_iteration *detector, uint64_t id, struct spw_iteration_allocation *ret)
{
    const struct spw_live_entry *entry = spw_live_find(&detector->live, id);
    if (!entry)
        return false;
    *ret =
        (struct spw_iteration_allocation){.bytes = entry->bytes,
                                          .persistent = entry->event < detector->boundary || (entry->shape && !entry->freed),
                                          .has_ordinal = entry->shape != 0,
                                          .sure = entry->sure,
                                          .shape = entry->shape,
                                          .ordinal = entry->ordinal};
    return true;
}

size_t spw_iteration_shape_count(const struct spw_iteration *detector)
{
    return detector->shape_count;
}

bool spw_iteration_shape_at(const struct spw_iteration *detector, size_t index, struct spw_iteration_shape *ret)
{
    if (index >= detector->shape_count)
        return false;
    const struct spw_shape *shape = detector->shapes[index];
    *ret = (struct spw_iteration_shape){.id = shape->id,
                                        .length = shape->length,
                                        .backbone = shape->backbone,
                                        .allocs = shape->alloc_count,
                                        .hash = spw_shape_hash(shape),
                                        .seen = shape->seen,
                                        .last_seen = shape->last_seen,
                                        .boundary_live_bytes = shape->boundary_live_bytes};
    return true;
}

static const struct spw_shape *find_shape(const struct spw_iteration *detector, uint32_t id)
{
    for (size_t i = 0; i < detector->shape_count; i++)
        if (detector->shapes[i]->id == id)
            return detector->shapes[i];
    return NULL;
}

uint64_t spw_iteration_token(const struct spw_iteration *detector, uint32_t shape, uint32_t ordinal)
{
    const struct spw_shape *found = find_shape(detector, shape);
    if (!found || ordinal >= found->length)
        return 0;
    uint32_t low = 0, high = found->backbone; /* the last step with an ordinal of at most this one */
    while (low + 1 < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (found->steps[middle].ordinal <= ordinal)
            low = middle;
        else
            high = middle;
    }
    if (found->steps[low].ordinal == ordinal)
        return found->steps[low].token;
    for (uint32_t i = 0; i < found->beside_count; i++)
        if (found->besides[i].ordinal == ordinal)
            return found->besides[i].token;
    return 0;
}

bool spw_iteration_shape_alloc(const struct spw_iteration *detector, uint32_t shape, uint32_t ordinal, uint64_t *ret_bytes,
                               bool *ret_freed)
{
    const struct spw_shape *found = find_shape(detector, shape);
    if (!found || ordinal >= found->alloc_count)
        return false;
    *ret_bytes = found->allocs[ordinal].bytes;
    *ret_freed = found->allocs[ordinal].freed;
    return true;
}

size_t spw_iteration_memory_bytes(const struct spw_iteration *detector)
{
    const struct spw_history *history = &detector->history;
    size_t bytes = sizeof(*detector) + history->bone_capacity * sizeof(*history->bones) +
                   history->event_capacity * sizeof(*history->events) + history->touch_capacity * sizeof(*history->touches) +
                   detector->live.capacity * sizeof(*detector->live.slots) +
                   2 * detector->finder.capacity * sizeof(uint32_t);
    for (size_t i = 0; i < detector->shape_count; i++)
        bytes += spw_shape_memory_bytes(detector->shapes[i]);
    for (size_t i = 0; i < detector->remembered.count; i++)
        bytes += spw_shape_memory_bytes(detector->remembered.shapes[i]);
    return bytes;
}
