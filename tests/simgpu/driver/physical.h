/* physical.h - the bytes of a device (and of host memory created as handles): pieces of one memfd each, counted. */
#ifndef SIMGPU_DRIVER_PHYSICAL_H
#define SIMGPU_DRIVER_PHYSICAL_H
#include "memory.h"

#define SIMGPU_POISON 0xCB

CUresult physical_init(struct device *device); /* NULL: the store of host handles */
/* Takes `bytes` of the device, of which `counted` count against its capacity. 0 or -ENOMEM. */
int physical_take(struct device *device, uint64_t bytes, uint64_t counted, uint64_t *ret_offset);
void physical_give(struct device *device, uint64_t offset, uint64_t bytes, uint64_t counted);
/* Puts the bytes behind addresses of the window. 0 or -ENOMEM. */
int physical_map(struct device *device, uint64_t offset, uint64_t address, uint64_t bytes, bool writable);
uint64_t physical_key(const struct device *device, uint64_t offset);

/* Puts nothing behind the addresses again. */
void address_hide(uint64_t address, uint64_t bytes);
/* The window of device addresses. 0 or a negative errno. */
int address_take(uint64_t bytes, uint64_t alignment, uint64_t *ret_address);
int address_take_at(uint64_t address, uint64_t bytes);
void address_give(uint64_t address, uint64_t bytes);

void block_add(struct block *block);
void block_remove(struct block *block);
struct block *block_from(uint64_t address); /* the first that ends after it */
void memory_unregister(struct block *block);

/* Counts bytes that appear (or, negative, go) behind device addresses. */
void device_count_mapped(struct device *device, int64_t bytes);
#endif
