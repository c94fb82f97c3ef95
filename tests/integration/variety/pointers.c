/* pointers.c - asks all there is to ask about addresses of every kind, and again when the tensors behind them have been
 * pushed out: first byte, middle, last byte, beyond; device, pool, managed, host memory; before and after freeing. */
#include "driver.h"

enum { BYTES = 512 << 10, SMALL_BYTES = 1000, PIECES = 12, PIECE_BYTES = 256 << 10, ODD_BYTES = BYTES - 100 };

static struct crowd crowd;

enum shape { NUMBER, BOOL, ADDRESS, HANDLE, ID, WIDE };

static const struct {
    const char *name;
    CUpointer_attribute which;
    enum shape shape;
} attributes[] = {{"context", CU_POINTER_ATTRIBUTE_CONTEXT, HANDLE},
                  {"memory type", CU_POINTER_ATTRIBUTE_MEMORY_TYPE, NUMBER},
                  {"device pointer", CU_POINTER_ATTRIBUTE_DEVICE_POINTER, ADDRESS},
                  {"host pointer", CU_POINTER_ATTRIBUTE_HOST_POINTER, ADDRESS},
                  {"sync memops", CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, BOOL},
                  {"buffer id", CU_POINTER_ATTRIBUTE_BUFFER_ID, ID},
                  {"managed", CU_POINTER_ATTRIBUTE_IS_MANAGED, BOOL},
                  {"device", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, NUMBER},
                  {"ipc", CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, BOOL},
                  {"range start", CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, ADDRESS},
                  {"range size", CU_POINTER_ATTRIBUTE_RANGE_SIZE, WIDE},
                  {"mapped", CU_POINTER_ATTRIBUTE_MAPPED, BOOL},
                  {"handle types", CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, WIDE},
                  {"access", CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, NUMBER},
                  {"pool", CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, HANDLE},
                  {"mapping size", CU_POINTER_ATTRIBUTE_MAPPING_SIZE, WIDE},
                  {"mapping start", CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, ADDRESS},
                  {"block id", CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, ID},
                  {"decompression", CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, BOOL}};
enum { ATTRIBUTES = sizeof attributes / sizeof *attributes };

/* A value as far as it does not depend on where memory happens to lie. */
static void print_value(enum shape shape, uint64_t value, CUdeviceptr base)
{
    switch (shape) {
    case NUMBER:
    case BOOL:
        printf(" %d", (int)(uint32_t)value);
        break;
    case WIDE:
        printf(" %llu", (unsigned long long)value);
        break;
    case ADDRESS:
        printf(value ? " base%+lld" : " none", (long long)(value - base));
        break;
    default:
        printf(value ? " some" : " none");
    }
}

static const char *name_of(CUresult r)
{
    const char *name = "?";
    (void)cuGetErrorName(r, &name);
    return name;
}

/* One by one, and all in one call. */
static void ask_all(const char *what, CUdeviceptr at, CUdeviceptr base)
{
    CUpointer_attribute which[ATTRIBUTES];
    void *places[ATTRIBUTES];
    uint64_t values[ATTRIBUTES];
    for (unsigned i = 0; i < ATTRIBUTES; i++) {
        uint64_t value = 0;
        CUresult r = cuPointerGetAttribute(&value, attributes[i].which, at);
        printf("%s, %s: %s", what, attributes[i].name, name_of(r));
        if (r == CUDA_SUCCESS)
            print_value(attributes[i].shape, value, base);
        printf("\n");
        which[i] = attributes[i].which;
        values[i] = 0;
        places[i] = &values[i];
    }
    CUresult r = cuPointerGetAttributes(ATTRIBUTES, which, places, at);
    printf("%s, all at once: %s", what, name_of(r));
    for (unsigned i = 0; i < ATTRIBUTES; i++)
        print_value(attributes[i].shape, values[i], base);
    printf("\n");
}

static void ask_range(const char *what, CUdeviceptr at, CUdeviceptr base)
{
    CUdeviceptr start = base;
    size_t size = 0;
    CUresult r = cuMemGetAddressRange(&start, &size, at);
    printf("%s, range: %s base%+lld, %zu bytes\n", what, name_of(r), (long long)(start - base), size);
    printf("%s, half a question: %s %s\n", what, name_of(cuMemGetAddressRange(NULL, &size, at)),
           name_of(cuMemGetAddressRange(&start, NULL, at)));
}

static void ask_along(const char *what, CUdeviceptr base, size_t bytes)
{
    const struct {
        const char *where;
        size_t offset;
    } places[] = {{"first byte", 0}, {"second byte", 1}, {"middle", bytes / 2}, {"last byte", bytes - 1}};
    char text[80];
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(text, sizeof text, "%s, %s", what, places[i].where);
        if (i != 1)
            ask_all(text, base + places[i].offset, base);
        ask_range(text, base + places[i].offset, base);
    }
}

static uint64_t id_of(CUdeviceptr at)
{
    uint64_t id = 0;
    CHECK(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, at));
    return id;
}

