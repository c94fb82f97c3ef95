/* hostpool_system.c - gets mappings from the operating system, places them, and reads how much memory is left. */
#include "hostpool_system.h"

#include <errno.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "hostlimit.h"

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

enum {
    NODES_MAX = 1024,            /* the most that the kernel can be configured for */
    MEMORY_POLICY_PREFERRED = 1, /* MPOL_PREFERRED of the kernel's interface */
};

/* Maps one huge page more than requested, and unmaps what lies outside the aligned part. */
static char *map_aligned(size_t bytes)
{
    size_t spare = bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : 0;
    if (bytes > SIZE_MAX - spare)
        return NULL;
    char *whole = mmap(NULL, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (whole == MAP_FAILED)
        return NULL;
    if (spare == 0)
        return whole;
    size_t before = -(uintptr_t)whole % HUGE_PAGE_BYTES;
    if (before > 0)
        (void)munmap(whole, before);
    if (spare > before)
        (void)munmap(whole + before + bytes, spare - before);
    return whole + before;
}

void *spw_host_system_map(void *ctx, size_t bytes)
{
    const struct spw_host_system *system = ctx;
    char *address = map_aligned(bytes);
    if (address == NULL)
        return NULL;
    if (system->huge_pages)
        (void)madvise(address, bytes, MADV_HUGEPAGE);
    /* Pinned pages would be copied for a child at once, and gigabytes of tensors in a core file do not help debugging. */
    (void)madvise(address, bytes, MADV_DONTFORK);
    (void)madvise(address, bytes, MADV_DONTDUMP);
    (void)spw_host_system_bind(address, bytes, system->numa_node);
    return address;
}

void spw_host_system_unmap(void *ctx, void *address, size_t bytes)
{
    (void)munmap(address, bytes);
}

int64_t spw_host_system_available(void *ctx)
{
    int64_t bytes = spw_hostlimit_available("/");
    if (bytes != SPW_HOSTLIMIT_UNKNOWN)
        return bytes;
    struct sysinfo info; /* there is no /proc; the kernel knows what is free, but not what could be freed */
    return sysinfo(&info) == 0 ? (int64_t)info.freeram * info.mem_unit : SPW_HOSTLIMIT_UNKNOWN;
}

/* Preferred rather than bound: if a bound node is full, the kernel kills a process instead of using another node. */
int spw_host_system_bind(void *address, size_t bytes, int node)
{
    enum { WORD_BITS = sizeof(unsigned long) * CHAR_BIT };
    unsigned long nodes[NODES_MAX / WORD_BITS] = {0};

    if (node < 0)
        return 0;
    if (node >= NODES_MAX)
        return -EINVAL;
    nodes[node / WORD_BITS] = 1ul << node % WORD_BITS;
    if (syscall(SYS_mbind, address, bytes, MEMORY_POLICY_PREFERRED, nodes, NODES_MAX + 1, 0) == 0)
        return 0;
    return errno == ENOSYS || errno == EPERM ? 0 : -errno;
}
