/* verify.h - verifies replays: compares what some of them made with the true bytes, and repairs it if it differs.
 *
 * A replay of a correct program's launch is right (docs/design/recompute.md). But it is not taken on trust that the program
 * is correct, nor that all of this code is. A block is *due* for comparison the first time for each operation of a course,
 * and one time in `verify_every` after that. When a due block is dropped, a digest of it is taken, and another after the
 * operation that makes it again. Nobody uses what that operation wrote before the two were compared: the slow lock is held
 * until then, and the blocks are UNVERIFIED, so that no operation takes the quick way past it. The first time, the block
 * also leaves with a copy, as if it was evicted. Later it does not: the copy would use the link, and hold the memory for as
 * long. And if an operation that was right is wrong one day, what it made since it was last compared may have been wrong as
 * well, so it is better to stop.
 *
 * If the bytes differ, the true bytes are copied in, the function is never replayed again, and its operations are planned
 * anew. Blocks that have left without a copy, this one too, cannot be had any more: operations that use them are refused.
 * Without digests nothing can be verified, and then nothing is dropped. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_VERIFY_H
#define SPILLWAY_SHIM_VERIFY_H
#include "rematerialiser.h"
#include "replay_run.h"

struct spw_verified {          /* since the start of the process */
    uint64_t equal_count;      /* comparisons of a block that gave the same bytes */
    uint64_t mismatch_count;   /* comparisons that gave other bytes */
    uint64_t undefined_count;  /* comparisons that differed only in what the makers leave undefined */
    uint64_t unanswered_count; /* comparisons without an answer: the true bytes were taken if they had a copy */
    uint64_t repaired_count;   /* blocks whose true bytes were copied in after a mismatch */
    uint64_t lost_count;       /* dropped blocks that cannot be made any more, and have no true bytes either */
    uint64_t compared_bytes;
};
extern struct spw_verified spw_verified;

/* The functions of struct spw_rematerialiser. */
bool spw_verify_allows_locked(const struct spw_device *d, const struct spw_block *b);
enum spw_due spw_verify_due_locked(struct spw_device *d, const struct spw_block *b);

bool spw_verify_dropping_locked(struct spw_device *d, struct spw_block *b, enum spw_due due);
void spw_verify_unclaimed_locked(const struct spw_block *b);

/* Call before operations are replayed: if something that they write is to be compared, makes copies of whatever else they
 * write that has no true copy yet. Negative: they must not be replayed. */
int spw_verify_before_locked(struct spw_device *d, struct spw_replay_op *run);

/* Fills the whole block with the pattern that spw_verify_spoil_locked() uses. */
int spw_verify_fill_locked(const struct spw_block *b, const struct spw_stream *s);

/* Call before operations write blocks anew on `s`: if something is to be compared, fills these blocks with a pattern first.
 * Their memory may still hold the former bytes, and an operation that leaves out a part of its output would seem to have
 * written that. Negative: the driver refused. */
int spw_verify_spoil_locked(struct spw_device *d, struct spw_replay_op *run, struct spw_stream *s);

/* Call when the operations were submitted to `s`: asks for the digests, and adds the uses. */
void spw_verify_behind_locked(struct spw_device *d, struct spw_replay_op *run, struct spw_stream *s);

/* Waits for the answers and acts on them. Returns 0 if the operations' outputs are what they were, or will be for
 * everything that is ordered after the copies in; 1 if the operations have to be submitted once more, to find out about a
 * difference; or a failure. */
int spw_verify_finish_unlocking(struct spw_device *d, struct spw_replay_op *run);

/* Call when the operations could not be run: outputs that have a true copy are EVICTED from here on. Returns true if there
 * are any that were dropped. */
bool spw_verify_give_up_locked(struct spw_device *d, struct spw_replay_op *run);

/* The same for everything that is dropped on the device with a true copy: what it would have been made from is not needed
 * for it any more. */
void spw_verify_take_copies_locked(struct spw_device *d);

void spw_verify_reset(void); /* for tests */
#endif
