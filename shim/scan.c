/* scan.c - the parts of the parameter scan that are not on the way of an ordinary launch. */
#include "scan.h"

#include "tensormap.h"

enum { MAX_EXTRA_PAIRS = 8 }; /* two are defined; an unending list is not followed further */

int spw_scan_bytes(const void *source, size_t bytes, unsigned step, CUdeviceptr low, CUdeviceptr high, CUdeviceptr *hits,
                   unsigned n, unsigned room)
{
    const char *at = source;
    CUdeviceptr word, extent = high - low;
    for (; bytes >= sizeof word; at += step, bytes = bytes > step ? bytes - step : 0) {
        memcpy(&word, at, sizeof word);
        if (__builtin_expect(word - low >= extent, 1))
            continue;
        if (n == room)
            return -E2BIG;
        hits[n++] = word;
    }
    return (int)n;
}

/* One long parameter, or the bytes of one in a packed buffer. */
static int scan_span(const struct spw_param *p, const void *source, CUdeviceptr low, CUdeviceptr high, CUdeviceptr *hits,
                     unsigned n, unsigned room)
{
    unsigned step = (p->offset_bytes | p->size_bytes) % 8 ? 4 : 8;
    int r = spw_scan_bytes(source, p->size_bytes, step, low, high, hits, n, room);
    if (r >= 0 && p->size_bytes >= SPW_TENSORMAP_BYTES && spw_tensormap_any())
        r = spw_tensormap_scan(source, p->size_bytes, 64, hits, (unsigned)r, room);
    return r;
}

int spw_scan_spans(const struct spw_layout *layout, void *const *params, CUdeviceptr low, CUdeviceptr high,
                   CUdeviceptr *hits, unsigned n, unsigned room)
{
    for (unsigned i = 0; i < layout->span_count; i++) {
        unsigned index = layout->spans[i];
        int r = scan_span(&layout->params[index], params[index], low, high, hits, n, room);
        if (r < 0)
            return r;
        n = (unsigned)r;
    }
    return (int)n;
}

int spw_scan_buffer(void *const *extra, const void **ret_buffer, size_t *ret_bytes)
{
    const void *buffer = NULL;
    const size_t *bytes = NULL;
    for (int pair = 0; pair < MAX_EXTRA_PAIRS; pair++, extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_END) {
            if (!buffer || !bytes || *bytes > SPW_PARAMS_MAX_BYTES + 4)
                return -EINVAL;
            *ret_buffer = buffer;
            *ret_bytes = *bytes;
            return 0;
        }
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = extra[1];
        else
            return -EINVAL;
    }
    return -EINVAL;
}

/* All words of the packed buffer, between parameters too, so that no layout is needed. */
static int scan_extra(const struct spw_layout *layout, void *const *extra, CUdeviceptr low, CUdeviceptr high,
                      CUdeviceptr *hits, unsigned room)
{
    const void *buffer;
    size_t bytes;
    int r = spw_scan_buffer(extra, &buffer, &bytes);
    if (r < 0)
        return r;

    bool aligned = layout->known && !layout->loose;
    r = spw_scan_bytes(buffer, bytes, aligned ? 8 : 4, low, high, hits, 0, room);
    /* Where the compiler puts a tensor map in the buffer follows from the whole image's place, which is not known here. */
    if (r >= 0 && spw_tensormap_any())
        r = spw_tensormap_scan(buffer, bytes, 8, hits, (unsigned)r, room);
    return r;
}

int spw_scan_odd(const struct spw_layout *layout, void *const *params, void *const *extra, CUdeviceptr low, CUdeviceptr high,
                 CUdeviceptr *hits, unsigned room)
{
    if (extra && extra[0] != CU_LAUNCH_PARAM_END)
        return params ? -EINVAL : scan_extra(layout, extra, low, high, hits, room);
    if (!layout->known || (!params && layout->param_count))
        return -ENODATA;
    if (!layout->param_count)
        return 0;
    if (layout->word_count > room)
        return -E2BIG;
    return spw_scan_launch(layout, params, NULL, low, high, hits, room);
}
