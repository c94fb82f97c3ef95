/* lock.c - the engine lock when it is not free: waiting in the kernel. */
#include "lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

atomic_int spw_engine_lock;

void spw_lock_contended(void)
{
    enum { SPINS = 100 };
    for (int i = 0; i < SPINS; i++)
        if (atomic_load_explicit(&spw_engine_lock, memory_order_relaxed) == 0 && spw_try_lock())
            return;
    while (atomic_exchange_explicit(&spw_engine_lock, 2, memory_order_acquire) != 0)
        (void)syscall(SYS_futex, &spw_engine_lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void spw_unlock_contended(void)
{
    (void)syscall(SYS_futex, &spw_engine_lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
