/* hooks_module.c - modules, libraries and tensor maps: passes the driver's answers unchanged, and notes what they tell
 * about handles and addresses. */
#include "hooks.h"

#include "arena.h"
#include "pin.h"
#include "layout.h"
#include "readable.h"
#include "lock.h"
#include "result.h"
#include "tensormap.h"
#include "twins.h"
#include "versions.h"
#include "launch_class.h"

/* ---- loading: what had this handle before is gone, whether or not its end was seen ---- */

static void forget(const void *owner)
{
    spw_layout_forget(owner);
    spw_lock();
    spw_launch_classes_sweep_locked();
    spw_unlock();
}

/* The image that it was loaded from was described before the call, since the driver may write to the options. */
static CUresult loaded(CUresult result, void *const *handle, struct spw_image *image)
{
    if (result == CUDA_SUCCESS) {
        forget(*handle);
        spw_twins_loaded(*handle, image);
        spw_readable_look_for_library();
    } else if (image) {
        spw_twins_not_loaded(image);
    }
    return result;
}

static struct spw_image *loading(enum spw_image_call call, const void *what)
{
    return spw_twins_loading(&(struct spw_image_told){.call = call, .what = what});
}

CUresult spw_on_cuModuleLoad(CUmodule *module, const char *fname)
{
    struct spw_image *image = loading(SPW_IMAGE_MODULE_FILE, fname);
    return loaded(SPW_DRIVER(cuModuleLoad, (module, fname)), (void **)module, image);
}

CUresult spw_on_cuModuleLoadData(CUmodule *module, const void *image)
{
    struct spw_image *kept = loading(SPW_IMAGE_MODULE_DATA, image);
    return loaded(SPW_DRIVER(cuModuleLoadData, (module, image)), (void **)module, kept);
}

CUresult spw_on_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions, CUjit_option *options,
                                   void **optionValues)
{
    struct spw_image *kept = spw_twins_loading(&(struct spw_image_told){.call = SPW_IMAGE_MODULE_DATA,
                                                                        .what = image,
                                                                        .option_count = numOptions,
                                                                        .options = options,
                                                                        .values = optionValues});
    return loaded(SPW_DRIVER(cuModuleLoadDataEx, (module, image, numOptions, options, optionValues)), (void **)module, kept);
}

CUresult spw_on_cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
    struct spw_image *image = loading(SPW_IMAGE_MODULE_FAT, fatCubin);
    return loaded(SPW_DRIVER(cuModuleLoadFatBinary, (module, fatCubin)), (void **)module, image);
}

#define LIBRARY_TOLD(the_call, from) \
    &(struct spw_image_told) \
    { \
        .call = the_call, .what = from, .option_count = numJitOptions, .options = jitOptions, .values = jitOptionsValues, \
        .library_option_count = numLibraryOptions, .library_options = libraryOptions, .library_values = libraryOptionValues \
    }

CUresult spw_on_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions, void **jitOptionsValues,
                                  unsigned int numJitOptions, CUlibraryOption *libraryOptions, void **libraryOptionValues,
                                  unsigned int numLibraryOptions)
{
    struct spw_image *image = spw_twins_loading(LIBRARY_TOLD(SPW_IMAGE_LIBRARY_DATA, code));
    return loaded(SPW_DRIVER(cuLibraryLoadData, (library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
                                                 libraryOptionValues, numLibraryOptions)),
                  (void **)library, image);
}

CUresult spw_on_cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
                                      void **jitOptionsValues, unsigned int numJitOptions, CUlibraryOption *libraryOptions,
                                      void **libraryOptionValues, unsigned int numLibraryOptions)
{
    struct spw_image *image = spw_twins_loading(LIBRARY_TOLD(SPW_IMAGE_LIBRARY_FILE, fileName));
    return loaded(SPW_DRIVER(cuLibraryLoadFromFile, (library, fileName, jitOptions, jitOptionsValues, numJitOptions,
                                                     libraryOptions, libraryOptionValues, numLibraryOptions)),
                  (void **)library, image);
}

/* ---- unloading: forgotten before the driver may hand the handles out again ---- */

CUresult spw_on_cuModuleUnload(CUmodule hmod)
{
    int r = spw_versions_break();
    if (r < 0)
        return spw_cuda(r);
    forget(hmod);
    spw_twins_unload(hmod);
    return SPW_DRIVER(cuModuleUnload, (hmod));
}

CUresult spw_on_cuLibraryUnload(CUlibrary library)
{
    int r = spw_versions_break();
    if (r < 0)
        return spw_cuda(r);
    forget(library);
    spw_twins_unload(library);
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

/* The call may write fewer handles than there is room for: only as many are read as the module has functions. */
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

/* ---- variables: what the program knows the address of, it may write ---- */

/* Notes a variable; `address` and `bytes` are the program's, and either may be NULL. */
static CUresult found_variable(CUresult result, const void *owner, const char *name, const CUdeviceptr *address,
                               size_t bytes)
{
    if (result == CUDA_SUCCESS && address && bytes)
        spw_twins_variable(owner, name, *address, bytes);
    return result;
}

CUresult spw_on_cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name)
{
    size_t size = 0;
    CUresult result = SPW_DRIVER(cuModuleGetGlobal_v2, (dptr, bytes ? bytes : &size, hmod, name));
    return found_variable(result, hmod, name, dptr, bytes ? *bytes : size);
}

CUresult spw_on_cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    size_t size = 0;
    CUresult result = SPW_DRIVER(cuLibraryGetGlobal, (dptr, bytes ? bytes : &size, library, name));
    return found_variable(result, library, name, dptr, bytes ? *bytes : size);
}

/* Ways to a module's contents that no copy shows: from here on the module cannot have a twin. One line per call. */
/* clang-format off */
#define ONLY_ONE(symbol, params, args, owner, why) \
    CUresult spw_on_##symbol params \
    { \
        const int r = spw_versions_break(); \
        if (r < 0) \
            return spw_cuda(r); \
        spw_twins_refuse(owner, why); \
        return SPW_DRIVER(symbol, args); \
    }

ONLY_ONE(cuLibraryGetManaged, (CUdeviceptr *p, size_t *n, CUlibrary library, const char *name), (p, n, library, name), library, "the host may write its variables")
ONLY_ONE(cuLibraryGetUnifiedFunction, (void **p, CUlibrary library, const char *name), (p, library, name), library, "its functions may be called through addresses")
ONLY_ONE(cuModuleGetGlobal, (CUdeviceptr_v1 *p, unsigned int *n, CUmodule module, const char *name), (p, n, module, name), module, "its variables are known by addresses of 32 bits")
ONLY_ONE(cuModuleGetSurfRef, (CUsurfref *p, CUmodule module, const char *name), (p, module, name), module, "it has surfaces")
ONLY_ONE(cuModuleGetTexRef, (CUtexref *p, CUmodule module, const char *name), (p, module, name), module, "it has textures")
/* clang-format on */

/* ---- tensor maps ---- */

static const char why_tensormap[] = "a tensor map was made for it";

static CUresult encoded(CUresult result, const CUtensorMap *map, const void *address)
{
    CUdeviceptr base = (CUdeviceptr)(uintptr_t)address;
    if (result == CUDA_SUCCESS && spw_in_arena(base) && spw_tensormap_made(map, base) < 0)
        spw_pin_lasting(base, why_tensormap);
    return result;
}

/* True if it is worth trying again: a driver may refuse an address at which nothing is mapped now, which the program cannot
 * know. So the second try is made with the memory in place. */
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
