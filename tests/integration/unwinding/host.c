/* host.c - a C program that allocates on the device, and only then loads C++ that throws and catches: whose _Unwind_* does
 * the C++ use? argv[1] is the library. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>

#define CHECK(call) \
    { \
        CUresult r = call; \
        if (r != CUDA_SUCCESS) { \
            fprintf(stderr, "%s: %d\n", #call, (int)r); \
            return 3; \
        } \
    }

static void say_where(const char *name)
{
    Dl_info info = {.dli_fname = "nowhere"};
    void *address = dlsym(RTLD_DEFAULT, name);
    if (address)
        (void)dladdr(address, &info);
    printf("%s is in %s\n", name, info.dli_fname);
}

int main(int argc, char **argv)
{
    CUcontext context;
    CUdeviceptr a;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemAlloc(&a, 1 << 20));
    say_where("_Unwind_RaiseException");
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    int (*count)(int) = (int (*)(int))dlsym(library, "caught");
    for (int round = 0; round < 3; round++) {
        printf("caught %d of 100\n", count(100));
        CHECK(cuMemFree(a));
        CHECK(cuMemAlloc(&a, (size_t)(round + 2) << 20));
    }
    CHECK(cuMemFree(a));
    return 0;
}
