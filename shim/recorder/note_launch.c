/* note_launch.c - what launches mean for a trace: the kernel, its geometry, and all words of its parameters that could be
 * addresses. */
#include <stdlib.h>

#include "layout.h"
#include "note.h"
#include "scan.h"
#include "filled.h"
#include "tensormap.h"

enum { HITS = 512 };

static inline __attribute__((always_inline)) void launch(CUfunction f, const unsigned grid[3], const unsigned block[3],
                                                         unsigned shared, void **params, void **extra)
{
    CUdeviceptr low, high, few[HITS], *hits = few;
    unsigned room = HITS;
    struct spw_record r = {
        .op = {.grid = {grid[0], grid[1], grid[2]}, .block = {block[0], block[1], block[2]}, .shared_bytes = shared}};
    struct spw_scan_doubted doubted;
    const struct spw_layout *layout = spw_layout_of(f);
    struct spw_filled *filled = layout->struct_count ? spw_structs_filled(layout, grid, params, extra) : NULL;
    if (__builtin_expect(filled != NULL, 0)) {
        params = filled->params;
        extra = filled->extra;
        hits = filled->hits;
        room = SPW_SCAN_ROOM;
    }
    spw_scan_doubted_init(&doubted);
    doubted.filled = filled != NULL;
    spw_record_bounds(&low, &high);
    int n = spw_scan_launch(layout, params, extra, low, high, hits, room, &doubted);
    spw_record_launch(&r, f, &(struct spw_launch_hits){hits, n, low, high, &doubted, layout, extra ? NULL : params});
    if (__builtin_expect(filled != NULL, 0))
        free(filled);
}

#define KERNEL(symbol) \
    void spw_noted_##symbol(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
                            unsigned shared, CUstream stream, void **params, void **extra) \
    { \
        launch(f, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, shared, params, extra); \
    }
KERNEL(cuLaunchKernel)
KERNEL(cuLaunchKernel_ptsz)

#define KERNEL_EX(symbol) \
    void spw_noted_##symbol(const CUlaunchConfig *c, CUfunction f, void **params, void **extra) \
    { \
        launch(f, (unsigned[]){c->gridDimX, c->gridDimY, c->gridDimZ}, \
               (unsigned[]){c->blockDimX, c->blockDimY, c->blockDimZ}, c->sharedMemBytes, params, extra); \
    }
KERNEL_EX(cuLaunchKernelEx)
KERNEL_EX(cuLaunchKernelEx_ptsz)

#define COOPERATIVE(symbol) \
    void spw_noted_##symbol(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
                            unsigned shared, CUstream stream, void **params) \
    { \
        launch(f, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, shared, params, NULL); \
    }
COOPERATIVE(cuLaunchCooperativeKernel)
COOPERATIVE(cuLaunchCooperativeKernel_ptsz)

/* Parameters and block were set by earlier calls: the kernel may touch anything. */
static void unparsed(CUfunction f, int width, int height)
{
    struct spw_record r = {.op = {.grid = {(uint32_t)width, (uint32_t)height, 1}}};
    spw_record_launch(&r, f, &(struct spw_launch_hits){.count = -1});
}

void spw_noted_cuLaunch(CUfunction f)
{
    unparsed(f, 1, 1);
}

void spw_noted_cuLaunchGrid(CUfunction f, int width, int height)
{
    unparsed(f, width, height);
}

void spw_noted_cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream)
{
    unparsed(f, width, height);
}

void spw_noted_cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    spw_record_graph_launch(exec);
}

void spw_noted_cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream)
{
    spw_record_graph_launch(exec);
}

static void host_function(void)
{
    struct spw_record r = {.op = {.kind = SPW_OP_HOST_FUNCTION}};
    spw_recorder_op(&r, NULL, 0);
}

#define HOST_FUNCTION(symbol, ...) \
    void spw_noted_##symbol(CUstream stream, CUhostFn function, void *data __VA_OPT__(, ) __VA_ARGS__) \
    { \
        host_function(); \
    }
HOST_FUNCTION(cuLaunchHostFunc)
HOST_FUNCTION(cuLaunchHostFunc_ptsz)
HOST_FUNCTION(cuLaunchHostFunc_v2, unsigned mode)
HOST_FUNCTION(cuLaunchHostFunc_v2_ptsz, unsigned mode)

void spw_noted_cuStreamAddCallback(CUstream stream, CUstreamCallback function, void *data, unsigned flags)
{
    host_function();
}

void spw_noted_cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback function, void *data, unsigned flags)
{
    host_function();
}

/* ---- words that a stream waits for or writes ---- */

static void value(CUdeviceptr address, size_t bytes, enum spw_access access)
{
    struct spw_reach reach = {address, bytes, access};
    struct spw_record r = {.op = {.kind = SPW_OP_VALUE, .bytes = bytes}};
    spw_recorder_op(&r, &reach, 1);
}

#define VALUE(symbol, type, access) \
    void spw_noted_##symbol(CUstream stream, CUdeviceptr address, type v, unsigned flags) \
    { \
        value(address, sizeof(v), access); \
    }
#define VALUES(symbol, type, access) \
    VALUE(symbol, type, access) \
    VALUE(symbol##_ptsz, type, access) VALUE(symbol##_v2, type, access) VALUE(symbol##_v2_ptsz, type, access)
VALUES(cuStreamWaitValue32, cuuint32_t, SPW_ACCESS_READ)
VALUES(cuStreamWaitValue64, cuuint64_t, SPW_ACCESS_READ)
VALUES(cuStreamWriteValue32, cuuint32_t, SPW_ACCESS_WRITE)
VALUES(cuStreamWriteValue64, cuuint64_t, SPW_ACCESS_WRITE)

static void values(const CUstreamBatchMemOpParams *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        bool writes =
            list[i].operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 || list[i].operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
        value(list[i].waitValue.address, sizeof(cuuint32_t), writes ? SPW_ACCESS_WRITE : SPW_ACCESS_READ);
    }
}

#define BATCH(symbol) \
    void spw_noted_##symbol(CUstream stream, unsigned count, CUstreamBatchMemOpParams *list, unsigned flags) \
    { \
        values(list, count); \
    }
BATCH(cuStreamBatchMemOp)
BATCH(cuStreamBatchMemOp_ptsz)
BATCH(cuStreamBatchMemOp_v2)
BATCH(cuStreamBatchMemOp_v2_ptsz)
