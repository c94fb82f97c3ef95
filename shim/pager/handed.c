/* handed.c - keeps the list of blocks that a thread has handed to a library, and holds them until they are submitted. */
#include "handed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "grow.h"
#include "lock.h"
#include "pin.h"
#include "retire.h"
#include "versions.h"

struct piece {
    CUstream handle;
    const char *name;
    uint64_t number;
    CUdeviceptr address;
    struct spw_block *block; /* held; NULL: a small allocation, which is always resident */
    bool is_written;
};

static _Thread_local struct list {
    struct piece *pieces;
    unsigned count, room;
} list;

/* The operation has been begun and not ended, so the memory is still there and nobody has taken it. */
static void hold(struct piece piece)
{
    spw_lock();
    struct spw_object *o = spw_object_at_locked(piece.address);
    if (o && o->kind == SPW_KIND_BLOCK) {
        piece.block = spw_block_of(o);
        piece.block->holds++;
    }
    spw_unlock();
    if (o)
        list.pieces[list.count++] = piece;
}

static int run_op(const struct piece *pieces, unsigned count, unsigned read_only, void (*then)(struct piece))
{
    enum { ROOM = 8 };
    CUdeviceptr hits[ROOM];
    struct spw_op op = {.handle = pieces[0].handle,
                        .hits = hits,
                        .count = count,
                        .room = ROOM,
                        .read_only = read_only,
                        .follows_no_tables = true,
                        .name = pieces[0].name,
                        .signature = {SPW_ITERATION_LAUNCH, (uint64_t)(uintptr_t)pieces[0].name, pieces[0].number}};
    for (unsigned i = 0; i < count; i++)
        hits[i] = pieces[i].address;
    int r = spw_op_begin(&op);
    if (r < 0)
        return r == -ENODEV ? 0 : r; /* no such stream: the library says so itself */
    spw_duration_before(op.timed);
    spw_duration_after(op.timed, true);
    for (unsigned i = 0; i < count && then; i++)
        then(pieces[i]);
    spw_op_end(&op);
    return 0;
}

int spw_handed_begin(const char *name, uint64_t number, CUstream stream, CUdeviceptr read, CUdeviceptr written)
{
    struct piece pieces[2];
    unsigned count = 0, read_only = 0;
    const struct piece piece = {.handle = stream, .name = name, .number = number};
    if (written) {
        pieces[count] = piece;
        pieces[count].is_written = true;
        pieces[count++].address = written;
    }
    if (read && read != written) {
        pieces[count] = piece;
        pieces[count++].address = read;
        read_only = 1;
    }
    if (count == 0)
        return 0;
    if (SPW_GROW(list.pieces, list.room, list.count + count) < 0)
        return -ENOMEM;
    return run_op(pieces, count, read_only, hold);
}

int spw_handed_renew(void)
{
    int r = 0;
    for (unsigned i = 0; i < list.count && r == 0; i++)
        if (list.pieces[i].is_written && __atomic_load_n(&spw_versions_kept, __ATOMIC_RELAXED))
            r = run_op(&list.pieces[i], 1, 0, NULL);
    return r;
}

static void let_go(const struct piece *p, struct spw_block *b)
{
    struct spw_device *d = spw_device_of_address(p->address);
    if (!d)
        return;
    spw_mutex_lock(&d->slow, SPW_LOCK_SLOW);
    spw_lock();
    struct spw_object *o = b ? &b->object : spw_object_at_locked(p->address);
    struct spw_stream *s = spw_stream_of_locked(p->handle);
    if (o && s) {
        spw_uses_add_locked(&o->uses, s, spw_stream_next_locked(s));
        spw_stream_gate_locked(s); /* other ranks may wait for what this one does next */
    }
    if (b)
        spw_release_hold_locked(d, b);
    spw_unlock();
    spw_mutex_unlock(&d->slow);
}

void spw_handed_submitted(void)
{
    for (unsigned i = 0; i < list.count; i++)
        let_go(&list.pieces[i], list.pieces[i].block);
    free(list.pieces);
    memset(&list, 0, sizeof(list));
}

void spw_handed_keep(const char *why)
{
    for (unsigned i = 0; i < list.count; i++)
        spw_pin_address(list.pieces[i].address, why);
    spw_handed_submitted();
}
