/* open.c - opens the real driver when the first call arrives, and looks up every line of calls.h in it. */
#include "open.h"
#include "driver.h"
#include "find.h"
#include "lock.h"
#include "log.h"
#include "loader.h"
#include "resolve.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { UNTRIED, OPEN, ABSENT };

/* Guards the step from UNTRIED to the others. Not held while the loader works: the constructor of a library that makes a
 * driver call holds the loader's lock and would wait for this one, while the holder of this one waits for the loader. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int state = UNTRIED; /* changes once, under the lock; read without it. The rest is constant from then on. */
static void *handle;
static const char *driver_path;
static __thread int opening __attribute__((tls_model("initial-exec"))); /* this thread is inside open_driver() */

struct attempt { /* what one thread found; several may try at the same time and find the same */
    void *handle;
    char *path;
    char *reason; /* why the first candidate could not be opened */
    struct spw_driver table;
};

static bool try_file(const char *path, void *data)
{
    struct attempt *attempt = data;
    attempt->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (attempt->handle)
        attempt->path = strdup(path);
    else if (!attempt->reason)
        attempt->reason = strdup(dlerror());
    return attempt->handle != NULL;
}

static void fill_table(struct attempt *attempt)
{
#define X(kind, symbol, asked, params, args) \
    attempt->table.symbol = (CUresult(CUDAAPI *) params)spw_lookups_of_loader(attempt->handle, #symbol);
    SPW_DRIVER_CALLS(X)
#undef X
}

/* Says nothing if nothing was found: many machines have no driver. */
static void tell_absence(const char *reason)
{
    const char *named = getenv("SPILLWAY_DRIVER");
    if (named)
        spw_warn("SPILLWAY_DRIVER=%s cannot be used as the driver%s%s" SPW_SEE("driver-not-opened"), named,
                 reason ? ": " : "", reason ? reason : "");
    else if (reason)
        spw_warn("the driver cannot be opened: %s" SPW_SEE("driver-not-opened"), reason);
}

/* Member by member, since other threads may be reading them. */
static void publish_table(const struct spw_driver *table)
{
    void *const *from = (void *const *)table;
    void **to = (void **)&spw_driver;
    for (size_t i = 0; i < sizeof(*table) / sizeof(*to); i++)
        __atomic_store_n(&to[i], from[i], __ATOMIC_RELEASE);
}

/* Keeps the first attempt that gets here. */
static void settle(struct attempt *attempt, bool found)
{
    spw_mutex_lock(&lock, SPW_LOCK_START);
    if (state == UNTRIED && found) {
        handle = attempt->handle;
        driver_path = attempt->path;
        attempt->path = NULL;
        publish_table(&attempt->table);
        spw_resolve_learn();
    }
    if (state == UNTRIED) {
        if (!found)
            tell_absence(attempt->reason);
        __atomic_store_n(&state, found ? OPEN : ABSENT, __ATOMIC_RELEASE);
    }
    spw_mutex_unlock(&lock);
}

static void open_driver(void)
{
    struct attempt attempt = {0};
    bool found = spw_find_driver(try_file, &attempt);
    if (found)
        fill_table(&attempt);
    settle(&attempt, found);
    free(attempt.reason);
    free(attempt.path);
}

bool spw_driver_open(void)
{
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == UNTRIED && !opening) {
        opening = 1; /* the driver's own start may call back into us */
        open_driver();
        opening = 0;
    }
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == OPEN;
}

const char *spw_driver_path(void)
{
    return driver_path;
}

void *spw_driver_symbol(const char *name)
{
    return spw_driver_open() ? spw_lookups_of_loader(handle, name) : NULL;
}

CUresult spw_driver_lacks(void)
{
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == OPEN ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_NO_DEVICE;
}
