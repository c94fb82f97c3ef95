/* other.cu - the second source file of the kernels program. */
#include "other.cuh"

namespace
{
__global__ void hundred(int *out)
{
    *out += 100;
}
} // namespace

void run_in_other_file(int *out)
{
    shared_template<<<1, 1>>>(out);
    local_kernel<<<1, 1>>>(out);
    hundred<<<1, 1>>>(out);
}
