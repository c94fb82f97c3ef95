/* host-world.c - pieces of memory, in lists that never overlap, and calls that fail by their number or by their kind. */
#include "host-world.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

struct world world;

static bool fails(enum call call)
{
    world.calls[call]++;
    world.all_calls++;
    return world.refuses[call] || (world.all_calls >= world.fail_first && world.all_calls <= world.fail_last);
}

static void add(struct pieces *pieces, char *address, size_t bytes)
{
    for (size_t i = 0; i < pieces->count; i++)
        assert_true(address + bytes <= pieces->at[i].address || pieces->at[i].address + pieces->at[i].bytes <= address);
    assert_true(pieces->count < sizeof(pieces->at) / sizeof(pieces->at[0]));
    pieces->at[pieces->count++] = (struct piece){address, bytes};
}

static void drop(struct pieces *pieces, char *address, size_t bytes)
{
    for (size_t i = 0; i < pieces->count; i++)
        if (pieces->at[i].address == address) {
            assert_int_equal(pieces->at[i].bytes, bytes);
            pieces->at[i] = pieces->at[--pieces->count];
            return;
        }
    fail_msg("%p was not there", (void *)address);
}

bool pieces_hold(const struct pieces *pieces, const char *address, size_t bytes)
{
    for (size_t i = 0; i < pieces->count; i++)
        if (address >= pieces->at[i].address && address + bytes <= pieces->at[i].address + pieces->at[i].bytes)
            return true;
    return false;
}

static bool meets(const struct pieces *pieces, const char *address, size_t bytes)
{
    for (size_t i = 0; i < pieces->count; i++)
        if (address < pieces->at[i].address + pieces->at[i].bytes && pieces->at[i].address < address + bytes)
            return true;
    return false;
}

static size_t sum(const struct pieces *pieces)
{
    size_t bytes = 0;
    for (size_t i = 0; i < pieces->count; i++)
        bytes += pieces->at[i].bytes;
    return bytes;
}

void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap64(void *, size_t, int, int, int, off_t);
int __real_munmap(void *, size_t);
int __wrap_munmap(void *, size_t);
long __real_syscall(long, ...);
long __wrap_syscall(long, void *, size_t, int, const unsigned long *, unsigned long, unsigned);
void *__real_calloc(size_t, size_t);
void *__wrap_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__wrap_realloc(void *, size_t);

/* What the pool asks for its own bookkeeping comes here by way of the linker. */
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (fails(BOOKKEEPING))
        return MAP_FAILED;
    world.bookkeeping_bytes += bytes;
    return __real_mmap(address, bytes, protection, flags, fd, offset);
}

int __wrap_munmap(void *address, size_t bytes)
{
    world.bookkeeping_bytes -= bytes;
    return __real_munmap(address, bytes);
}

long __wrap_syscall(long number, void *address, size_t bytes, int policy, const unsigned long *nodes, unsigned long count,
                    unsigned flags)
{
    if (!world.refuses_policies)
        return __real_syscall(number, address, bytes, policy, nodes, count, flags);
    world.policy = policy;
    world.policy_nodes = nodes[0];
    errno = world.policy_errno;
    return -1;
}

void *__wrap_mmap64(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return __wrap_mmap(address, bytes, protection, flags, fd, offset);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails(BOOKKEEPING) ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *address, size_t bytes)
{
    return fails(BOOKKEEPING) ? NULL : __real_realloc(address, bytes);
}

static char *pages(size_t bytes)
{
    char *address = __real_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(address != MAP_FAILED);
    (void)madvise(address, bytes, MADV_HUGEPAGE); /* quicker to touch */
    return address;
}

static void *world_map(void *ctx, size_t bytes)
{
    assert_ptr_equal(ctx, &world);
    assert_int_equal(bytes % SPW_HOSTPOOL_GRANULE_BYTES, 0);
    if (fails(MAP))
        return NULL;
    char *address = pages(bytes);
    add(&world.mapped, address, bytes);
    return address;
}

