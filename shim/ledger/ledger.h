/* ledger.h - records which memory the program was given, where its bytes are, and how much each device has left.
 *
 * Each device has an arena: one reserved range of addresses, counted in granules. A table with one entry for each granule
 * tells which object lies there. An object is either a block or a slab. A block is one allocation of the program with its
 * own physical memory, which may be taken from it and given back while the address stays. A slab is always resident and
 * holds many small allocations (slab.h). */
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

/* Why an operation must not simply use an object. If no bit is set, the object is resident and nothing is in flight: use
 * it.
 *
 * EMPTY, EVICTED, DROPPED, EVICTING and RESTORING are a block's residency. residency.h draws the states and says what holds
 * in each; only its functions change them. In the first three the block has no memory and nothing is mapped at its address,
 * with two exceptions. If the driver has refused to unmap, the block keeps its memory, which must not be used before the
 * block is attached again. If the address is `stale`, what is mapped there belongs to others, and in state EVICTED the copy
 * to host_copy may still be running. The other bits go with a block that has memory. COPYING: the block was being evicted
 * and stays after all, while operation `leave_number` of a copy-out stream, or a digest (clean_check.h), may still read it;
 * writers are ordered behind that.
 *
 * A FREE block is cached: the next allocation of its size gets it. A FREE block with RETAINED is not cached: the program
 * has freed it, but its contents or its address are needed for making other blocks again. It is in one of the states like
 * any block in use, may be evicted and brought in like these, and is given to no allocation. */
enum {
    SPW_EMPTY = 1,
    SPW_EVICTED = 2,
    SPW_EVICTING = 4,
    SPW_RESTORING = 8,
    SPW_COPYING = 16,
    SPW_FREE = 32, /* freed by the program; stays mapped for the next allocation of its size */
    SPW_DROPPED = 64,
    SPW_RETAINED = 128,   /* with FREE, or alone as long as someone still holds the block */
    SPW_UNVERIFIED = 512, /* about to be made again, or made and not compared yet (verify.h); it is resident, and the slow
                           * lock is held meanwhile */
    SPW_FENCED = 1024,    /* former owners may still use its memory (deferred_unmap.h), or we write to it or read a slot of
                           * it beside the program (mover.h); it is resident, and users are ordered behind `fence` */
    SPW_OWED = 256,       /* of a slab: a slot has not got back what it held before a replay (replay.h) */
    SPW_AWAITED = 2048,   /* it may hold addresses that matter to its users and has not been read yet, which comes first
                           * (seek.h) */
    SPW_LOOKED = 4096,    /* a search for addresses in it has no answer yet (seek.h) */
    SPW_ABSENT = SPW_EMPTY | SPW_EVICTED | SPW_DROPPED
};

/* The queue that a block is in while it is moved without an operation having forced that (transfers.h). */
enum spw_transfer_queue {
    SPW_QUEUE_NONE,
    SPW_QUEUE_OUT,      /* EVICTING: its copy out is submitted; in the order of the copies */
    SPW_QUEUE_DROPPED,  /* EVICTING: it needs no copy, and waits for none, as it is clean or `drops` */
    SPW_QUEUE_AWAITED,  /* EVICTED: it will be needed, and there is no memory for it yet */
    SPW_QUEUE_COUNT,    /* number of queues; the one below has none */
    SPW_QUEUE_RETURNED, /* RESTORING: it has not been used since */
};

enum spw_kind { SPW_KIND_BLOCK, SPW_KIND_SLAB };

