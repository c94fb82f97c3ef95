/* observer.c - tells the detector and the recording of one device the same things. */
#include "observer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "course/recording.h"
#include "kernel_profile.h"
#include "log.h"
#include "slab.h"

enum {
    MAX_OPERATIONS = 1 << 20,
    LOOKED_AT = 64, /* touches of one operation that the detector is told of */
    OFTEN = 6,      /* iterations that only the detector without sizes has seen */
};

struct spw_observer {
    struct spw_device *device;
    struct spw_iteration *detector;
    struct spw_iteration *blind; /* a second detector, which is told of no sizes; NULL: it is decided which one to use */
    bool is_blind;               /* `detector` is the one that is told of no sizes */
    struct spw_recording *recording;
    bool is_recording, broken;
    struct spw_recording_touch *touches; /* the touches of one operation, for the recording */
    uint32_t touch_room;
};

/* ---- blocks that are there already ---- */

static int by_serial(const void *a, const void *b)
{
    const struct spw_block *x = *(struct spw_block *const *)a, *y = *(struct spw_block *const *)b;
    return x->serial < y->serial ? -1 : x->serial > y->serial;
}

/* Returns the live allocations of the program, in the order of their serials; the caller frees the list. */
static struct spw_block **live_blocks(const struct spw_device *d, uint32_t *ret_count)
{
    struct spw_block **list = malloc((d->block_count + 1) * sizeof(struct spw_block *));
    *ret_count = 0;
    for (uint32_t i = 0; list && i < d->block_count; i++) {
        struct spw_block *b = d->blocks[i];
        const bool is_slab = d->table[b->first] != &b->object;
        if (b->serial && !is_slab && !(b->object.attention & SPW_FREE) && !b->doomed)
            list[(*ret_count)++] = b;
    }
    if (list)
        qsort(list, *ret_count, sizeof(struct spw_block *), by_serial);
    return list;
}

/* Gives the detector the iterations that earlier runs have left. It has room for as many as a profile keeps. */
static void remember(struct spw_observer *w)
{
    const struct spw_profile_iterations *known = spw_kernel_profile_iterations_locked();
    for (const struct spw_profile_iteration *it = NULL; known && (it = spw_profile_iterations_next(known, it));)
        (void)spw_iteration_remember(w->detector, it->shape, it->shape_bytes);
}

int spw_observer_create(struct spw_device *d, struct spw_observer **ret_watch)
{
    uint32_t count;
    struct spw_observer *w = calloc(1, sizeof(*w));
    struct spw_block **list = live_blocks(d, &count);
    int r = w && list ? spw_iteration_create(MAX_OPERATIONS, &w->detector) : -ENOMEM;
    if (r == 0)
        r = spw_iteration_create(MAX_OPERATIONS, &w->blind);
    if (r == 0)
        r = spw_recording_create(&w->recording);
    if (r == 0) {
        w->device = d;
        for (uint32_t i = 0; i < count; i++)
            spw_observer_alloc(w, list[i]);
        remember(w);
        *ret_watch = w;
    } else {
        spw_observer_destroy(w);
    }
    free(list);
    return r;
}

void spw_observer_destroy(struct spw_observer *w)
{
    if (!w)
        return;
    spw_iteration_destroy(w->detector);
    spw_iteration_destroy(w->blind);
    spw_recording_destroy(w->recording);
    free(w->touches);
    free(w);
}

/* ---- what happens ---- */

void spw_observer_alloc(struct spw_observer *w, const struct spw_block *b)
{
    /* An allocation for which there is no memory here will not be recognised. */
    (void)spw_iteration_alloc(w->detector, b->serial, w->is_blind ? 1 : b->size_bytes, 0);
    if (w->blind)
        (void)spw_iteration_alloc(w->blind, b->serial, 1, 0);
    if (w->is_recording && spw_recording_alloc(w->recording, b->serial, b->size_bytes, !b->pinned) < 0)
        w->broken = true;
}

void spw_observer_free(struct spw_observer *w, uint64_t serial)
{
    (void)spw_iteration_free(w->detector, serial);
    if (w->blind)
        (void)spw_iteration_free(w->blind, serial);
    if (w->is_recording && spw_recording_free(w->recording, serial) < 0)
        w->broken = true;
}