static void world_unmap(void *ctx, void *address, size_t bytes)
{
    assert_ptr_equal(ctx, &world);
    world.calls[UNMAP]++;
    assert_false(meets(&world.pinned, address, bytes));
    drop(&world.mapped, address, bytes);
    __real_munmap(address, bytes);
}

static int world_pin(void *ctx, void *address, size_t bytes)
{
    assert_ptr_equal(ctx, &world);
    assert_true(pieces_hold(&world.mapped, address, bytes));
    assert_true(bytes > 0 && bytes <= SPW_HOSTPOOL_PIN_BYTES && bytes < GIB);
    if (fails(PIN))
        return -EPERM;
    add(&world.pinned, address, bytes);
    return 0;
}

static int world_unpin(void *ctx, void *address, size_t bytes)
{
    assert_ptr_equal(ctx, &world);
    if (fails(UNPIN))
        return -EIO;
    drop(&world.pinned, address, bytes);
    return 0;
}

static void *world_alloc(void *ctx, size_t bytes)
{
    assert_ptr_equal(ctx, &world);
    if (fails(ALLOC))
        return NULL;
    char *address = pages(bytes);
    add(&world.allocated, address, bytes);
    return address;
}

static void world_free(void *ctx, void *address, size_t bytes)
{
    assert_ptr_equal(ctx, &world);
    world.calls[FREE]++;
    drop(&world.allocated, address, bytes);
    __real_munmap(address, bytes);
}

static int64_t world_available(void *ctx)
{
    assert_ptr_equal(ctx, &world);
    if (fails(AVAILABLE))
        return 0;
    return world.available - (int64_t)(sum(&world.mapped) + sum(&world.allocated));
}

const struct spw_host_ops world_ops = {
    .map = world_map,
    .unmap = world_unmap,
    .pin = world_pin,
    .unpin = world_unpin,
    .alloc_pinned = world_alloc,
    .free_pinned = world_free,
    .available = world_available,
};

int world_begin(void **state)
{
    memset(&world, 0, sizeof(world));
    world.available = (int64_t)(1024 * GIB);
    return 0;
}

/* Nothing that the pool asked for is left, but what it could not unpin. */
int world_end(void **state)
{
    world.fail_last = 0;
    if (world.allocated.count > 0 || world.bookkeeping_bytes != 0)
        return -1;
    for (size_t i = 0; i < world.mapped.count; i++) {
        if (!meets(&world.pinned, world.mapped.at[i].address, world.mapped.at[i].bytes))
            return -1;
        __real_munmap(world.mapped.at[i].address, world.mapped.at[i].bytes);
    }
    return 0;
}

struct spw_hostpool *pool_of(size_t limit_bytes)
{
    struct spw_hostpool *pool;
    assert_int_equal(spw_hostpool_create(&world_ops, &world, limit_bytes, &pool), 0);
    return pool;
}

char *pool_taken(struct spw_hostpool *pool, size_t bytes)
{
    void *address;
    assert_int_equal(spw_hostpool_take(pool, bytes, &address), 0);
    return address;
}

void pool_refuses(struct spw_hostpool *pool, size_t bytes, const char *refusal)
{
    void *address = &world;
    assert_int_equal(spw_hostpool_take(pool, bytes, &address), -ENOMEM);
    assert_ptr_equal(address, &world);
    assert_string_equal(spw_hostpool_refusal(pool), refusal);
}

const char by_budget[] = "the host budget";
const char by_machine[] = "what the machine and its control groups have left";
const char by_system[] = "the system, which maps no more memory";

void pool_check(const struct spw_hostpool *pool)
{
    assert_true(spw_hostpool_check(pool));
    assert_int_equal(spw_hostpool_bytes_held(pool), sum(&world.mapped) + sum(&world.allocated));
    assert_int_equal(spw_hostpool_bytes_pinned(pool), sum(&world.pinned) + sum(&world.allocated));
}
