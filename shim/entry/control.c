/* control.c - exports the functions of spillway.h, for a program that knows of spillway. */
#define SPILLWAY_CALL __attribute__((visibility("default")))
#include "spillway.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "follower.h"
#include "ledger.h"
#include "live.h"
#include "lock.h"
#include "names.h"
#include "recorder.h"
#include "settings.h"
#include "summary.h"

static bool is_live(int what)
{
    return __atomic_load_n(&spw_live, __ATOMIC_ACQUIRE) & what && !spw_inside;
}

static struct spw_device *device_of(int ordinal)
{
    return ordinal >= 0 && ordinal < SPW_MAX_DEVICES ? &spw_devices[ordinal] : NULL;
}

const char *spillway_version(void)
{
    return SPILLWAY_VERSION;
}

int spillway_active(void)
{
    return is_live(SPW_HOOKS);
}

int spillway_get_budget(int device, uint64_t *ret_bytes)
{
    const struct spw_device *d = device_of(device);
    int r = -ENODEV;
    if (!d || !ret_bytes)
        return -EINVAL;
    if (!is_live(SPW_HOOKS))
        return -EAGAIN;
    spw_lock();
    if (d->ready) {
        *ret_bytes = spw_budget_locked(d);
        r = 0;
    }
    spw_unlock();
    return r;
}

/* Returns true if the device is in use; else it will find its budget in the settings. */
static bool is_ready_or_told(const struct spw_device *d, int device, uint64_t bytes)
{
    spw_lock();
    const bool ready = d->ready;
    if (!ready)
        spw_settings_set_budget(device, bytes);
    spw_unlock();
    return ready;
}

int spillway_set_budget(int device, uint64_t bytes, uint64_t *ret_smallest_bytes)
{
    struct spw_device *d = device_of(device);
    uint64_t smallest = 0;
    if (!d || bytes == 0)
        return -EINVAL;
    if (!is_live(SPW_HOOKS))
        return -EAGAIN;
    if (!is_ready_or_told(d, device, bytes))
        return 0;
    spw_inside = 1;
    int r = spw_budget_set(d, bytes, &smallest);
    spw_inside = 0;
    if (r == -ENOMEM && ret_smallest_bytes)
        *ret_smallest_bytes = smallest;
    return r < 0 && r != -ENOMEM ? -EIO : r;
}

int spillway_parse_amount(const char *text, int device, uint64_t *ret_bytes)
{
    const struct spw_device *d = device_of(device);
    struct spw_amount amount;
    if (!text || !ret_bytes || !d || spw_amount_parse(text, &amount) < 0)
        return -EINVAL;
    if (amount.kind == SPW_AMOUNT_BYTES) {
        *ret_bytes = amount.bytes;
        return 0;
    }
    if (!is_live(SPW_HOOKS))
        return -EAGAIN;
    spw_lock();
    const uint64_t total = d->total_bytes;
    spw_unlock();
    if (total == 0)
        return -ENODEV;
    *ret_bytes = (uint64_t)((double)total * amount.percent / 100);
    return 0;
}

int spillway_step(void)
{
    if (!is_live(SPW_HOOKS | SPW_NOTES))
        return -EAGAIN;
    if (is_live(SPW_NOTES))
        spw_record_hint();
    spw_lock();
    if (spw_plan_follower_any)
        spw_follower->hint();
    spw_unlock();
    return 0;
}

long spillway_report(char *buffer, size_t size)
{
    char *text = NULL;
    size_t length = 0;
    if (size && !buffer)
        return -EINVAL;
    if (!is_live(SPW_HOOKS))
        return -EAGAIN;
    int r = spw_summary_text(&text, &length);
    if (r < 0)
        return r;
    if (size)
        snprintf(buffer, size, "%s", text);
    free(text);
    return (long)length;
}

int spillway_name(uint64_t address, const char *name)
{
    if (!name)
        return -EINVAL;
    if (!is_live(SPW_HOOKS))
        return -EAGAIN;
    spw_lock();
    int r = spw_names_set_locked(address, name);
    spw_unlock();
    return r;
}