void spw_observer_hint(struct spw_observer *w)
{
    spw_iteration_hint(w->detector);
    if (w->blind)
        spw_iteration_hint(w->blind);
}

void spw_observer_free_small(struct spw_observer *w, uint64_t serial)
{
    if (w->is_recording && spw_recording_free(w->recording, serial) < 0)
        w->broken = true;
}

void spw_observer_pin(struct spw_observer *w, uint64_t serial)
{
    if (w->is_recording)
        spw_recording_pin(w->recording, serial);
}

static bool is_backbone(const struct spw_signature *signature)
{
    return signature->kind < SPW_ITERATION_COPY_H2D;
}

/* A touch that may write counts as reading and writing: a kernel may read what it writes. */
static struct spw_recording_touch recorded(const struct spw_observer_touch *touch)
{
    return (struct spw_recording_touch){.id = touch->serial,
                                        .access = touch->writes ? SPW_COURSE_READS | SPW_COURSE_WRITES : SPW_COURSE_READS,
                                        .offset = touch->offset,
                                        .small_bytes = touch->small ? touch->bytes : 0,
                                        .loose = touch->loose,
                                        .doubted = touch->doubted};
}

static int record(struct spw_observer *w, const struct spw_observer_op *op, const struct spw_iteration_op *told,
                  uint32_t *ret_number)
{
    int r = SPW_GROW(w->touches, w->touch_room, op->count);
    for (uint32_t i = 0; i < op->count && r == 0; i++)
        w->touches[i] = recorded(&op->touches[i]);
    if (r == 0)
        r = spw_recording_op(w->recording, spw_observer_key(w, &op->signature), is_backbone(&op->signature), w->touches,
                             op->count, ret_number);
    if (r == 0)
        spw_recording_call(w->recording, *ret_number, told);
    if (r == 0 && !op->order_known)
        spw_recording_unordered(w->recording, *ret_number);
    return r;
}

/* Tells the detector of the loose touches, as far as there is room, or of the others. */
static void add_told(const struct spw_observer_op *op, bool loose, struct spw_iteration_touch list[static LOOKED_AT],
                     struct spw_iteration_op *told)
{
    for (uint32_t i = 0; i < op->count; i++) {
        const struct spw_observer_touch *touch = &op->touches[i];
        if (!touch->serial || touch->small || touch->doubted || touch->loose != loose)
            continue;
        if (told->touch_count == LOOKED_AT) {
            told->everything |= !loose;
            return;
        }
        list[told->touch_count++] = (struct spw_iteration_touch){touch->serial, touch->bytes, touch->offset};
        told->loose_count += loose;
    }
}

uint64_t spw_observer_key(const struct spw_observer *w, const struct spw_signature *signature)
{
    const struct spw_signature of_any_size = {.kind = signature->kind, .function = signature->function};
    return spw_signature_key(w->is_blind ? &of_any_size : signature);
}

static void tell(struct spw_iteration *detector, bool sizes, const struct spw_iteration_op *op,
                 struct spw_iteration_place *ret_place)
{
    struct spw_iteration_touch list[LOOKED_AT];
    const struct spw_iteration_op told = sizes ? *op : spw_iteration_op_of_any_size(op, list, LOOKED_AT);
    (void)spw_iteration_add(detector, &told, ret_place); /* without memory its answer is NO */
}

/* Returns how many iterations of the shape were seen. */
static uint64_t seen(const struct spw_iteration *detector, uint32_t shape)
{
    struct spw_iteration_shape it;
    for (size_t i = 0; spw_iteration_shape_at(detector, i, &it); i++)
        if (it.id == shape)
            return it.seen;
    return 0;
}

/* While no iteration is known with its sizes, tells the detector without sizes as well. It takes over if it alone knows
 * one. */
static void tell_blind(struct spw_observer *w, const struct spw_iteration_op *op, struct spw_iteration_place *place)
{
    struct spw_iteration_place other;
    tell(w->blind, false, op, &other);
    const bool ends = other.sure != SPW_ITERATION_NO && !other.extra && other.ordinal + 1 == other.length;
    const bool takes_over = ends && seen(w->blind, other.shape) >= OFTEN;
    if (!spw_iteration_shape_count(w->detector) && !takes_over)
        return;
    if (!spw_iteration_shape_count(w->detector)) {
        struct spw_iteration *former = w->detector;
        w->detector = w->blind;
        w->blind = former;
        w->is_blind = true;
        *place = other;
        spw_info("device %d: an iteration of %u operations is known, but for the sizes of its tensors", w->device->ordinal,
                 other.length);
    }
    spw_iteration_destroy(w->blind);
    w->blind = NULL;
}

