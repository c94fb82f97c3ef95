/* slab.h - small allocations: many in one always-resident piece of memory, never moved, counted. */
#ifndef SPILLWAY_SHIM_SLAB_H
#define SPILLWAY_SHIM_SLAB_H
#include "ledger.h"

struct spw_slot {      /* one small allocation, or room for one */
    size_t size_bytes; /* as asked; 0: free */
    CUcontext context;
    struct spw_mempool_stats *pool; /* never NULL while it lives */
    uint64_t serial;
    uint64_t met, sync_memops; /* as in a block */
    struct spw_versioned content;
    uint32_t lent;             /* so many dropped blocks are made again by operations that write in here */
    bool kept;                 /* freed, and kept back while it is needed (dependents.h) */
    uint32_t owed, owed_bytes; /* what it is to hold again before anybody uses it: offset in the stash plus 1; 0: nothing */
    struct spw_slab *slab;
    struct spw_slot *next_free;
    struct spw_uses uses; /* while free: who may still be using it */
};

struct spw_slab {
    struct spw_object object;  /* first, as in a block: an entry of the ledger's table points here */
    struct spw_block *backing; /* resident and pinned; its address and granules are the slab's */
    uint32_t slot_bytes, slot_count;
    uint32_t live_count;
    uint32_t holds; /* by operations that are about to use it: it stays, empty or not */
    bool pinned;    /* something knows an address in it: by what it is used no operation tells */
    struct spw_slab *next;
    struct spw_slot slots[];
};

/* A slot for `bytes` (below device->small_bytes) for work submitted to `s` (NULL: for any stream at once). -ENOSPC: no slab
 * of this size has room, make one with spw_slab_add_locked(). *ret_must_wait: slot->uses has to be waited for, or ordered
 * before `s`, first. */
int spw_slab_take_locked(struct spw_device *d, size_t bytes, struct spw_stream *s, struct spw_slot **ret_slot,
                         bool *ret_must_wait);

/* How large a slab for allocations of `bytes` is. */
size_t spw_slab_bytes(const struct spw_device *d, size_t bytes);

/* Makes a slab out of a resident block of spw_slab_bytes(). The block then belongs to the slab. -ENOMEM. */
int spw_slab_add_locked(struct spw_device *d, struct spw_block *backing, size_t bytes);

/* The slot that lies at an address, interior addresses too; NULL when none in use does. */
struct spw_slot *spw_slab_slot_at_locked(struct spw_slab *slab, CUdeviceptr a);
CUdeviceptr spw_slot_address(const struct spw_slot *slot);

/* Makes the slot free, or keeps it back as long as it is needed. `s` is the stream in whose order it was freed; NULL:
 * unknown, then its uses are those of its whole slab until now. */
void spw_slab_give_locked(struct spw_device *d, struct spw_slot *slot, struct spw_stream *s);

/* What was submitted to the stream last reads a slot, of which the program knows nothing: whoever uses the slab comes behind
 * it (SPW_FENCED). */
void spw_slab_fence_locked(struct spw_slab *slab, struct spw_stream *s);

/* Takes an empty slab apart: answers its block, whose memory the caller reclaims; NULL when no slab is empty
 * and held by nobody. */
struct spw_block *spw_slab_remove_empty_locked(struct spw_device *d);

/* Calls `each` for every slot in use. */
void spw_slab_for_each_locked(struct spw_device *d, void (*each)(struct spw_slot *slot, void *arg), void *arg);

/* Bytes of all slabs of the device. */
uint64_t spw_slab_total_bytes_locked(const struct spw_device *d);

/* Somebody knows an address in it, or in what it is part of, of which no operation tells. */
bool spw_object_pinned(const struct spw_object *o);

/* Who may be at what lies there: its uses; and where it is pinned, all that was submitted to its device and peers, since
 * graphs use what is pinned without telling. */
struct spw_uses spw_users_of_locked(const struct spw_object *o);
#endif
