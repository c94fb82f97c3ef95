/* pools.c - stream-ordered allocation: the default pool and the program's own, what they say about themselves, what they
 * keep and give back, and a limit of their own. Figures that the interface promises are printed as they are; those that
 * depend on what an allocator keeps, as truths about them. */
#include "driver.h"

enum { PIECE = 256 << 10, PIECES = 8, CROWD = 12 };

static CUdevice device;
static CUstream stream, other;
static struct crowd crowd;

static uint64_t figure(CUmemoryPool pool, CUmemPool_attribute which)
{
    cuuint64_t value = 0;
    CHECK(cuMemPoolGetAttribute(pool, which, &value));
    return value;
}

static void reset(CUmemoryPool pool, CUmemPool_attribute which)
{
    cuuint64_t zero = 0;
    CHECK(cuMemPoolSetAttribute(pool, which, &zero));
}

static void print_used(const char *when, CUmemoryPool pool)
{
    uint64_t used = figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), high = figure(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH);
    uint64_t reserved = figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT),
             reserved_high = figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
    printf("%s: used %llu, at most %llu; covered by what is reserved: %s, by the most that was: %s\n", when,
           (unsigned long long)used, (unsigned long long)high, reserved >= used ? "yes" : "NO",
           reserved_high >= high && reserved_high >= reserved ? "yes" : "NO");
}

static void allocate(CUmemoryPool pool, CUdeviceptr *pieces, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        CHECK(pool ? cuMemAllocFromPoolAsync(&pieces[i], PIECE, pool, stream) : cuMemAllocAsync(&pieces[i], PIECE, stream));
        CHECK(cuMemsetD32Async(pieces[i], 0x1000 + i, PIECE / 4, stream));
    }
}

static void print_and_free(const char *what, CUdeviceptr *pieces, unsigned count)
{
    uint64_t sum = 0;
    CHECK(cuStreamSynchronize(stream));
    for (unsigned i = 0; i < count; i++)
        sum = sum * 31 + device_sum(pieces[i], PIECE);
    printf("%s: %016llx\n", what, (unsigned long long)sum);
    for (unsigned i = 0; i < count; i++)
        CHECK(cuMemFreeAsync(pieces[i], stream));
}

static size_t free_bytes(const char *when)
{
    size_t left, total;
    CHECK(cuMemGetInfo(&left, &total));
    printf("%s: what is free is part of the whole: %s\n", when, left <= total && total > 0 ? "yes" : "NO");
    return left;
}

static void default_pool(void)
{
    CUmemoryPool pool, current;
    CUdeviceptr pieces[PIECES];
    CHECK(cuDeviceGetDefaultMemPool(&pool, device));
    CHECK(cuDeviceGetMemPool(&current, device));
    truth("the default pool is the current one", pool == current);
    print_used("default pool, empty", pool);
    size_t before = free_bytes("before");
    allocate(NULL, pieces, PIECES);
    crowd_press(&crowd);
    print_used("default pool, eight pieces", pool);
    size_t during = free_bytes("with eight pieces");
    truth("what is free did not grow", during <= before);
    print_and_free("default pool", pieces, PIECES);
    CHECK(cuStreamSynchronize(stream));
    print_used("default pool, all free", pool);
    CHECK(cuMemPoolTrimTo(pool, 0));
    print_used("default pool, trimmed", pool);
    truth("and is all there again", free_bytes("after") >= before);
    reset(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH);
    reset(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
    print_used("default pool, marks reset", pool);
}

static void settings(CUmemoryPool pool)
{
    static const struct {
        const char *name;
        CUmemPool_attribute which;
    } flags[] = {{"follow events", CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES},
                 {"opportunistic", CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC},
                 {"internal", CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES}};
    cuuint64_t threshold = 3 * PIECE, one = 1;
    for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
        int was = -1, off = 0, is = -1;
        CHECK(cuMemPoolGetAttribute(pool, flags[i].which, &was));
        CHECK(cuMemPoolSetAttribute(pool, flags[i].which, &off));
        CHECK(cuMemPoolGetAttribute(pool, flags[i].which, &is));
        CHECK(cuMemPoolSetAttribute(pool, flags[i].which, &was));
        printf("%s: %d, then %d\n", flags[i].name, was, is);
    }
    printf("release threshold: %llu", (unsigned long long)figure(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
    CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    printf(", then %llu\n", (unsigned long long)figure(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
    answer("a mark set to anything but 0", cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one));
    answer("a figure set", cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &one));
    answer("an attribute that is none", cuMemPoolGetAttribute(pool, (CUmemPool_attribute)99, &one));
    answer("no place for the figure", cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, NULL));
}

static CUmemoryPool own_pool(size_t most)
{
    CUmemoryPool pool;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                            .maxSize = most};
    CHECK(cuMemPoolCreate(&pool, &props));
    return pool;
}

