/* cudnn.c - libcudnn.so.9 for programs that open it whether they need it or not, as JAX does: a version and handles, no
 * operation. */
#include <stddef.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

/* Of cudnn.h, which the toolkit's headers come without. */
typedef enum { CUDNN_STATUS_SUCCESS = 0, CUDNN_STATUS_BAD_PARAM = 2000, CUDNN_STATUS_ALLOC_FAILED = 4003 } cudnnStatus_t;
typedef struct cudnnContext {
    void *stream;
} * cudnnHandle_t;
enum { MAJOR = 9, MINOR = 26, PATCH = 0, RUNTIME = 13000 };

EXPORT size_t cudnnGetVersion(void);
EXPORT size_t cudnnGetCudartVersion(void);
EXPORT cudnnStatus_t cudnnGetProperty(int which, int *value);
EXPORT const char *cudnnGetErrorString(cudnnStatus_t status);
EXPORT cudnnStatus_t cudnnCreate(cudnnHandle_t *handle);
EXPORT cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);
EXPORT cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, void *stream);

size_t cudnnGetVersion(void)
{
    return MAJOR * 10000 + MINOR * 100 + PATCH;
}

size_t cudnnGetCudartVersion(void)
{
    return RUNTIME;
}

cudnnStatus_t cudnnGetProperty(int which, int *value)
{
    static const int values[] = {MAJOR, MINOR, PATCH};
    if (!value || which < 0 || which > 2)
        return CUDNN_STATUS_BAD_PARAM;
    *value = values[which];
    return CUDNN_STATUS_SUCCESS;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    switch (status) {
    case CUDNN_STATUS_SUCCESS:
        return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_BAD_PARAM:
        return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_ALLOC_FAILED:
        return "CUDNN_STATUS_ALLOC_FAILED";
    }
    return "CUDNN_STATUS_INTERNAL_ERROR";
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    if (!handle)
        return CUDNN_STATUS_BAD_PARAM;
    *handle = calloc(1, sizeof **handle);
    return *handle ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, void *stream)
{
    if (!handle)
        return CUDNN_STATUS_BAD_PARAM;
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}
