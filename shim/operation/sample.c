/* sample.c - chooses the pages of a sample. */
#include "sample.h"

enum { ALIGNMENT = 16 };

#define PATTERN_WORD (UINT64_MAX / 0xff * SPW_SAMPLE_PATTERN)

/* Pages never reach beyond the end, where nothing was written. If the size is no whole number of pages, the remainder is
 * left out at the end or at the beginning, depending on `choice`. */
struct spw_sample spw_sample_of(CUdeviceptr address, size_t bytes, uint64_t choice, size_t step)
{
    const uint64_t mixed = choice * UINT64_C(0x9E3779B97F4A7C15) >> 32;
    const size_t rest = bytes % SPW_SAMPLE_PAGE / ALIGNMENT * ALIGNMENT, begin = mixed / SPW_SAMPLE_SHARE % 2 ? rest : 0;
    const size_t page = mixed % step;
    const size_t pages = (bytes - begin) / SPW_SAMPLE_PAGE;
    return (struct spw_sample){.address = address + begin + page * SPW_SAMPLE_PAGE,
                               .pages = pages > page ? (pages - page + step - 1) / step : 0,
                               .pitch = step * SPW_SAMPLE_PAGE,
                               .pattern = PATTERN_WORD};
}
