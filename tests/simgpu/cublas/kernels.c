/* kernels.c - the table of the stand-ins' kernels, their image as the runtime is told of it, and launches. */
#include "kernels.h"
#include <limits.h>
#include <stdio.h>
#include "compiler.h"

enum { READS, WRITES };

#define MAX_POINTERS      MATMUL_POINTERS
#define THREADS_PER_BLOCK 256
#define TILE              128 /* rows and columns of a result that a block works on */

/* Sorted by name, as the text has to be. */
static const struct kernel {
    const char *name;
    unsigned pointers, parts;
    unsigned number_bytes;
    unsigned char roles[MAX_POINTERS]; /* READS where nothing else is said */
    struct {
        unsigned char pointer, part;
    } before; /* a pointer that means the same bytes as the one that has this part */
} kernels[BLAS_KERNELS] = {
    [BLAS_DOT] = {"simgpu_dot", DOT_POINTERS, DOT_PARTS, sizeof(struct blas_dot_numbers), {[DOT_RESULT] = WRITES}},
    [BLAS_GEMM] = {"simgpu_gemm",
                   GEMM_POINTERS,
                   GEMM_PARTS,
                   sizeof(struct blas_gemm_numbers),
                   {[GEMM_C] = WRITES},
                   {GEMM_C_BEFORE, GEMM_C}},
    [BLAS_GEMV] = {"simgpu_gemv",
                   GEMV_POINTERS,
                   GEMV_PARTS,
                   sizeof(struct blas_gemv_numbers),
                   {[GEMV_Y] = WRITES},
                   {GEMV_Y_BEFORE, GEMV_Y}},
    [BLAS_MATMUL] = {"simgpu_matmul",
                     MATMUL_POINTERS,
                     MATMUL_PARTS,
                     sizeof(struct blas_matmul_numbers),
                     {[MATMUL_D] = WRITES,
                      [MATMUL_BIAS_GRADIENT] = WRITES,
                      [MATMUL_AUX_OUT] = WRITES,
                      [MATMUL_D_OUT_SCALE] = WRITES,
                      [MATMUL_D_AMAX] = WRITES,
                      [MATMUL_AUX_AMAX] = WRITES}},
    [BLAS_TRSM] = {"simgpu_trsm",
                   TRSM_POINTERS,
                   TRSM_PARTS,
                   sizeof(struct blas_trsm_numbers),
                   {[TRSM_B] = WRITES},
                   {TRSM_B_BEFORE, TRSM_B}},
};

/* The frame in which a program hands its image to the runtime. */
static struct {
    int magic, version;
    const void *image;
    void *unused;
} wrapper = {.magic = 0x466243b1, .version = 1};

static char layouts[8192];
static char keys[BLAS_KERNELS]; /* their addresses stand for the kernels, as those of host functions do */
static void **image;

/* Where in the image it says which bytes a pointer means; 0: it does not, and the whole tensor is meant. */
static unsigned part_at(const struct kernel *kernel, unsigned pointer)
{
    const unsigned part = kernel->before.pointer && pointer == kernel->before.pointer ? kernel->before.part : pointer;

    return part < kernel->parts ? 8 * kernel->pointers + part * (unsigned)sizeof(struct blas_part) : 0;
}

static size_t add_line(size_t at, const struct kernel *kernel)
{
    const unsigned numbers_at = 8 * kernel->pointers,
                   number_bytes = kernel->parts * (unsigned)sizeof(struct blas_part) + kernel->number_bytes;

#define ADD(...) at += (size_t)snprintf(layouts + at, sizeof layouts - at, __VA_ARGS__)
    ADD("%s bytes=%u shared=0 registers=128 params=", kernel->name, numbers_at + number_bytes);
    for (unsigned i = 0; i < kernel->pointers; i++)
        ADD("%u:8,", 8 * i);
    ADD("%u:%u uses=", numbers_at, number_bytes);
    for (unsigned i = 0; i < kernel->pointers; i++)
        if (part_at(kernel, i))
            ADD("%u:8:%s/%u,", 8 * i, kernel->roles[i] == WRITES ? "overwrites" : "reads", part_at(kernel, i));
        else
            ADD("%u:8:%s,", 8 * i, kernel->roles[i] == WRITES ? "writes" : "reads");
    ADD("%u:%u:value,%u:8:flops\n", numbers_at, number_bytes - 8, numbers_at + number_bytes - 8);
#undef ADD
    return at;
}

const char *blas_kernel_layouts(void)
{
    return layouts;
}

__attribute__((constructor)) static void register_image(void)
{
    size_t at = (size_t)snprintf(layouts, sizeof layouts, ".version 0.0 simgpu-layouts 1 cublas %d.%d.%d\n",
                                 CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH);

    for (int i = 0; i < BLAS_KERNELS; i++)
        at = add_line(at, &kernels[i]);
    wrapper.image = layouts;
    image = __cudaRegisterFatBinary(&wrapper);
    for (int i = 0; i < BLAS_KERNELS; i++)
        __cudaRegisterFunction(image, &keys[i], (char *)kernels[i].name, kernels[i].name, -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(image);
}

__attribute__((destructor)) static void unregister_image(void)
{
    __cudaUnregisterFatBinary(image);
}

unsigned blas_blocks(int64_t rows, int64_t columns, int64_t batch)
{
    const double blocks = (double)((rows + TILE - 1) / TILE) * (double)((columns + TILE - 1) / TILE) * (double)batch;

    return blocks < INT_MAX ? (unsigned)blocks : INT_MAX;
}

cublasStatus_t blas_launch(enum blas_kernel kernel, const void *call, unsigned blocks, cudaStream_t stream)
{
    const unsigned pointers = kernels[kernel].pointers;
    const char *bytes = call;
    void *args[MAX_POINTERS + 1];

    for (unsigned i = 0; i <= pointers; i++) /* the numbers come after the last address */
        args[i] = (void *)(bytes + 8 * i);
    const cudaError_t error =
        cudaLaunchKernel(&keys[kernel], (dim3){blocks, 1, 1}, (dim3){THREADS_PER_BLOCK, 1, 1}, args, 0, stream);
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
