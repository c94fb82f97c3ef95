/* lt-algorithms.c - how a program chooses its algorithm: there is one, for everything, and it needs no workspace. */
#include "handles.h"
#include "lt.h"
#include <string.h>

static cublasLtMatmulAlgo_t the_algorithm(void)
{
    const struct lt_algorithm inside = {.magic = LT_ALGORITHM_MAGIC, .id = LT_ALGORITHM_ID, .splits = 1};
    cublasLtMatmulAlgo_t algo = {{0}};

    memcpy(&algo, &inside, sizeof inside);
    return algo;
}

bool lt_is_algorithm(const cublasLtMatmulAlgo_t *algo)
{
    const struct lt_algorithm *inside = (const struct lt_algorithm *)algo;

    return inside && inside->magic == LT_ALGORITHM_MAGIC && inside->id == LT_ALGORITHM_ID;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc,
                                              cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                              cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                              cublasLtMatmulPreference_t preference, int requestedAlgoCount,
                                              cublasLtMatmulHeuristicResult_t heuristicResultsArray[], int *returnAlgoCount)
{
    struct lt_product product;

    if (!blas_is_handle(lightHandle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (requestedAlgoCount <= 0 || !heuristicResultsArray || !returnAlgoCount || !preference)
        return CUBLAS_STATUS_INVALID_VALUE;
    const cublasStatus_t status = lt_product(operationDesc, Adesc, Bdesc, Cdesc, Ddesc, &product);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    heuristicResultsArray[0] =
        (cublasLtMatmulHeuristicResult_t){.algo = the_algorithm(), .state = CUBLAS_STATUS_SUCCESS, .wavesCount = 1};
    *returnAlgoCount = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t lightHandle, cublasComputeType_t computeType,
                                        cudaDataType_t scaleType, cudaDataType_t Atype, cudaDataType_t Btype,
                                        cudaDataType_t Ctype, cudaDataType_t Dtype, int requestedAlgoCount,
                                        int algoIdsArray[], int *returnAlgoCount)
{
    if (!blas_is_handle(lightHandle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (requestedAlgoCount <= 0 || !algoIdsArray || !returnAlgoCount)
        return CUBLAS_STATUS_INVALID_VALUE;
    *returnAlgoCount = lt_combines(computeType, scaleType, Atype, Btype, Ctype, Dtype);
    if (*returnAlgoCount)
        algoIdsArray[0] = LT_ALGORITHM_ID;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t lightHandle, cublasComputeType_t computeType,
                                      cudaDataType_t scaleType, cudaDataType_t Atype, cudaDataType_t Btype,
                                      cudaDataType_t Ctype, cudaDataType_t Dtype, int algoId, cublasLtMatmulAlgo_t *algo)
{
    if (!blas_is_handle(lightHandle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!algo || algoId != LT_ALGORITHM_ID)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!lt_combines(computeType, scaleType, Atype, Btype, Ctype, Dtype))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *algo = the_algorithm();
    return CUBLAS_STATUS_SUCCESS;
}

/* The algorithm in `result` stays as it is: it may be the one that is asked about. */
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc,
                                       cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                       cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                       const cublasLtMatmulAlgo_t *algo, cublasLtMatmulHeuristicResult_t *result)
{
    struct lt_product product;

    if (!blas_is_handle(lightHandle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!lt_is_algorithm(algo) || !result)
        return CUBLAS_STATUS_INVALID_VALUE;
    const cublasStatus_t status = lt_product(operationDesc, Adesc, Bdesc, Cdesc, Ddesc, &product);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    result->workspaceSize = 0;
    result->state = CUBLAS_STATUS_SUCCESS;
    result->wavesCount = 1;
    return CUBLAS_STATUS_SUCCESS;
}
