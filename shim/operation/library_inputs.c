/* library_inputs.c - keeps, for each thread, the library call that it is in: its inputs, and what it has done to its
 * workspace. */
#include "library_inputs.h"

#include <stddef.h>

#include "call_args.h"
#include "content.h"

static _Thread_local struct spw_library_inputs now;

struct spw_library_inputs spw_library_inputs_enter(const struct spw_library_inputs *inputs)
{
    const struct spw_library_inputs around = now;
    now = *inputs;
    now.epoch = __atomic_load_n(&spw_version_epoch, __ATOMIC_RELAXED);
    return around;
}

void spw_library_inputs_leave(const struct spw_library_inputs *around)
{
    now = *around;
}

static bool is_input(CUdeviceptr address)
{
    for (int i = 0; i < SPW_LIBRARY_INPUTS; i++)
        if (now.address[i] && now.address[i] == address)
            return true;
    return false;
}

static bool is_in_workspace(CUdeviceptr address)
{
    return address - now.workspace < now.workspace_bytes;
}

uint64_t spw_library_inputs_among(const CUdeviceptr *hits, unsigned count)
{
    uint64_t found = 0;
    if (!(now.address[0] | now.address[1] | now.address[2]))
        return 0;
    for (unsigned i = 0; i < count && i < 64; i++)
        found |= (uint64_t)is_input(hits[i]) << i;
    return found;
}

uint64_t spw_library_workspace_among(const CUdeviceptr *hits, unsigned count, unsigned doubtful)
{
    uint64_t found = 0;
    if (!spw_library_with_workspace())
        return 0;
    for (unsigned i = 0; i < count; i++) {
        if (!is_in_workspace(hits[i]))
            continue;
        if (i >= 64 || i >= count - doubtful)
            return 0;
        found |= UINT64_C(1) << i;
    }
    return found;
}

const struct spw_library_inputs *spw_library_with_workspace(void)
{
    return now.workspace_bytes && now.epoch == spw_version_epoch ? &now : NULL;
}

/* Notes a set that the call makes of a part of its workspace. Returns false if it is none, or there is no room for it. */
static bool note_set(const struct spw_call_args *s)
{
    if (!s || s->kind != SPW_SUBMIT_SET || s->set.rows != 1 || now.set_count == SPW_LIBRARY_SETS ||
        !is_in_workspace(s->set.to) ||
        s->set.width * s->set.element_bytes > now.workspace_bytes - (s->set.to - now.workspace))
        return false;
    now.sets[now.set_count++] = (struct spw_library_set){s->set.to, s->set.width, s->set.value, s->set.element_bytes};
    return true;
}

void spw_library_workspace_used(const struct spw_call_args *s, const CUdeviceptr *hits, unsigned count)
{
    if (!now.workspace_bytes || note_set(s))
        return;
    for (unsigned i = 0; i < count; i++)
        if (is_in_workspace(hits[i])) {
            now.workspace_bytes = 0;
            return;
        }
}
