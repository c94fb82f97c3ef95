/* kernels.h - the kernels that the stand-ins for cuBLAS launch, one per call: the parameters of each, and the launch.
 *
 * A kernel's parameters are addresses, each with a role, then for some of them which bytes from there on are meant, and
 * then one block of numbers. Nothing is computed from them: the device derives the written bytes from what is read and
 * from the numbers. So an address is never among the numbers, and a number that does not affect the result is left out.
 * All numbers are 8 bytes wide, so that no padding can differ from one call to the next. The last number is the count of
 * operations of the call, which determines its cost. */
#ifndef SIMGPU_CUBLAS_KERNELS_H
#define SIMGPU_CUBLAS_KERNELS_H
#include <cublas_api.h>
#include <stdint.h>

#include "types.h"

enum blas_kernel { BLAS_DOT, BLAS_GEMM, BLAS_GEMV, BLAS_MATMUL, BLAS_TRSM, BLAS_KERNELS };

/* If a result replaces something that counts, `..._BEFORE` is the same address, read; else it is NULL, as is every
 * address that the call does not use. The first addresses are of matrices or vectors, and there is a part for each. Alpha
 * and beta are addresses if the program keeps them on the device. */
enum { DOT_X, DOT_Y, DOT_RESULT, DOT_POINTERS, DOT_PARTS = DOT_POINTERS };
enum { GEMM_A, GEMM_B, GEMM_C, GEMM_C_BEFORE, GEMM_ALPHA, GEMM_BETA, GEMM_POINTERS, GEMM_PARTS = GEMM_C + 1 };
enum { GEMV_A, GEMV_X, GEMV_Y, GEMV_Y_BEFORE, GEMV_ALPHA, GEMV_BETA, GEMV_POINTERS, GEMV_PARTS = GEMV_Y + 1 };
enum { TRSM_A, TRSM_B, TRSM_B_BEFORE, TRSM_ALPHA, TRSM_POINTERS, TRSM_PARTS = TRSM_B + 1 };
enum {
    MATMUL_A,
    MATMUL_B,
    MATMUL_C,
    MATMUL_D,
    MATMUL_ALPHA,
    MATMUL_BETA,
    MATMUL_BIAS,
    MATMUL_AUX,
    MATMUL_A_SCALE,
    MATMUL_B_SCALE,
    MATMUL_C_SCALE,
    MATMUL_D_SCALE,
    MATMUL_AUX_SCALE,
    MATMUL_BIAS_GRADIENT,
    MATMUL_AUX_OUT,
    MATMUL_D_OUT_SCALE,
    MATMUL_D_AMAX,
    MATMUL_AUX_AMAX,
    MATMUL_POINTERS,
    MATMUL_PARTS = MATMUL_D + 1
};

struct blas_dot_call {
    const void *at[DOT_POINTERS];
    struct blas_part parts[DOT_PARTS];
    struct blas_dot_numbers {
        int64_t n, x_increment, y_increment, conjugated;
        int64_t x_type, y_type, result_type, execution_type;
        double operations;
    } numbers;
};

struct blas_gemm_call {
    const void *at[GEMM_POINTERS];
    struct blas_part parts[GEMM_PARTS];
    struct blas_gemm_numbers {
        int64_t m, n, k, batch;
        int64_t a_transform, b_transform;
        int64_t a_type, b_type, c_type, compute_type, math_mode;
        int64_t a_ld, b_ld, c_ld;
        int64_t a_stride, b_stride, c_stride;
        double alpha[2], beta[2];
        double operations;
    } numbers;
};

struct blas_gemv_call {
    const void *at[GEMV_POINTERS];
    struct blas_part parts[GEMV_PARTS];
    struct blas_gemv_numbers {
        int64_t m, n, batch, transform;
        int64_t a_type, x_type, y_type, math_mode;
        int64_t a_ld, x_increment, y_increment;
        int64_t a_stride, x_stride, y_stride;
        double alpha[2], beta[2];
        double operations;
    } numbers;
};

struct blas_trsm_call {
    const void *at[TRSM_POINTERS];
    struct blas_part parts[TRSM_PARTS];
    struct blas_trsm_numbers {
        int64_t m, n, side, fill, transform, diagonal, type, a_ld, b_ld;
        double alpha[2];
        double operations;
    } numbers;
};

struct blas_matmul_call {
    const void *at[MATMUL_POINTERS];
    struct blas_part parts[MATMUL_PARTS];
    struct blas_matmul_numbers {
        int64_t m, n, k, batch;
        int64_t a_transform, b_transform, fill;
        int64_t a_type, b_type, c_type, d_type, compute_type, scale_type;
        int64_t a_order, b_order, c_order, d_order;
        int64_t a_ld, b_ld, c_ld, d_ld;
        int64_t a_stride, b_stride, c_stride, d_stride;
        int64_t epilogue, bias_type, bias_stride, aux_type, aux_ld, aux_stride;
        int64_t pointer_mode, alpha_stride, fast_accumulation;
        int64_t a_scale_mode, b_scale_mode, c_scale_mode, d_scale_mode, aux_scale_mode, d_out_scale_mode;
        double alpha[2], beta[2];
        double operations;
    } numbers;
};

/* Returns the table of the kernels as text that the simulated runtime reads: a heading and a line for each (README.md). */
const char *blas_kernel_layouts(void);

/* Returns the number of blocks for `batch` results of `rows` times `columns`. */
unsigned blas_blocks(int64_t rows, int64_t columns, int64_t batch);

/* Launches a kernel with its parameters, one of the structures above. Returns CUBLAS_STATUS_EXECUTION_FAILED if the
 * runtime refuses it. */
cublasStatus_t blas_launch(enum blas_kernel kernel, const void *call, unsigned blocks, cudaStream_t stream);
#endif
