/* types.c - one table of element types and one of their combinations; the numbers in half precision. */
#include "types.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

static double of_float(const void *at)
{
    float number;

    memcpy(&number, at, sizeof number);
    return (double)number;
}

static double of_double(const void *at)
{
    double number;

    memcpy(&number, at, sizeof number);
    return number;
}

static double of_int(const void *at)
{
    int32_t number;

    memcpy(&number, at, sizeof number);
    return number;
}

/* The upper half of a float. */
static double of_bfloat16(const void *at)
{
    uint16_t bits;

    memcpy(&bits, at, sizeof bits);
    const uint32_t wide = (uint32_t)bits << 16;
    return of_float(&wide);
}

/* A sign, 5 bits of exponent, 10 of fraction. */
static double of_half(const void *at)
{
    uint16_t bits;

    memcpy(&bits, at, sizeof bits);
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double number = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    if (exponent == 31)
        number = fraction ? NAN : INFINITY;
    return bits >> 15 ? -number : number;
}

static const struct type {
    cudaDataType_t type;
    unsigned bits;
    bool complex;
    double (*read)(const void *at); /* of types that alpha and beta may have: a number, or half of a complex one */
} types[] = {
    {CUDA_R_16F, 16, false, of_half},   {CUDA_R_16BF, 16, false, of_bfloat16}, {CUDA_R_32F, 32, false, of_float},
    {CUDA_R_64F, 64, false, of_double}, {CUDA_R_32I, 32, false, of_int},       {CUDA_C_32F, 64, true, of_float},
    {CUDA_C_64F, 128, true, of_double}, {CUDA_R_8I, 8, false, NULL},           {CUDA_C_8I, 16, true, NULL},
    {CUDA_R_8F_E4M3, 8, false, NULL},   {CUDA_R_8F_E5M2, 8, false, NULL},      {CUDA_R_4F_E2M1, 4, false, NULL},
};

enum { HALF = 1, SINGLE = 2, FAST = 4, DOUBLE = 8, INTEGER = 16 };

static const struct combination {
    unsigned compute; /* any of these classes */
    cudaDataType_t scale, operand, result;
} combinations[] = {
    {HALF, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},     {INTEGER, CUDA_R_32I, CUDA_R_8I, CUDA_R_32I},
    {SINGLE, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF}, {SINGLE, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F},
    {SINGLE, CUDA_R_32F, CUDA_R_8I, CUDA_R_32F},    {SINGLE, CUDA_R_32F, CUDA_R_16BF, CUDA_R_32F},
    {SINGLE, CUDA_R_32F, CUDA_R_16F, CUDA_R_32F},   {SINGLE | FAST, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {SINGLE, CUDA_C_32F, CUDA_C_8I, CUDA_C_32F},    {SINGLE | FAST, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F},
    {DOUBLE, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},   {DOUBLE, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F},
};

static const struct type *find_type(cudaDataType_t type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type)
            return &types[i];
    return NULL;
}

unsigned blas_type_bits(cudaDataType_t type)
{
    const struct type *known = find_type(type);

    return known ? known->bits : 0;
}

struct blas_part blas_part(cudaDataType_t type, int64_t rows, int64_t columns, int64_t ld, int64_t batch, int64_t stride)
{
    const int64_t bits = blas_type_bits(type);

    return (struct blas_part){.row_bytes = (rows * bits + 7) / 8,
                              .rows = columns,
                              .pitch = ld * bits / 8,
                              .slices = stride == 0 ? 1 : batch, /* else all are the same one */
                              .slice_pitch = stride * bits / 8};
}

bool blas_is_complex(cudaDataType_t type)
{
    const struct type *known = find_type(type);

    return known && known->complex;
}

double blas_operations(cudaDataType_t type)
{
    return blas_is_complex(type) ? 8 : 2;
}

static unsigned class_of(cublasComputeType_t compute)
{
    switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
        return HALF;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
        return SINGLE;
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
        return FAST;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
        return DOUBLE;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
        return INTEGER;
    default:
        return 0;
    }
}

bool blas_scale_type(cublasComputeType_t compute, cudaDataType_t operand, cudaDataType_t *ret_scale)
{
    const bool complex = blas_is_complex(operand);

    switch (class_of(compute)) {
    case HALF:
        *ret_scale = CUDA_R_16F;
        return true;
    case SINGLE:
    case FAST:
        *ret_scale = complex ? CUDA_C_32F : CUDA_R_32F;
        return true;
    case DOUBLE:
        *ret_scale = complex ? CUDA_C_64F : CUDA_R_64F;
        return true;
    case INTEGER:
        *ret_scale = CUDA_R_32I;
        return true;
    }
    return false;
}

bool blas_combines(cublasComputeType_t compute, cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b, cudaDataType_t c)
{
    for (size_t i = 0; i < sizeof combinations / sizeof *combinations; i++) {
        const struct combination *known = &combinations[i];
        if (known->compute & class_of(compute) && known->scale == scale && known->operand == a && a == b &&
            known->result == c)
            return true;
    }
    return false;
}

bool blas_read_scalar(cudaDataType_t type, const void *value, bool on_device, struct blas_scalar *ret_scalar)
{
    const struct type *known = find_type(type);
    struct blas_scalar scalar = {.at = on_device ? value : NULL};

    if (!known || !known->read)
        return false;
    if (!on_device) {
        scalar.number[0] = known->read(value);
        if (known->complex)
            scalar.number[1] = known->read((const char *)value + known->bits / 16);
        scalar.zero = scalar.number[0] == 0 && scalar.number[1] == 0;
    }
    *ret_scalar = scalar;
    return true;
}
