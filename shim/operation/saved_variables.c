/* saved_variables.c - copies them piece by piece. */
#include "saved_variables.h"

#include <errno.h>

#include "stash.h"
#include "streams.h"

int spw_variables_save_locked(const struct spw_variables *v, struct spw_device *d, struct spw_stream *s,
                              struct spw_saved_variables *ret_saved)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    uint32_t offset = 0;
    int r = spw_stash_take_for_long_locked(d, v->bytes, &offset);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < v->count && r == 0; i++)
        r = spw_stash_save_locked(d, s, s->begun, v->pieces[i].original, v->pieces[i].bytes, offset + v->pieces[i].offset);
    if (r < 0)
        spw_stash_give_locked(d, offset, v->bytes);
    else
        *ret_saved = (struct spw_saved_variables){d, offset, v->bytes};
    return r;
}

void spw_variables_give_locked(struct spw_saved_variables *saved)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
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
