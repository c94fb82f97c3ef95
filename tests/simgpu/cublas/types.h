/* types.h - the types of elements, which of them can be multiplied together, and scalars as the program hands them over. */
#ifndef SIMGPU_CUBLAS_TYPES_H
#define SIMGPU_CUBLAS_TYPES_H
#include <cublas_api.h>
#include <stdbool.h>
#include <stddef.h>

/* Bits of an element; 0 for a type that is none. */
unsigned blas_type_bits(cudaDataType_t type);

/* Of a complex number both halves count. */
bool blas_is_complex(cudaDataType_t type);

/* Operations of one multiplication and addition. */
double blas_operations(cudaDataType_t type);

/* The type of alpha and beta where a call does not name it: as wide as what is computed with, complex like the operands.
 * False for a compute type that is none. */
bool blas_scale_type(cublasComputeType_t compute, cudaDataType_t operand, cudaDataType_t *ret_scale);

/* Whether cublasGemmEx() documents this combination: C = alpha * A * B + beta * C. */
bool blas_combines(cublasComputeType_t compute, cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b, cudaDataType_t c);

/* Which bytes from an address on a matrix takes: a row of bytes is what lies in one piece, a column of the matrix. */
struct blas_part {
    int64_t row_bytes, rows, pitch, slices, slice_pitch; /* pitches are bytes from one to the next */
};

/* Of a matrix in columns, and so many of them; a vector is a matrix with one row. */
struct blas_part blas_part(cudaDataType_t type, int64_t rows, int64_t columns, int64_t ld, int64_t batch, int64_t stride);

/* A factor of a call: a number that the host knows, or an address on the device. */
struct blas_scalar {
    const void *at; /* NULL where the host knows the number */
    double number[2];
    bool zero; /* known to be 0 */
};

/* The factor at `value`, which is an address of the device or of the host; false for a type that no factor has. */
bool blas_read_scalar(cudaDataType_t type, const void *value, bool on_device, struct blas_scalar *ret_scalar);
#endif