struct spw_object { /* the part that an operation looks at; first member of blocks and slabs */
    /* When the object was last used, as a count of operations of the process, doubled. The last bit is the dirty bit: the
     * object may have been written since it came in, so a host copy is void. A block that is neither dirty nor has a valid
     * host copy was never written: its bytes are undefined and need not be kept. */
    uint64_t used;
    uint8_t kind;
    uint16_t device;
    uint32_t attention; /* forms one word with uses.stream[0] behind it, see spw_object_plain_for() */
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

/* Returns true if the program has freed it and the next allocation of its size gets it. */
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

/* Returns the word at `attention` of an object that needs no attention and was last used by stream `id` (on a little-endian
 * machine). */
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
    size_t size_bytes; /* as the program asked for; of a pack, the whole block */
    struct spw_versioned content;
    uint32_t first, granules;
    struct spw_memory memory; /* physical memory, mapped from `address` on */
    void *host_copy;          /* `host_bytes` of the host pool, or NULL */
    size_t host_bytes;
    bool host_copy_valid;
    struct spw_clean_check proof;
    bool pinned;      /* never evicted */
    bool suspected;   /* its address may have been stored where nobody has looked yet, so it must not be evicted (seek.h) */
    bool doomed;      /* freed while held: the last holder frees it */
    bool drops;       /* it is DROPPED, or EVICTING and will be; what its maker touches counts it as `needed` */
    bool idle;        /* a retained block whose bytes are not needed any more, in the device's list of these */
    uint8_t way;      /* enum spw_transfer_queue */
    uint16_t arrival; /* arrivals.c: the arrival that is being measured; 0: none */
    uint32_t beside;  /* how many of the dropped blocks that need it only need it to be written along with them: they do not
                       * need its bytes */
    uint32_t chain;   /* its index, plus 1, in the list of blocks that are being made again; 0: none */
    uint32_t holds;   /* operations that are making it resident, and evictors that wait for its copy */
    uint64_t restore_number, leave_number;
    uint32_t leave_stream;             /* id of the copy-out stream that leave_number counts on; 0: nothing was submitted
                                        * there */
    struct spw_uses fence;             /* with SPW_FENCED: former owners of its memory, and our own work on it; these are
                                        * also among its uses */
    struct spw_deferred_unmap *stale;  /* it is absent, and its address is still mapped to memory that it gave up; or NULL */
    CUcontext context;                 /* the context whose allocation it is */
    struct spw_mempool_stats *pool;    /* never NULL while it is allocated */
    uint64_t serial;                   /* counts allocations of the process, from 1; 0: it was never given to the program */
    uint64_t swept;                    /* the last sweep over all memory that included it (seek.c) */
    uint64_t met;                      /* the last operation whose pointer tables led to it */
    uint64_t sync_memops;              /* the serial of the allocation for which the program set this attribute, or 0 */
    struct spw_block *next, *previous; /* in the list of cached blocks of its size, newest first, or in a queue */
    uint32_t index;                    /* its index in device->blocks */
    uint32_t expected;                 /* its tensor in the device's course, plus 1; 0: none */
    struct spw_block *next_idle;
    struct spw_pack *pack;        /* pack.h: the allocations of the program that share it; NULL: it is one allocation, or
                                   * free */
    struct spw_comparison *check; /* comparison.h: it `drops`, and the bytes that replace it will be compared; else NULL */
    uint32_t spot;                /* spot_checks.c: it `drops`; ticket of a sample of what it held; else 0 */
    uint32_t spot_choice;         /* selects the pages of that sample */
    bool has_true_copy;           /* with `check`: the host copy holds the true bytes */
};

struct spw_slab;
struct spw_slab_set;
struct spw_pack;

struct spw_device;

struct spw_deferred_unmaps {                 /* addresses of a device that are still mapped to memory which they gave up
                                              * (deferred_unmap.h) */
    bool allowed;                            /* unmapping may be deferred */
    bool refused;                            /* the driver does not map memory at two addresses */
    struct spw_deferred_unmap *first, *last; /* oldest first */
    uint64_t granules;                       /* sum over all of them */
    void (*forget)(struct spw_device *d);    /* forgets all of them without a driver call; NULL: there never was one */
};

struct spw_queue {
    struct spw_block *first, *last;
};

enum { SPW_OUTS = 4 };

struct spw_mover { /* one for each device, for the context whose blocks it moves */
    CUcontext context;
    union {                                /* our copy streams to the host */
        struct spw_stream *out;            /* the first, and the only one as long as nothing is gated */
        struct spw_stream *outs[SPW_OUTS]; /* NULL: not made yet */
    };
    struct spw_uses behind[SPW_OUTS]; /* for each: the uses behind which it may wait and that may be gated */
    struct spw_stream *in;            /* our copy stream from the host */
    struct spw_stream *beside;        /* runs operations again beside several streams of the program; NULL: not made yet */
};

/* The charge for memory that the driver reserves for graphs (graph_memory.h) or for a pool (pool_reserves.h). */
struct spw_reserve {
    uint64_t promised_bytes; /* for nodes of graphs that were not launched yet */
    uint64_t asking_bytes;   /* for what the driver is being asked for at this moment */
    uint64_t billed_bytes;   /* charged in all */
};

