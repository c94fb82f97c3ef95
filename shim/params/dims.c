/* dims.c - reads shapes of tensors among the parameters of PyTorch's kernels. */
#include "dims.h"

#include "mangled.h"

enum { MOST = 25, WORD = 8, NUMBER = 4 };

/* ---- TensorInfo ---- */

static size_t lengths_at(void)
{
    return WORD;
}

static size_t strides_at(const struct spw_info *s)
{
    return lengths_at() + (size_t)MOST * s->number_bytes;
}

static size_t dimensions_at(const struct spw_info *s)
{
    return strides_at(s) + (size_t)MOST * s->number_bytes;
}

bool spw_info_recognise(const char *name, size_t bytes, struct spw_info *ret)
{
    if (strncmp(name, "_ZN2at", 6) != 0 || !strstr(name, "4cuda6detail10TensorInfoI"))
        return false;
    for (ret->number_bytes = NUMBER; ret->number_bytes <= WORD; ret->number_bytes *= 2)
        if ((dimensions_at(ret) + sizeof(int32_t) + WORD - 1) / WORD * WORD == bytes)
            return true;
    return false;
}

static int64_t number_at(const struct spw_info *s, const unsigned char *from)
{
    int32_t narrow;
    int64_t wide;
    memcpy(&narrow, from, sizeof(narrow));
    if (s->number_bytes == sizeof(narrow))
        return narrow;
    memcpy(&wide, from, sizeof(wide));
    return wide;
}

static bool is_shape(const struct spw_info *s, const unsigned char *from, int32_t dimensions)
{
    if (dimensions < 1 || dimensions > MOST)
        return false;
    for (int32_t i = 0; i < dimensions; i++)
        if (number_at(s, from + lengths_at() + (size_t)i * s->number_bytes) < 1 ||
            number_at(s, from + strides_at(s) + (size_t)i * s->number_bytes) < 0)
            return false;
    return true;
}

bool spw_info_copy_used(const struct spw_info *s, const unsigned char *from, unsigned char *to)
{
    int32_t dimensions;
    memcpy(&dimensions, from + dimensions_at(s), sizeof(dimensions));
    if (!is_shape(s, from, dimensions))
        return false;
    const size_t bytes = (size_t)dimensions * s->number_bytes;
    memcpy(to, from, WORD);
    memcpy(to + lengths_at(), from + lengths_at(), bytes);
    memcpy(to + strides_at(s), from + strides_at(s), bytes);
    memcpy(to + dimensions_at(s), &dimensions, sizeof(dimensions));
    return true;
}

/* ---- OffsetCalculator ---- */

struct divider {
    uint32_t by, magic, shift;
};

enum {
    DIVIDERS_AT = NUMBER,
    STRIDES_AT = DIVIDERS_AT + MOST * sizeof(struct divider),
    BYTES_OF_ONE = STRIDES_AT + MOST * NUMBER, /* with strides of a single tensor; each tensor also has an address */
    BYTES_OF_MORE = MOST * NUMBER + WORD
};

/* Recognises at::native::elementwise_kernel<threads, each, (what gpu_kernel_impl or gpu_kernel_impl_nocast makes)>. */
bool spw_calculator_recognise(const char *name, size_t bytes, struct spw_calculator *ret)
{
    unsigned long number;
    if (!spw_mangled_skip(&name, "_ZN2at6native18elementwise_kernelI") || !spw_mangled_skip_number(&name, 'i', &number) ||
        !spw_mangled_skip_number(&name, 'i', &number) || !spw_mangled_skip(&name, "ZNS0_"))
        return false;
    if (!spw_mangled_skip(&name, "22gpu_kernel_impl_nocastI") && !spw_mangled_skip(&name, "15gpu_kernel_implI"))
        return false;
    if (bytes < BYTES_OF_ONE + WORD || bytes > UINT16_MAX)
        return false;
    ret->bytes = (uint16_t)bytes;
    return true;
}

static struct divider divider_by(uint32_t by)
{
    struct divider d = {.by = by};
    while (d.shift < 32 && UINT64_C(1) << d.shift < by)
        d.shift++;
    d.magic = (uint32_t)((((UINT64_C(1) << d.shift) - by) << 32) / by + 1);
    return d;
}

