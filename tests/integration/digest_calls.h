/* digest_calls.h - a simulated device whose digests are asked for by parts of the library, without the hooks. */
#ifndef SPILLWAY_TESTS_DIGEST_CALLS_H
#define SPILLWAY_TESTS_DIGEST_CALLS_H
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "../simgpu/tests/device.h"
#include "../unit/common/unlocked.h"
#include "devices.h"
#include "digest.h"
#include "driver.h"
#include "lock.h"
#include "own_memory.h"
#include "settings.h"
#include "unmanaged.h"

enum { RING_BYTES = SPW_DIGEST_SLOTS * 16 };

static struct spw_device *d;

/* The driver calls of the library go to the device's own symbols. */
static inline void start(void)
{
    static struct spw_settings settings;
    device_start();
    spw_digest_charge = spw_unmanaged_take_locked; /* as it is by the time that anything asks for one */
#define X(kind, symbol, asked, params, args) *(void **)&spw_driver.symbol = dlsym(RTLD_DEFAULT, #symbol);
    SPW_DRIVER_CALLS(X)
#undef X
    spw_settings_default(&settings);
    settings.budget.every = (struct spw_amount){.kind = SPW_AMOUNT_BYTES, .bytes = 8 * MIB};
    spw_settings_use(&settings);
    CUcontext current;
    d = spw_device_current(&current);
    assert_non_null(d);
    assert_ptr_equal(current, context);
}

static inline int ask(CUstream stream, CUdeviceptr a, size_t bytes, uint32_t *ret_ticket)
{
    spw_lock();
    int r = spw_digest_ask_locked(d, context, stream, a, bytes, ret_ticket);
    spw_unlock();
    return r;
}

static inline int send(CUstream stream)
{
    spw_lock();
    int r = spw_digests_send_locked(d, stream);
    spw_unlock();
    return r;
}

static inline int answer(uint32_t ticket, struct spw_hash *ret_hash)
{
    spw_lock();
    int r = spw_digest_answer_locked(d, ticket, ret_hash);
    spw_unlock();
    return r;
}

static inline void forget(uint32_t ticket)
{
    spw_lock();
    spw_digest_forget_locked(ticket);
    spw_unlock();
}

static inline unsigned held(void)
{
    spw_lock();
    unsigned n = spw_digests_held_locked(d);
    spw_unlock();
    return n;
}

static inline struct spw_hash answered(uint32_t ticket)
{
    struct spw_hash hash = {{0, 0}};
    assert_int_equal(answer(ticket, &hash), 1);
    return hash;
}

static inline int open_digests(void)
{
    pthread_mutex_lock(&d->slow);
    spw_lock();
    const int r = spw_digests_open_unlocking(d, context);
    spw_unlock();
    pthread_mutex_unlock(&d->slow);
    return r;
}
#endif
