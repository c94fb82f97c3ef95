/* Descriptors: what an attribute is set to is what it is, in the documented sizes and with the documented defaults. */
#include <cublasLt.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void a_layout_begins_as_it_was_described(void **state)
{
    cublasLtMatrixLayout_t layout;
    uint64_t rows, columns;
    int64_t ld, stride;
    int32_t order, batch;
    uint32_t type;
    (void)state;
    assert_int_equal(cublasLtMatrixLayoutCreate(&layout, CUDA_R_16BF, 30, 20, 32), CUBLAS_STATUS_SUCCESS);
#define IS(name, variable, value) \
    assert_int_equal( \
        cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_##name, &variable, sizeof variable, NULL), \
        CUBLAS_STATUS_SUCCESS); \
    assert_int_equal(variable, value)
    IS(TYPE, type, CUDA_R_16BF);
    IS(ROWS, rows, 30);
    IS(COLS, columns, 20);
    IS(LD, ld, 32);
    IS(ORDER, order, CUBLASLT_ORDER_COL);
    IS(BATCH_COUNT, batch, 1);
    IS(STRIDED_BATCH_OFFSET, stride, 0);
#undef IS
    assert_int_equal(cublasLtMatrixLayoutDestroy(layout), CUBLAS_STATUS_SUCCESS);
}

static void an_operation_begins_with_the_documented_defaults(void **state)
{
    static const struct {
        cublasLtMatmulDescAttributes_t attribute;
        int32_t value;
    } defaults[] = {
        {CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLAS_COMPUTE_32F},
        {CUBLASLT_MATMUL_DESC_SCALE_TYPE, CUDA_R_32F},
        {CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_HOST},
        {CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N},
        {CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N},
        {CUBLASLT_MATMUL_DESC_TRANSC, CUBLAS_OP_N},
        {CUBLASLT_MATMUL_DESC_FILL_MODE, CUBLAS_FILL_MODE_FULL},
        {CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, -1},
        {CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, -1},
        {CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, 0},
        {CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F},
    };
    cublasLtMatmulDesc_t operation;
    void *bias = &operation;
    (void)state;
    assert_int_equal(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        int32_t value = 77;
        assert_int_equal(cublasLtMatmulDescGetAttribute(operation, defaults[i].attribute, &value, sizeof value, NULL),
                         CUBLAS_STATUS_SUCCESS);
        assert_int_equal(value, defaults[i].value);
    }
    assert_int_equal(cublasLtMatmulDescGetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias, NULL),
                     CUBLAS_STATUS_SUCCESS);
    assert_null(bias);
    assert_int_equal(cublasLtMatmulDescDestroy(operation), CUBLAS_STATUS_SUCCESS);
}

/* Each attribute of the header, set to a pattern of its own; then all are asked. */
static void no_two_attributes_share_a_place(void **state)
{
    static const struct {
        cublasLtMatmulDescAttributes_t attribute;
        size_t bytes;
    } attributes[] = {
        {CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 4},
        {CUBLASLT_MATMUL_DESC_SCALE_TYPE, 4},
        {CUBLASLT_MATMUL_DESC_POINTER_MODE, 4},
        {CUBLASLT_MATMUL_DESC_TRANSA, 4},
        {CUBLASLT_MATMUL_DESC_TRANSB, 4},
        {CUBLASLT_MATMUL_DESC_TRANSC, 4},
        {CUBLASLT_MATMUL_DESC_FILL_MODE, 4},
        {CUBLASLT_MATMUL_DESC_EPILOGUE, 4},
        {CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8},
        {CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, 8},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, 8},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 8},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, 8},
        {CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, 8},
        {CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, 4},
        {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, 8},
        {CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, 8},
        {CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, 8},
        {CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, 8},
        {CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, 8},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, 4},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, 8},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, 8},
        {CUBLASLT_MATMUL_DESC_FAST_ACCUM, 1},
        {CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 4},
        {CUBLASLT_MATMUL_DESC_A_SCALE_MODE, 4},
        {CUBLASLT_MATMUL_DESC_B_SCALE_MODE, 4},
        {CUBLASLT_MATMUL_DESC_C_SCALE_MODE, 4},
        {CUBLASLT_MATMUL_DESC_D_SCALE_MODE, 4},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, 4},
        {CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, 8},
        {CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, 4},
        {CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, 8},
    };
    enum { COUNT = sizeof attributes / sizeof *attributes };
    cublasLtMatmulDesc_t operation;
    (void)state;
    assert_int_equal(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
    for (size_t i = 0; i < COUNT; i++) {
        unsigned char pattern[8];
        memset(pattern, (int)i + 1, sizeof pattern);
        assert_int_equal(cublasLtMatmulDescSetAttribute(operation, attributes[i].attribute, pattern, attributes[i].bytes),
                         CUBLAS_STATUS_SUCCESS);
    }
    for (size_t i = 0; i < COUNT; i++) {
        unsigned char pattern[8], found[8];
        size_t written = 0;
        memset(pattern, (int)i + 1, sizeof pattern);
        assert_int_equal(
            cublasLtMatmulDescGetAttribute(operation, attributes[i].attribute, found, attributes[i].bytes, &written),
            CUBLAS_STATUS_SUCCESS);
        assert_int_equal(written, attributes[i].bytes);
        assert_memory_equal(found, pattern, attributes[i].bytes);
    }
    assert_int_equal(cublasLtMatmulDescDestroy(operation), CUBLAS_STATUS_SUCCESS);
}

