/* known_reads.c - keeps, for each thread, the addresses of its last launch. */
#include "known_reads.h"

/* A library that is loaded late has little thread-local storage, so only half of each address is kept, which is enough to
 * recognise it. If two addresses of a launch have the same half, both count as written if one is. */
struct known_reads {
    uint32_t list[SPW_CLASS_HITS];
    uint64_t reads; /* bit per address */
    unsigned count;
};
static _Thread_local struct known_reads known __attribute__((tls_model("initial-exec")));

/* Allocations begin at multiples of at least four bytes, so the low bits are left out. */
static uint32_t half_of(CUdeviceptr address)
{
    return (uint32_t)(address >> 2);
}

void spw_known_reads_note(const struct spw_op *op, bool taken)
{
    known.count = 0;
    known.reads = 0;
    if (!taken || !op->class || op->everything)
        return;
    const unsigned sure = op->count - op->doubtful;
    for (unsigned i = 0; i < sure && i < SPW_CLASS_HITS; i++) {
        known.list[known.count++] = half_of(op->hits[i]);
        if (!spw_op_writes_hit(op, i) || spw_op_is_told_to_read_hit(op, i))
            known.reads |= UINT64_C(1) << i;
    }
}

/* An address that the launch was given twice is only read if both are. */
static bool is_read(CUdeviceptr address)
{
    bool any = false, all = true;
    for (unsigned i = 0; i < known.count; i++)
        if (known.list[i] == half_of(address)) {
            any = true;
            all &= known.reads >> i & 1;
        }
    return any && all;
}

uint64_t spw_known_reads_take(const CUdeviceptr *list, unsigned count)
{
    uint64_t bits = 0;
    for (unsigned i = 0; known.count && i < count && i < 64; i++)
        if (is_read(list[i]))
            bits |= UINT64_C(1) << i;
    known.count = 0;
    return bits;
}