static CUmemoryPool pool_of(CUdeviceptr address)
{
    CUmemoryPool pool = NULL;
    CHECK(cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
    return pool;
}

/* Two pools side by side: each keeps its own count. */
static void own_pools(void)
{
    CUmemoryPool one = own_pool(0), two = own_pool(0), current;
    CUdeviceptr in_one[PIECES], in_two[3];
    settings(one);
    allocate(one, in_one, PIECES);
    allocate(two, in_two, 3);
    crowd_press(&crowd);
    print_used("one", one);
    print_used("two", two);
    truth("each knows its pool", pool_of(in_one[7]) == one && pool_of(in_two[2] + 5) == two);
    print_and_free("one", in_one, PIECES);
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemPoolTrimTo(one, 2 * PIECE));
    print_used("one, freed", one);
    print_used("two, still there", two);
    CHECK(cuDeviceSetMemPool(device, one));
    CHECK(cuDeviceGetMemPool(&current, device));
    truth("the current pool is the one that was set", current == one);
    allocate(NULL, in_one, 2);
    print_used("one, by default", one);
    truth("what is allocated by default comes from it", pool_of(in_one[0]) == one);
    print_and_free("one, by default", in_one, 2);
    CHECK(cuMemPoolDestroy(one));
    CHECK(cuDeviceGetMemPool(&current, device));
    truth("the default pool is back", current != one && current != two);
    CHECK(cuMemPoolDestroy(two)); /* with allocations in it, which live on */
    crowd_press(&crowd);
    print_and_free("two, outlived", in_two, 3);
    CHECK(cuStreamSynchronize(stream));
}

/* A pool that may hold three pieces refuses the fourth, until one is free. */
static void limited_pool(void)
{
    CUmemoryPool pool = own_pool(3 * PIECE);
    CUdeviceptr pieces[3], more = 0;
    allocate(pool, pieces, 3);
    answer("a fourth of three", cuMemAllocFromPoolAsync(&more, PIECE, pool, stream));
    print_used("limited", pool);
    CHECK(cuMemFreeAsync(pieces[2], stream));
    answer("a third again", cuMemAllocFromPoolAsync(&pieces[2], PIECE, pool, stream));
    CHECK(cuMemsetD32Async(pieces[2], 7, PIECE / 4, stream));
    print_and_free("limited", pieces, 3);
    CHECK(cuMemPoolDestroy(pool));
}

/* Memory that is freed while work on it is under way, and taken at once on the same stream and on another. */
static void taken_again(void)
{
    CUdeviceptr a, b, c;
    CHECK(cuMemAllocAsync(&a, PIECE, stream));
    CHECK(cuMemsetD32Async(a, 1, PIECE / 4, stream));
    CHECK(cuMemFreeAsync(a, stream));
    CHECK(cuMemAllocAsync(&b, PIECE, stream));
    CHECK(cuMemsetD32Async(b, 2, PIECE / 4, stream));
    CHECK(cuMemAllocAsync(&c, PIECE, other));
    CHECK(cuMemsetD32Async(c, 3, PIECE / 4, other));
    CHECK(cuStreamSynchronize(other));
    CHECK(cuStreamSynchronize(stream));
    printf("taken again: %016llx %016llx\n", (unsigned long long)device_sum(b, PIECE),
           (unsigned long long)device_sum(c, PIECE));
    CHECK(cuMemFree(b)); /* the other kind of free is allowed both ways */
    CHECK(cuMemFreeAsync(c, other));
    CHECK(cuMemAlloc(&a, PIECE));
    CHECK(cuMemsetD32Async(a, 4, PIECE / 4, stream));
    CHECK(cuMemFreeAsync(a, stream));
}

static void wrong_calls(void)
{
    CUdeviceptr a = 0;
    CUmemoryPool pool;
    CHECK(cuDeviceGetDefaultMemPool(&pool, device));
    answer("0 bytes", cuMemAllocAsync(&a, 0, stream));
    answer("no place for the address", cuMemAllocAsync(NULL, PIECE, stream));
    answer("from no pool", cuMemAllocFromPoolAsync(&a, PIECE, NULL, stream));
    answer("the default pool destroyed", cuMemPoolDestroy(pool));
    answer("freed, but nobody's", cuMemFreeAsync(0x1234, stream));
    CHECK(cuMemAllocAsync(&a, PIECE, stream));
    answer("freed in the middle", cuMemFreeAsync(a + 512, stream));
    answer("freed", cuMemFreeAsync(a, stream));
    answer("freed twice", cuMemFreeAsync(a, stream));
}

int main(void)
{
    device = start();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    crowd_make(&crowd, CROWD, PIECE);
    default_pool();
    own_pools();
    limited_pool();
    taken_again();
    wrong_calls();
    crowd_free(&crowd);
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuStreamDestroy(other));
    CHECK(cuStreamDestroy(stream));
    return 0;
}
