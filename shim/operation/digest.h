/* digest.h - hashes of device memory (hash.h): they are submitted to a stream, and the host reads the result later without
 * waiting.
 *
 * Asking for a digest returns a ticket. Results are sent to the host in batches, in the order of their stream; an answer
 * can be read from then on until its ticket is forgotten. Each device has a ring of 4096 slots of 16 bytes for results, in
 * memory from the driver that is charged to the budget, and a pinned mirror on the host. Ring, mirror and kernel are made
 * when they are first needed, and belong to the context that asks first. In steady state nothing is made.
 *
 * Each submission is the next operation of its stream's record (streams.h). The caller, who holds the memory that is read,
 * adds that use:
 *
 *     spw_uses_add_locked(&b->object.uses, s, s->begun)        after spw_digest_ask_locked()
 *
 * The engine lock is held for every function here. No driver call here waits for the device, except when a context is
 * destroyed. The calls go to the driver itself, so that no hook and no recorder sees them. */
#ifndef SPILLWAY_SHIM_DIGEST_H
#define SPILLWAY_SHIM_DIGEST_H
#include "hash_kernel.h"
#include "ledger.h"

enum { SPW_DIGEST_SLOTS = 4096 };

/* Charges the memory of a ring to the budget of its device. Returns 0, or -ENOMEM if there is no room at the moment. Set
 * before the first digest (own_memory.h); NULL: there is never room. */
extern int (*spw_digest_charge)(struct spw_device *d, uint64_t bytes) SPW_OURS;

/* Makes what digests of the device need, before the first one; asking for a digest does the same. Fails like
 * spw_digest_ask_locked(). */
int spw_digests_open_locked(struct spw_device *d, CUcontext context);

/* Stores in *ret_bytes how many device bytes digests would still have to allocate. Returns 0, or the reason why there can
 * be no digests, as spw_digest_ask_locked() does. */
int spw_digests_lacking_locked(const struct spw_device *d, CUcontext context, uint64_t *ret_bytes);

/* Submits to `stream`, a stream of `context`, a kernel that hashes the `bytes` bytes at `address` as they are at that point
 * of the stream. Any alignment is allowed: multiples of 16 are read fastest; where a bound is no multiple of 8, up to 7
 * bytes before or behind are read as well, to complete an aligned word of 8. An operation that another thread has numbered
 * but not submitted yet may come before or behind the digest. The ticket is never 0. Returns 0 or a failure, after which
 * there is nothing to forget:
 *
 *   -EAGAIN   all slots are in use
 *   -ENOMEM   there is no room for slots at the moment, on the device or the host
 *   -EBUSY    the stream is being captured
 *   -ENOTSUP  the device refuses the kernel, or another context owns the slots: warned of once, and permanent
 *   another negative result of the driver */
int spw_digest_ask_locked(struct spw_device *d, CUcontext context, CUstream stream, CUdeviceptr address, size_t bytes,
                          uint32_t *ret_ticket);

/* The first asks for a hash of a sample's pages instead (hash_kernel.h). Its result is not sent before the second has
 * subtracted another sample from it: that call is submitted after the first, to the same or another stream. If the second
 * call fails, the ticket can only be forgotten. */
int spw_digest_sample_locked(struct spw_device *d, CUcontext context, CUstream stream, const struct spw_sample *sample,
                             uint32_t *ret_ticket);
int spw_digest_sample_again_locked(struct spw_device *d, CUcontext context, CUstream stream, const struct spw_sample *sample,
                                   uint32_t ticket);

/* Asks for a count of the words that `search` describes: word[0] of the answer is how many words lie in either range. */
int spw_digest_find_locked(struct spw_device *d, CUcontext context, CUstream stream, const struct spw_word_search *search,
                           uint32_t *ret_ticket);

/* Fills the pages of the sample with the pattern, in the order of the stream. Fails like spw_digest_ask_locked(). */
int spw_digest_fill_locked(struct spw_device *d, CUcontext context, CUstream stream, const struct spw_sample *sample);

/* Submits to `stream` the kernels that send the host the results which were asked for on that stream and are not sent yet:
 * one kernel for each run of neighbouring slots, so one in all as long as only one stream asks at a time. No copy takes
 * part, so no result waits behind a large copy. Returns 0, also if there was nothing to send; -EBUSY if the stream is being
 * captured, then nothing is sent; or a failure of the driver, then the results that could not be sent answer -EIO from then
 * on. */
int spw_digests_send_locked(struct spw_device *d, CUstream stream);

/* Reads an answer. Returns 1 if *ret_hash is the hash, which stays available until the ticket is forgotten; 0 if the answer
 * has not arrived or was not sent; -EIO if it could not be sent or a fault has ended the context; -EINVAL if there is no
 * such ticket or its context is gone. */
int spw_digest_answer_locked(struct spw_device *d, uint32_t ticket, struct spw_hash *ret_hash);

/* Forgets the ticket and all that are chained to it, at any time, whether sent or not. A slot is given out again once no
 * submitted work can write to it any more. Invalid tickets are ignored. */
void spw_digest_forget_locked(uint32_t ticket);

/* Appends `next` to the chain of tickets that begins with `ticket`. */
void spw_digest_chain_locked(uint32_t ticket, uint32_t next);

/* Forgets this ticket alone. Returns the ticket that was chained to it, or 0 if there was none. */
uint32_t spw_digest_step_locked(uint32_t ticket);

/* Returns how many tickets have not been forgotten. */
unsigned spw_digests_held_locked(const struct spw_device *d);

/* Returns how many device bytes the ring takes, in one allocation of the driver's. It takes as many bytes of page-locked
 * host memory. */
uint64_t spw_digests_bytes_locked(const struct spw_device *d);

/* Releases the memory of the ring, and forgets all tickets. From then on asking in that context fails with -ENOTSUP, until
 * spw_digests_allow_locked(). Returns 0 also if there is no ring. Releases the engine lock while it waits for the submitted
 * digests and for every gate. Returns -ETIME if one of these digests is gated, or a failure of the driver; then only the
 * tickets are lost and all else is as before. */
int spw_digests_give_unlocking(struct spw_device *d);

/* Allows digests again after their memory was released: the next one makes the ring again. */
void spw_digests_allow_locked(struct spw_device *d);

/* Forgets all tickets of a context that is about to be destroyed. The context is current and synchronised. */
void spw_digests_context_gone_locked(CUcontext context);
#endif
