/* link_speed.c - copies one way, the other way, and both ways at once, between pairs of events. */
#include "link_speed.h"

#include "ask.h"

enum {
    BYTES = 8 << 20, /* of a copy; large enough for its latency to matter little */
    ROUNDS = 3,      /* the fastest counts, since disturbances only slow a copy down */
    PART = 16,       /* at most 1/16 of the free memory is used */
};

#define LEAST_SHARE 0.25

struct way { /* all zero at first */
    CUstream stream;
    CUevent begin, end;
    CUdeviceptr device;
    void *host;
    double us; /* of a copy alone */
};

static bool make(struct way *w)
{
    return SPW_ASK_QUIETLY(cuStreamCreate, &w->stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
           SPW_ASK_QUIETLY(cuEventCreate, &w->begin, CU_EVENT_DEFAULT) == CUDA_SUCCESS &&
           SPW_ASK_QUIETLY(cuEventCreate, &w->end, CU_EVENT_DEFAULT) == CUDA_SUCCESS &&
           SPW_ASK_QUIETLY(cuMemHostAlloc, &w->host, BYTES, 0) == CUDA_SUCCESS &&
           SPW_ASK_QUIETLY(cuMemAlloc_v2, &w->device, BYTES) == CUDA_SUCCESS;
}

static void give_back(struct way *w)
{
    if (w->device)
        (void)SPW_ASK_QUIETLY(cuMemFree_v2, w->device);
    if (w->host)
        (void)SPW_ASK_QUIETLY(cuMemFreeHost, w->host);
    if (w->end)
        (void)SPW_ASK_QUIETLY(cuEventDestroy_v2, w->end);
    if (w->begin)
        (void)SPW_ASK_QUIETLY(cuEventDestroy_v2, w->begin);
    if (w->stream)
        (void)SPW_ASK_QUIETLY(cuStreamDestroy_v2, w->stream);
}

static bool submit(struct way *w, bool out)
{
    if (SPW_ASK_QUIETLY(cuEventRecord, w->begin, w->stream) != CUDA_SUCCESS)
        return false;
    const CUresult copied = out ? SPW_ASK_QUIETLY(cuMemcpyDtoHAsync_v2, w->host, w->device, BYTES, w->stream)
                                : SPW_ASK_QUIETLY(cuMemcpyHtoDAsync_v2, w->device, w->host, BYTES, w->stream);
    return copied == CUDA_SUCCESS && SPW_ASK_QUIETLY(cuEventRecord, w->end, w->stream) == CUDA_SUCCESS;
}

/* Waits for the end of `to`, and returns the time since the beginning of `from`. */
static bool took(const struct way *from, const struct way *to, double *ret_us)
{
    float ms = 0;
    if (SPW_ASK_QUIETLY(cuEventSynchronize, to->end) != CUDA_SUCCESS ||
        SPW_ASK_QUIETLY(cuEventElapsedTime, &ms, from->begin, to->end) != CUDA_SUCCESS || !(ms > 0))
        return false;
    *ret_us = (double)ms * 1000;
    return true;
}

static bool copy_alone(struct way *w, bool out)
{
    double us;
    if (!submit(w, out) || !took(w, w, &us))
        return false;
    w->us = w->us > 0 && w->us < us ? w->us : us;
    return true;
}

/* Computes the fraction of the speed that is left: the faster copy ran beside the other all the time, and the other ran
 * alone from then on. */
static bool copy_both(struct way *out, struct way *in, double *share)
{
    double out_us, in_us;
    if (!submit(out, true) || !submit(in, false) || !took(out, out, &out_us) || !took(out, in, &in_us))
        return false;
    const double both_us = out_us > in_us ? out_us : in_us;
    const double faster_us = out->us < in->us ? out->us : in->us, slower_us = out->us < in->us ? in->us : out->us;
    const double beside_us = both_us - slower_us + faster_us, found = beside_us > faster_us ? faster_us / beside_us : 1;
    *share = found > *share ? found : *share;
    return true;
}

bool spw_link_speed(uint64_t free_bytes, struct spw_bandwidth *ret_bandwidth)
{
    struct way out = {0}, in = {0};
    double share = LEAST_SHARE;
    if (free_bytes / PART < 2 * (uint64_t)BYTES)
        return false;
    bool good = make(&out) && make(&in) && copy_alone(&out, false) && copy_alone(&in, false); /* the first copies are slow */
    out.us = in.us = 0;
    for (int i = 0; i < ROUNDS && good; i++)
        good = copy_alone(&out, true) && copy_alone(&in, false);
    for (int i = 0; i < ROUNDS && good; i++)
        good = copy_both(&out, &in, &share);
    give_back(&out);
    give_back(&in);
    if (good)
        *ret_bandwidth = (struct spw_bandwidth){.d2h_bytes_per_us = BYTES / out.us,
                                                .h2d_bytes_per_us = BYTES / in.us,
                                                .duplex_share = share,
                                                .duplex_measured = true};
    return good;
}
