/* ledger.h - which memory the program was given, where its bytes are now, and what each device has left.
 *
 * Each device has an arena: one reserved range of addresses, counted in granules. A table with one entry per granule tells
 * which object lies there. An object is either a block (one allocation of the program with physical memory of its own,
 * which may come and go under it) or a slab (always resident, holds many small allocations, slab.h). */
#ifndef SPILLWAY_SHIM_LEDGER_H
#define SPILLWAY_SHIM_LEDGER_H
#include "ours.h"
#include "lock.h"
#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "arena.h"
#include "content.h"
#include "phys_pool.h"
#include "ranges.h"
#include "streams.h"

enum { SPW_MAX_DEVICES = 64 };

/* Why an operation has to look closer before it uses an object. No bit set: resident, nothing in flight, use it.
 *
 * EMPTY, EVICTED, DROPPED, EVICTING and RESTORING are a block's residency, which residency.h draws, with what holds in each
 * state; nobody else changes them. In the first three there is no memory and nothing is mapped, except where the driver has
 * refused to unmap: then the block keeps that memory, mapped but not to be used before the block is attached anew; and
 * except where the address is `stale`: then what is mapped there belongs to others, and with EVICTED the copy may still be
 * on its way to host_copy. Other bits go with a block that has memory. COPYING: it was on its way out and stays, and
 * operation `leave_number` of a copy-out stream, or a digest (clean_check.h), may still read it, so whoever writes comes
 * after that.
 *
 * A FREE block is cached: the next one of its size gets it. With RETAINED it is not: the program has given it back, but what
 * it held, or its address, is needed for making other blocks again. It is then in a state as any block in use, may go and
 * come back like these, and is given to nobody. */
enum {
    SPW_EMPTY = 1,
    SPW_EVICTED = 2,
    SPW_EVICTING = 4,
    SPW_RESTORING = 8,
    SPW_COPYING = 16,
    SPW_FREE = 32, /* the program gave it back; kept mapped for the next one of its size */
    SPW_DROPPED = 64,
    SPW_RETAINED = 128,   /* with FREE, or, while somebody still holds it, alone */
    SPW_UNVERIFIED = 512, /* about to be made again, or made and not yet compared (verify.h): resident, and the slow lock is
                           * held meanwhile */
    SPW_FENCED = 1024, /* its memory came from others who may still be at it (deferred_unmap.h), or we write there beside the
                        * program (mover.h), or read a slot of a slab: resident, and whoever uses it comes after `fence` */
    SPW_OWED = 256,    /* of a slab: a slot is owed what it held before an operation was run again (replay.h) */
    SPW_AWAITED = 2048, /* it may hold addresses that matter to whoever uses it, and was not read yet: that first (seek.h) */
    SPW_LOOKED = 4096,  /* a look for addresses there has no answer yet (seek.h) */
    SPW_ABSENT = SPW_EMPTY | SPW_EVICTED | SPW_DROPPED
};

/* Where a block is on a way that was not forced by an operation (transfers.h). */
enum spw_transfer_queue {
    SPW_QUEUE_NONE,
    SPW_QUEUE_OUT,      /* EVICTING, in the queue of those whose copy out is submitted, in the order of the copies */
    SPW_QUEUE_DROPPED,  /* EVICTING, in the queue of those that need none, and wait for none: clean, or `drops` */
    SPW_QUEUE_AWAITED,  /* EVICTED, in the queue of those that will be needed and have no memory yet */
    SPW_QUEUE_COUNT,    /* the ones before this */
    SPW_QUEUE_RETURNED, /* RESTORING; its first use since is still to come */
};

enum spw_kind { SPW_KIND_BLOCK, SPW_KIND_SLAB };

struct spw_object { /* what an operation's path needs to see; first member of blocks and slabs */
    /* When it was used last, in operations of the process, doubled; the last bit is set when it may have been written since
     * it came in: it is dirty, and a host copy is void. A block that is neither dirty nor has a valid host copy was never
     * written: its bytes are undefined and need not be kept. */
    uint64_t used;
    uint8_t kind;
    uint16_t device;
    uint32_t attention; /* with uses.stream[0] behind it one word: see spw_object_plain_for() */
    struct spw_uses uses;
};

_Static_assert(offsetof(struct spw_object, uses.stream) == offsetof(struct spw_object, attention) + sizeof(uint32_t),
               "the two are compared as one word");

static inline bool spw_object_dirty(const struct spw_object *o)
{
    return o->used & 1;
}

static inline void spw_object_clean(struct spw_object *o)
{
    o->used &= ~UINT64_C(1);
}

static inline void spw_object_soil(struct spw_object *o)
{
    o->used |= 1;
}

/* The program gave it back, and the next one of its size gets it. */
static inline bool spw_object_is_cached(const struct spw_object *o)
{
    return (o->attention & (SPW_FREE | SPW_RETAINED)) == SPW_FREE;
}

