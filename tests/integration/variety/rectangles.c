/* rectangles.c - copies of rectangles and boxes out of, into and between tensors that were pushed out just before: with
 * pitches, offsets at odd bytes, defaults left out, between devices' forms, in batches. Each takes another part.
 *
 * Compiled a second time with each thread's own default stream, where the same names are other entry points. */
#include "driver.h"

enum { ROWS = 256, WIDTH = 1400, SLICES = 6, PIECES = 12, PIECE_BYTES = 256 << 10, BOXES = 80 };

static CUdeviceptr a, b; /* with a pitch */
static size_t pitch, bytes;
static unsigned char *pageable, *pinned;
static CUstream stream;
static CUcontext context;
static struct crowd crowd;

static void set_end(CUmemorytype type, CUdeviceptr device, void *host, CUmemorytype *ret_type, CUdeviceptr *ret_device,
                    void **ret_host)
{
    *ret_type = type;
    *ret_device = type == CU_MEMORYTYPE_UNIFIED && !device ? (CUdeviceptr)(uintptr_t)host : device;
    *ret_host = host;
}

/* A rectangle from (x, y) of the source to (x2, y2) of the target. */
static CUDA_MEMCPY2D rectangle(CUmemorytype from, CUdeviceptr source, void *source_host, CUmemorytype to, CUdeviceptr target,
                               void *target_host, size_t x, size_t y, size_t x2, size_t y2)
{
    void *host;
    CUDA_MEMCPY2D p = {.srcXInBytes = x,
                       .srcY = y,
                       .dstXInBytes = x2,
                       .dstY = y2,
                       .srcPitch = pitch,
                       .dstPitch = pitch,
                       .WidthInBytes = 501,
                       .Height = 97};
    set_end(from, source, source_host, &p.srcMemoryType, &p.srcDevice, &host);
    p.srcHost = host;
    set_end(to, target, target_host, &p.dstMemoryType, &p.dstDevice, &p.dstHost);
    return p;
}

#define DEVICE(address)   CU_MEMORYTYPE_DEVICE, address, NULL
#define HOST(address)     CU_MEMORYTYPE_HOST, 0, address
#define ANY(address)      CU_MEMORYTYPE_UNIFIED, address, NULL
#define ANY_HOST(address) CU_MEMORYTYPE_UNIFIED, 0, address

static void plane_to_device(void)
{
    CUDA_MEMCPY2D p = rectangle(HOST(pageable), DEVICE(a), 3, 5, 17, 101);
    CHECK(cuMemcpy2D(&p));
    p = rectangle(ANY_HOST(pinned), ANY(b), 900, 159, 0, 0);
    CHECK(cuMemcpy2DAsync(&p, stream));
}

static void plane_to_host(void)
{
    CUDA_MEMCPY2D p = rectangle(DEVICE(a), HOST(pageable), 899, 159, 1, 1);
    CHECK(cuMemcpy2D(&p));
    p = rectangle(DEVICE(b), HOST(pinned), 0, 0, 7, 159);
    CHECK(cuMemcpy2DAsync(&p, stream));
}

static void plane_on_the_device(void)
{
    CUDA_MEMCPY2D p = rectangle(DEVICE(a), DEVICE(b), 333, 44, 111, 22);
    CHECK(cuMemcpy2D(&p));
    CHECK(cuCtxSynchronize()); /* a copy on the device does not wait */
    p = rectangle(ANY(b), ANY(a), 1, 0, 888, 159);
    CHECK(cuMemcpy2DAsync(&p, stream));
}

static void plane_within_one(void)
{
    CUDA_MEMCPY2D p = rectangle(DEVICE(a), DEVICE(a), 0, 0, 700, 150);
    CHECK(cuMemcpy2D(&p));
}

static void plane_unaligned(void)
{
    CUDA_MEMCPY2D p = rectangle(DEVICE(a + 1), DEVICE(b + 3), 2, 1, 4, 5);
    p.srcPitch = 777;
    p.dstPitch = 613;
    CHECK(cuMemcpy2DUnaligned(&p));
}

static void plane_without_pitches(void)
{
    CUDA_MEMCPY2D p = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = pageable,
                       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                       .dstDevice = b,
                       .dstY = 10,
                       .WidthInBytes = 1000,
                       .Height = 50};
    CHECK(cuMemcpy2D(&p));
}

static CUDA_MEMCPY3D box(CUdeviceptr source, CUdeviceptr target)
{
    return (CUDA_MEMCPY3D){.srcXInBytes = 31,
                           .srcY = 2,
                           .srcZ = 2,
                           .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = source,
                           .srcPitch = pitch,
                           .srcHeight = ROWS / SLICES,
                           .dstXInBytes = 5,
                           .dstY = 11,
                           .dstZ = 1,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = target,
                           .dstPitch = pitch,
                           .dstHeight = ROWS / SLICES,
                           .WidthInBytes = 1200,
                           .Height = 37,
                           .Depth = 4};
}

static void box_on_the_device(void)
{
    CUDA_MEMCPY3D p = box(a, b);
    CHECK(cuMemcpy3D(&p));
    CHECK(cuCtxSynchronize());
    p = box(b, a);
    p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    CHECK(cuMemcpy3DAsync(&p, stream));
}

static void box_to_host(void)
{
    CUDA_MEMCPY3D p = box(a, 0);
    p.dstMemoryType = CU_MEMORYTYPE_HOST;
    p.dstHost = pageable;
    CHECK(cuMemcpy3D(&p));
    p = box(b, 0);
    p.dstMemoryType = CU_MEMORYTYPE_HOST;
    p.dstHost = pinned;
    CHECK(cuMemcpy3DAsync(&p, stream));
}

