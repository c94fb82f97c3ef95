/* types.h - the types of elements, which of them can be multiplied, and scalars as the program passes them. */
#ifndef SIMGPU_CUBLAS_TYPES_H
#define SIMGPU_CUBLAS_TYPES_H
#include <cublas_api.h>
#include <stdbool.h>
#include <stddef.h>

/* Returns the bits of an element; 0 for an invalid type. */
unsigned blas_type_bits(cudaDataType_t type);

/* A complex number counts with both halves. */
bool blas_is_complex(cudaDataType_t type);

/* Returns the number of operations of one multiplication and addition. */
double blas_operations(cudaDataType_t type);

/* Gets the type of alpha and beta if a call does not name it: as wide as the type of the computation, complex like the
 * operands. Returns false for an invalid compute type. */
bool blas_scale_type(cublasComputeType_t compute, cudaDataType_t operand, cudaDataType_t *ret_scale);

/* Returns true if cublasGemmEx() documents this combination: C = alpha * A * B + beta * C. */
bool blas_combines(cublasComputeType_t compute, cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b, cudaDataType_t c);

/* Which bytes from an address on a matrix occupies. A row of bytes is contiguous: a column of the matrix. */
struct blas_part {
    int64_t row_bytes, rows, pitch, slices, slice_pitch; /* pitches: bytes from one to the next */
};

/* Returns the part for `batch` matrices stored by columns; a vector is a matrix with one row. */
struct blas_part blas_part(cudaDataType_t type, int64_t rows, int64_t columns, int64_t ld, int64_t batch, int64_t stride);

/* A factor of a call: a number that the host knows, or an address on the device. */
struct blas_scalar {
    const void *at; /* NULL if the host knows the number */
    double number[2];
    bool zero; /* known to be 0 */
};

/* Reads the factor at `value`, an address of the device or of the host. Returns false if no factor has this type. */
bool blas_read_scalar(cudaDataType_t type, const void *value, bool on_device, struct blas_scalar *ret_scalar);
#endif
