/* device.c - which device this is: name, driver, memory, link, and what of it matters to moving tensors. */
#include "probe.h"
#include <dlfcn.h>

struct attribute {
    const char *name;
    CUdevice_attribute which;
};

static const struct attribute attributes[] = {
    {"sm_major", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
    {"sm_minor", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
    {"multiprocessors", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {"copy_engines", CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT},
    {"vmm", CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED},
    {"memory_pools", CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED},
    {"host_numa_id", CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID},
    {"host_numa_vmm", CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED},
    {"host_native_atomics", CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED},
    {"pageable_memory_access", CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS},
    {"host_register", CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED},
    {"gpudirect_rdma_vmm", CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED},
};

/* The link is known to NVML alone. Says nothing where NVML isn't installed or doesn't answer. */
static void tell_link(char *ret_text, size_t size)
{
    snprintf(ret_text, size, "unknown");
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!nvml)
        return;
    int (*start)(void) = (int (*)(void))dlsym(nvml, "nvmlInit_v2");
    int (*find)(const char *, void **) = (int (*)(const char *, void **))dlsym(nvml, "nvmlDeviceGetHandleByPciBusId_v2");
    int (*generation)(void *, unsigned *) = (int (*)(void *, unsigned *))dlsym(nvml, "nvmlDeviceGetMaxPcieLinkGeneration");
    int (*width)(void *, unsigned *) = (int (*)(void *, unsigned *))dlsym(nvml, "nvmlDeviceGetMaxPcieLinkWidth");
    char bus[32];
    void *handle;
    unsigned gen, lanes;
    if (!start || !find || !generation || !width || start() != 0 ||
        cuDeviceGetPCIBusId(bus, sizeof(bus), probe.device) != CUDA_SUCCESS || find(bus, &handle) != 0 ||
        generation(handle, &gen) != 0 || width(handle, &lanes) != 0)
        return;
    probe_figure("pcie_generation", gen);
    probe_figure("pcie_lanes", lanes);
    snprintf(ret_text, size, "PCIe %u x%u", gen, lanes);
}

/* The version of the kernel driver, e.g. "580.95.05"; the driver API tells only the CUDA version it supports. */
static void tell_driver(char *ret_text, size_t size)
{
    snprintf(ret_text, size, "unknown");
    FILE *f = fopen("/sys/module/nvidia/version", "r");
    if (f) {
        if (fgets(ret_text, (int)size, f))
            ret_text[strcspn(ret_text, "\n")] = 0;
        fclose(f);
        return;
    }
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    int (*start)(void) = nvml ? (int (*)(void))dlsym(nvml, "nvmlInit_v2") : NULL;
    int (*version)(char *, unsigned) = nvml ? (int (*)(char *, unsigned))dlsym(nvml, "nvmlSystemGetDriverVersion") : NULL;
    if (start && version && start() == 0)
        (void)version(ret_text, (unsigned)size);
}

int main(void)
{
    char name[128], link[64], driver[96];
    int cuda = 0, count = 0;
    size_t free_bytes, total_bytes;
    probe_start("device", 0);
    CHECK(cuDeviceGetCount(&count));
    CHECK(cuDriverGetVersion(&cuda));
    CHECK(cuDeviceGetName(name, sizeof(name), probe.device));
    CHECK(cuMemGetInfo(&free_bytes, &total_bytes));
    tell_link(link, sizeof(link));
    tell_driver(driver, sizeof(driver));

    probe_figure_text("name", name);
    probe_figure_text("driver", driver);
    probe_figure_text("link", link);
    probe_figure("devices", count);
    probe_figure("cuda_version", cuda);
    probe_append(", \"memory_bytes\": %zu, \"free_bytes\": %zu", total_bytes, free_bytes);
    probe_figure("granularity_bytes", (double)probe.granularity_bytes);
    for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
        int value;
        if (cuDeviceGetAttribute(&value, attributes[i].which, probe.device) == CUDA_SUCCESS)
            probe_figure(attributes[i].name, value);
    }
    probe_answer("%s, %.1f GiB, driver %s (CUDA %d.%d), %s", name, (double)total_bytes / (double)GIB, driver, cuda / 1000,
                 cuda % 1000 / 10, link);
}
