/* tensor-map.c - question 7: does a tensor map begin with the tensor's address, and can one be made over an address
 * that has no memory behind it? */
#include "probe.h"

static CUresult encode_tiled(CUtensorMap *map, CUdeviceptr address)
{
    const cuuint64_t sizes[2] = {256, 128}, strides[1] = {256 * 2};
    const cuuint32_t box[2] = {64, 64}, steps[2] = {1, 1};
    return cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)(uintptr_t)address, sizes, strides, box,
                                  steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

static CUresult encode_im2col(CUtensorMap *map, CUdeviceptr address)
{
    const cuuint64_t sizes[4] = {64, 32, 32, 8}, strides[3] = {128, 128 * 32, 128 * 32 * 32};
    const int lower[2] = {-1, -1}, upper[2] = {-1, -1};
    const cuuint32_t steps[4] = {1, 1, 1, 1};
    return cuTensorMapEncodeIm2col(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, (void *)(uintptr_t)address, sizes, strides,
                                   lower, upper, 64, 64, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                   CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

/* The word (0 to 15) of the map that holds the address, or -1. */
static int word_with(const CUtensorMap *map, CUdeviceptr address)
{
    uint64_t words[16];
    memcpy(words, map, sizeof(words));
    for (int i = 0; i < 16; i++)
        if (words[i] == address)
            return i;
    return -1;
}

/* How many of the 16 words differ between maps of two addresses. */
static int words_that_differ(const CUtensorMap *a, const CUtensorMap *b)
{
    int differ = 0;
    for (int i = 0; i < 16; i++)
        differ += memcmp((const char *)a + 8 * i, (const char *)b + 8 * i, 8) != 0;
    return differ;
}

int main(void)
{
    CUtensorMap map __attribute__((aligned(64))), other __attribute__((aligned(64)));
    probe_start("tensor-map", 7);
    struct probe_block block = probe_block_create(4 * MIB);
    const CUdeviceptr first = block.address + 16 * 1024, second = block.address + 1 * MIB + 48;

    CUresult r = encode_tiled(&map, first);
    if (r != CUDA_SUCCESS)
        probe_give_up("cuTensorMapEncodeTiled gave %s; it needs a device of compute capability 9.0 or later",
                      probe_error_name(r));
    CHECK(encode_tiled(&other, second));
    int tiled = word_with(&map, first), tiled_second = word_with(&other, second);
    probe_figure("tiled/word_of_address", tiled);
    probe_figure("tiled/words_that_change_with_the_address", words_that_differ(&map, &other));
    CHECK(cuTensorMapReplaceAddress(&other, (void *)(uintptr_t)first));
    int replaced = memcmp(&map, &other, sizeof(map)) == 0;
    probe_figure("tiled/replaced_address_equals_encoded", replaced);

    int im2col = -2;
    r = encode_im2col(&map, first);
    if (r == CUDA_SUCCESS) {
        im2col = word_with(&map, first);
        probe_figure("im2col/word_of_address", im2col);
    } else {
        probe_figure_text("im2col/error", probe_error_name(r));
    }

    CHECK(cuMemUnmap(block.address, block.bytes));
    CUresult unmapped = encode_tiled(&map, first);
    probe_figure_text("encode_on_unmapped", probe_error_name(unmapped));
    if (tiled < 0 || tiled != tiled_second)
        probe_answer("no: the address is not found as it is in the map; encoding over an unmapped address gives %s",
                     probe_error_name(unmapped));
    probe_answer("the address is word %d of a tiled map and word %d of an im2col map (0 is the first, -1 nowhere); "
                 "encoding over an unmapped address gives %s",
                 tiled, im2col, probe_error_name(unmapped));
}