struct spw_device {
    int ordinal;
    bool ready;
    CUdeviceptr arena;
    uint64_t arena_bytes;
    unsigned granule_shift;
    struct spw_ranges *ranges;
    struct spw_object **table; /* one entry for each granule */
    struct spw_block **blocks; /* all blocks, cached ones too, in no order */
    uint32_t block_count, block_room;
    struct spw_block **free_by_granules;      /* SPW_FREE_BINS lists: [n] exactly n granules, [0] all larger ones */
    uint64_t free_bytes;                      /* in cached blocks */
    uint64_t trimmed_bytes;                   /* the part of cached memory that the program has given back to the device */
    struct spw_queue queues[SPW_QUEUE_COUNT]; /* oldest first */
    struct spw_phys_pool handles;             /* physical memory, and the budget for it */
    struct spw_deferred_unmaps stale;
    struct spw_slab_set *slabs;
    struct spw_pack *packs;            /* newest first */
    uint64_t pack_bytes, packed_bytes; /* size of all packs; size of the slots in them */
    struct spw_mover *mover;
    struct spw_block *idle_retained; /* in no order */
    struct spw_uses replays;         /* our own work that may write beside the program; a stream that appears later is
                                      * ordered behind it */
    struct spw_probed *probed;       /* what probes have shown on the device (launch_class.h); in no order */
    uint32_t dropping;               /* number of blocks with `drops` set */
    unsigned making;                 /* while not 0, nothing more may be dropped */
    size_t small_bytes;              /* allocations below this go to slabs */
    size_t packed_below_bytes;       /* others below this share packs; at least small_bytes */
    uint64_t total_bytes;            /* memory of the real device */
    uint64_t live_bytes, live_bytes_peak;
    uint64_t live_count;
    uint64_t largest_bytes;       /* the largest allocation so far */
    uint64_t out_bytes, in_bytes; /* copied to the host and back since the start */
    uint64_t foreign_bytes;       /* allocated by the program from the driver itself, and counted against the budget */
    pthread_mutex_t slow;         /* rank SPW_LOCK_SLOW */

    /* What the rooms above keep for each device. They allocate what the pointers lead to; NULL: nothing yet. */
    struct {
        CUcontext context;
        unsigned retained;
    } primary;         /* a primary context lives from its first retain to its last release */
    CUmemoryPool pool; /* the pool that stream-ordered allocations come from by default (devices.h); NULL: not asked for
                        * yet */
    bool pool_is_foreign;
    uint64_t peers; /* bit per device that may use this one's memory */
    struct spw_reserve graphs;
    uint64_t graph_launches;
    struct spw_stash *stash;
    struct {
        struct spw_block *block; /* workspace for replays (library_inputs.h), pinned; NULL: none yet */
        uint64_t wanted_bytes;   /* the largest workspace that a launch had */
        uint32_t users;          /* recorded operations that would use it */
    } workspace;
    struct spw_digest_ring *digests;
    CUcontext digests_refused; /* the context in which digests are refused, since the kernel was refused or their memory
                                * released; or NULL */
    struct spw_kept_iteration *kept;
    bool is_blind; /* what is made again cannot be compared */
    struct spw_refusals *refusals;
    struct spw_device_loop *loop;
    struct spw_lasting_granule *lasting; /* one for each granule (lasting.h); NULL: none yet */
    bool lasting_lost;                   /* there was no memory for `lasting`, so any granule may hold a lasting address */
    bool nodes_last;                     /* addresses that nodes of graphs were given count as lasting, too */
};

enum { SPW_FREE_BINS = 1024 };

extern struct spw_device spw_devices[SPW_MAX_DEVICES] SPW_OURS;
bool spw_anything_dropped_locked(void); /* on any device; counts blocks that are about to be dropped */

/* The last operation of `s` uses the block beside the program's own work: orders whatever other streams of the program are
 * given from now on, and touches the block, behind that operation. */
void spw_fence_locked(struct spw_block *b, struct spw_stream *s);

/* Memory that came from the driver was given back to it, so the budget for tensors grows by `bytes`. */
static inline void spw_device_credit_locked(struct spw_device *d, uint64_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    d->handles.budget_bytes += bytes;
    d->foreign_bytes -= bytes;
}

