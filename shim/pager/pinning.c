/* pinning.c - pins, and returns whether that failed. */
#include "pinning.h"

#include "pin.h"

/* Restores an earlier failure if nothing has failed since. */
static int failure_since(int earlier)
{
    const int failure = spw_pin_failure;
    if (failure == 0)
        spw_pin_failure = earlier;
    return failure;
}

static int pin_address(CUdeviceptr address, const char *why)
{
    const int earlier = spw_pin_failure;
    spw_pin_failure = 0;
    spw_pin_lasting(address, why);
    return failure_since(earlier);
}

static int pin_everything(const char *why)
{
    const int earlier = spw_pin_failure;
    spw_pin_failure = 0;
    spw_pin_everything(why);
    return failure_since(earlier);
}

const struct spw_pinning spw_pinning = {.address = pin_address, .everything = pin_everything};
