/* life.c - the constructor, cuInit() and fork(): the three moments at which spillway changes state by itself; and a warning
 * at the end of a process in which it could not start although it was asked to. */
#include "life.h"
#include "api.h"
#include "counters.h"
#include "driver.h"
#include "folder.h"
#include "live.h"
#include "lock.h"
#include "log.h"
#include "open.h"
#include "nvtx.h"
#include "plan_follower.h"
#include "recorder.h"
#include "settings.h"
#include "start.h"
#include "status.h"
#include "summary.h"
#include "switches.h"
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Guards the following. Not held while the driver starts, which may open libraries: see open.c. A thread that calls here
 * from within the driver's start or ours has spw_inside set and does not come this far. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool settings_read;
static CUresult settings_result;
static CUresult start_result;
static bool started; /* nothing is left to be done at cuInit() */

/* Before main(): notes the current folder, which relative paths in settings refer to, and sets variables that frameworks
 * read when they are imported, and NVTX at its first call. Touches no file, thread or driver. */
__attribute__((constructor)) static void before_main(void)
{
    spw_folder_remember();
    const char *mode = getenv("SPILLWAY_MODE");
    if (!mode || strcmp(mode, "off") != 0)
        spw_switches_set();
    spw_nvtx_offer();
}

static void in_child(void)
{
    pthread_mutex_init(&lock, NULL);                                  /* another thread may have held it */
    atomic_store_explicit(&spw_engine_lock, 0, memory_order_relaxed); /* the same; a thread that ends takes it */
    spw_lock_witness_forget();
    spw_inside = 0;
    __atomic_store_n(&spw_live, 0, __ATOMIC_RELAXED);
    spw_plan_follower_in_child();
    spw_recorder_in_child();
    spw_status_in_child();
}

static void tell(const char *line)
{
    spw_warn("%s" SPW_SEE("allocator-hides-tensors"), line);
}

static CUresult read_settings(void)
{
    struct spw_settings settings;
    char message[1024];
    int r = spw_settings_read(&settings, message, sizeof(message));
    spw_log_setup(settings.log_level, settings.log_file);
    spw_settings_use(&settings);
    if (r < 0) {
        spw_warn("%s" SPW_SEE("setting-refused"), message);
        return CUDA_ERROR_INVALID_VALUE;
    }

    if (settings.mode == SPW_MODE_SWAP && !strcmp(spw_settings_rank(), "0")) /* all ranks have the same to say */
        spw_switches_tell_conflicts(tell);
    pthread_atfork(NULL, NULL, in_child);
    return CUDA_SUCCESS;
}

/* The first call of any thread reads the settings; all calls get its result. */
static CUresult settle_settings(void)
{
    spw_mutex_lock(&lock, SPW_LOCK_START);
    if (!settings_read) {
        settings_result = read_settings();
        settings_read = true;
    }
    spw_mutex_unlock(&lock);
    return settings_result;
}

/* A user who asks for a trace that cannot be written learns that before any work is done. */
static CUresult start_trace(void)
{
    spw_summary_arm();
    return spw_recorder_start() < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* After the driver's cuInit() has succeeded: the first call of any thread starts spillway, and the others wait for that. */
static CUresult settle_start(void)
{
    spw_mutex_lock(&lock, SPW_LOCK_START);
    if (!started) {
        if (spw_settings_get()->mode == SPW_MODE_SWAP)
            start_result = spw_library_start();
        if (start_result == CUDA_SUCCESS && spw_settings_get()->trace)
            start_result = start_trace();
        started = true;
    }
    spw_mutex_unlock(&lock);
    return start_result;
}

CUresult spw_life_init(unsigned int flags)
{
    if (!spw_driver_open() || !spw_driver.cuInit)
        return spw_driver_lacks();
    if (spw_inside)
        return spw_driver.cuInit(flags);

    CUresult result = settle_settings();
    if (result != CUDA_SUCCESS)
        return result;
    spw_inside = 1;
    result = spw_driver.cuInit(flags);
    if (result == CUDA_SUCCESS)
        result = settle_start();
    spw_inside = 0;
    return result;
}

/* ---- the end ---- */

static int find_other(struct dl_phdr_info *info, size_t size, void *data)
{
    const char **ret_path = data, *name = strrchr(info->dlpi_name, '/');
    Dl_info here;
    if (!name || strncmp(name, "/libcuda.so", strlen("/libcuda.so")) ||
        (dladdr(&settings_read, &here) && (uintptr_t)here.dli_fbase == info->dlpi_addr))
        return 0;
    *ret_path = info->dlpi_name;
    return 1;
}

/* A program may reach the driver by a way that does not lead here: by its file, or through another preloaded library that
 * opens it like that. If a budget was set, says so; that is not possible before the end, since cuInit() did not come here.
 * A driver that only spillway has opened may not have been started at all. */
__attribute__((destructor)) static void tell_what_went_past(void)
{
    const char *path = NULL, *budget = getenv("SPILLWAY_BUDGET");
    struct spw_settings settings;
    char message[1024];
    if (!budget || settings_read || (spw_driver_path() && spw_tally_of(SPW_TALLY_LAUNCHES).calls == 0))
        return;
    if (!dl_iterate_phdr(find_other, &path) || spw_settings_read(&settings, message, sizeof(message)) < 0 ||
        settings.mode != SPW_MODE_SWAP)
        return;
    spw_log_setup(settings.log_level, settings.log_file);
    spw_warn("SPILLWAY_BUDGET=%s was not kept: %s was started past spillway; another preloaded library takes the driver's "
             "calls, or the program opens that file (spillway doctor)" SPW_SEE("another-library"),
             budget, path);
}