/* Returns a bit for each device that may use the memory of this one, itself included. */
static inline uint64_t spw_device_users_locked(const struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return d->peers | UINT64_C(1) << d->ordinal;
}

/* The driver has `reserved_bytes` reserved at this moment. Takes off the charge what is more than needed, or returns how
 * many bytes are missing from it. */
static inline uint64_t spw_reserve_settle_locked(struct spw_device *d, struct spw_reserve *r, uint64_t reserved_bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint64_t due = reserved_bytes + r->promised_bytes + r->asking_bytes;
    if (due > r->billed_bytes)
        return r->asking_bytes ? 0 : due - r->billed_bytes; /* what is being asked for may already be among what is
                                                             * reserved */
    spw_device_credit_locked(d, r->billed_bytes - due);
    r->billed_bytes = due;
    return 0;
}

extern uint64_t spw_tick SPW_OURS;    /* number of operations so far; engine lock */
extern uint64_t spw_serials SPW_OURS; /* number of allocations so far, large and small; engine lock */

/* Returns the device whose arena holds the address, or NULL if it is not ours. Needs no lock, since arenas are never
 * released. */
static inline struct spw_device *spw_device_of_address(CUdeviceptr a)
{
    if (a < spw_arena_low || a >= spw_arena_high)
        return NULL;
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (a - spw_devices[i].arena < spw_devices[i].arena_bytes)
            return &spw_devices[i];
    return NULL;
}

/* Returns the object at an address, which may be an interior address, or NULL if nothing of ours lies there. */
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

/* Returns the bytes that have to be taken from the pool before the block is resident. */
static inline size_t spw_block_lacking_bytes(const struct spw_device *d, const struct spw_block *b)
{
    return (size_t)(b->granules - b->memory.granules) << d->granule_shift;
}

/* Returns the device with its arena and tables, which are made at the first call, for the device of the current context.
 * Returns NULL and stores a negative result in *ret_r if they cannot be made; then calls of the program for this device go
 * to the driver. */
struct spw_device *spw_device_ready_locked(int ordinal, int *ret_r);

/* Stores the granule size of the device's memory, a power of two. Returns 0, -ENOTSUP if its memory cannot be moved, or
 * another negative result. */
int spw_granularity(int ordinal, uint64_t *ret_bytes);
size_t spw_small_bytes(uint64_t granule_bytes); /* with granules of that size, allocations below the result go to slabs */

/* Creates a block of `bytes` bytes without physical memory (SPW_EMPTY). Returns 0, or -ENOMEM if there are no addresses or
 * no memory for the record. */
int spw_block_create_locked(struct spw_device *d, size_t bytes, struct spw_block **ret_block);

/* Releases address and record. The block is absent: EMPTY, or EVICTED with its host copy released. */
void spw_block_destroy_locked(struct spw_device *d, struct spw_block *b);

/* Releases the record alone; the address stays taken, for another record. */
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

/* Takes a block of that many granules out of the cache for work submitted to `s` (NULL: for any stream at once). Prefers a
 * block that needs no waiting, else returns the newest and sets *ret_must_wait. Returns NULL if there is none. */
struct spw_block *spw_block_uncache_locked(struct spw_device *d, uint32_t granules, struct spw_stream *s,
                                           bool *ret_must_wait);
void spw_block_uncache_this_locked(struct spw_device *d, struct spw_block *b);

/* Splits a block that is free, in no list, and has no host copy. It keeps its first `keep` pieces (at least one, not all);
 * *ret_rest gets the others. Returns 0 or -ENOMEM. */
int spw_block_split_locked(struct spw_device *d, struct spw_block *b, uint32_t keep, struct spw_block **ret_rest);

/* Joins two such blocks, of which `next` begins where `b` ends; `next` is freed. Returns 0 or -ENOMEM. */
int spw_block_join_locked(struct spw_device *d, struct spw_block *b, struct spw_block *next);

/* Forgets all devices and everything that is kept for them, without a driver call: for tests. There is no follower. */
void spw_ledger_reset(void);

/* Returns true if the invariants above hold; for tests and debug builds. */
bool spw_block_check_locked(const struct spw_block *b);
#endif
