/* spy-launch.h - what the spy has noted; a program under it finds `spy_seen` by dlsym(RTLD_DEFAULT). */
#ifndef SPILLWAY_TESTS_GPU_SPY_LAUNCH_H
#define SPILLWAY_TESTS_GPU_SPY_LAUNCH_H

struct spy_seen {
    unsigned launches;
    unsigned extended;   /* of them through cuLaunchKernelEx */
    unsigned functions;  /* given a CUfunction */
    unsigned kernels;    /* given a CUkernel */
    unsigned unknown;    /* given a handle that no look-up handed out */
    unsigned understood; /* the query that SPY_ASK names told the layout of the parameters */
    int last_error;      /* what it gave where it did not */
};
#endif
