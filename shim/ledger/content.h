/* content.h - what is known about the bytes of a block or slot: their version, what made them, and whether the host copy is
 * shown to equal them.
 *
 * Versions are numbers of one clock of the process, so equal versions of one thing mean equal bytes. versions.h says what
 * raises them and when they are kept at all; clean_check.h says what is shown, and how. Engine lock. */
#ifndef SPILLWAY_SHIM_CONTENT_H
#define SPILLWAY_SHIM_CONTENT_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "hash.h"
#include "ours.h"

struct spw_recorded_op;

/* Whether launches that are only believed to read something have left it unchanged (read_check.h):
 *
 *                believed touch        drop, kept reader           answers are equal
 *     PASSED ---------------------> OPEN ------------> PENDING ---------------------------> PASSED
 *                                   ^                   |
 *                                   +- believed touch --+          no digest, or they differ: UNKNOWN
 */
enum spw_read_check_state {
    SPW_READ_CHECK_PASSED,  /* no such launch has touched it since the last check passed, or since it was first relied on */
    SPW_READ_CHECK_OPEN,    /* there is a digest of what it held before such a launch */
    SPW_READ_CHECK_PENDING, /* there is another of what it holds, without an answer yet */
    SPW_READ_CHECK_UNKNOWN  /* nothing can be shown about this version */
};

struct spw_read_check {
    uint64_t epoch;    /* in another epoch all of this is meaningless: what was written since may have no new version */
    uint8_t state;     /* enum spw_read_check_state */
    bool is_relied_on; /* a kept operation has read or made this version */
    uint64_t toucher;  /* `order` of the kept operation that touched it since the last digest, so that another digest is due
                        * before others touch it; 0: none */
    uint32_t base;     /* ticket of the first digest; 0: none */
    uint32_t check;    /* ticket of the oldest later digest that was not compared with `base` yet; newer ones are chained to
                        * it; 0: none */
    uint32_t stream;   /* id of the stream of the last digest */
    uint64_t readers;  /* a bit for each function that touched it since the first digest; a few functions may share one */
};

struct spw_versioned {             /* member of a block, and of a slot of a slab */
    uint64_t version;              /* 0: written before versions were kept */
    struct spw_recorded_op *maker; /* the recorded operation that wrote to it last, held. NULL unless everything that was
                                    * written to it since its allocation is known (rebuild.h) */
    uint32_t needed;               /* number of dropped blocks that are made again from what it holds */
    bool is_believed;              /* a launch touched it that is only believed not to write it */
    struct spw_read_check unchanged;
    bool is_fresh; /* nothing has written to it since its allocation */
};

extern uint64_t spw_version_clock SPW_OURS, spw_version_epoch SPW_OURS; /* the epoch begins at 1; engine lock */
extern uint64_t spw_version_epoch_clock SPW_OURS;                       /* the clock when the epoch began */
extern bool spw_versions_kept SPW_OURS;                                 /* changes under the engine lock; other readers may
                                                                         * see it a moment late */

/* Returns true if nothing was written to it since its allocation: its bytes are undefined, and no result of a correct
 * program depends on them. Valid only while versions are kept. */
static inline bool spw_version_is_fresh(const struct spw_versioned *v)
{
    return v->is_fresh && v->version > spw_version_epoch_clock;
}

/* Gives `v` a new version without a maker, because it was, or is about to be, written. */
void spw_version_raise_locked(struct spw_versioned *v);

/* Resets `v` for a new owner of the memory, whose bytes are undefined: a new version, fresh, with `needed` 0. */
void spw_version_reset_locked(struct spw_versioned *v);

/* Releases the maker. */
void spw_version_forget_maker_locked(struct spw_versioned *v);

/* Forgets everything about it; it has no version then. */
void spw_version_clear_locked(struct spw_versioned *v);

/* Releases a maker. Set before anything is given a maker, by the room that makes recorded operations. */
extern void (*spw_maker_release)(struct spw_recorded_op *maker) SPW_OURS;

/* Forgets a ticket. Set in the same way. */
extern void (*spw_ticket_release)(uint32_t ticket) SPW_OURS;

struct spw_clean_check { /* member of a block */
    bool believed;       /* used, since its copy was made or since it came in, by launches that are only believed not to
                          * write it */
    bool known;          /* `hash` is the hash of the bytes in the valid host copy */
    bool is_spared;      /* the copy that is being made of it needs no digest */
    uint32_t copied;     /* otherwise the ticket of the digest of these bytes; 0: none */
    uint32_t leaving;    /* ticket of the second digest, while it is EVICTING; 0: none was needed */
    uint32_t reader;     /* the program's stream that got the last digest, as operation read_number; or 0 */
    uint64_t read_number;
    uint64_t readers;     /* a bit for each function that `believed` is about, as above */
    struct spw_hash hash; /* of the host copy */
};
#endif
