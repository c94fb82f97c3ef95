/* slab.h - slabs: pieces of always-resident memory that many small allocations share; they never move, and count against
 * the budget. */
#ifndef SPILLWAY_SHIM_SLAB_H
#define SPILLWAY_SHIM_SLAB_H
#include "ledger.h"

struct spw_slot {      /* a small allocation, or room for one */
    size_t size_bytes; /* as the program asked for; 0: free */
    CUcontext context;
    struct spw_mempool_stats *pool; /* never NULL while it is allocated */
    uint64_t serial;
    uint64_t met, sync_memops; /* as in a block */
    struct spw_versioned content;
    uint32_t lent;             /* number of dropped blocks that are made again by operations which write to it */
    bool kept;                 /* freed by the program, and kept back as long as it is needed (dependents.h) */
    uint32_t owed, owed_bytes; /* content that it has to get back before it is used: offset in the stash plus 1, and size; 0:
                                * none */
    struct spw_slab *slab;
    struct spw_slot *next_free;
    struct spw_uses uses; /* while free: its former users, who may not be done */
};

struct spw_slab {
    struct spw_object object;  /* first member, as in a block: the entries of the ledger's table point here */
    struct spw_block *backing; /* resident and pinned; its address and granules are the slab's */
    uint32_t slot_bytes, slot_count;
    uint32_t live_count;
    uint32_t holds; /* operations that are about to use it; it is not taken apart meanwhile, even if empty */
    bool pinned;    /* something remembers an address in it, so operations do not tell who uses it */
    struct spw_slab *next;
    struct spw_slot slots[];
};

/* Takes a slot for `bytes` (below device->small_bytes) for work submitted to `s` (NULL: for any stream at once). Returns 0,
 * or -ENOSPC if no slab has a slot that large; then spw_slab_add_locked() makes one. *ret_must_wait: slot->uses has to be
 * waited for, or ordered before `s`, first. */
int spw_slab_take_locked(struct spw_device *d, size_t bytes, struct spw_stream *s, struct spw_slot **ret_slot,
                         bool *ret_must_wait);

/* Returns how large a slab for allocations of `bytes` is. */
size_t spw_slab_bytes(const struct spw_device *d, size_t bytes);

/* Makes a slab from a resident block of spw_slab_bytes(), which belongs to the slab from then on. Returns 0 or -ENOMEM. */
int spw_slab_add_locked(struct spw_device *d, struct spw_block *backing, size_t bytes);

/* Returns the slot at an address, which may be an interior address, or NULL if no slot in use lies there. */
struct spw_slot *spw_slab_slot_at_locked(struct spw_slab *slab, CUdeviceptr a);
CUdeviceptr spw_slot_address(const struct spw_slot *slot);

/* Frees the slot, or keeps it back as long as it is needed. `s` is the stream in whose order it was freed; NULL: unknown,
 * then all uses of its slab so far count as its uses. */
void spw_slab_give_locked(struct spw_device *d, struct spw_slot *slot, struct spw_stream *s);

/* The stream's last operation reads a slot of the slab, unknown to the program: later users of the slab are ordered behind
 * it (SPW_FENCED). */
void spw_slab_fence_locked(struct spw_slab *slab, struct spw_stream *s);

/* Takes an empty slab apart that is not held. Returns its block, whose memory the caller reclaims, or NULL if there is no
 * such slab. */
struct spw_block *spw_slab_remove_empty_locked(struct spw_device *d);

/* Calls `each` for every slot in use. */
void spw_slab_for_each_locked(struct spw_device *d, void (*each)(struct spw_slot *slot, void *arg), void *arg);

/* Returns the size of all slabs of the device. */
uint64_t spw_slab_total_bytes_locked(const struct spw_device *d);

/* Returns true if the object is pinned: something remembers an address in it, so operations do not tell who uses it. */
bool spw_object_pinned(const struct spw_object *o);

/* Returns who may still use the object: its uses and, if it is pinned, everything that was submitted to its device and to
 * peers so far, since graphs use pinned memory unnoticed. */
struct spw_uses spw_users_of_locked(const struct spw_object *o);
#endif