/* Returns true if the calculator at `from` divides by `dimensions` lengths, and stores their product. */
static bool divides(const unsigned char *from, int32_t dimensions, uint64_t *ret_product)
{
    *ret_product = 1;
    for (int32_t i = 0; i < dimensions; i++) {
        struct divider given;
        memcpy(&given, from + DIVIDERS_AT + (size_t)i * sizeof(given), sizeof(given));
        const struct divider d = divider_by(given.by ? given.by : 1);
        if (memcmp(&d, &given, sizeof(d)) != 0)
            return false;
        *ret_product *= given.by;
        if (*ret_product > UINT32_MAX)
            return false;
    }
    return true;
}

/* The number of tensors does not follow from the size, since it is not known what lies behind the strides. So of the room
 * for the strides of one tensor, everything is left out but the strides of the dimensions that are filled in, for as many
 * tensors as there may be. */
bool spw_calculator_copy_used(const struct spw_calculator *s, uint32_t elements, const unsigned char *from,
                              unsigned char *to)
{
    int32_t dimensions;
    uint64_t product;
    memcpy(&dimensions, from, sizeof(dimensions));
    if (dimensions < 1 || dimensions > MOST || !divides(from, dimensions, &product) || product != elements)
        return false;
    const size_t tensors = 1 + (s->bytes - BYTES_OF_ONE - WORD) / (size_t)BYTES_OF_MORE;
    memcpy(to, from, DIVIDERS_AT + (size_t)dimensions * sizeof(struct divider));
    memcpy(to + STRIDES_AT, from + STRIDES_AT, (size_t)dimensions * tensors * NUMBER);
    memcpy(to + BYTES_OF_ONE, from + BYTES_OF_ONE, s->bytes - BYTES_OF_ONE);
    return true;
}

/* ---- ReduceOp ---- */

enum {
    TAIL_BYTES = 64, /* the input address, two results, three pieces of scratch memory, and what the reduction is a part
                      * of */
    INPUT_BYTES = BYTES_OF_ONE,
    OUTPUT_BYTES = BYTES_OF_ONE + MOST * NUMBER
};

/* Recognises at::native::reduce_kernel<threads, vectors, at::native::ReduceOp<...> >. */
bool spw_reduction_recognise(const char *name, size_t bytes, struct spw_reduction *ret)
{
    unsigned long number;
    if (!spw_mangled_skip(&name, "_ZN2at6native13reduce_kernelI") || !spw_mangled_skip_number(&name, 'i', &number) ||
        !spw_mangled_skip_number(&name, 'i', &number) || !spw_mangled_skip(&name, "NS0_8ReduceOpI"))
        return false;
    if (bytes < INPUT_BYTES + OUTPUT_BYTES + TAIL_BYTES || bytes > UINT16_MAX || bytes % WORD)
        return false;
    ret->bytes = (uint16_t)bytes;
    return true;
}

/* Returns true if it is a calculator with at least one dimension. */
static bool is_calculator(const unsigned char *from, int32_t *ret_dimensions)
{
    uint64_t product;
    memcpy(ret_dimensions, from, sizeof(*ret_dimensions));
    return *ret_dimensions >= 1 && *ret_dimensions <= MOST && divides(from, *ret_dimensions, &product);
}

/* Copies a calculator to memory that is all zero. */
static void copy_calculator(const unsigned char *from, int32_t dimensions, size_t tensors, unsigned char *to)
{
    memcpy(to, from, DIVIDERS_AT + (size_t)dimensions * sizeof(struct divider));
    memcpy(to + STRIDES_AT, from + STRIDES_AT, (size_t)dimensions * tensors * NUMBER);
}

/* The addresses behind the calculators are aligned, so there may be a gap before them. */
bool spw_reduction_copy_used(const struct spw_reduction *s, const unsigned char *from, unsigned char *to)
{
    const size_t tail = s->bytes - (size_t)TAIL_BYTES;
    for (size_t gap = 0; gap <= NUMBER && tail >= INPUT_BYTES + OUTPUT_BYTES + gap; gap += NUMBER) {
        const size_t output = tail - gap - OUTPUT_BYTES, input = output - INPUT_BYTES;
        int32_t of_input, of_output;
        if (!is_calculator(from + input, &of_input) || !is_calculator(from + output, &of_output))
            continue;
        memcpy(to, from, input);
        copy_calculator(from + input, of_input, 1, to + input);
        copy_calculator(from + output, of_output, 2, to + output);
        memcpy(to + tail - gap, from + tail - gap, gap + TAIL_BYTES);
        return true;
    }
    return false;
}
