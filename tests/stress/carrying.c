/* carrying.c - threads that write and read tensors (workers.h), while at every step some tensor is told to leave or to come
 * back, as no plan would.
 *
 *     carrying LIBCUDA SEED STEPS
 */
#include <stdio.h>

#include "transfers.h"
#include "lock.h"
#include "workers.h"

enum { TENSORS = 10 };

#define BUDGET (5 * MIB)

static void carry(struct worker *w, struct tensor *t)
{
    unsigned what = any(w, 8);
    if (pthread_mutex_trylock(&worker_device->slow) != 0)
        return;
    spw_lock();
    struct spw_block *b = spw_block_of(spw_object_at_locked(t->a));
    if (what < 3)
        (void)spw_transfer_evict_locked(worker_device, b);
    else if (what < 6)
        (void)spw_transfer_prefetch_locked(worker_device, b);
    else if (what < 7)
        (void)spw_transfer_write_back_locked(worker_device, b);
    spw_transfer_pump_locked(worker_device);
    check_blocks_unlock();
}

static void *work(void *arg)
{
    struct worker *w = arg;
    MUST(cuCtxSetCurrent(w->context));
    for (unsigned step = 0; step < w->steps; step++) {
        struct tensor *t = &w->tensors[any(w, TENSORS)];
        unsigned what = any(w, 20);
        if (!t->a)
            allocate(w, t, (1 + any(w, 8)) * MIB / 8);
        else if (what == 0)
            give_back(w, t);
        else if (what == 1)
            check_reads(w);
        else if (what < 6 && t->written)
            read_back(w, t);
        else if (what < 10)
            set(w, t);
        else
            carry(w, t);
    }
    finish_work(w);
    return NULL;
}

int main(int argc, char **argv)
{
    if (!run_workers(argc, argv, BUDGET, NULL, work))
        return 2;
    const bool held = worker_device->handles.made_bytes_peak <= BUDGET;
    const bool carried = spw_transfer_counts.left_count && spw_transfer_counts.restored_count;
    printf("# %llu left, %llu came back, %llu kept, %llu needed earlier\n",
           (unsigned long long)spw_transfer_counts.left_count, (unsigned long long)spw_transfer_counts.restored_count,
           (unsigned long long)spw_transfer_counts.cancelled_count, (unsigned long long)spw_transfer_counts.late_count);
    printf("%sok 1 - tensors keep their bytes whatever leaves and comes back, and the budget holds\n",
           held && carried ? "" : "not ");
    return held && carried ? 0 : 1;
}
