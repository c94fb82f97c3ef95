/* forward.c - finds the driver's function behind a forwarder when it is first called. */
#include "forward.h"
#include "open.h"

extern void **const spw_forward_slots[];

void *spw_forward_find(unsigned index)
{
    void *function = spw_driver_symbol(spw_forward_names[index]);
    if (!function)
        return (void *)spw_driver_lacks;
    __atomic_store_n(spw_forward_slots[index], function, __ATOMIC_RELEASE);
    return function;
}
