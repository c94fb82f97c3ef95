/* images.c - the program's images, kernels and variables, as its constructors register them, and their handles in the
 * driver, which come into being at first use. */
#include "runtime.h"
#include "compiler.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The frame around an image, as nvcc makes it. */
struct wrapper {
    int magic;
    int version;
    const void *image;
    void *unused;
};

#define WRAPPER_MAGIC 0x466243b1

struct image {
    const struct wrapper *wrapper;
    CUlibrary library;       /* NULL until something in it is used */
    unsigned symbols;        /* registered so far */
    unsigned loaded_symbols; /* of them, when `library` was loaded */
};

enum symbol_kind { KERNEL, VARIABLE, HANDLE };

/* Something of the host program that stands for something on the device. */
struct symbol {
    const void *key; /* host function, host variable, or the CUkernel itself for HANDLE */
    enum symbol_kind kind;
    struct image *image; /* NULL for HANDLE */
    const char *name;    /* borrowed from the program */
    CUkernel kernel;     /* NULL until used */
};

/* Open addressing by key; grows by doubling, never more than half full. Guarded by `lock`, like the images. */
static struct symbol *table;
static size_t table_size, table_used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t slot_of(const void *key)
{
    const size_t mask = table_size - 1;
    size_t i = ((uintptr_t)key * 0x9E3779B97F4A7C15u) >> 20 & mask;

    while (table[i].key && table[i].key != key)
        i = (i + 1) & mask;
    return i;
}

static int grow_locked(void)
{
    const size_t old_size = table_size;
    struct symbol *old = table, *grown = calloc(old_size ? 2 * old_size : 256, sizeof *grown);

    if (!grown)
        return -1;
    table = grown;
    table_size = old_size ? 2 * old_size : 256;
    for (size_t i = 0; i < old_size; i++)
        if (old[i].key)
            table[slot_of(old[i].key)] = old[i];
    free(old);
    return 0;
}

static int add(struct symbol symbol)
{
    int r = 0;

    pthread_mutex_lock(&lock);
    if (2 * (table_used + 1) > table_size)
        r = grow_locked();
    if (r == 0) {
        const size_t i = slot_of(symbol.key);
        table_used += !table[i].key;
        table[i] = symbol;
        if (symbol.image)
            symbol.image->symbols++;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

static struct symbol *find_locked(const void *key)
{
    if (!key || !table_size)
        return NULL;
    struct symbol *symbol = &table[slot_of(key)];
    return symbol->key ? symbol : NULL;
}

void **CUDARTAPI __cudaRegisterFatBinary(void *wrapper)
{
    struct image *image = calloc(1, sizeof *image);

    if (image)
        image->wrapper = wrapper;
    return (void **)image;
}

void CUDARTAPI __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle; /* nothing waits for it: images are loaded at first use */
}

void CUDARTAPI __cudaUnregisterFatBinary(void **handle)
{
    struct image *image = (struct image *)handle;

    if (!image)
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < table_size; i++)
        if (table[i].image == image)
            table[i] = (struct symbol){.key = &table[i]}; /* a key that nobody has, so that searches go on past it */
    pthread_mutex_unlock(&lock);
    /* When the process ends, the driver may be gone before the program's destructors run. */
    if (image->library && rt_enter() == cudaSuccess)
        (void)rt_legacy.cuLibraryUnload(image->library);
    free(image);
}

void CUDARTAPI __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
                                      const char *device_name, int thread_limit, uint3 *tid, uint3 *bid, dim3 *block,
                                      dim3 *grid, int *warp_size)
{
    if (handle)
        (void)add(
            (struct symbol){.key = host_function, .kind = KERNEL, .image = (struct image *)handle, .name = device_name});
}

void CUDARTAPI __cudaRegisterVar(void **handle, char *host_variable, char *device_address, const char *device_name, int ext,
                                 size_t size, int constant, int global)
{
    if (handle)
        (void)add(
            (struct symbol){.key = host_variable, .kind = VARIABLE, .image = (struct image *)handle, .name = device_name});
}

/* A managed variable's host pointer is filled with the variable's address; here they are one. */
void CUDARTAPI __cudaRegisterManagedVar(void **handle, void **host_pointer, char *device_address, const char *device_name,
                                        int ext, size_t size, int constant, int global)
{
    __cudaRegisterVar(handle, (char *)host_pointer, device_address, device_name, ext, size, constant, global);
}