static void ids(void)
{
    CUdeviceptr a, b, small;
    CHECK(cuMemAlloc(&a, BYTES));
    CHECK(cuMemAlloc(&b, BYTES));
    CHECK(cuMemAlloc(&small, SMALL_BYTES));
    uint64_t id = id_of(a);
    truth("a large and a small one have two ids", id != id_of(small) && id_of(b) != id_of(small));
    CHECK(cuMemFree(small));
    truth("two tensors have two ids", id != id_of(b));
    truth("one tensor has one id", id == id_of(a + BYTES - 1));
    crowd_press(&crowd);
    truth("and keeps it", id == id_of(a));
    CHECK(cuMemFree(a));
    CHECK(cuMemAlloc(&a, BYTES));
    truth("memory that is allocated again gets a new one", id != id_of(a) && id_of(a) != id_of(b));
    CHECK(cuMemFree(a));
    CHECK(cuMemFree(b));
}

/* The one attribute that can be set stays set, and the tensor keeps its bytes. */
static void setting(void)
{
    CUdeviceptr a;
    unsigned on = 1, is = 9;
    CHECK(cuMemAlloc(&a, BYTES));
    fill_device(a, BYTES, 77);
    crowd_press(&crowd);
    answer("set on a tensor", cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
    CHECK(cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
    printf("sync memops: %u\n", is);
    crowd_press(&crowd);
    CHECK(cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a + 100));
    printf("sync memops: %u, bytes %016llx\n", is, (unsigned long long)device_sum(a, BYTES));
    answer("an attribute that cannot be set", cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
    answer("set to nothing", cuPointerSetAttribute(NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
    answer("set on nobody's memory", cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 4096));
    CHECK(cuMemFree(a));
    CHECK(cuMemAlloc(&a, BYTES));
    CHECK(cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
    printf("sync memops of the next tensor: %u\n", is);
    CHECK(cuMemFree(a));
}

static void wrong_questions(CUdeviceptr tensor)
{
    uint64_t value = 0;
    void *place = &value;
    CUpointer_attribute which = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    answer("no such attribute", cuPointerGetAttribute(&value, (CUpointer_attribute)999, tensor));
    answer("attribute 0", cuPointerGetAttribute(&value, (CUpointer_attribute)0, tensor));
    answer("no place for the answer", cuPointerGetAttribute(NULL, which, tensor));
    answer("no attributes", cuPointerGetAttributes(0, &which, &place, tensor));
    answer("no list", cuPointerGetAttributes(1, NULL, &place, tensor));
    answer("no places", cuPointerGetAttributes(1, &which, NULL, tensor));
}

int main(void)
{
    CUdeviceptr tensor, odd, small, pooled, managed, beyond = BYTES;
    void *pinned, *pageable = host_bytes(BYTES);
    start();
    CHECK(cuMemAlloc(&tensor, BYTES));
    CHECK(cuMemAlloc(&odd, ODD_BYTES));
    CHECK(cuMemAlloc(&small, SMALL_BYTES));
    CHECK(cuMemAllocAsync(&pooled, BYTES, NULL));
    CHECK(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemHostAlloc(&pinned, BYTES, CU_MEMHOSTALLOC_DEVICEMAP));
    crowd_make(&crowd, PIECES, PIECE_BYTES);
    fill_device(tensor, BYTES, 1);
    fill_device(odd, ODD_BYTES, 2);
    fill_device(small, SMALL_BYTES, 3);
    fill_device(pooled, BYTES, 4);
    for (unsigned round = 0; round < 2; round++) {
        ask_along("tensor", tensor, BYTES);
        ask_along("odd tensor", odd, ODD_BYTES);
        ask_along("small tensor", small, SMALL_BYTES);
        ask_along("tensor of a pool", pooled, BYTES);
        ask_all("beyond the end", odd + ODD_BYTES, odd);
        ask_range("beyond the end", odd + ODD_BYTES, odd);
        ask_all("beyond the small end", small + SMALL_BYTES, small);
        ask_range("beyond the small end", small + SMALL_BYTES, small);
        crowd_press(&crowd);
    }
    wrong_questions(tensor);
    ask_along("managed", managed, BYTES);
    ask_along("pinned", (CUdeviceptr)(uintptr_t)pinned, BYTES);
    ask_all("pageable", (CUdeviceptr)(uintptr_t)pageable, (CUdeviceptr)(uintptr_t)pageable);
    ask_all("nothing", 0, 0);
    ask_range("nothing", 0, 0);
    ids();
    setting();
    printf("bytes: %016llx %016llx %016llx %016llx\n", (unsigned long long)device_sum(tensor, BYTES),
           (unsigned long long)device_sum(odd, ODD_BYTES), (unsigned long long)device_sum(small, SMALL_BYTES),
           (unsigned long long)device_sum(pooled, BYTES));
    crowd_free(&crowd);
    CHECK(cuMemFree(odd));
    ask_all("freed", odd, odd);
    ask_range("freed", odd, odd);
    ask_range("freed, middle", odd + beyond / 2, odd);
    CHECK(cuMemFree(tensor));
    CHECK(cuMemFree(small));
    CHECK(cuMemFree(pooled));
    CHECK(cuMemFree(managed));
    CHECK(cuMemFreeHost(pinned));
    free(pageable);
    return 0;
}
