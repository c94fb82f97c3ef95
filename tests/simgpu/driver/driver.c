/* driver.c - the way into and out of every call. */
#include "driver.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "chronicle.h"
#include "exec.h"
#include "memory.h"
#include "physical.h"
#include "sim.h"
#include "stats.h"
#include "touched.h"

struct device devices[MOST_DEVICES];
pthread_mutex_t driver_mutex = PTHREAD_MUTEX_INITIALIZER;

static bool initialised, forked;
static _Thread_local bool per_thread, in_host_function;

/* A child has the parent's memory but not its device. */
static void after_fork(void)
{
    pthread_mutex_init(&driver_mutex, NULL);
    forked = initialised;
}

static CUresult devices_init(void)
{
    CUresult r = physical_init(NULL);
    for (int d = 0; d < settings.devices && r == CUDA_SUCCESS; d++) {
        devices[d].ordinal = d;
        r = physical_init(&devices[d]);
        if (r == CUDA_SUCCESS)
            r = pools_init(&devices[d]);
    }
    return r;
}

CUresult driver_init(void)
{
    static bool watching;
    if (initialised)
        return forked ? CUDA_ERROR_NOT_INITIALIZED : CUDA_SUCCESS;
    if (!watching && pthread_atfork(NULL, NULL, after_fork) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    watching = true;
    if (settings_read() < 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = touched_init();
    if (r == CUDA_SUCCESS)
        r = chronicle_init();
    if (r == CUDA_SUCCESS)
        r = memory_init();
    if (r == CUDA_SUCCESS)
        r = devices_init();
    if (r != CUDA_SUCCESS)
        return r;
    sim_init();
    initialised = true;
    return sim_watch() < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

bool driver_is_live(void)
{
    return initialised && !forked;
}

void driver_lock(void)
{
    pthread_mutex_lock(&driver_mutex);
}

void driver_unlock(void)
{
    exec_close();
    pthread_mutex_unlock(&driver_mutex);
}

/* A call that waits lets other threads' calls come before it, as any call may. */
static void linger(const char *name)
{
    if (settings.linger_us && strstr(name, "Synchronize"))
        usleep(settings.linger_us);
}

CUresult driver_enter(struct call *call, const char *name, enum needs needs)
{
    linger(name);
    driver_lock();
    call->context = NULL;
    if (in_host_function)
        return CUDA_ERROR_NOT_PERMITTED;
    if (forked || (!initialised && needs != NEEDS_NOTHING))
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!initialised)
        return CUDA_SUCCESS;
    chronicle_enter(name);
    if (settings.capture_elsewhere && (!capture_is_relaxed() || strcmp(name, "cuCtxSynchronize") == 0))
        call_count_bound(name);
    sim_spend(settings.profile.call_ns);
    sim_advance();
    CUresult fault = settings_fault(name);
    if (fault != CUDA_SUCCESS) {
        stats.injected_failures++;
        return fault;
    }
    call->context = context_current();
    if (needs == NEEDS_CONTEXT && !call->context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (needs == NEEDS_CONTEXT && call->context->error)
        return call->context->error;
    return capture_any() && call_is_unsafe(name) ? capture_permits_unsafe() : CUDA_SUCCESS;
}

CUresult driver_leave(struct call *call, CUresult result)
{
    (void)call;
    chronicle_leave(result);
    driver_unlock();
    return result;
}

void per_thread_begin(void)
{
    per_thread = true;
}

void per_thread_end(void)
{
    per_thread = false;
}

bool per_thread_default(void)
{
    return per_thread;
}

void host_function_begin(void)
{
    in_host_function = true;
}

void host_function_end(void)
{
    in_host_function = false;
}

struct device *device_find(CUdevice ordinal)
{
    return ordinal >= 0 && ordinal < settings.devices ? &devices[ordinal] : NULL;
}
