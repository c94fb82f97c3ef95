/* spot_checks.h - checks a part of every replayed tensor: the part is hashed before the tensor is dropped and again after
 * the replay, and no result reaches the host before the two hashes were compared.
 *
 * Of a tensor up to SPW_SPOT_CHECK_WHOLE everything is hashed, of a larger one a page of 4 KiB in every 128 KiB, another
 * one in each iteration. So a difference of 128 KiB in one piece is always seen, a smaller one of n bytes with a
 * probability of n in 128 KiB each time. Every so often the whole tensor is compared instead (verify.h).
 *
 * The answers arrive by themselves, and nobody waits for them. They are looked at when the program has waited for the
 * device, before it is told that the wait is over, since results reach the host only after a wait. An answer is on its way
 * to the host before anything uses the tensor. A difference is final: the bytes are gone, and other things were computed
 * from what there is. From then on every wait and every copy to the host fails.
 *
 * Bytes that a kernel leaves undefined are no difference. The pages to be hashed are filled with a pattern before a launch
 * of the program writes to a tensor for the first time, and before that launch is replayed, so that they agree. They are
 * the same for all tensors of a size in an iteration, so that what is computed from each byte by itself agrees as well.
 * What another kernel computes from such bytes elsewhere may still differ. So when words of the pattern were seen to be
 * left in a tensor, a difference proves nothing, in that iteration and the next. From then on the launches that leave them
 * have all of their outputs filled (kept_ops.c).
 *
 * Engine lock throughout, unless something else is said. */
#ifndef SPILLWAY_SHIM_SPOT_CHECKS_H
#define SPILLWAY_SHIM_SPOT_CHECKS_H
#include "hash_kernel.h"
#include "rebuild.h"
#include <stdatomic.h>

#define SPW_SPOT_CHECK_WHOLE ((size_t)64 << 10) /* bytes; of a larger tensor one page in 32 is hashed */

struct spw_spot_check_counts { /* since the start of the process */
    uint64_t asked_count;      /* tensors made again for which both samples were asked for */
    uint64_t equal_count;      /* samples that agree */
    uint64_t unknown_count;    /* no sample: there was no slot for it, or the driver refused it */
    uint64_t explained_count;  /* samples that differ, which undefined bytes explain */
    uint64_t failed_count;     /* samples that differ */
};
extern struct spw_spot_check_counts spw_spot_check_counts SPW_OURS;

/* Call before the block is dropped, if it will not be compared as a whole: asks for the first sample. */
void spw_spot_check_left_locked(struct spw_device *d, struct spw_block *b);

/* Call when the block is not dropped after all, or nobody wants it any more. */
void spw_spot_check_forget_locked(struct spw_block *b);

/* Call when the memory for the replay could not be filled like the first time: the samples would differ. */
void spw_spot_check_give_up_locked(struct spw_block *b);

/* Call before the program writes the block anew: from now on its pages are those of this iteration. */
void spw_spot_check_choose_locked(struct spw_block *b);

/* Fills the pages of the block that would be hashed, in the order of the stream. Returns 0 or a failure of the driver. */
int spw_spot_check_fill_locked(struct spw_device *d, const struct spw_block *b, const struct spw_stream *s);

/* Call when the operations that make the block again were submitted to `s`: asks for the second sample, as one more use. */
void spw_spot_check_made_locked(struct spw_device *d, struct spw_block *b, struct spw_rebuild *rebuild,
                                struct spw_stream *s);

/* Call when an iteration that is followed begins. */
void spw_spot_check_next_iteration_locked(void);

extern atomic_bool spw_spot_checks_pending SPW_OURS; /* answers are in flight, or one was wrong */

CUresult spw_spot_check_look(CUresult result);

/* Call when the program has waited, or copied to the host, with the driver's answer `result`. Returns the result for the
 * program. Call with no lock held. */
static inline CUresult spw_spot_check_after_wait(CUresult result)
{
    return __builtin_expect(atomic_load_explicit(&spw_spot_checks_pending, memory_order_relaxed), 0) &&
                   result == CUDA_SUCCESS
               ? spw_spot_check_look(result)
               : result;
}

void spw_spot_check_reset(void); /* for tests */
#endif
