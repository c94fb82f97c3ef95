/* How a program comes to an algorithm, and handles of cuBLASLt. */
#include "fake-runtime.h"
#include "handles.h"
#include "lt-fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const float one = 1, zero = 0;
static char a[1], b[1], d[1];
static cublasLtMatmulPreference_t preference;

static int setup(void **state)
{
    return lt_setup(state) || cublasLtMatmulPreferenceCreate(&preference);
}

static int teardown(void **state)
{
    return lt_teardown(state) || cublasLtMatmulPreferenceDestroy(preference);
}

static cublasStatus_t ask(int count, cublasLtMatmulHeuristicResult_t *results, int *ret_count)
{
    return cublasLtMatmulAlgoGetHeuristic(lt.handle, lt.operation, lt.a, lt.b, lt.c, lt.d, preference, count, results,
                                          ret_count);
}

static cublasStatus_t multiply(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t *algo)
{
    return cublasLtMatmul(handle, lt.operation, &one, a, lt.a, b, lt.b, &zero, NULL, lt.c, d, lt.d, algo, NULL, 0, NULL);
}

static void the_heuristic_knows_one_that_needs_no_workspace(void **state)
{
    cublasLtMatmulHeuristicResult_t results[3];
    int count = 0;
    (void)state;
    memset(results, 0xee, sizeof results);
    assert_int_equal(ask(3, results, &count), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(count, 1);
    assert_int_equal(results[0].state, CUBLAS_STATUS_SUCCESS);
    assert_int_equal(results[0].workspaceSize, 0);
    assert_int_equal(((unsigned char *)&results[1])[0], 0xee); /* what was not answered stays */
    assert_int_equal(multiply(lt.handle, &results[0].algo), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(fake.launches, 1);
}

static void the_heuristic_knows_none_for_what_is_not_supported(void **state)
{
    cublasLtMatmulHeuristicResult_t result;
    int count = 7;
    (void)state;
    assert_int_equal(ask(0, &result, &count), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(ask(1, NULL, &count), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(ask(1, &result, NULL), CUBLAS_STATUS_INVALID_VALUE);
    LT_OPERATION(SCALE_TYPE, int32_t, CUDA_R_64F);
    assert_int_equal(ask(1, &result, &count), CUBLAS_STATUS_NOT_SUPPORTED);
    LT_OPERATION(SCALE_TYPE, int32_t, CUDA_R_32F);
    LT_LAYOUT(lt.b, ROWS, uint64_t, 4);
    assert_int_equal(ask(1, &result, &count), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(count, 7);
}

static cublasStatus_t init(int id, cudaDataType_t type, cublasLtMatmulAlgo_t *algo)
{
    return cublasLtMatmulAlgoInit(lt.handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, type, type, type, type, id, algo);
}

static void an_algorithm_can_be_made_by_number(void **state)
{
    cublasLtMatmulAlgo_t algo;
    int ids[4], count = 0;
    (void)state;
    assert_int_equal(cublasLtMatmulAlgoGetIds(lt.handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                              CUDA_R_32F, 4, ids, &count),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(count, 1);
    assert_int_equal(init(ids[0], CUDA_R_32F, &algo), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(multiply(lt.handle, &algo), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(init(ids[0] + 1, CUDA_R_32F, &algo), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(init(ids[0], CUDA_R_32F, NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(init(ids[0], CUDA_R_64F, &algo), CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(cublasLtMatmulAlgoGetIds(lt.handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F,
                                              CUDA_R_64F, 4, ids, &count),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(count, 0);
}

static void what_is_configured_is_kept(void **state)
{
    cublasLtMatmulAlgo_t algo;
    uint32_t tile = CUBLASLT_MATMUL_TILE_128x128;
    uint16_t shape = 3;
    int32_t splits = 0, id = 7;
    (void)state;
    assert_int_equal(init(0, CUDA_R_32F, &algo), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &splits, 4, NULL),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(splits, 1);
    assert_int_equal(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, 4),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, &shape, 2),
                     CUBLAS_STATUS_SUCCESS);
    tile = 0;
    assert_int_equal(cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, 4, NULL),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(tile, CUBLASLT_MATMUL_TILE_128x128);
    assert_int_equal(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_ID, &id, 4),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_ID, &id, 4, NULL),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(id, 0);
}

static void a_check_tells_what_the_heuristic_tells(void **state)
{
    cublasLtMatmulHeuristicResult_t result;
    int count;
    (void)state;
    assert_int_equal(ask(1, &result, &count), CUBLAS_STATUS_SUCCESS);
    result.workspaceSize = 7;
#define CHECK(algo, result) cublasLtMatmulAlgoCheck(lt.handle, lt.operation, lt.a, lt.b, lt.c, lt.d, algo, result)
    assert_int_equal(CHECK(&result.algo, &result), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(result.workspaceSize, 0);
    assert_int_equal(multiply(lt.handle, &result.algo), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(CHECK(NULL, &result), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(CHECK(&result.algo, NULL), CUBLAS_STATUS_INVALID_VALUE);
    LT_OPERATION(SCALE_TYPE, int32_t, CUDA_R_64F);
    assert_int_equal(CHECK(&result.algo, &result), CUBLAS_STATUS_NOT_SUPPORTED);
#undef CHECK
}

/* PyTorch does so. */
static void a_handle_of_cublas_is_one_too(void **state)
{
    struct cublasContext cublas = {.head.magic = BLAS_HANDLE_MAGIC};
    (void)state;
    assert_int_equal(multiply((cublasLtHandle_t)&cublas, NULL), CUBLAS_STATUS_SUCCESS);
}

static void without_a_handle_nothing_is_initialized(void **state)
{
    cublasLtMatmulHeuristicResult_t result;
    cublasLtMatmulAlgo_t algo;
    cublasLtHandle_t none = NULL;
    uint64_t rubbish = 1;
    int count;
    (void)state;
    assert_int_equal(multiply((cublasLtHandle_t)&rubbish, NULL), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(
        cublasLtMatmulAlgoGetHeuristic(NULL, lt.operation, lt.a, lt.b, lt.c, lt.d, preference, 1, &result, &count),
        CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasLtMatmulAlgoInit(NULL, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                            CUDA_R_32F, 0, &algo),
                     CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasLtDestroy(NULL), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasLtCreate(NULL), CUBLAS_STATUS_INVALID_VALUE);
    fake.failing = "cudaGetDevice";
    assert_int_equal(cublasLtCreate(&none), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_null(none);
}

static void the_version_is_the_headers(void **state)
{
    int major;
    (void)state;
    assert_int_equal(cublasLtGetVersion(), CUBLAS_VERSION);
    assert_int_equal(cublasLtGetCudartVersion(), CUDART_VERSION);
    assert_int_equal(cublasLtGetProperty(MAJOR_VERSION, &major), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(major, CUBLAS_VER_MAJOR);
    assert_string_equal(cublasLtGetStatusName(CUBLAS_STATUS_SUCCESS), "CUBLAS_STATUS_SUCCESS");
    assert_string_equal(cublasLtGetStatusString(CUBLAS_STATUS_SUCCESS), "success");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_heuristic_knows_one_that_needs_no_workspace, setup, teardown),
        cmocka_unit_test_setup_teardown(the_heuristic_knows_none_for_what_is_not_supported, setup, teardown),
        cmocka_unit_test_setup_teardown(an_algorithm_can_be_made_by_number, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_configured_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(a_check_tells_what_the_heuristic_tells, setup, teardown),
        cmocka_unit_test_setup_teardown(a_handle_of_cublas_is_one_too, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_handle_nothing_is_initialized, setup, teardown),
        cmocka_unit_test_setup_teardown(the_version_is_the_headers, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
