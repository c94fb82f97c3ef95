/* unmapped-query.c - question 6: what do pointer queries and copies say about an address that is reserved but has no
 * memory behind it, as an evicted tensor's would? */
#include "probe.h"

struct query {
    const char *name;
    CUpointer_attribute which;
};

static const struct query queries[] = {
    {"context", CU_POINTER_ATTRIBUTE_CONTEXT},
    {"memory_type", CU_POINTER_ATTRIBUTE_MEMORY_TYPE},
    {"device_pointer", CU_POINTER_ATTRIBUTE_DEVICE_POINTER},
    {"host_pointer", CU_POINTER_ATTRIBUTE_HOST_POINTER},
    {"buffer_id", CU_POINTER_ATTRIBUTE_BUFFER_ID},
    {"is_managed", CU_POINTER_ATTRIBUTE_IS_MANAGED},
    {"device_ordinal", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL},
    {"range_start", CU_POINTER_ATTRIBUTE_RANGE_START_ADDR},
    {"range_size", CU_POINTER_ATTRIBUTE_RANGE_SIZE},
    {"mapped", CU_POINTER_ATTRIBUTE_MAPPED},
};

/* Asks everything about the address; returns how many of the queries succeeded. */
static int ask(CUdeviceptr address, const char *state)
{
    int succeeded = 0;
    char name[96];
    for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
        unsigned long long value[4] = {0};
        CUresult r = cuPointerGetAttribute(value, queries[i].which, address);
        snprintf(name, sizeof(name), "%s/%s", state, queries[i].name);
        if (r != CUDA_SUCCESS) {
            probe_figure_text(name, probe_error_name(r));
            continue;
        }
        char text[32];
        snprintf(text, sizeof(text), "0x%llx", value[0]);
        probe_figure_text(name, text);
        succeeded++;
    }

    unsigned memory_type = 0;
    CUdeviceptr pointer = 0, base;
    size_t size;
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
    void *data[] = {&memory_type, &pointer};
    snprintf(name, sizeof(name), "%s/attributes_at_once", state);
    probe_figure_text(name, probe_error_name(cuPointerGetAttributes(2, which, data, address)));
    snprintf(name, sizeof(name), "%s/attributes_memory_type", state);
    probe_figure(name, memory_type);
    snprintf(name, sizeof(name), "%s/address_range", state);
    probe_figure_text(name, probe_error_name(cuMemGetAddressRange(&base, &size, address)));
    return succeeded;
}

/* In a child: a copy and a set there; the second word tells whether the context outlives it. */
static void touch_unmapped(int set)
{
    CUdeviceptr address;
    unsigned word = 1;
    alarm(10);
    probe_start("unmapped-query", 6);
    CHECK(cuMemAddressReserve(&address, probe.granularity_bytes, 0, 0, 0));
    CUresult r = set ? cuMemsetD8(address, 0, 4) : cuMemcpyHtoD(address, &word, sizeof(word));
    CUresult later = cuCtxSynchronize();
    printf("%s, then ", probe_error_name(r));
    printf("%s\n", probe_error_name(later));
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    char line[512];
    if (argc == 2)
        touch_unmapped(strcmp(argv[1], "set") == 0);
    probe_start("unmapped-query", 6);

    struct probe_block block = probe_block_create(4 * MIB);
    CUmemAccessDesc access = probe_device_access();
    int mapped = ask(block.address + 4096, "mapped");
    CHECK(cuMemUnmap(block.address, block.bytes));
    int unmapped = ask(block.address + 4096, "unmapped_again");
    CHECK(cuMemMap(block.address, block.bytes, 0, block.handle, 0));
    int no_access = ask(block.address + 4096, "mapped_without_access");
    CHECK(cuMemSetAccess(block.address, block.bytes, &access, 1));
    CUdeviceptr never;
    CHECK(cuMemAddressReserve(&never, block.bytes, 0, 0, 0));
    int reserved = ask(never + 4096, "only_reserved");

    (void)probe_again("copy", line, sizeof(line));
    probe_figure_text("copy_to_unmapped", line);
    (void)probe_again("set", line, sizeof(line));
    probe_figure_text("set_on_unmapped", line);

    unsigned long long pointer = 0;
    CHECK(cuMemUnmap(block.address, block.bytes));
    CUresult triton = cuPointerGetAttribute(&pointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, block.address);
    probe_answer("of %zu queries %d succeed where memory is mapped, %d where it was unmapped, %d where it never was, %d "
                 "mapped without access; the query that Triton makes (DEVICE_POINTER) gives %s on an unmapped address",
                 sizeof(queries) / sizeof(*queries), mapped, unmapped, reserved, no_access, probe_error_name(triton));
}
