/* place.h - where a device is in the iteration that it follows, and how an operation is recognised as the one expected.
 *
 * Part of the way that nearly every launch takes, so all of it is in this header. */
#ifndef SPILLWAY_SHIM_PLACE_H
#define SPILLWAY_SHIM_PLACE_H
#include "course/cursor.h"
#include "detect/iteration.h"
#include "ours.h"
#include "streams.h"
#include <stdbool.h>
#include <stdint.h>

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

/* After the operation that the cursor has just gone past nothing is to be looked after. */
static inline bool spw_place_is_calm(const struct spw_place *place)
{
    return !place->busy && !place->due[place->cursor.op] && place->cursor.op < place->cursor.course->op_count;
}

/* The usual operation of a device on its course: true when it is the one expected, and gets no closer look. */
static inline bool spw_plan_follower_expects(const struct spw_stream *s, uint64_t key)
{
    const struct spw_place *place = s->place;
    return place && !place->look && spw_cursor_expects(&place->cursor, key);
}

/* Then, when nothing else needs a closer look either: it counts as told. */
static inline void spw_plan_follower_advance(struct spw_stream *s)
{
    struct spw_place *place = s->place;
    spw_cursor_advance(&place->cursor);
    s->calm = spw_place_is_calm(place);
}

/* Something that is planned before the operation was left until that is there. */
static inline bool spw_plan_follower_has_left(const struct spw_stream *s)
{
    return s->place && s->place->left;
}
#endif
