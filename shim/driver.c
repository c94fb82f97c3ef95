/* driver.c - opens the real driver when the first call arrives and looks up every line of calls.h in it. */
#include "driver.h"
#include "find.h"
#include "log.h"
#include "resolve.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { UNTRIED, OPEN, ABSENT };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int state = UNTRIED; /* changes once, under lock; read without it */
static void *handle;
static char *driver_path;
static __thread int opening __attribute__((tls_model("initial-exec"))); /* this thread is inside open_driver() */

/* `data` is where to put why the first candidate could not be opened. */
static bool try_file(const char *path, void *data)
{
    char **ret_reason = data;
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle)
        driver_path = strdup(path);
    else if (!*ret_reason)
        *ret_reason = strdup(dlerror());
    return handle != NULL;
}

static void fill_table(void)
{
#define X(kind, symbol, asked, params, args) \
    if (!spw_driver.symbol) \
        spw_driver.symbol = (CUresult(CUDAAPI *) params)dlsym(handle, #symbol);
    SPW_DRIVER_CALLS(X)
#undef X
}

/* Nothing found is nothing to tell: many machines have no driver. */
static void tell_absence(const char *reason)
{
    const char *named = getenv("SPILLWAY_DRIVER");
    if (named)
        spw_warn("SPILLWAY_DRIVER=%s cannot be used as the driver%s%s", named, reason ? ": " : "", reason ? reason : "");
    else if (reason)
        spw_warn("the driver cannot be opened: %s", reason);
}

static int open_driver(void)
{
    char *reason = NULL;
    bool found = spw_find_driver(try_file, &reason);
    if (found) {
        fill_table();
        spw_resolve_learn();
    } else {
        tell_absence(reason);
    }
    free(reason);
    return found ? OPEN : ABSENT;
}

bool spw_driver_open(void)
{
    int now = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
    if (now != UNTRIED)
        return now == OPEN;
    if (opening) /* the driver's own start calls back into us */
        return false;

    pthread_mutex_lock(&lock);
    if (state == UNTRIED) {
        opening = 1;
        now = open_driver();
        opening = 0;
        __atomic_store_n(&state, now, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return state == OPEN;
}

const char *spw_driver_path(void)
{
    return driver_path;
}

void *spw_driver_symbol(const char *name)
{
    return spw_driver_open() ? dlsym(handle, name) : NULL;
}

CUresult spw_driver_lacks(void)
{
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == OPEN ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_NO_DEVICE;
}
