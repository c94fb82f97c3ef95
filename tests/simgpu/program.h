/* program.h - declares how the simulated runtime tells the simulated driver how the program itself sees its memory.
 *
 * Machine code cannot be executed here, so a kernel of a real program is opaque (driver/opaque.h): a function of the
 * tensors that it is given. Only the program's own calls say where these begin and end. A library between program and
 * driver may put several tensors into one piece of memory, or one tensor into several, so the calls that reach the driver
 * do not tell; and it may launch again what the program launched once. So the runtime, which is above it, tells the driver
 * beforehand.
 *
 * The functions are looked up with cuGetProcAddress() by these names, and are no part of CUDA. A driver that lacks them
 * has no opaque kernels either. They return 0, and do nothing before cuInit(). */
#ifndef SIMGPU_PROGRAM_H
#define SIMGPU_PROGRAM_H
#include <stdint.h>

/* The program has been given these bytes of device memory, whose contents count as unwritten. */
typedef int simgpu_tensor_made(uint64_t address, uint64_t bytes);
/* The program has returned them: no later launch refers to them. `address` is that of a tensor; others are ignored. */
typedef int simgpu_tensor_gone(uint64_t address);
/* A copy or a set of the program writes these bytes; bytes outside of tensors are ignored. `source`: where a copy reads
 * them, since bytes that are unwritten there remain unwritten; 0 for a set. */
typedef int simgpu_tensor_written(uint64_t address, uint64_t bytes, uint64_t source);
/* The program is about to launch this kernel (a CUkernel or CUfunction) with these parameters, in the form that
 * cuLaunchKernel() takes. Other launches may come first. */
typedef int simgpu_launch_coming(const void *kernel, const unsigned grid[3], const unsigned block[3], void **params);

/* The driver calls this whenever the values change: no kernel of the device reaches a point where others wait for it
 * before `now_ns`. Infinite: the others need not wait for it, since it waits for them. `moved_ns` grows with what happens
 * on the device, but not with the host's calls. */
typedef void simgpu_clock_tell(double now_ns, double moved_ns);
/* The host waits for the hosts of other devices with which this one will exchange data (image.h), and does nothing else.
 * Returns the time of its clock. From now on the driver reports to `tell` how far the device is. */
typedef double simgpu_host_away(simgpu_clock_tell *tell);
/* The host goes on. Its clock is not before the clocks of those that it waited for. */
typedef void simgpu_host_back(double now_ns);
#endif
