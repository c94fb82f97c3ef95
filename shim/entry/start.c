/* start.c - begins to keep the program within its budget: from here on hooks are called. */
#include "start.h"

#include <stddef.h>

#include "driver.h"
#include "live.h"
#include "layout.h"
#include "log.h"
#include "plan_follower.h"
#include "seek.h"
#include "settings.h"
#include "status.h"
#include "status_engine.h"
#include "summary.h"

/* Returns the name of a call that the engine needs and the driver lacks; such a driver is too old to keep a budget. NULL:
 * none. */
static const char *missing_call(void)
{
#define NEEDED(symbol) \
    { \
#symbol, (void *)spw_driver.symbol \
    }
    const struct {
        const char *name;
        void *address;
    } needed[] = {NEEDED(cuMemCreate),          NEEDED(cuMemMap),       NEEDED(cuMemUnmap),
                  NEEDED(cuMemSetAccess),       NEEDED(cuMemRelease),   NEEDED(cuMemAddressReserve),
                  NEEDED(cuMemHostRegister_v2), NEEDED(cuStreamGetCtx), NEEDED(cuThreadExchangeStreamCaptureMode)};
#undef NEEDED
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
        if (!needed[i].address)
            return needed[i].name;
    return NULL;
}

CUresult spw_library_start(void)
{
    const char *missing = missing_call();
    if (missing && spw_settings_ask_for_budget(spw_settings_get())) {
        spw_warn("the driver is too old to keep a budget (it has no %s; those since CUDA 10.2 do), so CUDA does not start; "
                 "without SPILLWAY_BUDGET the program runs as if spillway were not there" SPW_SEE("driver-too-old"),
                 missing);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (missing)
        return CUDA_SUCCESS;
    if (!spw_layout_supported())
        spw_warn("the driver is older than CUDA 12.4 and does not say what parameters kernels take: any launch may touch "
                 "everything, so nothing leaves the device, and what does not fit into the budget is out of memory" SPW_SEE(
                     "driver-too-old"));
    spw_seek_allowed = true;
    spw_plan_follower_open();
    spw_summary_arm();
    spw_status_start(SPW_MODE_SWAP, spw_status_fill_engine);
    __atomic_fetch_or(&spw_live, SPW_HOOKS, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
}
