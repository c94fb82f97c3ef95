/* spot_checks.h - spot checks: what each tensor holds that is dropped is hashed in part before it goes, and again behind
 * what makes it again; nothing that was computed with it is the host's before the two were compared.
 *
 * Of a tensor up to SPW_SPOT_CHECK_WHOLE all is hashed, of a larger one a page of 4 KiB in every 128 KiB, another one in
 * each iteration. So a difference of 128 KiB side by side is always seen, a smaller one of n bytes with a probability of n
 * in 128 KiB each time. Every so often all of it is compared in place of that (verify.h).
 *
 * The answers come on their own and nobody waits for them: they are looked at when the program has waited for the device,
 * before it is told that the wait is over, since results reach the host behind a wait only. An answer is on its way to the
 * host before whatever uses the tensor. A difference is final: the bytes are gone, and things were made of what there is.
 * From then on every wait and every copy to the host fails.
 *
 * Bytes that a kernel leaves undefined are no difference. The pages that are going to be hashed are filled with a pattern
 * before a launch of the program writes to a tensor that nothing was written to, and before the launch is run again, so
 * that they agree. They are the same of all tensors of a size in an iteration, so that what is made of each byte by itself
 * agrees as well. What another kernel makes of such bytes elsewhere may still differ: where a tensor was seen to have words
 * of the pattern left, a difference proves nothing, in that iteration and the next. From then on what leaves them has all of
 * its tensor filled (kept_ops.c).
 *
 * Engine lock throughout, unless something else is said. */
#ifndef SPILLWAY_SHIM_SPOT_CHECKS_H
#define SPILLWAY_SHIM_SPOT_CHECKS_H
#include "hash_kernel.h"
#include "rebuild.h"
#include <stdatomic.h>

#define SPW_SPOT_CHECK_WHOLE ((size_t)64 << 10) /* bytes; of what is larger one page in 32 is hashed */

struct spw_spot_check_counts { /* since the start */
    uint64_t asked_count;      /* tensors made again, of which samples before and behind were asked for */
    uint64_t equal_count;      /* they are the same */
    uint64_t unknown_count;    /* there was no slot for a sample, or the driver refused it */
    uint64_t explained_count;  /* they are not, which what is left undefined explains */
    uint64_t failed_count;     /* they are not */
};
extern struct spw_spot_check_counts spw_spot_check_counts SPW_OURS;

/* The block is about to be dropped, and will not be compared as a whole. */
void spw_spot_check_left_locked(struct spw_device *d, struct spw_block *b);

/* It is not dropped after all, or nobody wants it any more. */
void spw_spot_check_forget_locked(struct spw_block *b);

/* What is about to make it again could not be given the same memory: the two would differ. */
void spw_spot_check_give_up_locked(struct spw_block *b);

/* The program is about to write it anew: from now on the pages are those of this iteration. */
void spw_spot_check_choose_locked(struct spw_block *b);

/* Fills what would be hashed of the block, in the order of the stream. 0 or a failure of the driver. */
int spw_spot_check_fill_locked(struct spw_device *d, const struct spw_block *b, const struct spw_stream *s);

/* What makes the block again was submitted to `s`. Adds the use. */
void spw_spot_check_made_locked(struct spw_device *d, struct spw_block *b, struct spw_rebuild *rebuild,
                                struct spw_stream *s);

/* An iteration that is followed begins. */
void spw_spot_check_next_iteration_locked(void);

extern atomic_bool spw_spot_checks_pending SPW_OURS; /* answers are on their way, or one was wrong */

CUresult spw_spot_check_look(CUresult result);

/* The program has waited, or copied to the host, and `result` is the driver's answer: what it is to be told. No lock held.
 */
static inline CUresult spw_spot_check_after_wait(CUresult result)
{
    return __builtin_expect(atomic_load_explicit(&spw_spot_checks_pending, memory_order_relaxed), 0) &&
                   result == CUDA_SUCCESS
               ? spw_spot_check_look(result)
               : result;
}

void spw_spot_check_reset(void); /* for tests */
#endif
