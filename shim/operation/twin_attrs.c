/* twin_attrs.c - reads the attributes of the original, and sets those of the twin. */
#include "twin_attrs.h"

#include "ask.h"
#include "driver.h"
#include "result.h"

/* The attributes that can be set for a function and decide whether it can be launched, or what it does.
 * (cuFuncSetCacheConfig, which divides caches, changes neither.) */
static const CUfunction_attribute attributes[] = {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                                  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
                                                  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
                                                  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH,
                                                  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                                                  CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE};

/* An attribute that the driver does not know cannot have been set. */
static int make_function_alike(CUfunction original, CUfunction twin, CUfunction_attribute which)
{
    int wanted = 0, value = 0;
    if (SPW_ASK_QUIETLY(cuFuncGetAttribute, &wanted, which, original) != CUDA_SUCCESS ||
        SPW_ASK_QUIETLY(cuFuncGetAttribute, &value, which, twin) != CUDA_SUCCESS || wanted == value)
        return 0;
    return spw_result(SPW_ASK(cuFuncSetAttribute, twin, which, wanted));
}

static int make_kernel_alike(CUkernel original, CUkernel twin, CUdevice device, CUfunction_attribute which)
{
    int wanted = 0, value = 0;
    if (SPW_ASK_QUIETLY(cuKernelGetAttribute, &wanted, which, original, device) != CUDA_SUCCESS ||
        SPW_ASK_QUIETLY(cuKernelGetAttribute, &value, which, twin, device) != CUDA_SUCCESS || wanted == value)
        return 0;
    return spw_result(SPW_ASK(cuKernelSetAttribute, which, wanted, twin, device));
}

int spw_twin_attrs_copy(CUfunction original, CUfunction twin, bool is_kernel)
{
    CUkernel kernels[2] = {(CUkernel)original, (CUkernel)twin};
    CUdevice device = 0;
    int r = 0;
    if (is_kernel) {
        r = spw_result(SPW_ASK(cuCtxGetDevice, &device));
        if (r == 0)
            r = spw_result(SPW_ASK(cuKernelGetFunction, &original, kernels[0]));
        if (r == 0)
            r = spw_result(SPW_ASK(cuKernelGetFunction, &twin, kernels[1]));
    }
    for (unsigned i = 0; i < sizeof(attributes) / sizeof(*attributes) && r == 0; i++) {
        if (is_kernel)
            r = make_kernel_alike(kernels[0], kernels[1], device, attributes[i]);
        if (r == 0)
            r = make_function_alike(original, twin, attributes[i]);
    }
    return r;
}
