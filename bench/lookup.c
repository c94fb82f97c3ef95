/* lookup.c - looks up addresses in an arena that this program invents; `./dev bench` counts the instructions of a look-up.
 *
 *     lookup find N       N look-ups
 *     lookup nothing N    the same loop without them, to be subtracted */
#include "../shim/ledger/ledger.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECTS = 1000, GRANULE_SHIFT = 21 };

static struct spw_object objects[OBJECTS];
static struct spw_object *table[OBJECTS];

static void make_arena(struct spw_device *d)
{
    d->arena = (CUdeviceptr)1 << 40;
    d->arena_bytes = (uint64_t)OBJECTS << GRANULE_SHIFT;
    d->granule_shift = GRANULE_SHIFT;
    d->table = table;
    for (unsigned i = 0; i < OBJECTS; i++)
        table[i] = &objects[i];
}

__attribute__((noinline)) static struct spw_object *find(CUdeviceptr address)
{
    return spw_object_at_locked(address);
}

__attribute__((noinline)) static struct spw_object *nothing(CUdeviceptr address)
{
    __asm__ volatile("" : : "r"(address)); /* a call that does nothing, but is made */
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 3 || (strcmp(argv[1], "find") != 0 && strcmp(argv[1], "nothing") != 0))
        return fprintf(stderr, "usage: lookup find | nothing COUNT\n"), 2;
    struct spw_object *(*look)(CUdeviceptr) = argv[1][0] == 'f' ? find : nothing;
    const unsigned long count = strtoul(argv[2], NULL, 10);
    struct spw_device *d = &spw_devices[0];
    uint64_t found = 0;
    make_arena(d);
    for (unsigned long i = 0; i < count; i++)
        found += look(d->arena + i * 7919 * 4096 % d->arena_bytes) != NULL;
    printf("%lu\n", (unsigned long)found);
    return argv[1][0] == 'f' && found != count;
}
