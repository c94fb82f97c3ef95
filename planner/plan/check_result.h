/* check_result.h - declares the rules that a schedule is checked by, and the result of the check. */
#ifndef SPILLWAY_PLANNER_CHECK_RESULT_H
#define SPILLWAY_PLANNER_CHECK_RESULT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spw_check_rules {
    uint64_t device_bytes;
    uint64_t host_bytes; /* most bytes of host copies at once; UINT64_MAX: no limit */
    bool may_replay, may_copy;
    /* Model S, which S+ extends: the time is the end of the last recorded operation, the outputs of a replay have to be
     * absent, a host copy stays once it is made, and any tensor may be on the device at the end. */
    bool model_s;
};

enum spw_fault {
    SPW_FAULT_NONE,
    SPW_FAULT_MEMORY,  /* the sum of the tensors is above the budget */
    SPW_FAULT_BUSY,    /* two events at once on one lane, or a tensor is written while it is copied out */
    SPW_FAULT_MISSING, /* an input is not on the device, or not at the version needed */
    SPW_FAULT_D2H,
    SPW_FAULT_H2D,
    SPW_FAULT_DROP,
    SPW_FAULT_ORDER,  /* operations out of order, missing or twice; events before the start; unknown ids */
    SPW_FAULT_REPLAY, /* the operation may not be replayed, or not here */
    SPW_FAULT_END,    /* a persistent tensor does not end where it has to, or another tensor is still there */
    SPW_FAULT_HOST,   /* the sum of the host copies is above the host budget */
};

struct spw_check {
    enum spw_fault fault; /* the first in order of time */
    /* Index of the event at fault; the number of events for a fault at the start or the end. */
    size_t event;
    char message[192]; /* names operations and tensors by their indices */
    /* set if there is no fault: */
    double time_us, replayed_us, stall_us; /* stall: time in which the compute lane runs nothing */
    uint64_t peak_bytes, host_peak_bytes, d2h_bytes, h2d_bytes;
};
#endif
