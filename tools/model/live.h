/* live.h - the allocations that are alive while a trace is read, by id. */
#ifndef SPILLWAY_TOOLS_LIVE_H
#define SPILLWAY_TOOLS_LIVE_H
#include "record.h"

struct live_entry {
    uint64_t id; /* 0: an empty place */
    uint64_t bytes, address;
    uint32_t device, site;
    uint32_t kind;
    uint32_t tensor; /* for the reader's use; initially MODEL_NONE */
};

struct live { /* initially all zeroes */
    struct live_entry *places;
    size_t room, count, removed;
};

int live_add(struct live *live, const struct spw_record_alloc *alloc); /* returns 0 or -ENOMEM */
struct live_entry *live_find(const struct live *live, uint64_t id);    /* NULL: not alive; valid until the next change */
void live_remove(struct live *live, uint64_t id);
void live_clear(struct live *live);

/* Returns true for an allocation, false for an empty place or one of a removed allocation. */
bool live_is_entry(const struct live_entry *place);

/* Returns true if allocations of this kind count as memory of their device. */
bool live_is_of_device(uint32_t kind);
#endif
