/* hooks_module.c - modules, libraries and tensor maps: the driver's answers pass unchanged, and what they tell about
 * handles and addresses is noted. */
#include "hooks.h"

#include "access.h"
#include "layout.h"
#include "lock.h"
#include "result.h"
#include "tensormap.h"
#include "writesets.h"

/* ---- loading: what had this handle before is gone, whether or not its end was seen ---- */

static void forget(const void *owner)
{
    spw_layout_forget(owner);
    spw_lock();
    spw_writesets_sweep_locked();
    spw_unlock();
}

static CUresult loaded(CUresult result, void *const *handle)
{
    if (result == CUDA_SUCCESS)
        forget(*handle);
    return result;
}

CUresult spw_on_cuModuleLoad(CUmodule *module, const char *fname)
{
    return loaded(SPW_DRIVER(cuModuleLoad, (module, fname)), (void **)module);
}

CUresult spw_on_cuModuleLoadData(CUmodule *module, const void *image)
{
    return loaded(SPW_DRIVER(cuModuleLoadData, (module, image)), (void **)module);
}

CUresult spw_on_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions, CUjit_option *options,
                                   void **optionValues)
{
    return loaded(SPW_DRIVER(cuModuleLoadDataEx, (module, image, numOptions, options, optionValues)), (void **)module);
}

CUresult spw_on_cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
    return loaded(SPW_DRIVER(cuModuleLoadFatBinary, (module, fatCubin)), (void **)module);
}

CUresult spw_on_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions, void **jitOptionsValues,
                                  unsigned int numJitOptions, CUlibraryOption *libraryOptions, void **libraryOptionValues,
                                  unsigned int numLibraryOptions)
{
    return loaded(SPW_DRIVER(cuLibraryLoadData, (library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
                                                 libraryOptionValues, numLibraryOptions)),
                  (void **)library);
}

CUresult spw_on_cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
                                      void **jitOptionsValues, unsigned int numJitOptions, CUlibraryOption *libraryOptions,
                                      void **libraryOptionValues, unsigned int numLibraryOptions)
{
    return loaded(SPW_DRIVER(cuLibraryLoadFromFile, (library, fileName, jitOptions, jitOptionsValues, numJitOptions,
                                                     libraryOptions, libraryOptionValues, numLibraryOptions)),
                  (void **)library);
}

/* ---- unloading: forgotten before the driver may hand the handles out again ---- */

CUresult spw_on_cuModuleUnload(CUmodule hmod)
{
    int r = spw_versions_break();
    if (r < 0)
        return spw_cuda(r);
    forget(hmod);
    return SPW_DRIVER(cuModuleUnload, (hmod));
}

CUresult spw_on_cuLibraryUnload(CUlibrary library)
{
    int r = spw_versions_break();
    if (r < 0)
        return spw_cuda(r);
    forget(library);
    return SPW_DRIVER(cuLibraryUnload, (library));
}

/* ---- functions and kernels ---- */

CUresult spw_on_cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    CUresult result = SPW_DRIVER(cuModuleGetFunction, (hfunc, hmod, name));
    if (result == CUDA_SUCCESS)
        spw_layout_note_function(*hfunc, hmod);
    return result;
}

/* The call may write fewer handles than it was given room for: only as many are read as the module has functions. */
CUresult spw_on_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions, CUmodule mod)
{
    CUresult result = SPW_DRIVER(cuModuleEnumerateFunctions, (functions, numFunctions, mod));
    unsigned count = 0;
    if (result == CUDA_SUCCESS && SPW_DRIVER(cuModuleGetFunctionCount, (&count, mod)) == CUDA_SUCCESS)
        for (unsigned i = 0; i < count && i < numFunctions; i++)
            spw_layout_note_function(functions[i], mod);
    return result;
}

CUresult spw_on_cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
    CUresult result = SPW_DRIVER(cuLibraryGetKernel, (pKernel, library, name));
    if (result == CUDA_SUCCESS)
        spw_layout_note_kernel(*pKernel, library);
    return result;
}