uint32_t spw_observer_note(struct spw_observer *w, const struct spw_observer_op *op, struct spw_iteration_place *ret_place)
{
    struct spw_iteration_touch list[LOOKED_AT];
    struct spw_iteration_op told = {.kind = op->signature.kind,
                                    .function = op->function,
                                    .geometry = op->signature.geometry,
                                    .everything = op->everything,
                                    .touches = list};
    uint32_t number = SPW_NO_INDEX;
    add_told(op, false, list, &told);
    add_told(op, true, list, &told);
    tell(w->detector, !w->is_blind, &told, ret_place);
    if (w->blind)
        tell_blind(w, &told, ret_place);
    if (!w->is_recording || w->broken)
        return SPW_NO_INDEX;
    if (record(w, op, &told, &number) == 0)
        return number;
    w->broken = true;
    return SPW_NO_INDEX;
}

/* ---- for the profile ---- */

uint64_t spw_observer_hash_of(const struct spw_observer *w, uint32_t shape)
{
    struct spw_iteration_shape it;
    for (size_t i = 0; !w->is_blind && spw_iteration_shape_at(w->detector, i, &it); i++)
        if (it.id == shape)
            return it.hash;
    return 0;
}

int spw_observer_save_shape(const struct spw_observer *w, uint32_t shape, void **ret_bytes, size_t *ret_size)
{
    return spw_iteration_save_shape(w->detector, shape, ret_bytes, ret_size);
}

/* ---- one iteration in full ---- */

int spw_observer_record(struct spw_observer *w)
{
    uint32_t count;
    struct spw_block **list = live_blocks(w->device, &count);
    if (!list)
        return -ENOMEM;
    spw_recording_begin(w->recording);
    w->is_recording = true;
    w->broken = false;
    for (uint32_t i = 0; i < count; i++)
        if (spw_recording_live(w->recording, list[i]->serial, list[i]->size_bytes, !list[i]->pinned) < 0)
            w->broken = true;
    free(list);
    return 0;
}

bool spw_observer_is_recording(const struct spw_observer *w)
{
    return w->is_recording;
}

void spw_observer_stop_recording(struct spw_observer *w)
{
    w->is_recording = false;
}

void spw_observer_takes_no_time(struct spw_observer *w, uint32_t number)
{
    spw_recording_duration(w->recording, number, 0);
}

int spw_observer_course(struct spw_observer *w, struct spw_course **ret_course)
{
    if (!w->is_recording || w->broken)
        return -EINVAL;
    return spw_recording_finish(w->recording, spw_recording_op_count(w->recording), ret_course);
}

/* ---- what was not told ---- */

static void missed_alloc(void *context, uint64_t id, uint64_t bytes)
{
    const struct spw_observer *w = context;
    (void)spw_iteration_alloc(w->detector, id, w->is_blind ? 1 : bytes, 0);
}

static void missed_free(void *context, uint64_t id)
{
    const struct spw_observer *w = context;
    (void)spw_iteration_free(w->detector, id);
}

static void missed_op(void *context, const struct spw_course_op *op, const struct spw_iteration_op *call)
{
    const struct spw_observer *w = context;
    struct spw_iteration_place place;
    (void)op;
    tell(w->detector, !w->is_blind, call, &place);
}

static struct spw_cursor_listener listener_of(struct spw_observer *w)
{
    return (struct spw_cursor_listener){missed_alloc, missed_free, missed_op, w};
}

void spw_observer_catch_up(struct spw_observer *w, const struct spw_cursor *cursor)
{
    const struct spw_cursor_listener listener = listener_of(w);
    (void)spw_cursor_tell(cursor, &listener); /* what there is no memory for is found again later */
}

void spw_observer_catch_up_and_rewind(struct spw_observer *w, struct spw_cursor *cursor)
{
    const struct spw_cursor_listener listener = listener_of(w);
    (void)spw_cursor_rewind_telling(cursor, &listener);
}
