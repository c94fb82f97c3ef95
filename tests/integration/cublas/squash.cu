/* squash.cu - the squash of the second tower. */
#include "squash.h"

SQUASH(other_squash)

void launch_other_squash(cudaStream_t stream, const float *z, float *x, int count)
{
    other_squash<<<1, 1, 0, stream>>>(z, x, count);
}
