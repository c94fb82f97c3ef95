/* life.c - the constructor, cuInit() and fork(): the three moments at which spillway changes state by itself. */
#include "life.h"
#include "api.h"
#include "driver.h"
#include "hooks.h"
#include "log.h"
#include "settings.h"
#include "start.h"
#include "switches.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Guards what follows. Held while the driver starts; a thread that the driver's start calls us from has spw_inside set and
 * does not come here. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool settings_read;
static CUresult settings_result;
static CUresult start_result;
static int started; /* spw_start() was called; also read without the lock */

/* Before main(): only the environment, which frameworks read when they are imported. No file, no thread, no driver. */
__attribute__((constructor)) static void set_switches(void)
{
    const char *mode = getenv("SPILLWAY_MODE");
    if (!mode || !strcmp(mode, "swap"))
        spw_switches_set();
}

static void in_child(void)
{
    pthread_mutex_init(&lock, NULL); /* another thread may have held it */
    spw_inside = 0;
    __atomic_store_n(&spw_live, 0, __ATOMIC_RELAXED);
}

static CUresult read_settings(void)
{
    struct spw_settings settings;
    char message[1024];
    int r = spw_settings_read(&settings, message, sizeof(message));
    spw_log_setup(settings.log_level, settings.log_file);
    spw_settings_use(&settings);
    if (r < 0) {
        spw_warn("%s", message);
        return CUDA_ERROR_INVALID_VALUE;
    }

    const char *conflict = settings.mode == SPW_MODE_SWAP ? spw_switches_conflict() : NULL;
    if (conflict)
        spw_warn("%s asks for expandable_segments: tensors inside such segments stay on the device; "
                 "backend:cudaMallocAsync lets spillway move them",
                 conflict);
    pthread_atfork(NULL, NULL, in_child);
    return CUDA_SUCCESS;
}

static CUresult init_locked(unsigned int flags)
{
    if (!settings_read) {
        settings_result = read_settings();
        settings_read = true;
    }
    if (settings_result != CUDA_SUCCESS)
        return settings_result;

    CUresult result = spw_driver.cuInit(flags);
    if (result != CUDA_SUCCESS || started)
        return result != CUDA_SUCCESS ? result : start_result;

    if (spw_settings()->mode == SPW_MODE_SWAP)
        start_result = spw_start();
    __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
    return start_result;
}

CUresult spw_life_init(unsigned int flags)
{
    if (!spw_driver_open() || !spw_driver.cuInit)
        return spw_driver_lacks();
    if (spw_inside)
        return spw_driver.cuInit(flags);

    pthread_mutex_lock(&lock);
    spw_inside = 1;
    CUresult result = init_locked(flags);
    spw_inside = 0;
    pthread_mutex_unlock(&lock);
    return result;
}
