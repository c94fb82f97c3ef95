/* elements.c - conversions between the element types and what is computed in. */
#include "elements.h"

#include <math.h>
#include <string.h>

struct format { /* of a small floating type */
    int exponent_bits, fraction_bits;
    bool is_finite; /* its largest exponent is one like others, and there is no infinity */
};

static const struct kind {
    size_t bytes;
    enum { WHOLE, NATURAL, FLOAT, DOUBLE, SMALL } form;
    struct format format;
} kinds[ncclNumTypes] = {
    [ncclInt8] = {1, WHOLE},
    [ncclUint8] = {1, NATURAL},
    [ncclInt32] = {4, WHOLE},
    [ncclUint32] = {4, NATURAL},
    [ncclInt64] = {8, WHOLE},
    [ncclUint64] = {8, NATURAL},
    [ncclFloat16] = {2, SMALL, {5, 10, false}},
    [ncclFloat32] = {4, FLOAT},
    [ncclFloat64] = {8, DOUBLE},
    [ncclBfloat16] = {2, SMALL, {8, 7, false}},
    [ncclFloat8e4m3] = {1, SMALL, {4, 3, true}},
    [ncclFloat8e5m2] = {1, SMALL, {5, 2, false}},
};

size_t element_bytes(ncclDataType_t type)
{
    return (unsigned)type < ncclNumTypes ? kinds[type].bytes : 0;
}

static bool is_whole(ncclDataType_t type)
{
    return kinds[type].form == WHOLE || kinds[type].form == NATURAL;
}

/* ---- small floating types ---- */

static double small_value(const struct format *f, unsigned bits)
{
    const int most = (1 << f->exponent_bits) - 1, bias = most >> 1;
    const unsigned fraction = bits & ((1u << f->fraction_bits) - 1), all = (1u << f->fraction_bits) - 1;
    const int exponent = (int)(bits >> f->fraction_bits) & most;
    double value = ldexp(fraction, exponent ? exponent - bias - f->fraction_bits : 1 - bias - f->fraction_bits);
    if (exponent)
        value += ldexp(1, exponent - bias);
    if (exponent == most && (!f->is_finite || fraction == all))
        value = fraction ? NAN : INFINITY;
    return bits >> (f->exponent_bits + f->fraction_bits) & 1 ? -value : value;
}

/* To nearest, ties to even. What is too large becomes infinite, or NaN where nothing is. */
static unsigned small_bits(const struct format *f, double value)
{
    const int most = (1 << f->exponent_bits) - 1, bias = most >> 1;
    const unsigned sign = (unsigned)(signbit(value) != 0) << (f->exponent_bits + f->fraction_bits),
                   none = ((unsigned)most << f->fraction_bits) | ((1u << f->fraction_bits) - 1),
                   beyond = f->is_finite ? none : (unsigned)most << f->fraction_bits;
    const double size = fabs(value);
    if (isnan(value))
        return sign | none;
    if (isinf(value))
        return sign | beyond;
    int exponent = size > 0 ? ilogb(size) : 1 - bias;
    if (exponent < 1 - bias)
        exponent = 1 - bias;
    const double units = nearbyint(ldexp(size, f->fraction_bits - exponent)); /* of the last place */
    if (exponent > bias + 1)
        return sign | beyond;
    const unsigned bits = (unsigned)units + ((unsigned)(exponent + bias - 1) << f->fraction_bits);
    return sign | (bits < beyond ? bits : beyond);
}

/* ---- one element ---- */

static uint64_t whole_value(ncclDataType_t type, const void *at)
{
    uint64_t value = 0;
    memcpy(&value, at, kinds[type].bytes);
    if (type == ncclInt8)
        return (uint64_t)(int64_t)(int8_t)value;
    return type == ncclInt32 ? (uint64_t)(int64_t)(int32_t)value : value;
}

static double real_value(ncclDataType_t type, const void *at)
{
    float single;
    double value;
    uint16_t bits = 0;
    switch (kinds[type].form) {
    case FLOAT:
        memcpy(&single, at, sizeof single);
        return single;
    case DOUBLE:
        memcpy(&value, at, sizeof value);
        return value;
    default:
        memcpy(&bits, at, kinds[type].bytes);
        return small_value(&kinds[type].format, bits);
    }
}

static void put_real(ncclDataType_t type, void *at, double value)
{
    const float single = (float)value;
    uint16_t bits;
    switch (kinds[type].form) {
    case FLOAT:
        memcpy(at, &single, sizeof single);
        break;
    case DOUBLE:
        memcpy(at, &value, sizeof value);
        break;
    default:
        bits = (uint16_t)small_bits(&kinds[type].format, value);
        memcpy(at, &bits, kinds[type].bytes);
    }
}

double element_value(ncclDataType_t type, const void *at)
{
    if (!is_whole(type))
        return real_value(type, at);
    const uint64_t value = whole_value(type, at);
    return kinds[type].form == WHOLE ? (double)(int64_t)value : (double)value;
}

/* ---- reductions ---- */

void reduction_begin(struct reduction *r, ncclDataType_t type, ncclRedOp_t op)
{
    r->type = type;
    r->op = op;
    r->ranks = 0;
}

static uint64_t join_whole(const struct reduction *r, uint64_t a, uint64_t b)
{
    const bool is_less = kinds[r->type].form == WHOLE ? (int64_t)a < (int64_t)b : a < b;
    switch ((int)r->op) {
    case ncclProd:
        return a * b;
    case ncclMax:
        return is_less ? b : a;
    case ncclMin:
        return is_less ? a : b;
    default:
        return a + b;
    }
}

static double join_real(const struct reduction *r, double a, double b)
{
    switch ((int)r->op) {
    case ncclProd:
        return a * b;
    case ncclMax:
        return a < b || isnan(a) ? b : a;
    case ncclMin:
        return b < a || isnan(a) ? b : a;
    default:
        return a + b;
    }
}

void reduction_add(struct reduction *r, const void *elements, size_t count, double scale)
{
    const char *at = elements;
    const size_t bytes = kinds[r->type].bytes;
    for (size_t i = 0; i < count; i++, at += bytes) {
        if (is_whole(r->type)) {
            const uint64_t value =
                scale == 1 ? whole_value(r->type, at) : (uint64_t)(int64_t)(element_value(r->type, at) * scale);
            r->u.whole[i] = r->ranks ? join_whole(r, r->u.whole[i], value) : value;
        } else {
            const double value = real_value(r->type, at) * scale;
            r->u.real[i] = r->ranks ? join_real(r, r->u.real[i], value) : value;
        }
    }
    r->ranks++;
}

void reduction_take(const struct reduction *r, void *ret_elements, size_t count)
{
    char *at = ret_elements;
    const size_t bytes = kinds[r->type].bytes;
    for (size_t i = 0; i < count; i++, at += bytes) {
        if (!is_whole(r->type)) {
            put_real(r->type, at, r->op == ncclAvg ? r->u.real[i] / r->ranks : r->u.real[i]);
            continue;
        }
        uint64_t value = r->u.whole[i];
        if (r->op == ncclAvg)
            value = kinds[r->type].form == WHOLE ? (uint64_t)((int64_t)value / (int64_t)r->ranks) : value / r->ranks;
        memcpy(at, &value, bytes);
    }
}