char CUDARTAPI __cudaInitModule(void **handle)
{
    return handle != NULL;
}

cudaError_t rt_know_kernel(CUkernel kernel)
{
    const struct symbol symbol = {.key = kernel, .kind = HANDLE, .kernel = kernel};

    return add(symbol) < 0 ? cudaErrorMemoryAllocation : cudaSuccess;
}

/* Loads the symbol's image unless that has been done since the symbol was registered. */
static cudaError_t load_locked(struct image *image)
{
    const struct wrapper *wrapper = image->wrapper;
    CUlibrary library;

    if (image->library && image->loaded_symbols == image->symbols)
        return cudaSuccess;
    if (wrapper->magic != WRAPPER_MAGIC)
        return cudaErrorInvalidKernelImage;
    const CUresult result = rt_legacy.cuLibraryLoadData(&library, wrapper->image, NULL, NULL, 0, NULL, NULL, 0);
    if (result != CUDA_SUCCESS)
        return rt_error(result);
    /* An earlier load stays: kernels of it may be running. */
    image->library = library;
    image->loaded_symbols = image->symbols;
    return cudaSuccess;
}

/* Calls into the driver with the lock held; the driver calls nothing of ours. */
cudaError_t rt_kernel(const void *function, CUkernel *ret_kernel)
{
    cudaError_t error = cudaSuccess;

    pthread_mutex_lock(&lock);
    struct symbol *symbol = find_locked(function);
    if (!symbol || symbol->kind == VARIABLE || (!symbol->image && !symbol->kernel)) {
        error = cudaErrorInvalidDeviceFunction;
    } else if (!symbol->kernel) {
        error = load_locked(symbol->image);
        if (error == cudaSuccess)
            error = rt_error(rt_legacy.cuLibraryGetKernel(&symbol->kernel, symbol->image->library, symbol->name));
        if (error == cudaErrorSymbolNotFound)
            error = cudaErrorInvalidDeviceFunction;
    }
    if (error == cudaSuccess)
        *ret_kernel = symbol->kernel;
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t rt_symbol(const void *key, CUdeviceptr *ret_address, size_t *ret_bytes)
{
    CUdeviceptr address = 0;
    size_t bytes = 0;
    cudaError_t error = cudaErrorInvalidSymbol;

    pthread_mutex_lock(&lock);
    struct symbol *symbol = find_locked(key);
    if (symbol && symbol->kind == VARIABLE && symbol->image) {
        error = load_locked(symbol->image);
        if (error == cudaSuccess)
            error = rt_error(rt_legacy.cuLibraryGetGlobal(&address, &bytes, symbol->image->library, symbol->name));
    }
    pthread_mutex_unlock(&lock);
    if (error == cudaSuccess) {
        *ret_address = address;
        *ret_bytes = bytes;
    }
    return error;
}

static int launch_functions;
static pthread_once_t setting_once = PTHREAD_ONCE_INIT;

static void read_setting(void)
{
    const char *value = getenv("SIMGPU_LAUNCH_HANDLE");

    launch_functions = value && !strcmp(value, "function");
}

int rt_launches_functions(void)
{
    pthread_once(&setting_once, read_setting);
    return launch_functions;
}

cudaError_t rt_launch_handle(const void *function, CUfunction *ret_handle)
{
    CUkernel kernel;
    const cudaError_t error = rt_kernel(function, &kernel);

    if (error != cudaSuccess)
        return error;
    if (rt_launches_functions())
        return rt_error(rt_legacy.cuKernelGetFunction(ret_handle, kernel));
    *ret_handle = (CUfunction)kernel;
    return cudaSuccess;
}

const void *rt_host_function(CUkernel kernel)
{
    const void *function = kernel;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < table_size; i++)
        if (table[i].kind == KERNEL && table[i].image && table[i].kernel == kernel)
            function = table[i].key;
    pthread_mutex_unlock(&lock);
    return function;
}

cudaError_t rt_symbol_part(const void *symbol, size_t offset, size_t bytes, void **ret_address)
{
    CUdeviceptr address;
    size_t size;
    const cudaError_t error = rt_symbol(symbol, &address, &size);

    if (error != cudaSuccess)
        return error;
    if (offset > size || bytes > size - offset)
        return cudaErrorInvalidValue;
    *ret_address = (char *)address + offset;
    return cudaSuccess;
}