static void box_to_device(void)
{
    CUDA_MEMCPY3D p = box(0, a);
    p.srcMemoryType = CU_MEMORYTYPE_HOST;
    p.srcHost = pageable;
    CHECK(cuMemcpy3D(&p));
    p = box(0, b);
    p.srcMemoryType = CU_MEMORYTYPE_HOST;
    p.srcHost = pinned;
    p.srcPitch = p.srcHeight = 0; /* as wide and as high as what is copied */
    p.srcXInBytes = p.srcY = 0;
    CHECK(cuMemcpy3DAsync(&p, stream));
}

static CUDA_MEMCPY3D_PEER peer_box(CUdeviceptr source, CUdeviceptr target)
{
    CUDA_MEMCPY3D p = box(source, target);
    return (CUDA_MEMCPY3D_PEER){.srcXInBytes = p.srcXInBytes,
                                .srcY = p.srcY,
                                .srcZ = p.srcZ,
                                .srcMemoryType = p.srcMemoryType,
                                .srcDevice = p.srcDevice,
                                .srcContext = context,
                                .srcPitch = p.srcPitch,
                                .srcHeight = p.srcHeight,
                                .dstXInBytes = p.dstXInBytes,
                                .dstY = p.dstY,
                                .dstZ = p.dstZ,
                                .dstMemoryType = p.dstMemoryType,
                                .dstDevice = p.dstDevice,
                                .dstContext = context,
                                .dstPitch = p.dstPitch,
                                .dstHeight = p.dstHeight,
                                .WidthInBytes = p.WidthInBytes,
                                .Height = p.Height,
                                .Depth = p.Depth};
}

static void box_to_a_peer(void)
{
    CUDA_MEMCPY3D_PEER p = peer_box(a, b);
    CHECK(cuMemcpy3DPeer(&p));
    CHECK(cuCtxSynchronize());
    p = peer_box(b, a);
    CHECK(cuMemcpy3DPeerAsync(&p, stream));
}

static CUmemcpy3DOperand operand(CUdeviceptr address)
{
    return (CUmemcpy3DOperand){.type = CU_MEMCPY_OPERAND_TYPE_POINTER,
                               .op.ptr = {.ptr = address, .rowLength = 200, .layerHeight = 2}};
}

static void boxes_in_a_batch(void)
{
    CUDA_MEMCPY3D_BATCH_OP list[BOXES] = {0};
    for (unsigned i = 0; i < BOXES; i++) {
        size_t at = (size_t)i * 1000;
        list[i].src = operand(i % 2 ? b + at : (CUdeviceptr)(uintptr_t)(pinned + at));
        list[i].dst = operand(i % 2 ? a + at : a + 200000 + at);
        list[i].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        list[i].extent = (CUextent3D){.width = 190 - i, .height = 2, .depth = 2};
    }
    CHECK(cuMemcpy3DBatchAsync(BOXES, list, 0, stream));
}

static void box_out_of_order(void)
{
    CUDA_MEMCPY3D_BATCH_OP box = {.src = operand(b),
                                  .dst = operand(a),
                                  .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY,
                                  .extent = {.width = 190, .height = 2, .depth = 2}};
    CHECK(cuMemcpy3DBatchAsync(1, &box, 0, stream));
}

static const struct {
    const char *name;
    void (*copy)(void);
} steps[] = {{"rectangle to the device", plane_to_device},
             {"rectangle to the host", plane_to_host},
             {"rectangle on the device", plane_on_the_device},
             {"rectangle within one tensor", plane_within_one},
             {"rectangle at odd places", plane_unaligned},
             {"rectangle without pitches", plane_without_pitches},
             {"box on the device", box_on_the_device},
             {"box to the host", box_to_host},
             {"box to the device", box_to_device},
             {"box to a peer", box_to_a_peer},
             {"boxes in a batch", boxes_in_a_batch},
             {"box out of order", box_out_of_order}};

int main(void)
{
    size_t other;
    start();
    CHECK(cuCtxGetCurrent(&context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAllocPitch(&a, &pitch, WIDTH, ROWS, 4));
    CHECK(cuMemAllocPitch(&b, &other, WIDTH, ROWS, 16));
    truth("one width has one pitch", pitch == other && pitch >= WIDTH);
    bytes = pitch * ROWS;
    crowd_make(&crowd, PIECES, PIECE_BYTES);
    pageable = host_bytes(bytes);
    CHECK(cuMemAllocHost((void **)&pinned, bytes));
    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
        fill_device(a, bytes, 10 * i);
        fill_device(b, bytes, 10 * i + 1);
        pattern(pageable, bytes, 10 * i + 2);
        pattern(pinned, bytes, 10 * i + 3);
        crowd_press(&crowd);
        CHECK(cuCtxSynchronize());
        steps[i].copy();
        CHECK(cuCtxSynchronize());
        crowd_press(&crowd);
        printf("%s: %016llx %016llx\n", steps[i].name, (unsigned long long)device_sum(a, bytes),
               (unsigned long long)device_sum(b, bytes));
        print_sum("    pageable", pageable, bytes);
        print_sum("    pinned", pinned, bytes);
    }
    crowd_free(&crowd);
    CHECK(cuMemFreeHost(pinned));
    CHECK(cuMemFree(a));
    CHECK(cuMemFree(b));
    CHECK(cuStreamDestroy(stream));
    free(pageable);
    return 0;
}