CUresult spw_on_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
    CUresult result = SPW_DRIVER(cuLibraryEnumerateKernels, (kernels, numKernels, lib));
    unsigned count = 0;
    if (result == CUDA_SUCCESS && SPW_DRIVER(cuLibraryGetKernelCount, (&count, lib)) == CUDA_SUCCESS)
        for (unsigned i = 0; i < count && i < numKernels; i++)
            spw_layout_note_kernel(kernels[i], lib);
    return result;
}

CUresult spw_on_cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
    CUresult result = SPW_DRIVER(cuLibraryGetModule, (pMod, library));
    if (result == CUDA_SUCCESS)
        spw_layout_note_part(*pMod, library);
    return result;
}

CUresult spw_on_cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    CUresult result = SPW_DRIVER(cuKernelGetFunction, (pFunc, kernel));
    if (result == CUDA_SUCCESS)
        spw_layout_note_function(*pFunc, kernel);
    return result;
}

/* ---- tensor maps ---- */

static const char why_tensormap[] = "a tensor map was made for it";

static CUresult encoded(CUresult result, const CUtensorMap *map, const void *address)
{
    CUdeviceptr base = (CUdeviceptr)(uintptr_t)address;
    if (result == CUDA_SUCCESS && spw_in_arena(base) && spw_tensormap_made(map, base) < 0)
        spw_pin_address(base, why_tensormap);
    return result;
}

/* True when it is worth to try again: a driver may refuse an address that nothing is mapped at now, which the program
 * can't know of. So the second try is made with the memory in place. */
static bool refused(CUresult result, const void *address)
{
    CUdeviceptr base = (CUdeviceptr)(uintptr_t)address;
    if (result == CUDA_SUCCESS || !spw_in_arena(base))
        return false;
    spw_pin_address(base, why_tensormap);
    return true;
}

#define ENCODE(symbol, args) \
    CUresult result = SPW_DRIVER(symbol, args); \
    if (refused(result, globalAddress)) \
        result = SPW_DRIVER(symbol, args);

CUresult spw_on_cuTensorMapEncodeTiled(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
                                       void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
                                       const cuuint32_t *boxDim, const cuuint32_t *elementStrides,
                                       CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                       CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill)
{
    ENCODE(cuTensorMapEncodeTiled, (tensorMap, tensorDataType, tensorRank, globalAddress, globalDim, globalStrides, boxDim,
                                    elementStrides, interleave, swizzle, l2Promotion, oobFill))
    return encoded(result, tensorMap, globalAddress);
}

CUresult spw_on_cuTensorMapEncodeIm2col(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
                                        void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
                                        const int *pixelBoxLowerCorner, const int *pixelBoxUpperCorner,
                                        cuuint32_t channelsPerPixel, cuuint32_t pixelsPerColumn,
                                        const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
                                        CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                        CUtensorMapFloatOOBfill oobFill)
{
    ENCODE(cuTensorMapEncodeIm2col, (tensorMap, tensorDataType, tensorRank, globalAddress, globalDim, globalStrides,
                                     pixelBoxLowerCorner, pixelBoxUpperCorner, channelsPerPixel, pixelsPerColumn,
                                     elementStrides, interleave, swizzle, l2Promotion, oobFill))
    return encoded(result, tensorMap, globalAddress);
}

CUresult spw_on_cuTensorMapEncodeIm2colWide(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                            cuuint32_t tensorRank, void *globalAddress, const cuuint64_t *globalDim,
                                            const cuuint64_t *globalStrides, int pixelBoxLowerCornerWidth,
                                            int pixelBoxUpperCornerWidth, cuuint32_t channelsPerPixel,
                                            cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides,
                                            CUtensorMapInterleave interleave, CUtensorMapIm2ColWideMode mode,
                                            CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                            CUtensorMapFloatOOBfill oobFill)
{
    ENCODE(cuTensorMapEncodeIm2colWide, (tensorMap, tensorDataType, tensorRank, globalAddress, globalDim, globalStrides,
                                         pixelBoxLowerCornerWidth, pixelBoxUpperCornerWidth, channelsPerPixel,
                                         pixelsPerColumn, elementStrides, interleave, mode, swizzle, l2Promotion, oobFill))
    return encoded(result, tensorMap, globalAddress);
}

CUresult spw_on_cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress)
{
    ENCODE(cuTensorMapReplaceAddress, (tensorMap, globalAddress))
    return encoded(result, tensorMap, globalAddress);
}
