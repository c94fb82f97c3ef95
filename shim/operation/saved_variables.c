/* saved_variables.c - copies variables piece by piece, and has the copies searched for addresses. */
#include "saved_variables.h"

#include <errno.h>

#include "digest.h"
#include "stash.h"
#include "streams.h"

static int save(const struct spw_variables *v, struct spw_device *d, struct spw_stream *s, uint32_t offset)
{
    int r = v->may_hold_addresses ? spw_stash_clear_locked(d, s, s->begun, v->bytes, offset) : 0; /* clears the gaps */
    for (uint32_t i = 0; i < v->count && r == 0; i++)
        r = spw_stash_save_locked(d, s, s->begun, v->pieces[i].original, v->pieces[i].bytes, offset + v->pieces[i].offset);
    return r;
}

static int search(struct spw_stream *s, struct spw_saved_variables *saved)
{
    const struct spw_word_search all = {.address = spw_stash_address_locked(saved->device, saved->offset),
                                        .words = saved->bytes / sizeof(CUdeviceptr),
                                        .ranges = spw_address_ranges_now()};
    int r = spw_digest_find_locked(saved->device, s->context, s->handle, &all, &saved->ticket);
    if (r < 0)
        return r;
    spw_stash_used_locked(saved->device, s, s->begun);
    r = spw_digests_send_locked(saved->device, s->handle);
    if (r < 0) {
        spw_digest_forget_locked(saved->ticket);
        return r;
    }
    saved->state = SPW_SAVED_SEARCHED;
    saved->stream = s->id;
    saved->number = s->begun;
    return 0;
}

int spw_variables_save_locked(const struct spw_variables *v, struct spw_device *d, struct spw_stream *s,
                              struct spw_saved_variables *ret_saved)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    uint32_t offset = 0;
    int r = spw_stash_take_for_long_locked(d, v->bytes, &offset);
    if (r < 0)
        return r;
    struct spw_saved_variables saved = {.device = d, .offset = offset, .bytes = v->bytes};
    r = save(v, d, s, offset);
    if (r == 0 && v->may_hold_addresses)
        r = search(s, &saved);
    if (r < 0)
        spw_stash_give_locked(d, offset, v->bytes);
    else
        *ret_saved = saved;
    return r;
}

enum spw_saved_state spw_variables_settle_locked(struct spw_saved_variables *saved)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_hash found;
    const int r = saved->state == SPW_SAVED_SEARCHED ? spw_digest_answer_locked(saved->device, saved->ticket, &found) : 0;
    if (r == 0)
        return saved->state;
    saved->state = r < 0 ? SPW_SAVED_UNKNOWN : found.word[0] ? SPW_SAVED_ADDRESSES : SPW_SAVED_PLAIN;
    spw_digest_forget_locked(saved->ticket);
    return saved->state;
}

void spw_variables_give_locked(struct spw_saved_variables *saved)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (saved->state == SPW_SAVED_SEARCHED)
        spw_digest_forget_locked(saved->ticket);
    if (saved->bytes)
        spw_stash_give_locked(saved->device, saved->offset, saved->bytes);
    *saved = (struct spw_saved_variables){0};
}

int spw_variables_lend_locked(const struct spw_variables *v, struct spw_stream *s, const struct spw_saved_variables *saved)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = saved->bytes == v->bytes ? 0 : -EINVAL;
    for (uint32_t i = 0; i < v->count && r == 0; i++)
        r = spw_stash_load_locked(saved->device, s, s->begun, v->pieces[i].twin, v->pieces[i].bytes,
                                  saved->offset + v->pieces[i].offset);
    return r;
}
