/* iteration.h - finds the stretch that a program repeats, its iteration, and says where in it the program is.
 *
 * Whoever watches a program tells everything that happens, in the order in which the host does it: allocations, frees,
 * operations. The answer to an operation is its place: which shape (a known iteration) is going on, the operation's ordinal
 * in it, and how sure that is. Allocations get ordinals the same way. Nothing depends on addresses; a program that does the
 * same again is recognised by what it calls, by the sizes that this touches and by who was allocated how long ago.
 *
 * Words. A *boundary* is the point between two iterations: the live set is the same at both ends, and smallest there.
 * What an iteration keeps does not count as long as all of it is slight beside what a program needs: 1/65536 of the most
 * that was alive at once. Operations that make up the backbone (launches, graphs, sets, copies within the device) must come
 * in the same order; copies from and to the host may be missing, added or come a little sooner or later (loaders, logging).
 *
 * Plain C over numbers: no threads, no globals, no environment. One detector is used by one thread at a time.
 *
 * Memory: at most about 250 bytes for each backbone operation that is remembered (`max_operations`; it starts with 2^12 and
 * doubles only as long as nothing is found), up to 256 bytes per live allocation, and at most SPW_ITERATION_SHAPES shapes of
 * up to 64 bytes per event. Iterations of up to a third of max_operations can be found. Time per event is constant on
 * average. */
#ifndef SPILLWAY_PLANNER_ITERATION_H
#define SPILLWAY_PLANNER_ITERATION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPW_ITERATION_SHAPES = 16 }; /* known at once; the one not seen for the longest time makes room */

enum spw_iteration_kind { /* of an operation; the backbone first */
                          SPW_ITERATION_LAUNCH,
                          SPW_ITERATION_GRAPH,
                          SPW_ITERATION_SET,
                          SPW_ITERATION_COPY_D2D,
                          SPW_ITERATION_COPY_H2D, /* from here on: beside the backbone */
                          SPW_ITERATION_COPY_D2H,
                          SPW_ITERATION_OTHER, /* host functions, waits on values */
                          SPW_ITERATION_KINDS
};

struct spw_iteration_touch {
    uint64_t alloc;  /* id, as told to spw_iteration_alloc() */
    uint64_t bytes;  /* of the whole allocation */
    uint64_t offset; /* of the address within it; 0 where not known */
};

struct spw_iteration_op {
    enum spw_iteration_kind kind;
    uint32_t stream;   /* any number; not part of an operation's identity */
    uint64_t function; /* LAUNCH, GRAPH: id or hash, the same whenever the same is called; else 0 */
    uint64_t geometry; /* hash of grid, block and shared bytes, or the bytes copied or set */
    bool everything;   /* may touch anything: its parameters could not be read */
    uint32_t touch_count;
    uint32_t loose_count; /* of the touches, the last so many: they may come by chance, so nothing is recognised by them, but
                           * what they touch is touched */
    const struct spw_iteration_touch *touches; /* in the order of the parameters */
};

/* How sure a place is.
 *   SURE    everything since the boundary (backbone, sizes, live bytes) equals the shape so far, and nothing else that is
 * known would explain it as well LIKELY  the best guess, and wrong now and then: the backbone fits, but the live bytes
 * differ (an evaluation pass begins like this), or the place was found again in mid-iteration and no boundary has been
 * passed since, or the shape begins like another part of itself (micro-steps) NO      no iteration is known yet, or the
 * program is off the path A part of an iteration that repeats exactly (a micro-step of gradient accumulation) is a shape of
 * its own, and its ordinals are sure, until the whole has been seen twice. */
enum spw_iteration_sure { SPW_ITERATION_NO, SPW_ITERATION_LIKELY, SPW_ITERATION_SURE };

struct spw_iteration_place {
    enum spw_iteration_sure sure;
    bool extra;   /* an operation beside the backbone that the shape doesn't have here: no ordinal, but still on the path */
    bool begins;  /* the first operation of an iteration: the boundary is before it */
    bool learned; /* this operation made a shape known, or replaced one by a longer one; `began` tells its latest begin */
    uint32_t shape;   /* id, valid unless NO; ids are never used again */
    uint32_t length;  /* operations of the shape, valid unless NO */
    uint32_t ordinal; /* of the operation within its iteration, valid unless NO or extra */
    uint64_t began;   /* number of the first operation of this iteration, valid unless NO */
};

struct spw_iteration; /* opaque */

/* 0 or -ENOMEM. `max_operations`: how many backbone operations are remembered at most; rounded up to a power of two,
 * 2^12..2^24. */
