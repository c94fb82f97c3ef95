/* digest.h - hashes of device memory (hash.h), taken in the order of a stream and read later, without anybody waiting.
 *
 * A digest is asked for and gets a ticket; asked digests are sent to the host together, when their stream has come so far;
 * the answer is there some time later, until the ticket is forgotten. Each device has a ring of 4096 slots of 16 bytes for
 * it, in memory from the driver that is on the bill, with a pinned mirror on the host; both are made at the
 * first need, with the kernel, and belong to one context: the first that asks. In steady state nothing is made.
 *
 * Each submission is the next operation of its stream's record (streams.h). Whoever holds the memory that is read adds that
 * use:
 *
 *     spw_uses_add_locked(&b->object.uses, s, s->begun)        after spw_digest_ask_locked()
 *
 * All with the engine lock held. No driver call here waits for the device, except where a context
 * goes. The calls go to the driver itself, so that no hook and no recorder sees them. */
#ifndef SPILLWAY_SHIM_DIGEST_H
#define SPILLWAY_SHIM_DIGEST_H
#include "hash_kernel.h"
#include "ledger.h"

enum { SPW_DIGEST_SLOTS = 4096 };

/* How the memory of a ring gets on the bill of its device: 0, or -ENOMEM where there is no room at the moment. Set before
 * the first digest (own_memory.h); NULL: there is no room. */
extern int (*spw_digest_charge)(struct spw_device *d, uint64_t bytes) SPW_OURS;

/* Makes what digests of the device need before the first one; ask does it as well. Fails as ask does. */
int spw_digests_open_locked(struct spw_device *d, CUcontext context);

/* *ret_bytes is what that will take on the device. 0, or why there will be none: as ask. */
int spw_digests_lacking_locked(const struct spw_device *d, CUcontext context, uint64_t *ret_bytes);

/* Submits to `stream`, a stream of `context`, what computes the hash of `bytes` at `address` as they are then. The alignment
 * is any: multiples of 16 are read fastest, and of others than multiples of 8 up to 7 bytes before and behind are read as
 * well, those in the same aligned 8. An operation of another thread that is numbered and not submitted yet may come before
 * or behind it. The ticket is never 0. On failure nothing has to be forgotten:
 *
 *   -EAGAIN   all slots are in use
 *   -ENOMEM   there is no room for slots at the moment, on the device or the host
 *   -EBUSY    the stream is being captured
 *   -ENOTSUP  the device will not take the kernel, or another context has the slots; said once, and true from then on
 *   another negative result of the driver */
int spw_digest_ask_locked(struct spw_device *d, CUcontext context, CUstream stream, CUdeviceptr address, size_t bytes,
                          uint32_t *ret_ticket);

/* The same of a sample (hash_kernel.h), which the answer holds in place of a hash. It is not sent before another sample was
 * subtracted from it, by the second call, which is submitted behind it; that may be to another stream. On a failure of that
 * the ticket is good for nothing but to be forgotten. */
int spw_digest_sample_locked(struct spw_device *d, CUcontext context, CUstream stream, const struct spw_sample *sample,
                             uint32_t *ret_ticket);
int spw_digest_sample_again_locked(struct spw_device *d, CUcontext context, CUstream stream, const struct spw_sample *sample,
                                   uint32_t ticket);

/* The same of words that are looked for: word[0] of the answer is how many there are. */
int spw_digest_find_locked(struct spw_device *d, CUcontext context, CUstream stream, const struct spw_word_search *search,
                           uint32_t *ret_ticket);

/* Fills the pages of the sample with the pattern, in the order of the stream. Fails as ask does. */
int spw_digest_fill_locked(struct spw_device *d, CUcontext context, CUstream stream, const struct spw_sample *sample);

/* Submits to `stream` what tells the host the answers to what was asked on it and is not sent yet: one kernel for slots that
 * lie side by side, which they do as long as one stream asks at a time. No copy takes part in it, so nobody waits for one.
 * 0, also where there is nothing; -EBUSY: it is being captured, nothing is sent; else a failure of the driver: what could
 * not be sent answers -EIO from then on. */
int spw_digests_send_locked(struct spw_device *d, CUstream stream);

/* 1: *ret_hash is the hash; it stays until the ticket is forgotten. 0: not yet, or not sent. -EIO: it could not be sent, or
 * a fault has ended the context. -EINVAL: no such ticket, or its context is gone. */
int spw_digest_answer_locked(struct spw_device *d, uint32_t ticket, struct spw_hash *ret_hash);

/* At any time, sent or not: the slot is given out again when nothing can write to it any more. So are those that it leads
 * to. What is no ticket is ignored. */
void spw_digest_forget_locked(uint32_t ticket);

/* Has the last one that `ticket` leads to lead to `next`. */
void spw_digest_chain_locked(uint32_t ticket, uint32_t next);

/* Forgets it alone. The one that it leads to is returned; 0: it leads to none. */
uint32_t spw_digest_step_locked(uint32_t ticket);

/* Tickets that nobody has forgotten yet. */
unsigned spw_digests_held_locked(const struct spw_device *d);

/* What they take on the device, in one allocation of the driver's, and as much in page-locked host memory. */
uint64_t spw_digests_bytes_locked(const struct spw_device *d);

/* Gives their memory back, and all tickets with it: none is asked for in that context any more, as where the kernel was
 * refused, until that is allowed. 0 is also that there is none. Lets go of the engine lock while it waits for what was
 * asked, and for every gate beside that; -ETIME: something of what was asked is gated. All is as it was then but for the
 * tickets, as it is where the driver fails. */
int spw_digests_give_unlocking(struct spw_device *d);

/* There may be room for them again: where their memory was given back, they are asked for as at first from here on. */
void spw_digests_allow_locked(struct spw_device *d);

/* The context, which is current and synchronised, is about to go, and with it all tickets. */
void spw_digests_context_gone_locked(CUcontext context);
#endif
