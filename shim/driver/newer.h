/* newer.h - declares types of driver calls that are newer than the oldest headers which the library is built with (13.0),
 * as NVIDIA's driver API pages declare them. Types of values that the library only passes on stay opaque. */
#ifndef SPILLWAY_SHIM_NEWER_H
#define SPILLWAY_SHIM_NEWER_H
#include <cuda.h>

#if CUDA_VERSION < 13020
typedef struct CUstreamCigCaptureParams_st CUstreamCigCaptureParams;
#endif

#if CUDA_VERSION < 13030
typedef cuuint32_t CUlogicalEndpointId;
/* The driver calls this function; its last parameter is an enumeration. */
typedef CUresult(CUDA_CB *CUgraphRecaptureCallback)(void *data, CUgraphNode node, const CUgraphNodeParams *originalParams,
                                                    const CUgraphNodeParams *recaptureParams, int status);
#endif
#endif
