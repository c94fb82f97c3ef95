/* comparison.h - one block's comparison: what is known of the true bytes of a dropped block, and of those made in their
 * place.
 *
 * A digest of the true bytes is taken when the block leaves, of those made again behind the replay. Where the block leaves
 * with a copy, the digest of what the copy holds is known along (clean_check.h). Engine lock throughout. */
#ifndef SPILLWAY_SHIM_COMPARISON_H
#define SPILLWAY_SHIM_COMPARISON_H
#include "hash.h"
#include "ledger.h"

struct spw_comparison {   /* of a block that is dropped, and will be compared */
    uint32_t before;      /* ticket of the true bytes' digest; 0: these have a copy */
    uint32_t after;       /* of those made again; 0: none */
    int answer;           /* 1: they are equal; 0: they are not; negative: nobody knows */
    struct spw_hash made; /* of what was made last, where that differs */
};

/* Its copy out is submitted. Negative: it must not be dropped. */
int spw_comparison_begin_with_copy_locked(struct spw_device *d, struct spw_block *b);

/* It is dropped without a copy: its digest is one of its uses. Where there is none to be had now it is not compared. */
void spw_comparison_begin_locked(struct spw_device *d, struct spw_block *b);

/* It was made again on `s`: the digest of that is asked for, and is one of its uses. */
void spw_comparison_made_locked(struct spw_device *d, struct spw_block *b, struct spw_stream *s);

/* 1: the same bytes; 0: others; negative: nobody knows. */
int spw_comparison_answer_locked(struct spw_device *d, struct spw_block *b);

/* It is not dropped after all, or nobody wants it any more: its copy is an ordinary one. */
void spw_comparison_forget_locked(struct spw_block *b);
#endif
