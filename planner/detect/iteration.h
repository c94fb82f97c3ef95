/* iteration.h - finds the stretch that a program repeats, its iteration, and tells where in it the program is.
 *
 * The caller reports everything that happens, in the order in which the host does it: allocations, frees, operations. The
 * answer to an operation is its place: which shape (a known iteration) is going on, the operation's ordinal in it, and how
 * sure that is. Allocations get ordinals the same way. Nothing depends on addresses. A program that does the same again is
 * recognised by what it calls, by the sizes of what that touches, and by how long ago the touched allocations were made.
 *
 * Words. A *boundary* is the point between two iterations: the live set is the same at both ends, and smallest there. What
 * an iteration keeps is ignored as long as all of it is slight, that is, at most 1/65536 of the most that was alive at
 * once. The operations of the backbone (launches, graphs, sets, copies within the device) have to come in the same order.
 * Operations outside the backbone (copies from and to the host) may be missing, added, or come a little sooner or later
 * (loaders, logging).
 *
 * Plain C over numbers: no threads, no globals, no environment. Only one thread may use a detector at a time.
 *
 * Memory: at most about 250 bytes for each remembered operation of the backbone (`max_operations`; it starts with 2^12
 * and doubles only as long as nothing is found), up to 256 bytes per live allocation, and at most SPW_ITERATION_SHAPES
 * shapes of up to 64 bytes per event. Iterations of up to a third of max_operations can be found. Time per event is
 * constant on average. */
#ifndef SPILLWAY_PLANNER_ITERATION_H
#define SPILLWAY_PLANNER_ITERATION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPW_ITERATION_SHAPES = 16 }; /* known at once; the one not seen for the longest time is replaced */

enum spw_iteration_kind { /* of an operation; the backbone first */
                          SPW_ITERATION_LAUNCH,
                          SPW_ITERATION_GRAPH,
                          SPW_ITERATION_SET,
                          SPW_ITERATION_COPY_D2D,
                          SPW_ITERATION_COPY_H2D, /* from here on: outside the backbone */
                          SPW_ITERATION_COPY_D2H,
                          SPW_ITERATION_OTHER, /* host functions, waits on values */
                          SPW_ITERATION_KINDS
};

struct spw_iteration_touch {
    uint64_t alloc;  /* id, as told to spw_iteration_alloc() */
    uint64_t bytes;  /* of the whole allocation */
    uint64_t offset; /* of the address within it; 0 if unknown */
};

struct spw_iteration_op {
    enum spw_iteration_kind kind;
    uint32_t stream;   /* any number; not part of the operation's identity */
    uint64_t function; /* LAUNCH, GRAPH: id or hash, the same for equal calls; else 0 */
    uint64_t geometry; /* hash of grid, block and shared bytes, or the bytes copied or set */
    bool everything;   /* it may touch anything, since its parameters could not be read */
    uint32_t touch_count;
    /* How many of the last touches are loose: they may occur by chance and are not part of the operation's identity, but
     * they count as touches. */
    uint32_t loose_count;
    const struct spw_iteration_touch *touches; /* in the order of the parameters */
};

/* Returns the operation without sizes, offsets and geometry, for a detector that finds iterations by their kernels and the
 * order of these alone. Such a detector is also told that each allocation has one byte. `list` gets the touches, at most
 * `room` of them, and has to stay as long as the result is used. */
struct spw_iteration_op spw_iteration_op_of_any_size(const struct spw_iteration_op *op, struct spw_iteration_touch *list,
                                                     uint32_t room);

/* How sure a place is.
 *   SURE    Everything since the boundary (backbone, sizes, live bytes) equals the shape so far, and no other known shape
 *           would explain it as well.
 *   LIKELY  The best guess, sometimes wrong. The backbone fits, but the live bytes differ (an evaluation pass begins like
 *           this); or the place was found again in mid-iteration and no boundary has been passed since; or the shape begins
 *           like another part of itself (micro-steps).
 *   NO      No iteration is known yet, or the program is off the path.
 * A part of an iteration that repeats exactly (a micro-step of gradient accumulation) is a shape of its own, with sure
 * ordinals, until the whole has been seen twice. */
enum spw_iteration_sure { SPW_ITERATION_NO, SPW_ITERATION_LIKELY, SPW_ITERATION_SURE };

struct spw_iteration_place {
    enum spw_iteration_sure sure;
    /* An operation outside the backbone that the shape does not have here: it has no ordinal, and is still on the path. */
    bool extra;
    bool begins; /* the first operation of an iteration: the boundary is before it */
    /* This operation made a shape known, or replaced one by a longer one; `began` is the latest begin of that shape. */
    bool learned;
    uint32_t shape;   /* id, valid unless NO; ids are never reused */
    uint32_t length;  /* operations of the shape, valid unless NO */
    uint32_t ordinal; /* of the operation within its iteration, valid unless NO or extra */
    uint64_t began;   /* number of the first operation of this iteration, valid unless NO */
};

