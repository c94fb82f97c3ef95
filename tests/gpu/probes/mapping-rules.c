/* mapping-rules.c - rules of cuMemMap() that the documentation leaves open (driver-facts, section 3.1): may a prefix of
 * a handle be mapped, may one unmap cover neighbouring mappings, may a handle be mapped twice, does memory that was
 * released while mapped stay good, does it keep its bytes when it is mapped elsewhere? */
#include "probe.h"

static unsigned read_word(CUdeviceptr address)
{
    unsigned word;
    CHECK(cuMemcpyDtoH(&word, address, sizeof(word)));
    return word;
}

static void rule(const char *name, int holds, int *count)
{
    probe_figure(name, holds);
    *count += holds;
}

/* Mapping the first unit of a handle of two. */
static int prefix_can_be_mapped(size_t unit)
{
    CUdeviceptr address;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop = probe_device_memory();
    CUmemAccessDesc access = probe_device_access();
    CHECK(cuMemAddressReserve(&address, unit, 0, 0, 0));
    CHECK(cuMemCreate(&handle, 2 * unit, &prop, 0));
    CUresult r = cuMemMap(address, unit, 0, handle, 0);
    if (r == CUDA_SUCCESS)
        r = cuMemSetAccess(address, unit, &access, 1);
    if (r == CUDA_SUCCESS)
        r = cuMemsetD32(address, 7, unit / 4);
    probe_figure_text("prefix_result", probe_error_name(r));
    return r == CUDA_SUCCESS && read_word(address + unit - 4) == 7;
}

/* Two neighbouring mappings, set accessible at once and unmapped at once; then, in another pair, half of one. */
static void neighbours(size_t unit, int *ret_access, int *ret_unmap, int *ret_part)
{
    CUdeviceptr address;
    CUmemGenericAllocationHandle handle[2];
    CUmemAllocationProp prop = probe_device_memory();
    CUmemAccessDesc access = probe_device_access();
    CHECK(cuMemAddressReserve(&address, 4 * unit, 0, 0, 0));
    for (int i = 0; i < 2; i++) {
        CHECK(cuMemCreate(&handle[i], 2 * unit, &prop, 0));
        CHECK(cuMemMap(address + (CUdeviceptr)i * 2 * unit, 2 * unit, 0, handle[i], 0));
    }
    *ret_access = cuMemSetAccess(address, 4 * unit, &access, 1) == CUDA_SUCCESS;
    *ret_part = cuMemUnmap(address, unit) == CUDA_SUCCESS;
    *ret_unmap = !*ret_part && cuMemUnmap(address, 4 * unit) == CUDA_SUCCESS;
}

/* One handle at two addresses: bytes written through one are read through the other. */
static int alias_can_be_mapped(struct probe_block block)
{
    CUdeviceptr alias;
    CUmemAccessDesc access = probe_device_access();
    CHECK(cuMemAddressReserve(&alias, block.bytes, 0, 0, 0));
    if (cuMemMap(alias, block.bytes, 0, block.handle, 0) != CUDA_SUCCESS)
        return 0;
    CHECK(cuMemSetAccess(alias, block.bytes, &access, 1));
    CHECK(cuMemsetD32(block.address, 41, block.bytes / 4));
    int same = read_word(alias) == 41;
    CHECK(cuMemUnmap(alias, block.bytes));
    return same;
}

static int bytes_move_with_the_handle(struct probe_block *block)
{
    CUdeviceptr elsewhere;
    CUmemAccessDesc access = probe_device_access();
    CHECK(cuMemsetD32(block->address, 42, block->bytes / 4));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemUnmap(block->address, block->bytes));
    CHECK(cuMemAddressReserve(&elsewhere, block->bytes, 0, 0, 0));
    CHECK(cuMemMap(elsewhere, block->bytes, 0, block->handle, 0));
    CHECK(cuMemSetAccess(elsewhere, block->bytes, &access, 1));
    block->address = elsewhere;
    return read_word(elsewhere) == 42;
}

int main(void)
{
    int count = 0, access = 0, unmap = 0, part = 0;
    probe_start("mapping-rules", 4);
    size_t unit = probe.granularity_bytes;
    struct probe_block block = probe_block_create(unit);

    int prefix = prefix_can_be_mapped(unit);
    neighbours(unit, &access, &unmap, &part);
    rule("prefix_of_handle_maps", prefix, &count);
    rule("one_set_access_over_neighbours", access, &count);
    rule("one_unmap_over_neighbours", unmap, &count);
    rule("unmap_part_of_mapping", part, &count);
    int alias = alias_can_be_mapped(block);
    rule("handle_maps_twice", alias, &count);
    int moves = bytes_move_with_the_handle(&block);
    rule("bytes_move_with_the_handle", moves, &count);

    CHECK(cuMemsetD32(block.address, 43, block.bytes / 4));
    CHECK(cuMemRelease(block.handle));
    int released = read_word(block.address) == 43;
    rule("released_while_mapped_stays_good", released, &count);
    size_t before, after, total;
    CHECK(cuMemGetInfo(&before, &total));
    CHECK(cuMemUnmap(block.address, block.bytes));
    CHECK(cuMemGetInfo(&after, &total));
    rule("last_unmap_gives_released_memory_back", after - before == block.bytes, &count);
    probe_figure("rules_that_hold", count);
    probe_answer("a prefix of a handle %s be mapped; one unmap %s cover neighbouring mappings, %s cover part of one; a "
                 "handle %s be mapped twice; its bytes %s with it; memory released while mapped %s",
                 prefix ? "can" : "can't", unmap ? "can" : "can't", part ? "can" : "can't", alias ? "can" : "can't",
                 moves ? "move" : "don't move", released ? "stays good" : "is lost");
}
