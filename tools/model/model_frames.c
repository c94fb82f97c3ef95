/* model_frames.c - converts the frames of a stack to text, and finds the most informative one. */
#include <string.h>

#include "model.h"
#include "symbols.h"

const char *model_frame_text(struct model *m, uint64_t frame)
{
    if (!m->symbols)
        m->symbols = symbols_create(m->modules, m->module_count);
    return symbols_text(m->symbols, frame);
}

/* Returns true for functions that allocate on behalf of their callers, which are the ones of interest. */
static bool is_go_between(const char *text)
{
    static const char *const parts[] = {
        "cudaMalloc", "cudaHostAlloc", "cudaHostRegister", "cuMem", "libcudart",         "libcuda.so", "c10::cuda::",
        "at::cuda::", "operator new",  "CachingAllocator", "cub::", "stream_executor::", "tsl::BFC",   "cudaMallocAsync"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strstr(text, parts[i]))
            return true;
    return false;
}

const char *model_site_text(struct model *m, uint32_t site)
{
    if (site == MODEL_NONE || site >= m->site_count || m->sites[site].count == 0)
        return "unknown";
    const struct model_site *s = &m->sites[site];
    for (uint32_t i = 0; i < s->count; i++) {
        const char *text = model_frame_text(m, s->frames[i]);
        if (!is_go_between(text))
            return text;
    }
    return model_frame_text(m, s->frames[0]);
}
