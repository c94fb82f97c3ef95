/* content.h - what is known of the bytes of a block or a slot: their version, what made them, and whether the copy on the
 * host is proven to be theirs.
 *
 * Versions are numbers of one clock of the process, so equal versions of one thing mean equal bytes. Who raises them, and
 * when they are kept at all, is told in versions.h; what is proven, and how, in clean_check.h. Engine lock. */
#ifndef SPILLWAY_SHIM_CONTENT_H
#define SPILLWAY_SHIM_CONTENT_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "hash.h"
#include "ours.h"

struct spw_recorded_op;

/* Whether launches that are only believed to read something have left it alike (read_check.h):
 *
 *                believed touch        drop, reader that is kept      answers are equal
 *     PASSED ---------------------> OPEN ------------> PENDING ---------------------------> PASSED
 *                                   ^                   |
 *                                   +- believed touch --+          no digest, or they differ: UNKNOWN
 */
enum spw_read_check_state {
    SPW_READ_CHECK_PASSED,  /* nothing of that sort has touched it since it was shown, or was relied on first */
    SPW_READ_CHECK_OPEN,    /* there is a digest of what it held before that */
    SPW_READ_CHECK_PENDING, /* and one of what it holds, whose answer is not known */
    SPW_READ_CHECK_UNKNOWN  /* nothing can be shown of this version */
};

struct spw_read_check {
    uint64_t epoch;    /* in another one nothing of this says anything: what was written since need not have a new version */
    uint8_t state;     /* enum spw_read_check_state */
    bool is_relied_on; /* an operation that is kept read or made this version */
    uint64_t toucher;  /* the order of one that is kept and touched it since the last digest: there has to be one before
                        * others  touch it; 0: none */
    uint32_t base;     /* ticket of the first digest; 0: none */
    uint32_t check;    /* of the oldest later one that was not compared with it yet, which leads to newer ones; 0: none */
    uint32_t stream;   /* by id: that of the last one */
    uint64_t readers;  /* functions that touched it since the first: a bit for each, which a few may share */
};

struct spw_versioned {             /* in a block, and in a slot of a slab */
    uint64_t version;              /* of the bytes; 0: written before anybody kept count */
    struct spw_recorded_op *maker; /* whose operation wrote to it last, where everything that was written to it since it was
                                    * allocated is known (rebuild.h); NULL: it is not. It counts as a holder of it */
    uint32_t needed;               /* so many dropped blocks are made again with what is in here */
    bool is_believed;              /* a launch touched it of which it is only believed that it does not write it */
    struct spw_read_check unchanged;
    bool is_fresh; /* nobody wrote it since it was allocated */
};

extern uint64_t spw_version_clock SPW_OURS, spw_version_epoch SPW_OURS; /* the epoch begins at 1; engine lock */
extern uint64_t spw_version_epoch_clock SPW_OURS;                       /* the clock when the epoch began */
extern bool spw_versions_kept SPW_OURS;                                 /* engine lock, or a moment late */

/* Nothing was written to it since it was allocated: its bytes are undefined, and no result of a correct program depends on
 * them. Only while versions are kept. */
static inline bool spw_version_is_fresh(const struct spw_versioned *v)
{
    return v->is_fresh && v->version > spw_version_epoch_clock;
}

/* `v` was, or is just about to be, written: a new version, and nobody's making. */
void spw_version_raise_locked(struct spw_versioned *v);

/* It becomes somebody else's: its bytes mean nothing. needed is 0. */
void spw_version_reset_locked(struct spw_versioned *v);

/* What made it is let go of. */
void spw_version_forget_maker_locked(struct spw_versioned *v);

/* Nothing is known of it any more, and it has no version. */
void spw_version_clear_locked(struct spw_versioned *v);

/* How makers are let go of: set by whoever gives something a maker, before that. */
extern void (*spw_maker_release)(struct spw_recorded_op *maker) SPW_OURS;

/* How tickets are forgotten: set likewise. */
extern void (*spw_ticket_release)(uint32_t ticket) SPW_OURS;

struct spw_clean_check { /* in a block */
    bool believed;       /* used since its copy was made, or since it came back, by what is believed not to write it */
    bool known;          /* `hash` is that of the bytes in the valid host copy */
    bool is_spared;      /* the copy that is being made of it needs no digest */
    uint32_t copied;     /* else the ticket of the digest of these; 0: there is none */
    uint32_t leaving;    /* ticket of the second digest, while it is EVICTING; 0: none was needed */
    uint32_t reader;     /* the stream of the program's that the last digest went to, as its operation read_number; or 0 */
    uint64_t read_number;
    uint64_t readers;     /* functions that it is `believed` of: a bit for each, as above */
    struct spw_hash hash; /* of the host copy */
};
#endif
