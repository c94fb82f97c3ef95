/* capture.c - asks the driver whether a stream captures. */
#include "capture.h"

#include "driver.h"

atomic_int spw_captures_active;

bool spw_is_capturing_now(CUstream stream)
{
    CUstreamCaptureStatus status;
    CUresult result = SPW_DRIVER(cuStreamIsCapturing, (stream, &status));
    return result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}
