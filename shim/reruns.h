/* reruns.h - operations of the program kept such that they can be submitted again: everything that the driver was told, with
 * the versions of what they touched.
 *
 * A rerun is made when its operation is submitted, and belongs to whoever holds it: the iteration that it is a part of, and
 * each block whose bytes it made. It is void once something happened that it cannot know about: the epoch went on, a module
 * was unloaded, a context was destroyed. Their memory is bounded. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_RERUNS_H
#define SPILLWAY_SHIM_RERUNS_H
#include "ledger.h"
#include "versions.h"

enum spw_rerun_access { SPW_RERUN_READS = 1, SPW_RERUN_WRITES = 2 };

struct spw_rerun_touch { /* each block or slot once */
    struct spw_versioned *what;
    struct spw_block *block; /* NULL: a slot */
    CUdeviceptr address;     /* where it begins */
    uint64_t bytes, serial;  /* a serial that differs means that it is somebody else by now */
    uint64_t before, after;  /* versions; equal where it is only read */
    uint8_t access;          /* enum spw_rerun_access, or-ed */
    uint32_t saved; /* of a slot that is read and written: what it held before, offset in the stash plus 1; 0: none */
};

struct spw_rerun {
    uint64_t epoch;
    uint32_t operation; /* of the course */
    uint32_t holders;
    bool is_void;
    CUcontext context;
    struct spw_stream *stream; /* where it ran */
    CUfunction function;       /* NULL: a copy or set */
    uint16_t touch_count;
    struct spw_rerun_touch *touches;
    /* behind it, for reruns.c alone: the launch as the driver was told, or the copy or set */
};

/* Submits it again to `s`, as the next operation of that stream: the driver's call alone. Whatever it touches is resident
 * and ordered, side buffers are in place. 0 or a failure of the driver. */
int spw_rerun_submit_locked(const struct spw_rerun *rerun, struct spw_stream *s);

void spw_rerun_hold(struct spw_rerun *rerun);
void spw_rerun_let_go(struct spw_rerun *rerun); /* the last one frees it; NULL is fine */

/* True when running it again now would give `what` is left of its making: it is not void, of this epoch, and each touch that
 * it reads without writing it is whose it was. Versions are the caller's to compare. */
bool spw_rerun_is_good(const struct spw_rerun *rerun);
#endif
