/* inputs.c - reads the inputs of PyTorch's concatenation kernels. */
#include "inputs.h"

#include "mangled.h"

enum { WORD = 8, NUMBER = 4, DIMENSIONS = 4, SHAPE_BYTES = 2 * DIMENSIONS * NUMBER /* lengths and strides */, MOST = 4096 };

/* Returns the offset of an array of numbers. */
enum array { OFFSETS, LENGTHS, ELEMENTS, ARRAYS };

static size_t numbers_at(const struct spw_inputs *s, enum array array)
{
    return (size_t)s->inputs * (WORD + NUMBER * array);
}

static size_t flags_at(const struct spw_inputs *s)
{
    return numbers_at(s, ARRAYS);
}

static size_t shapes_at(const struct spw_inputs *s)
{
    return (flags_at(s) + s->inputs + NUMBER - 1) / NUMBER * NUMBER;
}

static size_t struct_bytes(const struct spw_inputs *s)
{
    return (shapes_at(s) + (size_t)s->shapes * SHAPE_BYTES + WORD - 1) / WORD * WORD;
}

/* Reads at::native::(anonymous)::CatArrayBatchedCopy...<(the same)::OpaqueType<bytes>, unsigned, dimensions, inputs,
 * shapes...>. */
static bool read_name(const char *name, struct spw_inputs *ret)
{
    static const char *const kernels[] = {"19CatArrayBatchedCopyI", "26CatArrayBatchedCopy_contigI",
                                          "30CatArrayBatchedCopy_vectorizedI", "35CatArrayBatchedCopy_alignedK_contigI",
                                          "36CatArrayBatchedCopy_aligned16_contigI"};
    unsigned long element, dimensions, inputs, shapes;
    bool is_kernel = false;
    if (!spw_mangled_skip(&name, "_ZN2at6native") || !spw_mangled_skip_anonymous(&name))
        return false;
    for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels) && !is_kernel; i++)
        is_kernel = spw_mangled_skip(&name, kernels[i]);
    if (!is_kernel || !spw_mangled_skip(&name, "NS1_10OpaqueTypeI") || !spw_mangled_skip_number(&name, 'j', &element) ||
        !spw_mangled_skip(&name, "EEj") || !spw_mangled_skip_number(&name, 'i', &dimensions) ||
        !spw_mangled_skip_number(&name, 'i', &inputs) || !spw_mangled_skip_number(&name, 'i', &shapes))
        return false;
    if (inputs < 2 || inputs > MOST || (shapes != 1 && shapes != inputs) || dimensions < 1 || dimensions > DIMENSIONS ||
        !strstr(name, "25CatArrInputTensorMetadataI"))
        return false;
    *ret = (struct spw_inputs){.inputs = (uint16_t)inputs, .shapes = (uint16_t)shapes, .dimensions = (uint16_t)dimensions};
    return true;
}

bool spw_inputs_recognise(const char *name, size_t bytes, struct spw_inputs *ret)
{
    return read_name(name, ret) && struct_bytes(ret) == bytes;
}

bool spw_result_recognise(const char *name, size_t bytes, struct spw_inputs *ret)
{
    return bytes == SHAPE_BYTES && read_name(name, ret) && strstr(name, "16TensorSizeStrideIS8_Lj4EEE");
}

/* ---- launches ---- */

static uint32_t number_of(const struct spw_inputs *s, const unsigned char *from, enum array array, unsigned input)
{
    uint32_t number;
    memcpy(&number, from + numbers_at(s, array) + (size_t)input * NUMBER, sizeof(number));
    return number;
}

static bool has_address(const unsigned char *from, unsigned input)
{
    uint64_t address;
    memcpy(&address, from + (size_t)input * WORD, sizeof(address));
    return address != 0;
}

/* Returns true if the first `count` inputs follow each other and have the same shape except for their length. A single one
 * is not enough evidence. */
static bool follow_each_other(const struct spw_inputs *s, const unsigned char *from, unsigned count)
{
    uint64_t offset = number_of(s, from, OFFSETS, 0);
    uint32_t of_each = 0; /* elements per unit of length */
    for (unsigned i = 0; i < count; i++) {
        const uint32_t length = number_of(s, from, LENGTHS, i), elements = number_of(s, from, ELEMENTS, i);
        if (number_of(s, from, OFFSETS, i) != offset || from[flags_at(s) + i] != (s->shapes == 1))
            return false;
        offset += length;
        if (length == 0 && elements == 0)
            continue;
        if (length == 0 || elements == 0 || elements % length || (of_each && elements / length != of_each) ||
            !has_address(from, i))
            return false;
        of_each = elements / length;
    }
    return count > 1 && of_each;
}

static void copy_shape(const struct spw_inputs *s, const unsigned char *from, unsigned char *to)
{
    memcpy(to, from, (size_t)s->dimensions * NUMBER);
    memcpy(to + (size_t)DIMENSIONS * NUMBER, from + (size_t)DIMENSIONS * NUMBER, (size_t)s->dimensions * NUMBER);
}

bool spw_inputs_copy_used(const struct spw_inputs *s, const unsigned grid[3], const unsigned char *from, unsigned char *to)
{
    const unsigned count = grid[1];
    if (count > s->inputs || grid[2] != 1 || !follow_each_other(s, from, count))
        return false;
    memcpy(to, from, (size_t)count * WORD);
    for (enum array array = OFFSETS; array < ARRAYS; array++)
        memcpy(to + numbers_at(s, array), from + numbers_at(s, array), (size_t)count * NUMBER);
    memcpy(to + flags_at(s), from + flags_at(s), count);
    for (unsigned i = 0; i < count && s->shapes > 1; i++)
        copy_shape(s, from + shapes_at(s) + (size_t)i * SHAPE_BYTES, to + shapes_at(s) + (size_t)i * SHAPE_BYTES);
    return true;
}

bool spw_result_copy_used(const struct spw_inputs *s, const unsigned char *from, unsigned char *to)
{
    for (unsigned i = 0; i < s->dimensions; i++) {
        uint32_t length;
        memcpy(&length, from + (size_t)i * NUMBER, sizeof(length));
        if (length == 0)
            return false;
    }
    copy_shape(s, from, to);
    return true;
}
