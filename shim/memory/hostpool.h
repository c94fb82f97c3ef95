/* hostpool.h - gives out page-locked host memory in exact sizes, from slabs that grow up to a limit and never beyond it. */
#ifndef SPILLWAY_SHIM_HOSTPOOL_H
#define SPILLWAY_SHIM_HOSTPOOL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPW_HOSTPOOL_GRANULE_BYTES ((size_t)4096) /* sizes are rounded up to this, and to nothing coarser */

/* What the pool needs from outside. `ctx` is what spw_hostpool_create() was given. Sizes are multiples of the granule. pin,
 * alloc_pinned and available may be NULL: not possible, or unknown. unpin belongs to pin, and free_pinned to
 * alloc_pinned. */
struct spw_host_ops {
    void *(*map)(void *ctx, size_t bytes); /* pageable memory; NULL if refused */
    void (*unmap)(void *ctx, void *address, size_t bytes);
    int (*pin)(void *ctx, void *address, size_t bytes);   /* 0 or a negative errno; touches the pages */
    int (*unpin)(void *ctx, void *address, size_t bytes); /* of exactly what one pin was given; 0 or a negative errno */
    void *(*alloc_pinned)(void *ctx, size_t bytes);       /* if pin is refused; NULL if this is refused too */
    void (*free_pinned)(void *ctx, void *address, size_t bytes);
    int64_t (*available)(void *ctx); /* bytes that machine and cgroup still allow; asked before the pool grows */
};

/* The pool maps and pins a slab when a take finds no room; it pins in pieces of at most SPW_HOSTPOOL_PIN_BYTES. A slab has
 * room for the request, and for as many more of the same size as fit in a step: 64 MiB, less under a small limit, more once
 * the pool is large. If pinning is refused, alloc_pinned is tried. If that is refused too, the slab stays pageable: slower,
 * and still correct.
 *
 * At any time bytes_in_use <= bytes_held <= limit, and bytes_pinned <= bytes_held.
 *
 * The pool has no lock; the caller's lock guards it. Only take (when the pool grows), trim and destroy call the ops. */
struct spw_hostpool;

#define SPW_HOSTPOOL_PIN_BYTES ((size_t)256 << 20)

/* Creates a pool; nothing is mapped yet. `ops` must outlive the pool. Returns 0; -EINVAL if map or unmap is missing, or one
 * of pin and unpin or of the other pair; or -ENOMEM. With a limit of 0 every take is refused. */
int spw_hostpool_create(const struct spw_host_ops *ops, void *ctx, size_t limit_bytes, struct spw_hostpool **ret_pool);

/* Releases all slabs, in use or not: the caller has waited for the copies. NULL has no effect. A piece that cannot be
 * unpinned stays mapped, since the device may still know its pages. */
void spw_hostpool_destroy(struct spw_hostpool *pool);

/* Takes memory for `bytes` (> 0), aligned to the granule as far as map and alloc_pinned align; its contents are
 * unspecified. Returns 0; -EINVAL for 0 bytes; or -ENOMEM if the limit, the machine or the system refuses, see
 * spw_hostpool_refusal(). After a failure the pool is unchanged, but empty slabs may have been released. */
int spw_hostpool_take(struct spw_hostpool *pool, size_t bytes, void **ret_address);

/* Gives back what one take returned, with the same `bytes`. NULL has no effect. Calls none of the ops. */
void spw_hostpool_give(struct spw_hostpool *pool, void *address, size_t bytes);

/* Moves what one take of `bytes` returned, with its contents, to the place that suits it best: there may be a gap before
 * it, or one that it fills. Returns the new address, which may be the old one. Calls none of the ops. */
void *spw_hostpool_move(struct spw_hostpool *pool, void *address, size_t bytes);

/* Releases empty slabs until at most `keep_bytes` are held. Returns the bytes released. */
size_t spw_hostpool_trim(struct spw_hostpool *pool, size_t keep_bytes);

/* Returns true if the address lies in a pool: the driver knows it, but no program was given it. */
bool spw_hostpool_is_ours(const void *address);

/* Returns true if all of [address, address + bytes) is page-locked. Otherwise copies are slower and wait on the host, and
 * the caller warns of it once. */
bool spw_hostpool_is_pinned(const struct spw_hostpool *pool, const void *address, size_t bytes);

/* Returns the bytes from `address` to the end of the piece that was pinned at once (of the slab, if nothing is pinned). The
 * driver may refuse a copy across this border, so copies are split here. 0: the address is not the pool's. */
size_t spw_hostpool_contiguous_bytes(const struct spw_hostpool *pool, const void *address);

size_t spw_hostpool_limit(const struct spw_hostpool *pool);
size_t spw_hostpool_bytes_in_use(const struct spw_hostpool *pool);      /* taken, rounded to granules */
size_t spw_hostpool_bytes_in_use_peak(const struct spw_hostpool *pool); /* the most that was taken at once */
size_t spw_hostpool_bytes_held(const struct spw_hostpool *pool);        /* in slabs, pinned or not */
size_t spw_hostpool_bytes_pinned(const struct spw_hostpool *pool);

/* Returns why the last take was refused, for a message: "the host budget", "what the machine and its control groups have
 * left", … A constant string; "" if none was refused. */
const char *spw_hostpool_refusal(const struct spw_hostpool *pool);

/* For tests: checks everything, and returns true if the bookkeeping is consistent. */
bool spw_hostpool_check(const struct spw_hostpool *pool);
#endif
