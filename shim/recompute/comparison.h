/* comparison.h - compares the true bytes of a dropped block with the bytes that a replay makes in their place.
 *
 * A digest of the true bytes is taken when the block is dropped, and one of the bytes that were made after the replay. If
 * the block leaves with a copy, the digest of that copy serves (clean_check.h). Engine lock throughout. */
#ifndef SPILLWAY_SHIM_COMPARISON_H
#define SPILLWAY_SHIM_COMPARISON_H
#include "hash.h"
#include "ledger.h"

struct spw_comparison {   /* of a block that is dropped and will be compared */
    uint32_t before;      /* ticket of the digest of the true bytes; 0: these have a copy */
    uint32_t after;       /* ticket of the digest of the bytes made again; 0: none */
    int answer;           /* 1: they are equal; 0: they are not; negative: not known */
    struct spw_hash made; /* digest of the bytes made last, if they differ */
};

/* Begins the comparison of a block whose copy out was submitted. Negative: the block must not be dropped. */
int spw_comparison_begin_with_copy_locked(struct spw_device *d, struct spw_block *b);

/* Begins the comparison of a block that is dropped without a copy. Its digest is one more use. If no digest can be had now,
 * the block is not compared. */
void spw_comparison_begin_locked(struct spw_device *d, struct spw_block *b);

/* Call when the block was made again on `s`: asks for the digest of that, which is one more use. */
void spw_comparison_made_locked(struct spw_device *d, struct spw_block *b, struct spw_stream *s);

/* Returns 1 if the bytes are the same, 0 if they differ, negative if that is not known. */
int spw_comparison_answer_locked(struct spw_device *d, struct spw_block *b);

/* Call when the block is not dropped after all, or nobody wants it any more: its copy becomes an ordinary one. */
void spw_comparison_forget_locked(struct spw_block *b);
#endif
