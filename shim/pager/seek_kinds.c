/* seek_kinds.c - counts looks by function and by size of upload. */
#include "seek_kinds.h"

#include "lock.h"
#include "layout.h"
#include "ledger.h"
#include "tables.h"

enum { AUDIT_EVERY = 4096 }; /* operations */

struct entry {
    struct spw_seek_kind kind;
    bool lost; /* no memory to add it: it is in no table */
    UT_hash_handle hh;
};

static struct entry *kinds;

uint64_t spw_seek_key_of_upload(uint64_t bytes)
{
    return bytes << 1 | 1;
}

struct spw_seek_kind *spw_seek_kind_of(uint64_t key)
{
    struct entry *e;
    HASH_FIND(hh, kinds, &key, sizeof(key), e);
    if (!e)
        SPW_TABLE_NEW(kinds, kind.key, e, .kind.key = key);
    return e ? &e->kind : NULL;
}

bool spw_seek_is_trusted(const struct spw_seek_kind *k, bool tainted)
{
    return k && !k->stores && k->looks[tainted] >= SPW_SEEK_ENOUGH;
}

bool spw_seek_is_suspicious(const struct spw_seek_kind *k, bool tainted)
{
    return !k || k->stores || !k->is_audited[tainted];
}

/* Has the next one in turn looked at again. That costs a look, for which nothing has to stay on the device. */
static void audit(struct spw_seek_kind *k)
{
    for (int i = 0; i < 2; i++)
        if (k->looks[i] >= SPW_SEEK_ENOUGH) {
            k->looks[i] = SPW_SEEK_ENOUGH - 1;
            k->is_audited[i] = true;
        }
    if (!(k->key & 1))
        spw_layout_watch((CUfunction)(uintptr_t)k->key);
}

static uint64_t audit_at; /* the number of operations at which the next is due */

void spw_seek_audit_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    static uint64_t turn; /* the key of the last one */
    struct entry *e;
    if (spw_tick < audit_at)
        return;
    audit_at = spw_tick + AUDIT_EVERY;
    HASH_FIND(hh, kinds, &turn, sizeof(turn), e);
    e = e && e->hh.next ? e->hh.next : kinds;
    if (!e)
        return;
    turn = e->kind.key;
    audit(&e->kind);
}

void spw_seek_audit_later_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    audit_at = spw_tick + AUDIT_EVERY;
}

void spw_seek_kinds_reset(void)
{
    SPW_TABLE_FREE(kinds);
    audit_at = 0;
}