static inline uint64_t spw_object_last_tick(const struct spw_object *o)
{
    return o->used >> 1;
}

static inline void spw_object_use(struct spw_object *o, uint64_t tick, bool writes)
{
    o->used = tick << 1 | (writes ? 1 : o->used & 1);
}

/* What the word at `attention` is when nothing needs attention and stream `id` used the object last (the machine is
 * little-endian). */
static inline uint64_t spw_object_plain_for(uint32_t id)
{
    return (uint64_t)id << 32;
}

static inline bool spw_object_is_plain(const struct spw_object *o, uint64_t plain)
{
    uint64_t word;
    memcpy(&word, (const char *)o + offsetof(struct spw_object, attention), sizeof(word));
    return word == plain;
}

struct spw_mempool_stats;
struct spw_comparison;
struct spw_deferred_unmap;

struct spw_block {
    struct spw_object object;
    CUdeviceptr address;
    size_t size_bytes; /* as the program asked; of a pack, all of it */
    struct spw_versioned content;
    uint32_t first, granules;
    struct spw_memory memory; /* mapped from the address on */
    void *host_copy;          /* host_bytes of the host pool, or NULL */
    size_t host_bytes;
    bool host_copy_valid;
    struct spw_clean_check proof;
    bool pinned;      /* never evicted */
    bool suspected;   /* its address may have been stored where nobody has looked yet: it stays (seek.h) */
    bool doomed;      /* freed while held: whoever lets go last frees it */
    bool drops;       /* DROPPED, or EVICTING and to be DROPPED: what its maker touches counts it as `needed` */
    bool idle;        /* a retained block whose bytes nobody needs any more, in the list of these */
    uint8_t way;      /* enum spw_transfer_queue */
    uint16_t arrival; /* arrivals.c: what tells whether it came back in time; 0: nobody asks */
    uint32_t beside;  /* so often it is only needed because it is written along with what is wanted: its bytes are not */
    uint32_t chain;   /* its place, plus 1, among those that are being made again; 0: none */
    uint32_t holds;   /* operations that are making it resident, or evictors waiting for its copy */
    uint64_t restore_number, leave_number;
    uint32_t leave_stream; /* the id of the copy-out stream that leave_number is one of; 0: nothing was submitted there */
    struct spw_uses fence; /* with SPW_FENCED: who had its memory before, and what is at it of ours; also among its uses */
    struct spw_deferred_unmap *stale;  /* absent, and its address still mapped to what it had; or NULL */
    CUcontext context;                 /* whose allocation it is */
    struct spw_mempool_stats *pool;    /* never NULL while it lives */
    uint64_t serial;                   /* from 1, in order of allocation in the process; 0: it was nobody's yet */
    uint64_t swept;                    /* the last sweep of all memory that it was in (seek.c) */
    uint64_t met;                      /* the last operation whose pointer tables led here */
    uint64_t sync_memops;              /* the serial of the allocation that the program set this for; or 0 */
    struct spw_block *next, *previous; /* among cached blocks of its size, newest first, or in a queue */
    uint32_t index;                    /* in device->blocks */
    uint32_t expected;                 /* which tensor of the device's course it is, plus 1; 0: none */
    struct spw_block *next_idle;
    struct spw_pack *pack; /* pack.h: several allocations of the program's share it; NULL: it is one of them, or nobody's */
    struct spw_comparison *check; /* comparison.h: it `drops`, and what is made again is compared; else NULL */
    uint32_t spot;                /* spot_checks.c: ticket of a sample of what it held, it `drops`; else 0 */
    uint32_t spot_choice;         /* and by which the pages for that are chosen */
    bool has_true_copy;           /* with a `check`: the host copy holds the bytes that are to be made */
};

struct spw_slab;
struct spw_slab_set;
struct spw_pack;

struct spw_device;

struct spw_deferred_unmaps { /* addresses of a device that are mapped to memory which they have given up (deferred_unmap.h)
                              */
    bool allowed;            /* memory may change hands like this */
    bool refused;            /* the driver maps nothing twice */
    struct spw_deferred_unmap *first, *last; /* oldest first */
    uint64_t granules;                       /* in all of them */
    void (*forget)(struct spw_device *d);    /* all of them, without the driver; NULL: there never was one */
};

struct spw_queue {
    struct spw_block *first, *last;
};

enum { SPW_OUTS = 4 };

struct spw_mover { /* one per device, for the context whose blocks it moves */
    CUcontext context;
    union {                                /* copy streams of our own to the host: */
        struct spw_stream *out;            /* the first, and the only one where nothing is gated */
        struct spw_stream *outs[SPW_OUTS]; /* NULL: not made */
    };
    struct spw_uses behind[SPW_OUTS]; /* for each: what it may wait for that is gated, among others */
    struct spw_stream *in;            /* and one from the host */
    struct spw_stream *beside;        /* where operations run again beside several streams of the program; NULL: none did */
};

