/* memory.h - the memory behind addresses: blocks of device and host memory, in real mappings. */
#ifndef SIMGPU_DRIVER_MEMORY_H
#define SIMGPU_DRIVER_MEMORY_H
#include "objects.h"
#include "span.h"

enum block_kind {
    BLOCK_DEVICE, /* cuMemAlloc */
    BLOCK_POOL,   /* stream-ordered */
    BLOCK_MANAGED,
    BLOCK_HOST,       /* cuMemHostAlloc */
    BLOCK_REGISTERED, /* cuMemHostRegister */
    BLOCK_MAPPING,    /* cuMemMap */
    BLOCK_GLOBAL      /* a variable of a module */
};

struct physical {          /* CUmemGenericAllocationHandle */
    struct device *device; /* NULL: host memory */
    CUmemAllocationProp prop;
    uint64_t bytes, offset;
    unsigned refs;         /* handles of the program */
    unsigned mappings;     /* the memory lives until both are 0 */
    uint64_t mapped_bytes; /* mapped bytes: of the largest mapping since it was last mapped nowhere */
    uint64_t newest;       /* id of the last mapping */
};

struct block {
    struct span span; /* the addresses, of exactly the requested length */
    enum block_kind kind;
    struct device *device; /* NULL: host memory */
    struct context *context;
    uint64_t id;
    uint64_t key;          /* identifies its first byte; the same for every address of the same memory */
    uint64_t offset;       /* in the file of the device; only for memory of its own */
    uint64_t backed_bytes; /* whole pages */
    uint64_t counted_bytes;
    uint32_t readable, writable; /* bit masks of the devices that may */
    bool host_access;
    unsigned flags; /* of cuMemHostAlloc, cuMemHostRegister, cuMemAllocManaged */
    bool sync_memops;
    unsigned global_refs;
    struct physical *physical;     /* BLOCK_MAPPING */
    struct pool *pool;             /* BLOCK_POOL */
    struct graph_memory *in_graph; /* of memory that graphs allocate; else NULL */
    bool hidden;                   /* such memory, while it is not allocated */
    /* BLOCK_POOL: the free that is pending or done; the block waits for its next user. */
    struct op *free_op;
    struct stream *free_stream;
    struct block *next_free;
};

CUresult memory_init(void);
struct block *memory_find(uint64_t address); /* NULL: unknown address */
/* Returns true if all bytes are mapped and the device may touch them now; else sets the first that is not. NULL device:
 * only checks that the bytes belong to blocks, which may be touched some day. */
bool memory_reachable(const struct device *device, uint64_t address, uint64_t bytes, bool writes, uint64_t *ret_first_bad);
/* Returns the key of a byte: the same bytes have the same key under every address. *ret_bytes: for how many bytes the key
 * continues, at most `bytes`. */
uint64_t memory_key(uint64_t address, uint64_t bytes, uint64_t *ret_bytes);

/* Allocates a block with memory of its own in `device` (host memory if NULL). Fresh device memory is filled with 0xCB. */
CUresult memory_allocate(struct context *context, struct device *device, enum block_kind kind, size_t bytes,
                         struct block **ret_block);
void memory_free(struct block *block);
/* Frees what a destroyed context owns: its allocations of device, managed and host memory, and its registrations. */
void memory_free_context(const struct context *context);
CUresult memory_register(struct context *context, void *address, size_t bytes, unsigned flags);
CUresult memory_add_global(struct context *context, void *address, size_t bytes);
void memory_remove_global(void *address);

CUresult physical_create(struct device *device, const CUmemAllocationProp *prop, size_t bytes, struct physical **ret);
void physical_drop_if_unused(struct physical *physical);
void physical_poison(const struct physical *physical);

CUresult address_reserve(uint64_t bytes, uint64_t alignment, uint64_t wanted, uint64_t *ret_address);
CUresult address_free(uint64_t address, uint64_t bytes);
CUresult mapping_add(struct context *context, uint64_t address, uint64_t bytes, struct physical *physical);
CUresult mapping_remove(struct context *context, uint64_t address, uint64_t bytes, unsigned *ret_mappings);
CUresult mapping_set_access(uint64_t address, uint64_t bytes, const CUmemAccessDesc *desc, size_t count,
                            unsigned *ret_mappings);
bool address_is_reserved(uint64_t address);

/* Stream-ordered allocation (pool.c). */
CUresult pool_allocate(struct pool *pool, struct stream *stream, size_t bytes, struct block **ret_block);
CUresult pool_free(struct block *block, struct stream *stream);
void pool_trim_all(void); /* what a synchronisation returns to the system */
/* Returns everything that is free to the device, when memory is short. */
void pool_release_unused(struct device *device);
CUresult pools_init(struct device *device);
#endif
