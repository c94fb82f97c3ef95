/* transfer_queues.h - the queues of a device: blocks that are being evicted, and blocks that wait to be brought in
 * (transfers.h).
 *
 * A block is in at most one queue. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_TRANSFER_QUEUES_H
#define SPILLWAY_SHIM_TRANSFER_QUEUES_H
#include "ledger.h"

struct spw_transfer_counts {                 /* since the start of the process; engine lock */
    uint64_t left_count, left_bytes;         /* blocks evicted by plan, copied or clean */
    uint64_t restored_count, restored_bytes; /* blocks prefetched by plan */
    uint64_t restored_in_time;               /* of these: complete when their first use was submitted */
    uint64_t late_count;                     /* blocks to be prefetched that an operation needed before they had memory */
    uint64_t dropped_count, dropped_bytes;   /* blocks dropped by plan, to be made again */
    uint64_t cancelled_count;                /* evictions cancelled because the block was used again */
    uint64_t failed_count;     /* evictions and prefetches that the driver refused, or the host had no room for */
    uint64_t waits, waited_ns; /* times that the host waited for memory of a block that was being evicted, and nanoseconds */
};
extern struct spw_transfer_counts spw_transfer_counts;

/* Append the block to a queue; insert it behind another block (NULL: first); or insert it into SPW_QUEUE_OUT by its place
 * in the order of its copy-out stream. */
void spw_transfer_enqueue_locked(struct spw_device *d, struct spw_block *b, enum spw_transfer_queue way);
void spw_transfer_enqueue_behind_locked(struct spw_device *d, struct spw_block *b, enum spw_transfer_queue way,
                                        struct spw_block *before);
void spw_transfer_enqueue_out_locked(struct spw_device *d, struct spw_block *b);

/* Takes the block off whatever queue or way it is on. */
void spw_transfer_take_off_locked(struct spw_device *d, struct spw_block *b);

bool spw_transfer_is_leaving(const struct spw_block *b);

/* Call for a block that an operation is about to use; the engine does so for everything that an operation touches. A block
 * that was being evicted stays, and one that waits to be brought in waits no longer. spw_mover_order_locked() then orders
 * the operation after the copies. Needs the device's slow lock as well. */
void spw_transfer_cancel_locked(struct spw_device *d, struct spw_block *b);

/* Call when the block is freed, or evicted in another way: takes it off its queue, and ends its eviction. */
void spw_transfer_forget_locked(struct spw_device *d, struct spw_block *b);
#endif
