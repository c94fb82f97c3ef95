/* verify.h - the watch over replays: what some of them made is compared with the true bytes, and mended where it differs.
 *
 * A replay of a correct program's launch is right (docs/design/recompute.md). That the program is correct, and all of this
 * as well, is not taken on trust: when a block is dropped whose making is DUE - the first time for each operation of a
 * course, and one time in `verify_every` after that - a digest is taken of it. Another is taken behind the operation that
 * makes it again, and nobody uses what that wrote before the two were compared: the slow lock is held until then, and the
 * blocks are UNVERIFIED, so that no operation takes the quick way past it. The first time it leaves with a copy as well, as
 * if it was evicted. Later it does not: the copy would take the link, and hold the memory for as long; and where what was
 * right is wrong one day, what it made since it was compared last may have been wrong as well, so that to stop is the better
 * answer.
 *
 * Where they differ the true bytes are copied in, no replay of the function happens any more, and its operations are
 * planned anew. What has left without a copy, this one too, is refused to whoever wants it. Without digests there can be no
 * watch, and without that nothing is dropped. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_VERIFY_H
#define SPILLWAY_SHIM_VERIFY_H
#include "rematerialiser.h"
#include "replay_run.h"

struct spw_verified {          /* since the start */
    uint64_t equal_count;      /* comparisons of a block: it was as it had been */
    uint64_t mismatch_count;   /* it was not */
    uint64_t undefined_count;  /* it was not in what its makers leave undefined, and else nobody can tell */
    uint64_t unanswered_count; /* there was nothing to compare with: the true bytes were taken where they had a copy */
    uint64_t repaired_count;   /* blocks whose true bytes were copied in after a mismatch */
    uint64_t lost_count;       /* dropped blocks that cannot be made any more, and have no true bytes either */
    uint64_t compared_bytes;
};
extern struct spw_verified spw_verified;

/* What struct spw_rematerialiser asks. */
bool spw_verify_allows_locked(const struct spw_device *d, const struct spw_block *b);
enum spw_due spw_verify_due_locked(struct spw_device *d, const struct spw_block *b);

bool spw_verify_dropping_locked(struct spw_device *d, struct spw_block *b, enum spw_due due);
void spw_verify_unclaimed_locked(const struct spw_block *b);

/* The operation is about to run again on behalf of something to be compared: what it writes that has no true copy yet gets
 * one. Nothing happens where nothing is to be compared. Negative: it must not.
 */
int spw_verify_before_locked(struct spw_device *d, struct spw_replay_op *run);

/* Fills all of the block with the pattern of which is spoken below. */
int spw_verify_fill_locked(const struct spw_block *b, const struct spw_stream *s);

/* What it is about to write anew on `s`, on behalf of something to be compared, is filled with a pattern first: the memory
 * may hold what it held before, and who leaves out a part of its output would seem to have written that. Negative: the
 * driver refused. */
int spw_verify_spoil_locked(struct spw_device *d, struct spw_replay_op *run, struct spw_stream *s);

/* It was submitted to `s`. Adds the uses. */
void spw_verify_behind_locked(struct spw_device *d, struct spw_replay_op *run, struct spw_stream *s);

/* Waits for the answers and sees to what follows from them. 0: what it wrote is what it was, or will be for whoever comes
 * behind the copies in. 1: it has to be submitted once more, to find out about a difference. */
int spw_verify_finish_unlocking(struct spw_device *d, struct spw_replay_op *run);

/* It could not be run: whatever of its output has a true copy is EVICTED from here on. True: there is any. */
bool spw_verify_give_up_locked(struct spw_device *d, struct spw_replay_op *run);

/* The same of all that is dropped on the device: what it would have been made of is not needed for it any more. */
void spw_verify_take_copies_locked(struct spw_device *d);

void spw_verify_reset(void); /* for tests */
#endif
