/* transfer_queues.h - the queues of a device: of blocks that leave, and of blocks that wait to come back (transfers.h).
 *
 * A block is in one queue at most. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_TRANSFER_QUEUES_H
#define SPILLWAY_SHIM_TRANSFER_QUEUES_H
#include "ledger.h"

struct spw_transfer_counts {                 /* since the start; engine lock */
    uint64_t left_count, left_bytes;         /* blocks that went by plan, copied or clean */
    uint64_t restored_count, restored_bytes; /* blocks that came back by plan */
    uint64_t restored_in_time;               /* of these: complete when their first use was submitted */
    uint64_t late_count;                     /* planned, but an operation needed it before it had memory */
    uint64_t dropped_count, dropped_bytes;   /* blocks that went by plan without a trace, to be made again */
    uint64_t cancelled_count;                /* used again before they were gone */
    uint64_t failed_count;     /* the driver refused to let it go or to bring it back, or the host had no room */
    uint64_t waits, waited_ns; /* times that the host waited for memory that was on its way out */
};
extern struct spw_transfer_counts spw_transfer_counts;

/* Last in a queue; behind another one, NULL: first; and, where its memory waits for the stream of copies out, by its place
 * in the order of that. */
void spw_transfer_enqueue_locked(struct spw_device *d, struct spw_block *b, enum spw_transfer_queue way);
void spw_transfer_enqueue_behind_locked(struct spw_device *d, struct spw_block *b, enum spw_transfer_queue way,
                                        struct spw_block *before);
void spw_transfer_enqueue_out_locked(struct spw_device *d, struct spw_block *b);

/* Takes the block off whatever way it is on. */
void spw_transfer_take_off_locked(struct spw_device *d, struct spw_block *b);

bool spw_transfer_is_leaving(const struct spw_block *b);

/* An operation is about to use the block: it stays if it was leaving, and is waited for no longer if it was to come back;
 * spw_mover_order_locked() then orders the operation after the copies. Called by the engine for whatever an operation
 * touches. Needs the device's slow lock as well. */
void spw_transfer_cancel_locked(struct spw_device *d, struct spw_block *b);

/* The block is freed, or goes another way: it is in no queue any more. */
void spw_transfer_forget_locked(struct spw_device *d, struct spw_block *b);
#endif
