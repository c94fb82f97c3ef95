/* check_result.h - the rules that a schedule is checked by, and what comes of that. */
#ifndef SPILLWAY_PLANNER_CHECK_RESULT_H
#define SPILLWAY_PLANNER_CHECK_RESULT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spw_check_rules {
    uint64_t device_bytes;
    uint64_t host_bytes; /* most bytes of host copies at once; UINT64_MAX: any */
    bool may_replay, may_copy;
    /* Model S, of which S+ is an extension: the time is the end of the last recorded operation, a replay's outputs have to
     * be absent, a host copy, once made, stays, and anything may be on the device at the end. */
    bool model_s;
};

enum spw_fault {
    SPW_FAULT_NONE,
    SPW_FAULT_MEMORY,  /* more bytes than there are */
    SPW_FAULT_BUSY,    /* two at once on one lane, or a tensor is written while it is copied out */
    SPW_FAULT_MISSING, /* something that is read is not there, or not at the version wanted */
    SPW_FAULT_D2H,
    SPW_FAULT_H2D,
    SPW_FAULT_DROP,
    SPW_FAULT_ORDER,  /* operations out of order, missing or twice; events before the start; unknown ids */
    SPW_FAULT_REPLAY, /* an operation that may not be replayed, or not now */
    SPW_FAULT_END,    /* a persistent tensor is not where it has to be, or another one is still there */
    SPW_FAULT_HOST,   /* more host memory than there is */
};

struct spw_check {
    enum spw_fault fault; /* the first in time */
    size_t event;         /* index of the event at fault; the number of events for the start and the end */
    char message[192];    /* names operations and tensors by their indices */
    /* where there is none: */
    double time_us, replayed_us, stall_us; /* stall: time in which the compute lane runs nothing */
    uint64_t peak_bytes, host_peak_bytes, d2h_bytes, h2d_bytes;
};
#endif
