/* place.h - tells where a device is in the iteration that it follows, and recognises the operation that is expected next.
 *
 * Nearly every launch passes through here, so all of it is in this header. */
#ifndef SPILLWAY_SHIM_PLACE_H
#define SPILLWAY_SHIM_PLACE_H
#include "course/cursor.h"
#include "detect/iteration.h"
#include "ours.h"
#include "streams.h"
#include <stdbool.h>
#include <stdint.h>

/* Identifies an operation by numbers that stay the same as long as the process lives. */
struct spw_signature {
    uint8_t kind;      /* enum spw_iteration_kind */
    uint64_t function; /* of a launch or graph; else 0 */
    uint64_t geometry; /* hash of a launch's geometry; else the bytes that are copied or set */
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

/* A device's place in its course, which its streams point to. Nothing is expected while the device is not on its course. */
struct spw_place {
    struct spw_cursor cursor;
    const uint8_t *due; /* by operation, op_count + 1 entries: whether an action is planned before it */
    bool left;          /* an action that is planned before the next operation was postponed until that operation comes */
    bool busy;          /* something is in flight or was postponed: look after every operation */
    bool look;          /* every operation gets a closer look, though the device is on its course, since `told` is set or
                         * versions are kept (versions.h) */
    bool told;          /* every operation is reported to the detector */
};

/* Returns true if nothing has to be looked after behind the operation that the cursor has just passed. */
static inline bool spw_place_is_calm(const struct spw_place *place)
{
    return !place->busy && !place->due[place->cursor.op] && place->cursor.op < place->cursor.course->op_count;
}

/* Returns true in the usual case: the device is on its course, this is the expected operation, and it gets no closer
 * look. */
static inline bool spw_plan_follower_expects(const struct spw_stream *s, uint64_t key)
{
    const struct spw_place *place = s->place;
    return place && !place->look && spw_cursor_expects(&place->cursor, key);
}

/* Called then, if nothing else needs a closer look either: the operation counts as reported. */
static inline void spw_plan_follower_advance(struct spw_stream *s)
{
    struct spw_place *place = s->place;
    spw_cursor_advance(&place->cursor);
    s->calm = spw_place_is_calm(place);
}

/* Returns true if an action that is planned before the stream's next operation was postponed until that operation comes. */
static inline bool spw_plan_follower_has_left(const struct spw_stream *s)
{
    return s->place && s->place->left;
}
#endif
