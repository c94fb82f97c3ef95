/* api_program.c - what the simulated runtime tells of the program's own view of its memory (../program.h). */
#include "lookup.h"

#include <string.h>

#include "../program.h"
#include "driver.h"
#include "meeting.h"
#include "module.h"
#include "opaque.h"
#include "sim.h"
#include "tensors.h"

static int made(uint64_t address, uint64_t bytes)
{
    driver_lock();
    bool good = !driver_is_live() || tensor_make(address, bytes);
    driver_unlock();
    return good ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
}

static int gone(uint64_t address)
{
    driver_lock();
    tensor_end(address);
    driver_unlock();
    return 0;
}

static int written(uint64_t address, uint64_t bytes, uint64_t source)
{
    driver_lock();
    bool good = tensors_copy(address, bytes, source);
    driver_unlock();
    return good ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
}

static int coming(const void *kernel, const unsigned grid[3], const unsigned block[3], void **params)
{
    driver_lock();
    const struct function *f = driver_is_live() ? function_resolve(kernel) : NULL;
    CUresult r = f ? opaque_announce(f->kernel, grid, block, params) : CUDA_SUCCESS;
    driver_unlock();
    return (int)r;
}

static double away(simgpu_clock_tell *tell)
{
    driver_lock();
    meeting_leave(tell);
    const double now_ns = sim_host_ns();
    driver_unlock();
    return now_ns;
}

static void back(double now_ns)
{
    driver_lock();
    meeting_return();
    if (now_ns > sim_host_ns())
        sim_spend(now_ns - sim_host_ns());
    sim_advance();
    driver_unlock();
}

void *program_call(const char *name)
{
    static const struct {
        const char *name;
        void *call;
    } calls[] = {{"simgpu_tensor_made", (void *)made},       {"simgpu_tensor_gone", (void *)gone},
                 {"simgpu_tensor_written", (void *)written}, {"simgpu_launch_coming", (void *)coming},
                 {"simgpu_host_away", (void *)away},         {"simgpu_host_back", (void *)back}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i].name, name) == 0)
            return calls[i].call;
    return NULL;
}
