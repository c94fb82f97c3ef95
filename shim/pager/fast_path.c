/* fast_path.c - notes the uses that the fast path does not note inline. */
#include "fast_path.h"

#include "arena.h"

bool spw_fast_path_use_rarely(struct spw_stream *s, uint64_t number, uint64_t tick, CUdeviceptr a, bool writes)
{
    struct spw_object *o = spw_in_arena(a) ? spw_object_at_locked(a) : NULL;
    if (!o || o->attention)
        return !o || o->attention & SPW_FREE;
    spw_object_use(o, tick, writes);
    spw_uses_add_locked(&o->uses, s, number);
    return true;
}
