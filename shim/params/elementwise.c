/* elementwise.c - recognises PyTorch's element-wise kernels by name and parameters. */
#include "elementwise.h"

#include <stdio.h>
#include <string.h>

enum { COUNT, FUNCTION, TENSORS, LEAST }; /* indexes of their first parameters */

static const char *const names[] = {"_ZN2at6native29vectorized_elementwise_kernelI",
                                    "_ZN2at6native27unrolled_elementwise_kernelI"};

/* The array is std::array<char *, n>; before PyTorch 2.6 it was at::detail::Array<char *, n>. */
static bool names_array_of(const char *name, unsigned n)
{
    char array[32];
    snprintf(array, sizeof(array), "5arrayIPcLm%uE", n);
    if (strstr(name, array))
        return true;
    snprintf(array, sizeof(array), "5ArrayIPcLi%uE", n);
    return strstr(name, array);
}

int spw_elementwise_tensors(const char *name, const struct spw_param *params, unsigned count)
{
    bool is_known = false;
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
        is_known |= strncmp(name, names[i], strlen(names[i])) == 0;
    if (!is_known || count < LEAST || params[COUNT].size_bytes != sizeof(int) ||
        params[TENSORS].size_bytes % sizeof(CUdeviceptr) || !params[TENSORS].size_bytes)
        return -1;
    return names_array_of(name, params[TENSORS].size_bytes / sizeof(CUdeviceptr)) ? TENSORS : -1;
}
