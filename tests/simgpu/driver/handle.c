/* handle.c - which objects are alive, so that a stale handle is an error and not a crash. */
#include "driver.h"

#include <errno.h>
#include <stdlib.h>

struct entry {
    const void *object; /* NULL: free */
    enum handle kind;
};

static struct entry *table;
static size_t room, used; /* room is a power of two */

static size_t slot_of(const void *object, size_t of)
{
    return (size_t)(((uintptr_t)object >> 4) * 0x9E3779B97F4A7C15u >> 20) & (of - 1);
}

static struct entry *find(struct entry *in, size_t of, const void *object)
{
    size_t i = slot_of(object, of);
    while (in[i].object && in[i].object != object)
        i = (i + 1) & (of - 1);
    return &in[i];
}

int handle_add(enum handle kind, const void *object)
{
    if (2 * (used + 1) > room) {
        size_t more = room ? 2 * room : 256;
        struct entry *bigger = calloc(more, sizeof *bigger);
        if (!bigger)
            return -ENOMEM;
        for (size_t i = 0; i < room; i++)
            if (table[i].object)
                *find(bigger, more, table[i].object) = table[i];
        free(table);
        table = bigger;
        room = more;
    }
    *find(table, room, object) = (struct entry){object, kind};
    used++;
    return 0;
}

void handle_remove(const void *object)
{
    if (!room)
        return;
    struct entry *e = find(table, room, object);
    if (!e->object)
        return;
    e->object = NULL;
    used--;
    /* What was pushed past the freed place moves back, so that a search never stops short of it. */
    for (size_t i = (size_t)(e - table + 1) & (room - 1); table[i].object; i = (i + 1) & (room - 1)) {
        struct entry moved = table[i];
        table[i].object = NULL;
        *find(table, room, moved.object) = moved;
    }
}

bool handle_is(enum handle kind, const void *object)
{
    const struct entry *e = room && object ? find(table, room, object) : NULL;
    return e && e->object && e->kind == kind;
}
