/* hostpool.h - page-locked host memory in exact sizes, from slabs that grow up to a limit and never beyond it. */
#ifndef SPILLWAY_SHIM_HOSTPOOL_H
#define SPILLWAY_SHIM_HOSTPOOL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPW_HOSTPOOL_GRANULE_BYTES ((size_t)4096) /* extents are rounded up to this, and to nothing coarser */

/* The world outside of the pool. `ctx` is what spw_hostpool_create() was given. Sizes are multiples of the granule.
 * Any of pin, alloc_pinned, available may be NULL: not possible here, nothing known. unpin goes with pin, free_pinned with
 * alloc_pinned. */
struct spw_host_ops {
    void *(*map)(void *ctx, size_t bytes); /* pageable memory, NULL when refused */
    void (*unmap)(void *ctx, void *address, size_t bytes);
    int (*pin)(void *ctx, void *address, size_t bytes);   /* 0 or negative errno; touches the pages as it goes */
    int (*unpin)(void *ctx, void *address, size_t bytes); /* exactly what one pin was given; 0 or negative errno */
    void *(*alloc_pinned)(void *ctx, size_t bytes);       /* where pin is refused; NULL when this is too */
    void (*free_pinned)(void *ctx, void *address, size_t bytes);
    int64_t (*available)(void *ctx); /* bytes that machine and cgroup still allow; asked before the pool grows */
};

/* Slabs are mapped and pinned when a take finds no room, in pieces of at most SPW_HOSTPOOL_PIN_BYTES. A slab has room for
 * the request, and for as many more of the same as fit in a step: 64 MiB, less under a small limit, more once the pool is
 * large. When pinning is refused, alloc_pinned is tried; when that is refused too, the slab stays pageable: slower and
 * still correct.
 *
 * Always: bytes_in_use <= bytes_held <= limit, and bytes_pinned <= bytes_held.
 *
 * No lock inside: the caller's lock guards it. Only take (when it grows), trim and destroy call the ops. */
struct spw_hostpool;

#define SPW_HOSTPOOL_PIN_BYTES ((size_t)256 << 20)

/* Nothing is mapped yet. `ops` must outlive the pool. -EINVAL: no map or unmap, or a pin without unpin (or the other pair);
 * -ENOMEM. A limit of 0 is fine: every take is then refused. */
int spw_hostpool_create(const struct spw_host_ops *ops, void *ctx, size_t limit_bytes, struct spw_hostpool **ret_pool);

/* Gives all slabs back, whether in use or not: the caller has waited for the copies. NULL is fine. A piece that can't
 * be unpinned is left mapped, since the device may still know its pages. */
void spw_hostpool_destroy(struct spw_hostpool *pool);

/* Memory for `bytes` (> 0), aligned to the granule as far as map and alloc_pinned align, contents unspecified. -EINVAL: 0
 * bytes. -ENOMEM: the limit, the machine or the system refuses, see spw_hostpool_refusal(); the pool is as it was, save that
 * empty slabs may have been given back.
 */
int spw_hostpool_take(struct spw_hostpool *pool, size_t bytes, void **ret_address);

/* Gives back what one take returned, with the same `bytes`. NULL is fine. Makes no call outside. */
void spw_hostpool_give(struct spw_hostpool *pool, void *address, size_t bytes);

/* Moves what one take of `bytes` returned, with its contents, to the place that suits it best: there may be a gap before it,
 * or one that it fills. Answers where it is from then on, which may be where it was. Makes no call outside. */
void *spw_hostpool_move(struct spw_hostpool *pool, void *address, size_t bytes);

/* Gives empty slabs back to the system until at most `keep_bytes` are held. Returns the bytes given back. */
size_t spw_hostpool_trim(struct spw_hostpool *pool, size_t keep_bytes);

/* Whether the address lies in any pool, and is known to the driver for that alone: no program is told of it. */
bool spw_hostpool_is_ours(const void *address);

/* Whether all of [address, address + bytes) is page-locked. Where it isn't, copies are slower and wait on the host:
 * the caller says so once. */
bool spw_hostpool_is_pinned(const struct spw_hostpool *pool, const void *address, size_t bytes);

/* Bytes from `address` to the end of the piece that was pinned at once (of the slab, where nothing is pinned): a copy that
 * reaches across this border may be refused by the driver, so copies are cut here. 0: not the pool's address. */
size_t spw_hostpool_contiguous_bytes(const struct spw_hostpool *pool, const void *address);

size_t spw_hostpool_limit(const struct spw_hostpool *pool);
size_t spw_hostpool_bytes_in_use(const struct spw_hostpool *pool);      /* handed out, rounded to granules */
size_t spw_hostpool_bytes_in_use_peak(const struct spw_hostpool *pool); /* the most that was handed out at once */
size_t spw_hostpool_bytes_held(const struct spw_hostpool *pool);        /* in slabs, pinned or not */
size_t spw_hostpool_bytes_pinned(const struct spw_hostpool *pool);

/* Why the last take was refused, for a message: "the host budget", "what the machine or its cgroup has left", … A constant
 * string; "" when none was refused. */
const char *spw_hostpool_refusal(const struct spw_hostpool *pool);

/* For tests: walks everything; true when the bookkeeping agrees with itself. */
bool spw_hostpool_check(const struct spw_hostpool *pool);
#endif
