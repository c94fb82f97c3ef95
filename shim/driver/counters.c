/* counters.c - sums the counts of single calls by kind. */
#include "counters.h"
#include <string.h>

struct spw_tally spw_counts[SPW_CALL_COUNT];

static const char *const names[] = {
#define X(kind, symbol, asked, params, args) asked,
    SPW_DRIVER_CALLS(X)
#undef X
};

static const char *const symbols[] = {
#define X(kind, symbol, asked, params, args) #symbol,
    SPW_DRIVER_CALLS(X)
#undef X
};

#define MAX_CALLS 10

/* The calls of each kind, by the name that they are asked for; a trailing * stands for any ending. */
static const struct {
    enum spw_tally_kind kind;
    const char *name;
    const char *calls[MAX_CALLS];
} tallies[] = {
    {SPW_TALLY_LAUNCHES,
     "launches",
     {"cuLaunch", "cuLaunchGrid", "cuLaunchGridAsync", "cuLaunchKernel*", "cuLaunchCooperativeKernel*"}},
    {SPW_TALLY_GRAPH_LAUNCHES, "graph_launches", {"cuGraphLaunch"}},
    {SPW_TALLY_ALLOCATIONS,
     "allocations",
     {"cuMemAlloc", "cuMemAllocPitch", "cuMemAllocManaged", "cuMemAllocAsync", "cuMemAllocFromPoolAsync"}},
    {SPW_TALLY_FREES, "frees", {"cuMemFree", "cuMemFreeAsync"}},
    {SPW_TALLY_COPIES_H2D, "copies_h2d", {"cuMemcpyHtoD", "cuMemcpyHtoDAsync"}},
    {SPW_TALLY_COPIES_D2H, "copies_d2h", {"cuMemcpyDtoH", "cuMemcpyDtoHAsync"}},
    {SPW_TALLY_COPIES_D2D, "copies_d2d", {"cuMemcpyDtoD", "cuMemcpyDtoDAsync", "cuMemcpyPeer", "cuMemcpyPeerAsync"}},
    {SPW_TALLY_COPIES_OTHER,
     "copies_other",
     {"cuMemcpy", "cuMemcpyAsync", "cuMemcpy2D*", "cuMemcpy3D*", "cuMemcpyAto*", "cuMemcpyDtoA", "cuMemcpyHtoA*",
      "cuMemcpyBatchAsync", "cuMemcpyWithAttributesAsync"}},
    {SPW_TALLY_SETS, "sets", {"cuMemset*"}},
};
_Static_assert(sizeof(tallies) / sizeof(tallies[0]) == SPW_TALLY_COUNT, "one line per tally");

static bool matches(const char *pattern, const char *name)
{
    size_t length = strlen(pattern);
    if (pattern[length - 1] == '*')
        return !strncmp(pattern, name, length - 1);
    return !strcmp(pattern, name);
}

struct spw_tally spw_tally_of(enum spw_tally_kind kind)
{
    struct spw_tally sum = {0, 0};
    for (unsigned p = 0; p < MAX_CALLS && tallies[kind].calls[p]; p++) {
        for (unsigned i = 0; i < SPW_CALL_COUNT; i++) {
            if (!matches(tallies[kind].calls[p], names[i]))
                continue;
            sum.calls += __atomic_load_n(&spw_counts[i].calls, __ATOMIC_RELAXED);
            sum.bytes += __atomic_load_n(&spw_counts[i].bytes, __ATOMIC_RELAXED);
        }
    }
    return sum;
}

const char *spw_tally_name(enum spw_tally_kind kind)
{
    return tallies[kind].name;
}

unsigned long long spw_calls_count(enum spw_call call)
{
    return __atomic_load_n(&spw_counts[call].calls, __ATOMIC_RELAXED);
}

const char *spw_calls_name(enum spw_call call)
{
    return symbols[call];
}

static unsigned escapes;

void spw_count_escape(void)
{
    __atomic_fetch_add(&escapes, 1, __ATOMIC_RELAXED);
}

unsigned spw_escapes_count(void)
{
    return __atomic_load_n(&escapes, __ATOMIC_RELAXED);
}
