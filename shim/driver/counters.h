/* counters.h - counts the driver calls that the program made: every call of calls.h that succeeded, and its bytes. */
#ifndef SPILLWAY_SHIM_COUNTERS_H
#define SPILLWAY_SHIM_COUNTERS_H
#include "live.h"

struct spw_tally {
    unsigned long long calls, bytes;
};

/* One count for each line of calls.h, for count.h. */
extern struct spw_tally spw_counts[SPW_CALL_COUNT];

/* Returns how often the program made this call successfully, hooked or not. Exact; any thread. */
unsigned long long spw_calls_count(enum spw_call call);
const char *spw_calls_name(enum spw_call call);

enum spw_tally_kind {
    SPW_TALLY_LAUNCHES, /* kernels; a graph counts once, in GRAPH_LAUNCHES */
    SPW_TALLY_GRAPH_LAUNCHES,
    SPW_TALLY_ALLOCATIONS, /* device memory, managed included */
    SPW_TALLY_FREES,       /* device memory; a free of NULL counts */
    SPW_TALLY_COPIES_H2D,
    SPW_TALLY_COPIES_D2H,
    SPW_TALLY_COPIES_D2D,
    SPW_TALLY_COPIES_OTHER, /* the direction follows from the addresses, or arrays take part */
    SPW_TALLY_SETS,
    SPW_TALLY_COUNT
};

/* Returns the sum of the calls of a kind. Exact at a moment without calls in flight; any thread. Bytes are known for
 * linear, 2D and 3D forms, and 0 for batches. */
struct spw_tally spw_tally_of(enum spw_tally_kind kind);
const char *spw_tally_name(enum spw_tally_kind kind); /* "launches", "copies_h2d", … */

/* Count look-ups of covered names whose result could not be replaced by ours: such calls bypass us. Any thread. */
void spw_count_escape(void);
unsigned spw_escapes_count(void);
#endif
