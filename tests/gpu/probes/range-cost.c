/* range-cost.c - question 16: what does it cost to map, make accessible and unmap a range that several handles lie behind,
 * in one call for all of them or one for each, and beside copies to the host? */
#include "probe.h"

enum { MOST = 64, ROUNDS = 12 };

static CUmemGenericAllocationHandle handles[MOST];
static CUdeviceptr copied; /* 0: nothing is copied meanwhile */
static CUstream copies;
static void *host;
static double map_us[ROUNDS], access_us[ROUNDS], unmap_us[ROUNDS];

static void make(size_t bytes, int count)
{
    CUmemAllocationProp prop = probe_device_memory();
    for (int i = 0; i < count; i++)
        CHECK(cuMemCreate(&handles[i], bytes, &prop, 0));
}

static void give_back(int count)
{
    for (int i = 0; i < count; i++)
        CHECK(cuMemRelease(handles[i]));
}

/* Maps all pieces and makes them accessible `together` or one by one; notes how long that takes. */
static void once(CUdeviceptr at, size_t piece, int count, int together, int round)
{
    CUmemAccessDesc access = probe_device_access();
    double begun = probe_now_us();
    for (int i = 0; i < count; i++)
        CHECK(cuMemMap(at + (size_t)i * piece, piece, 0, handles[i], 0));
    map_us[round] = probe_now_us() - begun;
    begun = probe_now_us();
    if (together)
        CHECK(cuMemSetAccess(at, piece * (size_t)count, &access, 1));
    else
        for (int i = 0; i < count; i++)
            CHECK(cuMemSetAccess(at + (size_t)i * piece, piece, &access, 1));
    access_us[round] = probe_now_us() - begun;
    CHECK(cuMemsetD8Async(at, 1, piece * (size_t)count, 0));
    CHECK(cuStreamSynchronize(0));
    begun = probe_now_us();
    if (together)
        CHECK(cuMemUnmap(at, piece * (size_t)count));
    else
        for (int i = 0; i < count; i++)
            CHECK(cuMemUnmap(at + (size_t)i * piece, piece));
    unmap_us[round] = probe_now_us() - begun;
}

/* `when` says what the device does meanwhile. */
static double measure(size_t piece, int count, int together, const char *when)
{
    CUdeviceptr at;
    const size_t bytes = piece * (size_t)count;
    CHECK(cuMemAddressReserve(&at, bytes, 0, 0, 0));
    make(piece, count);
    for (int round = 0; round < ROUNDS; round++) {
        if (copied)
            for (int i = 0; i < 16; i++)
                CHECK(cuMemcpyDtoHAsync(host, copied, 16 * MIB, copies));
        once(at, piece, count, together, round);
    }
    give_back(count);
    CHECK(cuMemAddressFree(at, bytes));
    const char *how = together ? "together" : "one_by_one";
    const double map = probe_percentile(map_us, ROUNDS, 0.5), set = probe_percentile(access_us, ROUNDS, 0.5),
                 unmap = probe_percentile(unmap_us, ROUNDS, 0.5);
    probe_figure_at(map, "%s/%dx%s/%s/map_us", when, count, probe_size(piece), how);
    probe_figure_at(set, "%s/%dx%s/%s/set_access_us", when, count, probe_size(piece), how);
    probe_figure_at(unmap, "%s/%dx%s/%s/unmap_us", when, count, probe_size(piece), how);
    return map + set + unmap;
}

int main(void)
{
    static const size_t pieces[] = {2 * MIB, 8 * MIB, 32 * MIB, 128 * MIB};
    static const int counts[] = {1, 2, 4, 8, 16, 64};
    double one = 0, eight = 0, eight_apart = 0;
    probe_start("range-cost", 16);
    for (int p = 0; p < 4; p++) {
        for (int c = 0; c < 6 && probe_round_up(pieces[p]) * (size_t)counts[c] <= 8 * GIB; c++) {
            const double together = measure(probe_round_up(pieces[p]), counts[c], 1, "idle");
            const double apart = measure(probe_round_up(pieces[p]), counts[c], 0, "idle");
            one = p == 1 && counts[c] == 1 ? together : one;
            eight = p == 1 && counts[c] == 8 ? together : eight;
            eight_apart = p == 1 && counts[c] == 8 ? apart : eight_apart;
        }
    }
    CHECK(cuStreamCreate(&copies, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemHostAlloc(&host, 16 * MIB, 0));
    copied = probe_block_create(16 * MIB).address;
    for (int c = 0; c < 4; c++)
        measure(probe_round_up(8 * MIB), counts[c], 1, "beside_copies");
    probe_answer("a range of 8 MiB costs %.0f us in one piece; one of 8 such pieces %.0f us by one call for all, %.0f us by "
                 "one for each",
                 one, eight, eight_apart);
}
