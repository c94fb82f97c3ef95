/* noise.cu - work that belongs to no step. */
#include "noise.h"
#include "elementwise.h"

enum { ROWS_AT_LEAST = 64, COLUMNS = 256 };

static uint64_t random_bits;
static long places, place_wanted = -1; /* of this step so far; where noise comes, counted from 0 */

void noise_begin_step(bool wanted, uint64_t seed)
{
    random_bits = (seed + 1) * 0x9e3779b97f4a7c15u;
    random_bits ^= random_bits >> 31;
    place_wanted = wanted && places ? (long)(random_bits % (uint64_t)places) : -1;
    places = 0;
}

/* Two to five kernels on three tensors whose sizes are of the seed's choice. */
static void make_noise(void)
{
    const size_t rows = ROWS_AT_LEAST * (1 + (random_bits >> 32) % 3);
    const int rounds = 1 + (int)((random_bits >> 40) % 3);
    tensor a(rows, COLUMNS), b(rows, COLUMNS);
    fill(a, 1);
    fill(b, 2);
    for (int i = 1; i < rounds; i++)
        add_to(b, a);
    if (rounds > 1)
        sum_of(a, b);
}

void noise_here(void)
{
    if (places++ == place_wanted)
        make_noise();
}