static void sizes_have_to_be_right(void **state)
{
    cublasLtMatmulPreference_t preference;
    uint64_t bytes = 1 << 20;
    uint32_t half;
    size_t written = 0;
    (void)state;
    assert_int_equal(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
#define SET(value, size) \
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, value, size)
#define GET(value, size, written) \
    cublasLtMatmulPreferenceGetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, value, size, written)
    assert_int_equal(SET(&bytes, 4), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(SET(NULL, 8), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(SET(&bytes, 8), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(GET(&half, 4, NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(GET(NULL, 8, NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(GET(NULL, 0, NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(GET(NULL, 0, &written), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(written, 8);
    bytes = 0;
    assert_int_equal(GET(&bytes, 8, NULL), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(bytes, 1 << 20);
#undef SET
#undef GET
    assert_int_equal(cublasLtMatmulPreferenceSetAttribute(NULL, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, 8),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasLtMatmulPreferenceSetAttribute(preference, (cublasLtMatmulPreferenceAttributes_t)99, &bytes, 8),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasLtMatmulPreferenceDestroy(preference), CUBLAS_STATUS_SUCCESS);
}

static void a_preference_begins_with_the_documented_defaults(void **state)
{
    cublasLtMatmulPreferenceOpaque_t preference;
    uint64_t mask = 0, bytes = 1;
    uint32_t alignment = 0, mode = 1;
    (void)state;
    memset(&preference, 0xee, sizeof preference);
    assert_int_equal(cublasLtMatmulPreferenceInit(&preference), CUBLAS_STATUS_SUCCESS);
    cublasLtMatmulPreferenceGetAttribute(&preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, &mask, sizeof mask, NULL);
    cublasLtMatmulPreferenceGetAttribute(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes, NULL);
    cublasLtMatmulPreferenceGetAttribute(&preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &alignment,
                                         sizeof alignment, NULL);
    cublasLtMatmulPreferenceGetAttribute(&preference, CUBLASLT_MATMUL_PREF_SEARCH_MODE, &mode, sizeof mode, NULL);
    assert_true(mask == UINT64_MAX);
    assert_int_equal(bytes, 0);
    assert_int_equal(alignment, 256);
    assert_int_equal(mode, CUBLASLT_SEARCH_BEST_FIT);
}

/* Programs that were built with later headers bring more room than is needed. */
static void a_descriptor_may_lie_in_the_programs_memory(void **state)
{
    struct {
        cublasLtMatrixLayoutOpaque_t layout;
        uint64_t more[6], behind;
    } room = {.behind = 0x1234};
    cublasLtMatmulDescOpaque_t operation;
    uint64_t columns = 0;
    int32_t type = 0;
    (void)state;
    assert_int_equal(cublasLtMatrixLayoutInit_internal(&room.layout, offsetof(typeof(room), behind), CUDA_R_32F, 3, 4, 5),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasLtMatrixLayoutGetAttribute(&room.layout, CUBLASLT_MATRIX_LAYOUT_COLS, &columns, 8, NULL),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(columns, 4);
    assert_int_equal(room.behind, 0x1234);
    assert_int_equal(cublasLtMatmulDescInit(&operation, CUBLAS_COMPUTE_64F, CUDA_R_64F), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasLtMatmulDescGetAttribute(&operation, CUBLASLT_MATMUL_DESC_SCALE_TYPE, &type, 4, NULL),
                     CUBLAS_STATUS_SUCCESS);
    assert_int_equal(type, CUDA_R_64F);
    assert_int_equal(cublasLtMatmulDescInit_internal(&operation, 8, CUBLAS_COMPUTE_64F, CUDA_R_64F),
                     CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasLtMatmulDescInit_internal(NULL, sizeof operation, CUBLAS_COMPUTE_64F, CUDA_R_64F),
                     CUBLAS_STATUS_INVALID_VALUE);
}

static void nowhere_is_no_place_for_a_descriptor(void **state)
{
    (void)state;
    assert_int_equal(cublasLtMatrixLayoutCreate(NULL, CUDA_R_32F, 1, 1, 1), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasLtMatmulDescCreate(NULL, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasLtMatmulPreferenceCreate(NULL), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasLtMatrixLayoutDestroy(NULL), CUBLAS_STATUS_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layout_begins_as_it_was_described),
        cmocka_unit_test(an_operation_begins_with_the_documented_defaults),
        cmocka_unit_test(no_two_attributes_share_a_place),
        cmocka_unit_test(sizes_have_to_be_right),
        cmocka_unit_test(a_preference_begins_with_the_documented_defaults),
        cmocka_unit_test(a_descriptor_may_lie_in_the_programs_memory),
        cmocka_unit_test(nowhere_is_no_place_for_a_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
