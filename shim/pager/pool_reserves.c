/* pool_reserves.c - keeps count of what each pool of the driver has reserved, and what is allocated from it. */
#include "pool_reserves.h"

#include "ask.h"
#include "driver.h"
#include "lock.h"
#include "streams.h"
#include "tables.h"
#include "now.h"
#include "uses_wait.h"

struct spw_pool_reserve {
    CUmemoryPool pool;
    struct spw_device *device;
    struct spw_reserve bill;
    uint64_t live_bytes;   /* bytes allocated from it, or asked for */
    struct spw_uses frees; /* the frees of what was allocated from it, as uses of streams */
    bool unused;           /* something was freed since everything unused was given back */
    bool gone;             /* destroyed */
    struct spw_pool_reserve *next;
};

struct piece { /* an allocation */
    uint64_t address;
    struct spw_pool_reserve *from;
    uint64_t bytes, number;
    bool lost;
    UT_hash_handle hh;
};

_Atomic uint64_t spw_billed_last;

/* Guarded by the engine lock. */
static struct spw_pool_reserve *reserves;
static struct piece *pieces;

static uint64_t reserved_bytes(struct spw_pool_reserve *p)
{
    cuuint64_t bytes = 0;
    if (p->gone)
        return p->live_bytes || !spw_uses_done_locked(&p->frees) ? p->bill.billed_bytes : 0;
    if (!p->pool || SPW_ASK(cuMemPoolGetAttribute, p->pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes) != CUDA_SUCCESS)
        return p->live_bytes - p->bill.asking_bytes;
    return bytes;
}

static uint64_t settle(struct spw_pool_reserve *p)
{
    return spw_reserve_settle_locked(p->device, &p->bill, reserved_bytes(p));
}

/* Removes the records of destroyed pools of which nothing is left. */
static void sweep(void)
{
    for (struct spw_pool_reserve **at = &reserves, *p; (p = *at);) {
        if (p->gone && !p->live_bytes && !p->bill.billed_bytes) {
            *at = p->next;
            free(p);
        } else {
            at = &p->next;
        }
    }
}

static struct spw_pool_reserve *find(CUmemoryPool pool, const struct spw_device *d)
{
    struct spw_pool_reserve *p = reserves;
    while (p && (p->gone || p->pool != pool || (d && p->device != d)))
        p = p->next;
    return p;
}

struct spw_pool_reserve *spw_pool_reserve_ask_locked(CUmemoryPool pool, struct spw_device *d, uint64_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_pool_reserve *p = find(pool, d);
    if (!p && (p = malloc(sizeof(*p)))) {
        *p = (struct spw_pool_reserve){.pool = pool, .device = d, .next = reserves};
        reserves = p;
    }
    if (p) {
        p->live_bytes += bytes;
        p->bill.asking_bytes += bytes;
        p->bill.billed_bytes += bytes;
    }
    return p;
}

static void forget_piece(struct piece *piece)
{
    piece->from->live_bytes -= piece->bytes;
    SPW_TABLE_REMOVE(pieces, piece);
}

static struct piece *find_piece(uint64_t address)
{
    struct piece *piece;
    HASH_FIND(hh, pieces, &address, sizeof(address), piece);
    return piece;
}

uint64_t spw_pool_reserve_answered_locked(struct spw_pool_reserve *p, uint64_t bytes, CUdeviceptr address)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct piece *piece = address ? find_piece(address) : NULL;
    p->bill.asking_bytes -= bytes;
    if (piece) /* the driver gave the address out again, so the free that we missed is over */
        forget_piece(piece);
    if (address) /* without memory for the record it counts as allocated for good */
        SPW_TABLE_NEW(pieces, address, piece, .address = address, .from = p, .bytes = bytes, .number = ++spw_billed_last);
    else
        p->live_bytes -= bytes;
    const uint64_t missing = settle(p);
    sweep();
    return address ? missing : 0;
}

void spw_pool_reserve_billed_locked(struct spw_pool_reserve *p, uint64_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    p->bill.billed_bytes += bytes;
}

void spw_pool_reserve_freed_locked(CUdeviceptr address, uint64_t last, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct piece *piece = find_piece(address);
    if (!piece || piece->number > last)
        return;
    struct spw_pool_reserve *p = piece->from;
    if (s)
        spw_uses_add_locked(&p->frees, s, spw_stream_next_locked(s));
    forget_piece(piece);
    p->unused = true;
    (void)settle(p);
    sweep();
}

void spw_pool_reserve_settle_locked(CUmemoryPool pool)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_pool_reserve *p = find(pool, NULL);
    if (p)
        (void)settle(p);
}

void spw_pool_reserve_gone_locked(CUmemoryPool pool)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_pool_reserve *p = find(pool, NULL);
    if (!p)
        return;
    p->gone = true;
    (void)settle(p);
    sweep();
}

bool spw_pool_reserves_trim_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint64_t before = d->foreign_bytes;
    for (struct spw_pool_reserve *p = reserves; p; p = p->next) {
        if (p->device != d || !p->unused)
            continue;
        if (!spw_uses_done_locked(&p->frees))
            (void)spw_uses_mark_locked(&p->frees); /* so that it is known later when they are done */
        else
            p->unused = false;
        if (p->pool && !p->gone)
            (void)SPW_ASK(cuMemPoolTrimTo, p->pool, 0);
        (void)settle(p);
    }
    sweep();
    return d->foreign_bytes < before;
}

bool spw_pool_reserves_pending_locked(const struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    bool any = false;
    for (struct spw_pool_reserve *p = reserves; p && !any; p = p->next)
        any = p->device == d && p->unused && !spw_uses_done_locked(&p->frees);
    return any;
}

bool spw_pool_reserves_trim_unlocking(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_uses frees = {0};
    bool any = false;
    for (struct spw_pool_reserve *p = reserves; p; p = p->next) {
        if (p->device != d || !p->unused)
            continue;
        any = true;
        spw_uses_merge_locked(&frees, &p->frees);
    }
    return any && spw_uses_wait_a_while_unlocking(&frees) == 0 && spw_pool_reserves_trim_locked(d);
}

/* Returns the bytes that pools still hold of what was freed. */
static uint64_t unused_bytes(const struct spw_device *d)
{
    uint64_t bytes = 0;
    for (const struct spw_pool_reserve *p = reserves; p; p = p->next)
        if (p->device == d && p->unused && p->bill.billed_bytes > p->live_bytes)
            bytes += p->bill.billed_bytes - p->live_bytes;
    return bytes;
}

void spw_pool_reserves_grow_budget_unlocking(struct spw_device *d, uint64_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (d->handles.budget_bytes < bytes && !spw_pool_reserves_trim_locked(d))
        (void)spw_pool_reserves_trim_unlocking(d);
    const uint64_t began_ns =
        spw_now_ns(); /* a gate is not waited for without end: a program that is refused can do something else */
    while (d->handles.budget_bytes < bytes && bytes - d->handles.budget_bytes <= unused_bytes(d) &&
           spw_streams_gated_locked() && spw_pool_reserves_pending_locked(d) &&
           spw_now_ns() - began_ns <= SPW_WAIT_MOST_NS) {
        spw_streams_await_gate_unlocking();
        (void)spw_pool_reserves_trim_locked(d);
    }
}

void spw_pool_reserves_reset(void)
{
    SPW_TABLE_FREE(pieces);
    while (reserves) {
        struct spw_pool_reserve *p = reserves;
        reserves = p->next;
        free(p);
    }
}
