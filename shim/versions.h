/* versions.h - which bytes something holds: each possible write gives it a new version.
 *
 * Versions are numbers of one clock of the process, so equal versions of one thing mean equal bytes. They are kept only
 * where recomputation wants them: on devices that follow a course. What may have been written without anybody seeing what
 * exactly raises the epoch, and then no version of before says anything any more. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_VERSIONS_H
#define SPILLWAY_SHIM_VERSIONS_H
#include "ours.h"
#include <stdint.h>

struct spw_rerun;

struct spw_versioned {       /* in a block, and in a slot of a slab */
    uint64_t version;        /* of the bytes; 0: written before anybody kept count */
    struct spw_rerun *maker; /* whose operation wrote all of them, last; NULL: not known. It counts as a holder of it */
    uint32_t needed;         /* so many dropped blocks are made again with what is in here */
};

extern uint64_t spw_version_clock SPW_OURS, spw_version_epoch SPW_OURS;
#endif
