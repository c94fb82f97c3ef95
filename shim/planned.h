/* planned.h - later iterations follow a plan: which devices are watched, who knows their iteration, and what the engine
 * tells.
 *
 * A device begins to be watched when its memory turns out to be short. From then on the engine tells of every operation,
 * allocation and free of its blocks. Once the iteration is known, has been recorded with durations and planned, the device
 * is on its course: an operation that is the expected one costs a comparison, and between operations tensors leave and come
 * back as planned (carry.h). Anything else is watched again, on demand, until the program is back in an iteration that has a
 * plan.
 *
 *     FITS --short of memory--> WATCHED --sure of the iteration--> (recorded, planned) --boundary--> ON COURSE
 *                                  ^-----------------------something unexpected------------------------|
 *
 * The course is followed as soon as it is known, planned or not. Until an iteration has come a few times in a row, the
 * detector goes on being told: it may be a part of a longer one.
 *
 * A wrong plan is slow, never wrong: whatever an operation touches is made resident before it runs, plan or not. */
#ifndef SPILLWAY_SHIM_PLANNED_H
#define SPILLWAY_SHIM_PLANNED_H
#include "course/cursor.h"
#include "detect/iteration.h"
#include "ledger.h"
#include "ours.h"

/* What it is that is called, by numbers that stay the same while the process lives. */
struct spw_signature {
    uint8_t kind;      /* enum spw_iteration_kind */
    uint64_t function; /* of a launch or graph, else 0 */
    uint64_t geometry; /* of a launch; else the bytes that are copied or set */
};

static inline uint64_t spw_signature_mix(uint64_t x, uint64_t y)
{
    x = (x ^ y) * 0x9e3779b97f4a7c15u;
    return x ^ x >> 32;
}
static inline uint64_t spw_signature_key(const struct spw_signature *signature)
{
    return spw_signature_mix(spw_signature_mix(signature->function, signature->geometry), signature->kind);
}

struct spw_op;
struct spw_slot;

/* A device's place, where its streams find it: nothing is expected while it is not on its course. */
struct spw_place {
    struct spw_cursor cursor;
    const uint8_t *due; /* by operation, op_count + 1 of them: whether something is planned before it */
    bool left;          /* something of what is planned before the next operation is to be done when that is there */
    bool busy;          /* something is on its way, or was left undone: look after every operation */
    bool look;          /* every operation gets a closer look, though the device is on its course: it is told, or versions
                         * are kept (versions.h) */
    bool told;          /* the detector is told of everything */
};

extern bool spw_planned_any SPW_OURS; /* some device is watched or on its course; engine lock, or a moment late */

/* After the operation that the cursor has just gone past nothing is to be looked after. */
static inline bool spw_place_is_calm(const struct spw_place *place)
{
    return !place->busy && !place->due[place->cursor.op] && place->cursor.op < place->cursor.course->op_count;
}

/* The usual operation of a device on its course: true when it is the one expected, and gets no closer look. */
static inline bool spw_planned_expects(const struct spw_stream *s, uint64_t key)
{
    const struct spw_place *place = s->place;
    return place && !place->look && spw_cursor_expects(&place->cursor, key);
}

/* Then, when nothing else needs a closer look either: it counts as told. */
static inline void spw_planned_advance(struct spw_stream *s)
{
    struct spw_place *place = s->place;
    spw_cursor_advance(&place->cursor);
    s->calm = spw_place_is_calm(place);
}

/* ---- what the engine tells; engine lock held ---- */

/* Memory is short on the device. */
void spw_planned_press_locked(struct spw_device *d);

/* Nothing else can go. True: what was taken for finding something out about the program went to the cache. Slow lock too. */
bool spw_planned_give_room_locked(struct spw_device *d);

/* The operation was begun: everything that it touches is there. `objects` is what it touches where that took a closer look,
 * else NULL: then its hits say so. Sets op->timed where its duration is wanted. */
void spw_planned_op_locked(struct spw_op *op, struct spw_object *const *objects, unsigned count);

void spw_planned_alloc_locked(struct spw_device *d, struct spw_block *b);
void spw_planned_free_locked(struct spw_device *d, struct spw_block *b);
void spw_planned_free_slot_locked(struct spw_device *d, const struct spw_slot *slot); /* while it has its serial still */
void spw_planned_pin_locked(struct spw_block *b);

/* Versions begin to be kept (versions.h), or are not kept any more: nothing is dropped then. Makes no difference twice. */
void spw_planned_keep_versions_locked(bool keep);

/* Versions cost each operation something. Where no device wants them any more, what is dropped on this one is made again,
 * and once nothing is dropped they are not kept. Needs the device's slow lock as well, lets go of the engine lock while it
 * waits. */
void spw_planned_spare_versions_unlocking(struct spw_device *d, struct spw_stream *s);

/* A replay of the operation gave other bytes (verify.h): the iteration that is followed is planned anew without it, and
 * unless it is `alone` in that no launch of its function is taken for one that can be replayed any more. */
void spw_planned_condemned_locked(struct spw_device *d, const struct spw_rerun *wrong, bool alone);

/* Something that is planned before the operation was left until that is there. */
static inline bool spw_planned_has_left(const struct spw_stream *s)
{
    return s->place && s->place->left;
}

/* Carries that out. Needs the slow lock of the stream's device as well, lets go of the engine lock while it waits. */
void spw_planned_before_unlocking(struct spw_stream *s);

/* ---- no lock held ---- */

/* After the driver has taken an operation: carries out what is due. */
void spw_planned_after(struct spw_stream *s);

void spw_planned_stop(void);     /* at the end of the process: no thread of ours goes on */
void spw_planned_in_child(void); /* a forked child follows nothing */
void spw_planned_reset(void);    /* forgets everything: for tests */
#endif
