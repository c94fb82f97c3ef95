/* lock.c - waits in the kernel for a lock that is not free. */
#include "lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

atomic_int spw_engine_lock;

void spw_word_lock_contended(atomic_int *word)
{
    enum { SPINS = 100 };
    for (int i = 0; i < SPINS; i++)
        if (atomic_load_explicit(word, memory_order_relaxed) == 0 && spw_word_take(word))
            return;
    while (atomic_exchange_explicit(word, 2, memory_order_acquire) != 0)
        (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void spw_word_unlock_contended(atomic_int *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
