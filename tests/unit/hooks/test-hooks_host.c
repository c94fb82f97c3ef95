/* test-hooks_host.c - an address of each kind of memory that is not the program's device memory alone is known where the
 * program copies it to the device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arena.h"
#include "driver.h"
#include "hooks.h"
#include "outside.h"

#define LOW   UINT64_C(0x700000000000)
#define THERE UINT64_C(0x7e0000001000)

static CUresult answer;

static CUresult attribute(void *data, CUpointer_attribute what, CUdeviceptr word)
{
    *(CUmemorytype *)data = CU_MEMORYTYPE_HOST;
    return word == THERE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult host(void **pp)
{
    *pp = (void *)THERE;
    return answer;
}

static CUresult alloc_host(void **pp, unsigned bytes)
{
    return host(pp);
}

static CUresult alloc_host_v2(void **pp, size_t bytes)
{
    return host(pp);
}

static CUresult host_alloc(void **pp, size_t bytes, unsigned flags)
{
    return host(pp);
}

static CUresult host_register(void *p, size_t bytes, unsigned flags)
{
    return answer;
}

static CUresult device_pointer(CUdeviceptr *pp, void *p, unsigned flags)
{
    *pp = THERE;
    return answer;
}

static CUresult open_ipc(CUdeviceptr *pp, CUipcMemHandle handle, unsigned flags)
{
    *pp = THERE;
    return answer;
}

static CUresult mapped_buffer(CUdeviceptr *pp, CUexternalMemory memory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
    *pp = THERE;
    return answer;
}

static CUresult alloc_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                           CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    params->dptr = THERE;
    return answer;
}

static CUresult any_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, const CUgraphEdgeData *edges,
                         size_t count, CUgraphNodeParams *params)
{
    params->alloc.dptr = THERE;
    return answer;
}

/* ---- the calls ---- */

static CUresult by_alloc_host(void)
{
    void *p;
    return spw_on_cuMemAllocHost(&p, 64);
}

static CUresult by_alloc_host_v2(void)
{
    void *p;
    return spw_on_cuMemAllocHost_v2(&p, 64);
}

static CUresult by_host_alloc(void)
{
    void *p;
    return spw_on_cuMemHostAlloc(&p, 64, 0);
}

static CUresult by_register(void)
{
    return spw_on_cuMemHostRegister((void *)(THERE - 4096), 8192, 0);
}

static CUresult by_register_v2(void)
{
    return spw_on_cuMemHostRegister_v2((void *)(THERE - 4096), 8192, 0);
}

static CUresult by_device_pointer(void)
{
    CUdeviceptr p;
    return spw_on_cuMemHostGetDevicePointer_v2(&p, (void *)64, 0);
}

static CUresult by_ipc(void)
{
    CUdeviceptr p;
    return spw_on_cuIpcOpenMemHandle(&p, (CUipcMemHandle){{0}}, 0);
}

static CUresult by_ipc_v2(void)
{
    CUdeviceptr p;
    return spw_on_cuIpcOpenMemHandle_v2(&p, (CUipcMemHandle){{0}}, 0);
}

static CUresult by_external(void)
{
    CUdeviceptr p;
    return spw_on_cuExternalMemoryGetMappedBuffer(&p, NULL, &(CUDA_EXTERNAL_MEMORY_BUFFER_DESC){.size = 64});
}

static CUresult by_alloc_node(void)
{
    CUDA_MEM_ALLOC_NODE_PARAMS params = {.bytesize = 64};
    return spw_on_cuGraphAddMemAllocNode(NULL, NULL, NULL, 0, &params);
}

static CUresult by_any_node(void)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .alloc = {.bytesize = 64}};
    return spw_on_cuGraphAddNode_v2(NULL, NULL, NULL, NULL, 0, &params);
}

static CUresult (*const ways[])(void) = {by_alloc_host,  by_alloc_host_v2,  by_host_alloc, by_register,
                                         by_register_v2, by_device_pointer, by_ipc,        by_ipc_v2,
                                         by_external,    by_alloc_node,     by_any_node};

static bool is_known(void)
{
    const CUdeviceptr word = THERE;
    spw_outside_learn(LOW, &word, sizeof(word));
    return spw_outside_has(LOW, LOW + sizeof(word));
}

static int setup(void **state)
{
    spw_arena_low = LOW;
    spw_arena_high = LOW + 4096;
    spw_driver.cuPointerGetAttribute = attribute;
    spw_driver.cuMemAllocHost = alloc_host;
    spw_driver.cuMemAllocHost_v2 = alloc_host_v2;
    spw_driver.cuMemHostAlloc = host_alloc;
    spw_driver.cuMemHostRegister = spw_driver.cuMemHostRegister_v2 = host_register;
    spw_driver.cuMemHostGetDevicePointer_v2 = device_pointer;
    spw_driver.cuIpcOpenMemHandle = spw_driver.cuIpcOpenMemHandle_v2 = open_ipc;
    spw_driver.cuExternalMemoryGetMappedBuffer = mapped_buffer;
    spw_driver.cuGraphAddMemAllocNode = alloc_node;
    spw_driver.cuGraphAddNode_v2 = any_node;
    return 0;
}

static void each_call_that_makes_such_memory_is_noted(void **state)
{
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        spw_outside_reset();
        answer = CUDA_SUCCESS;
        assert_false(is_known());
        assert_int_equal(ways[i](), CUDA_SUCCESS);
        assert_true(is_known());
    }
}

static void what_the_driver_refuses_is_not(void **state)
{
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        spw_outside_reset();
        answer = CUDA_ERROR_OUT_OF_MEMORY;
        assert_int_equal(ways[i](), CUDA_ERROR_OUT_OF_MEMORY);
        assert_false(is_known());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_that_makes_such_memory_is_noted),
        cmocka_unit_test(what_the_driver_refuses_is_not),
    };
    return cmocka_run_group_tests_name("hooks_host", tests, setup, NULL);
}
