/* physical.h - the physical bytes of a device (and of host memory created as handles): pieces of one memfd each, counted. */
#ifndef SIMGPU_DRIVER_PHYSICAL_H
#define SIMGPU_DRIVER_PHYSICAL_H
#include "memory.h"

#define SIMGPU_POISON 0xCB

CUresult physical_init(struct device *device); /* NULL: the store for host handles */
/* Takes `bytes` of the device, of which `counted` count against its capacity. Returns 0 or -ENOMEM. */
int physical_take(struct device *device, uint64_t bytes, uint64_t counted, uint64_t *ret_offset);
void physical_give(struct device *device, uint64_t offset, uint64_t bytes, uint64_t counted);
/* Maps the bytes at addresses of the window. Returns 0 or -ENOMEM. */
int physical_map(struct device *device, uint64_t offset, uint64_t address, uint64_t bytes, bool writable);
uint64_t physical_key(const struct device *device, uint64_t offset);

/* Removes the memory behind the addresses. */
void address_hide(uint64_t address, uint64_t bytes);
/* Allocate addresses of the window of device addresses. Return 0 or a negative errno. */
int address_take(uint64_t bytes, uint64_t alignment, uint64_t *ret_address);
int address_take_at(uint64_t address, uint64_t bytes);
void address_give(uint64_t address, uint64_t bytes);

void block_add(struct block *block);
void block_remove(struct block *block);
struct block *block_from(uint64_t address); /* the first block that ends after `address` */
void memory_unregister(struct block *block);

/* Counts bytes that appear behind device addresses; negative: that disappear. */
void device_count_mapped(struct device *device, int64_t bytes);
#endif
