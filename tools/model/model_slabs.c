/* model_slabs.c - goes through the small allocations of an iteration as a run does, and counts the slabs that it needs. */
#include "model_slabs.h"

#include <stdlib.h>

#include "plan/slots.h"

#define MOST ((uint64_t)1 << 30) /* largest granule; a larger number is from a damaged trace */

struct counting {
    const struct model *m;
    struct spw_slots slots;
    unsigned *class;        /* by tensor */
    uint32_t *first, *next; /* by operation: tensors that are freed after it; by tensor: the next in that list */
};

static void take(struct counting *c, uint32_t tensor)
{
    const struct model_tensor *t = &c->m->tensors[tensor];
    c->class[tensor] = spw_slots_take(&c->slots, t->bytes);
    if (t->persistent || t->lives_on)
        return;
    c->next[tensor] = c->first[t->free_after];
    c->first[t->free_after] = tensor;
}

/* `small`: the tensors in slots, in the order of their allocations. */
static void count(struct counting *c, const uint32_t *small, uint32_t small_count)
{
    uint32_t taken = 0;
    for (uint32_t op = 0; op < c->m->iteration_count; op++) {
        for (; taken < small_count && c->m->tensors[small[taken]].alloc_before <= op; taken++)
            take(c, small[taken]);
        for (uint32_t i = c->first[op]; i != MODEL_NONE; i = c->next[i])
            spw_slots_give(&c->slots, c->class[i]);
    }
}

uint64_t model_slab_bytes(const struct model *m, const bool *is_there, const struct spw_record_machine *machine)
{
    struct counting c = {.m = m, .slots = {.granule_bytes = machine->granule_bytes}};
    uint32_t small_count = 0;
    if (!machine->granule_bytes || machine->granule_bytes > MOST || machine->small_bytes > MOST)
        return 0;
    uint32_t *small = calloc(m->tensor_count + 1, sizeof(*small));
    c.class = calloc(m->tensor_count + 1, sizeof(*c.class));
    c.first = malloc((m->iteration_count + 1) * sizeof(*c.first));
    c.next = calloc(m->tensor_count + 1, sizeof(*c.next));
    const bool is_room = small && c.class && c.first && c.next;
    for (uint32_t i = 0; is_room && i < m->tensor_count; i++) {
        if (!is_there[i] || m->tensors[i].bytes >= machine->small_bytes)
            continue;
        small[small_count++] = i;
    }
    for (uint32_t op = 0; is_room && op < m->iteration_count; op++)
        c.first[op] = MODEL_NONE;
    if (is_room)
        count(&c, small, small_count);
    free(small);
    free(c.class);
    free(c.first);
    free(c.next);
    return c.slots.bytes;
}
