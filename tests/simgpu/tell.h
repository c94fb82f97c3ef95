/* tell.h - finds the driver's functions that receive what the program does (program.h), for the libraries above all
 * others. */
#ifndef SIMGPU_TELL_H
#define SIMGPU_TELL_H
#include <cuda.h>
#include <stddef.h>

#include "program.h"

struct simgpu_tell { /* a member is NULL if the driver has no such function */
    simgpu_tensor_made *made;
    simgpu_tensor_gone *gone;
    simgpu_tensor_written *written;
    simgpu_launch_coming *coming;
    simgpu_host_away *away;
    simgpu_host_back *back;
};

typedef CUresult simgpu_resolve(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

/* `resolve` is cuGetProcAddress_v2(). */
static inline void simgpu_tell_open(struct simgpu_tell *tell, simgpu_resolve *resolve)
{
    const struct {
        const char *name;
        void **function;
    } wanted[] = {{"simgpu_tensor_made", (void **)&tell->made},       {"simgpu_tensor_gone", (void **)&tell->gone},
                  {"simgpu_tensor_written", (void **)&tell->written}, {"simgpu_launch_coming", (void **)&tell->coming},
                  {"simgpu_host_away", (void **)&tell->away},         {"simgpu_host_back", (void **)&tell->back}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        CUdriverProcAddressQueryResult status;
        void *function = NULL;
        if (resolve(wanted[i].name, &function, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &status) == CUDA_SUCCESS)
            *wanted[i].function = function;
    }
}
#endif