/* The bill for memory that the driver reserves for graphs (graph_memory.h), or for a pool (pool_reserves.h). */
struct spw_reserve {
    uint64_t promised_bytes; /* to nodes of graphs that were not launched */
    uint64_t asking_bytes;   /* for what the driver is asked for just now */
    uint64_t billed_bytes;   /* in all */
};

struct spw_device {
    int ordinal;
    bool ready;
    CUdeviceptr arena;
    uint64_t arena_bytes;
    unsigned granule_shift;
    struct spw_ranges *ranges;
    struct spw_object **table; /* one per granule */
    struct spw_block **blocks; /* all blocks, cached ones too, in no order */
    uint32_t block_count, block_room;
    struct spw_block **free_by_granules;      /* SPW_FREE_BINS lists: [n] exactly n granules, [0] all larger ones */
    uint64_t free_bytes;                      /* in cached blocks */
    uint64_t trimmed_bytes;                   /* of cached memory, what the program has given back to the device */
    struct spw_queue queues[SPW_QUEUE_COUNT]; /* oldest first */
    struct spw_phys_pool handles;             /* physical memory, and with it the budget */
    struct spw_deferred_unmaps stale;
    struct spw_slab_set *slabs;
    struct spw_pack *packs;            /* newest first */
    uint64_t pack_bytes, packed_bytes; /* of all packs, and of the slots in them */
    struct spw_mover *mover;
    struct spw_block *idle_retained; /* in no order */
    struct spw_uses replays;   /* what works beside the program where it may write: what a stream that was not there then
                                * comes after */
    struct spw_probed *probed; /* what probes have shown on it (launch_class.h); in no order */
    uint32_t dropping;         /* blocks that `drop` */
    unsigned making;           /* somebody relies on it that nothing more is dropped */
    size_t small_bytes;        /* smaller allocations go to slabs */
    size_t packed_below_bytes; /* others below this share packs; not less than that */
    uint64_t total_bytes;      /* of the real device */
    uint64_t live_bytes, live_bytes_peak;
    uint64_t live_count;
    uint64_t largest_bytes;       /* of any allocation so far */
    uint64_t out_bytes, in_bytes; /* copied to the host and back since the start */
    uint64_t foreign_bytes;       /* passed through to the driver by the program, counted against the budget */
    pthread_mutex_t slow;         /* rank SPW_LOCK_SLOW */

    /* What the rooms above keep of the device. What is behind a pointer is theirs to make; NULL: nothing yet. */
    struct {
        CUcontext context;
        unsigned retained;
    } primary;         /* a primary context lives from its first retain to its last release */
    CUmemoryPool pool; /* that stream-ordered allocations are booked on (devices.h); NULL: not asked for */
    bool pool_is_foreign;
    uint64_t peers; /* bit per device that may use its memory */
    struct spw_reserve graphs;
    uint64_t graph_launches;
    struct spw_stash *stash;
    struct {
        struct spw_block *block; /* where replays work (library_inputs.h); pinned; NULL: nothing yet */
        uint64_t wanted_bytes;   /* of the largest workspace that a launch had */
        uint32_t users;          /* recorded operations that would work there */
    } workspace;
    struct spw_digest_ring *digests;
    CUcontext digests_refused; /* where none are asked for: the kernel was refused, or their memory given back */
    struct spw_kept_iteration *kept;
    bool is_blind; /* nothing that is made again can be compared */
    struct spw_refusals *refusals;
    struct spw_device_loop *loop;
    struct spw_lasting_granule *lasting; /* one per granule (lasting.h); NULL: nothing lasts there */
    bool lasting_lost;                   /* there was no memory for it: anything may */
    bool nodes_last;                     /* what nodes of graphs were told counts, too */
};

enum { SPW_FREE_BINS = 1024 };

extern struct spw_device spw_devices[SPW_MAX_DEVICES] SPW_OURS;
bool spw_anything_dropped_locked(void); /* on any of them, or about to be */

/* What was given to `s` last is at the block beside the program's own work: whatever is given to other streams of the
 * program from here on, and touches the block, comes after it. */
void spw_fence_locked(struct spw_block *b, struct spw_stream *s);

/* Memory that the driver gave out is given back to it: the budget has as much more for tensors again. */
static inline void spw_device_credit_locked(struct spw_device *d, uint64_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    d->handles.budget_bytes += bytes;
    d->foreign_bytes -= bytes;
}

/* The devices that may use the memory of this one, itself included: a bit for each. */
static inline uint64_t spw_device_users_locked(const struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return d->peers | UINT64_C(1) << d->ordinal;
}