struct spw_iteration; /* opaque */

/* Returns 0 or -ENOMEM. `max_operations`: how many operations of the backbone are remembered at most; rounded up to a
 * power of two, 2^12..2^24. */
int spw_iteration_create(size_t max_operations, struct spw_iteration **ret_detector);
void spw_iteration_destroy(struct spw_iteration *detector); /* NULL is allowed */

/* Reports an allocation. Ids rise: a later allocation has a larger id. No id is used twice, and none is 0. `kind`: any
 * number; it is part of the allocation's identity. Returns 0; -EINVAL: the id does not rise; -ENOMEM: the allocation is
 * not noted, and the detector is unchanged. */
int spw_iteration_alloc(struct spw_iteration *detector, uint64_t id, uint64_t bytes, uint32_t kind);

/* Reports a free. Returns 0; -ENOENT: no such allocation is alive; -ENOMEM as above. */
int spw_iteration_free(struct spw_iteration *detector, uint64_t id);

/* Reports the next operation; operations are numbered from 0. Touches of unknown allocations are allowed. Returns 0;
 * -ENOMEM: there was no memory for a shape or for the history; the operation counts, *ret_place says NO, and the detector
 * goes on. */
int spw_iteration_add(struct spw_iteration *detector, const struct spw_iteration_op *op,
                      struct spw_iteration_place *ret_place);

/* Reports that an iteration begins according to the program: the next event, even an allocation, belongs to it. Hints
 * choose the boundary and the length: a repetition without a hint in it, or with hints at other operations each time, is
 * only a part. Hints never make an iteration of what does not repeat, and hints that have stopped are not waited for. */
void spw_iteration_hint(struct spw_iteration *detector);

/* What is known about a live allocation. */
struct spw_iteration_allocation {
    uint64_t bytes;
    /* It outlives boundaries: it was alive at the last one, or its equal in the shape was not freed. */
    bool persistent;
    bool has_ordinal; /* it was matched with an allocation of the shape */
    bool sure;        /* its place was SURE then, else LIKELY; valid with has_ordinal */
    uint32_t shape;   /* the shape, valid with has_ordinal */
    uint32_t ordinal; /* k-th allocation since the boundary, from 0, valid with has_ordinal */
};

/* Returns true and *ret if `id` is alive. An allocation gets its ordinal with the next operation of the backbone that
 * fits, by the call that returns that operation's place; before that it has none. */
bool spw_iteration_find_alloc(const struct spw_iteration *detector, uint64_t id, struct spw_iteration_allocation *ret);

struct spw_iteration_shape {
    uint32_t id;
    uint32_t length;   /* all operations */
    uint32_t backbone; /* operations of the backbone */
    uint32_t allocs;   /* allocations within one iteration */
    /* Of its operations in order: the same in every process that makes the same calls. */
    uint64_t hash;
    uint64_t seen;                /* complete iterations, counted from the first one that it was learned from */
    uint64_t last_seen;           /* number of the first operation of its latest iteration */
    uint64_t boundary_live_bytes; /* bytes alive at its boundary */
};

/* The known shapes, in the order in which they were learned. */
size_t spw_iteration_shape_count(const struct spw_iteration *detector);
bool spw_iteration_shape_at(const struct spw_iteration *detector, size_t index, struct spw_iteration_shape *ret);

/* Returns the token of operation `ordinal` of the shape `id`, or 0 if there is none. Equal operations have equal tokens
 * in every process that numbers its functions alike. */
uint64_t spw_iteration_token(const struct spw_iteration *detector, uint32_t shape, uint32_t ordinal);

/* Gets allocation `ordinal` of the shape: its bytes, and whether it is freed before the iteration ends. Returns false if
 * there is none. */
bool spw_iteration_shape_alloc(const struct spw_iteration *detector, uint32_t shape, uint32_t ordinal, uint64_t *ret_bytes,
                               bool *ret_freed);

/* Saves the shape `id` as bytes, for processes that number their functions alike. The caller frees *ret_bytes with
 * free(). Returns 0; -ENOENT: there is no such shape; -ENOMEM. */
int spw_iteration_save_shape(const struct spw_iteration *detector, uint32_t id, void **ret_bytes, size_t *ret_size);

/* Loads a shape that another process has learned and saved. It becomes known, and gets an id, as soon as 16 operations of
 * the backbone in a row are found at only one place of it. From then on it is judged like any other; if the program turns
 * out to do something else, that is learned as if nothing had been loaded. Returns 0; -EBADMSG: the bytes are no shape;
 * -ENOSPC: no more shapes can be remembered; -ENOMEM. */
int spw_iteration_remember(struct spw_iteration *detector, const void *bytes, size_t size);

/* Returns how many bytes of memory the detector itself uses. */
size_t spw_iteration_memory_bytes(const struct spw_iteration *detector);
#endif
