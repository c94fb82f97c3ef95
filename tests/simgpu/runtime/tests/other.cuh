/* other.cuh - kernels that two source files of one program have in common. */
#ifndef OTHER_CUH
#define OTHER_CUH

template <int N = 11> __global__ void shared_template(int *out)
{
    *out += N;
}

static __global__ void local_kernel(int *out)
{
    *out += 12;
}

/* Launches both on `out`, and a static kernel of its own. */
void run_in_other_file(int *out);
#endif