/* The driver has so much reserved now: what is over goes off the bill; what is missing there, is returned. */
static inline uint64_t spw_reserve_settle_locked(struct spw_device *d, struct spw_reserve *r, uint64_t reserved_bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint64_t due = reserved_bytes + r->promised_bytes + r->asking_bytes;
    if (due > r->billed_bytes)
        return r->asking_bytes ? 0 : due - r->billed_bytes; /* what is asked for may be among what is reserved */
    spw_device_credit_locked(d, r->billed_bytes - due);
    r->billed_bytes = due;
    return 0;
}

extern uint64_t spw_tick SPW_OURS;    /* operations so far; engine lock */
extern uint64_t spw_serials SPW_OURS; /* allocations so far, large and small; engine lock */

/* The device whose arena holds the address, NULL when it is not ours. Needs no lock: arenas stay. */
static inline struct spw_device *spw_device_of_address(CUdeviceptr a)
{
    if (a < spw_arena_low || a >= spw_arena_high)
        return NULL;
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (a - spw_devices[i].arena < spw_devices[i].arena_bytes)
            return &spw_devices[i];
    return NULL;
}

/* The object at an address, interior addresses too; NULL when the address is not ours or nothing lies there. */
static inline struct spw_object *spw_object_at_locked(CUdeviceptr a)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_device *d = &spw_devices[0];
    if (a - d->arena >= d->arena_bytes) {
        d = spw_device_of_address(a);
        if (!d)
            return NULL;
    }
    return d->table[(a - d->arena) >> d->granule_shift];
}

static inline struct spw_block *spw_block_of(struct spw_object *o)
{
    return (struct spw_block *)o; /* o->kind is SPW_KIND_BLOCK */
}

static inline size_t spw_block_mapped_bytes(const struct spw_device *d, const struct spw_block *b)
{
    return (size_t)b->granules << d->granule_shift;
}

/* What has to be taken from the pool before it is resident. */
static inline size_t spw_block_lacking_bytes(const struct spw_device *d, const struct spw_block *b)
{
    return (size_t)(b->granules - b->memory.granules) << d->granule_shift;
}

/* The device's arena and tables, made at first need for the device of the current context. NULL and *ret_r negative when it
 * cannot be had; then the program's calls for this device are passed to the driver. */
struct spw_device *spw_device_ready_locked(int ordinal, int *ret_r);

/* What device memory is handed out in: a power of two. 0; -ENOTSUP: its memory cannot be moved; another negative result. */
int spw_granularity(int ordinal, uint64_t *ret_bytes);
size_t spw_small_bytes(uint64_t granule_bytes); /* with such granules: smaller allocations go to slabs */

/* A new block of `bytes` without physical memory (SPW_EMPTY). -ENOMEM: no addresses or no memory for the record. */
int spw_block_create_locked(struct spw_device *d, size_t bytes, struct spw_block **ret_block);

/* Gives address and record back. The block is absent (EMPTY, or EVICTED with its host copy returned). */
void spw_block_destroy_locked(struct spw_device *d, struct spw_block *b);

/* Gives the record back; the address goes on being taken, by somebody else. */
void spw_block_destroy_record_locked(struct spw_device *d, struct spw_block *b);

static inline void spw_block_cache_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_block **list = &d->free_by_granules[b->granules < SPW_FREE_BINS ? b->granules : 0];
    b->object.attention |= SPW_FREE;
    b->previous = NULL;
    b->next = *list;
    if (*list)
        (*list)->previous = b;
    *list = b;
    d->free_bytes += spw_block_mapped_bytes(d, b);
}

/* Takes a block out of the cache: answers the best one of that many granules for work submitted to `s` (NULL: for any stream
 * at once): one that needs no waiting if there is one, else the newest; NULL when there is none. */
struct spw_block *spw_block_uncache_locked(struct spw_device *d, uint32_t granules, struct spw_stream *s,
                                           bool *ret_must_wait);
void spw_block_uncache_this_locked(struct spw_device *d, struct spw_block *b);

/* Makes two of a block that is nobody's, in no list, and has no host copy: it keeps its first `keep` pieces (at least one,
 * not all), *ret_rest has the others. 0 or -ENOMEM. */
int spw_block_split_locked(struct spw_device *d, struct spw_block *b, uint32_t keep, struct spw_block **ret_rest);

/* Makes one of two such blocks, of which `next` begins where `b` ends: it goes. 0 or -ENOMEM. */
int spw_block_join_locked(struct spw_device *d, struct spw_block *b, struct spw_block *next);

/* Forgets all devices, what lies on them and what is kept of them, without a driver call: for tests. Nobody follows one. */
void spw_ledger_reset(void);

/* True when the invariants above hold; for tests and debug builds. */
bool spw_block_check_locked(const struct spw_block *b);
#endif