int spw_iteration_create(size_t max_operations, struct spw_iteration **ret_detector);
void spw_iteration_destroy(struct spw_iteration *detector); /* NULL is fine */

/* An allocation was made. Ids rise: a later allocation has a larger id; none is used twice and 0 is none. `kind`: any
 * number, part of its identity. 0; -EINVAL: the id doesn't rise; -ENOMEM: not noted, the detector is as before. */
int spw_iteration_alloc(struct spw_iteration *detector, uint64_t id, uint64_t bytes, uint32_t kind);

/* An allocation was freed. 0; -ENOENT: no such allocation is alive; -ENOMEM as above. */
int spw_iteration_free(struct spw_iteration *detector, uint64_t id);

/* The next operation; they are numbered from 0. 0; -ENOMEM: a shape could not be built or the history could not be made to
 * begin; the operation counts, *ret_place says NO, and the detector goes on. Touches of allocations unknown to it are taken
 * as they are. */
int spw_iteration_add(struct spw_iteration *detector, const struct spw_iteration_op *op,
                      struct spw_iteration_place *ret_place);

/* The program says that an iteration begins: what is told next, be it an allocation, belongs to it. Hints choose the
 * boundary and the length: what repeats without a hint in it, or with hints at other operations each time, is only a part.
 * They never make an iteration out of what doesn't repeat, and hints that have stopped coming are not waited for. */
void spw_iteration_hint(struct spw_iteration *detector);

/* What is known of a live allocation. */
struct spw_iteration_allocation {
    uint64_t bytes;
    bool persistent;  /* lives across boundaries: alive at the last one already, or its equal in the shape was not freed */
    bool has_ordinal; /* it was matched with an allocation of the shape */
    bool sure;        /* and its place was SURE then; else LIKELY. Valid with has_ordinal */
    uint32_t shape;   /* whose, valid with has_ordinal */
    uint32_t ordinal; /* k-th allocation since the boundary, from 0, valid with has_ordinal */
};

/* True and *ret when `id` is alive. An allocation gets its ordinal with the next backbone operation that fits, whose
 * place is answered by the same call; before that it has none. */
bool spw_iteration_find_alloc(const struct spw_iteration *detector, uint64_t id, struct spw_iteration_allocation *ret);

struct spw_iteration_shape {
    uint32_t id;
    uint32_t length;              /* operations, those beside the backbone too */
    uint32_t backbone;            /* of these: the backbone */
    uint32_t allocs;              /* allocations within one iteration */
    uint64_t hash;                /* of its operations in their order: the same in every process that calls the same */
    uint64_t seen;                /* complete iterations, from the first one that it was learned from */
    uint64_t last_seen;           /* number of the first operation of the latest one begun */
    uint64_t boundary_live_bytes; /* alive at its boundary */
};

/* Known shapes, in the order in which they were learned. */
size_t spw_iteration_shape_count(const struct spw_iteration *detector);
bool spw_iteration_shape_at(const struct spw_iteration *detector, size_t index, struct spw_iteration_shape *ret);

/* The hash that stands for the operation `ordinal` of the shape `id`; 0 when there is none. Equal operations have equal
 * tokens in every process that numbers its functions alike. */
uint64_t spw_iteration_token(const struct spw_iteration *detector, uint32_t shape, uint32_t ordinal);

/* The allocation `ordinal` of the shape: its bytes, and whether it is freed before the iteration ends. */
bool spw_iteration_shape_alloc(const struct spw_iteration *detector, uint32_t shape, uint32_t ordinal, uint64_t *ret_bytes,
                               bool *ret_freed);

/* The shape `id` as bytes, of malloc(), for processes that number their functions alike. 0; -ENOENT: there is none; -ENOMEM.
 */
int spw_iteration_save_shape(const struct spw_iteration *detector, uint32_t id, void **ret_bytes, size_t *ret_size);

/* These bytes tell of a shape that another process has learned: it is known, and gets an id, as soon as 16 operations of the
 * backbone in a row are found at one place of it alone. It is judged like any other from then on; where the program turns
 * out to do something else, that is learned as if nothing had been remembered. 0; -EBADMSG: they tell of none; -ENOSPC:
 * there are as many as can be remembered; -ENOMEM. */
int spw_iteration_remember(struct spw_iteration *detector, const void *bytes, size_t size);

/* Bytes of memory that the detector itself uses. */
size_t spw_iteration_memory_bytes(const struct spw_iteration *detector);
#endif
