/* copies.h - one line for each driver call that copies or sets memory: what it moves, and on which stream.
 *
 * hooks_copy.c includes this list to make memory resident, note_copy.c to record the calls. Whoever includes it defines
 * COPY(symbol, parameters, arguments, stream, description), and COPY_MANY, the same for descriptions that may fail; LEGACY
 * and OWN, the streams of calls that name none; spw_per_thread(); and the functions that descriptions call: linear,
 * linear_with, host_to_device, device_to_host, plane, volume, volume_peer, batch, batch_3d, decompress, from_array,
 * to_array, set, set_rows. */
/* clang-format off */
COPY(cuMemcpy, (CUdeviceptr d, CUdeviceptr s, size_t n), (d, s, n), LEGACY, linear(&c, d, s, n))
COPY(cuMemcpy_ptds, (CUdeviceptr d, CUdeviceptr s, size_t n), (d, s, n), OWN, linear(&c, d, s, n))
COPY(cuMemcpyAsync, (CUdeviceptr d, CUdeviceptr s, size_t n, CUstream t), (d, s, n, t), t, linear(&c, d, s, n))
COPY(cuMemcpyAsync_ptsz, (CUdeviceptr d, CUdeviceptr s, size_t n, CUstream t), (d, s, n, t), spw_per_thread(t), linear(&c, d, s, n))
COPY(cuMemcpyDtoD_v2, (CUdeviceptr d, CUdeviceptr s, size_t n), (d, s, n), LEGACY, linear(&c, d, s, n))
COPY(cuMemcpyDtoD_v2_ptds, (CUdeviceptr d, CUdeviceptr s, size_t n), (d, s, n), OWN, linear(&c, d, s, n))
COPY(cuMemcpyDtoDAsync_v2, (CUdeviceptr d, CUdeviceptr s, size_t n, CUstream t), (d, s, n, t), t, linear(&c, d, s, n))
COPY(cuMemcpyDtoDAsync_v2_ptsz, (CUdeviceptr d, CUdeviceptr s, size_t n, CUstream t), (d, s, n, t), spw_per_thread(t), linear(&c, d, s, n))
COPY(cuMemcpyHtoD_v2, (CUdeviceptr d, const void *s, size_t n), (d, s, n), LEGACY, host_to_device(&c, d, s, n))
COPY(cuMemcpyHtoD_v2_ptds, (CUdeviceptr d, const void *s, size_t n), (d, s, n), OWN, host_to_device(&c, d, s, n))
COPY(cuMemcpyHtoDAsync_v2, (CUdeviceptr d, const void *s, size_t n, CUstream t), (d, s, n, t), t, host_to_device(&c, d, s, n))
COPY(cuMemcpyHtoDAsync_v2_ptsz, (CUdeviceptr d, const void *s, size_t n, CUstream t), (d, s, n, t), spw_per_thread(t), host_to_device(&c, d, s, n))
COPY(cuMemcpyDtoH_v2, (void *d, CUdeviceptr s, size_t n), (d, s, n), LEGACY, device_to_host(&c, d, s, n))
COPY(cuMemcpyDtoH_v2_ptds, (void *d, CUdeviceptr s, size_t n), (d, s, n), OWN, device_to_host(&c, d, s, n))
COPY(cuMemcpyDtoHAsync_v2, (void *d, CUdeviceptr s, size_t n, CUstream t), (d, s, n, t), t, device_to_host(&c, d, s, n))
COPY(cuMemcpyDtoHAsync_v2_ptsz, (void *d, CUdeviceptr s, size_t n, CUstream t), (d, s, n, t), spw_per_thread(t), device_to_host(&c, d, s, n))
COPY(cuMemcpyPeer, (CUdeviceptr d, CUcontext dc, CUdeviceptr s, CUcontext sc, size_t n), (d, dc, s, sc, n), LEGACY, linear(&c, d, s, n))
COPY(cuMemcpyPeer_ptds, (CUdeviceptr d, CUcontext dc, CUdeviceptr s, CUcontext sc, size_t n), (d, dc, s, sc, n), OWN, linear(&c, d, s, n))
COPY(cuMemcpyPeerAsync, (CUdeviceptr d, CUcontext dc, CUdeviceptr s, CUcontext sc, size_t n, CUstream t), (d, dc, s, sc, n, t), t, linear(&c, d, s, n))
COPY(cuMemcpyPeerAsync_ptsz, (CUdeviceptr d, CUcontext dc, CUdeviceptr s, CUcontext sc, size_t n, CUstream t), (d, dc, s, sc, n, t), spw_per_thread(t), linear(&c, d, s, n))
COPY(cuMemcpyAtoD_v2, (CUdeviceptr d, CUarray a, size_t o, size_t n), (d, a, o, n), LEGACY, from_array(&c, d, n))
COPY(cuMemcpyAtoD_v2_ptds, (CUdeviceptr d, CUarray a, size_t o, size_t n), (d, a, o, n), OWN, from_array(&c, d, n))
COPY(cuMemcpyDtoA_v2, (CUarray a, size_t o, CUdeviceptr s, size_t n), (a, o, s, n), LEGACY, to_array(&c, s, n))
COPY(cuMemcpyDtoA_v2_ptds, (CUarray a, size_t o, CUdeviceptr s, size_t n), (a, o, s, n), OWN, to_array(&c, s, n))

COPY(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *p), (p), LEGACY, plane(&c, p))
COPY(cuMemcpy2D_v2_ptds, (const CUDA_MEMCPY2D *p), (p), OWN, plane(&c, p))
COPY(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *p), (p), LEGACY, plane(&c, p))
COPY(cuMemcpy2DUnaligned_v2_ptds, (const CUDA_MEMCPY2D *p), (p), OWN, plane(&c, p))
COPY(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *p, CUstream t), (p, t), t, plane(&c, p))
COPY(cuMemcpy2DAsync_v2_ptsz, (const CUDA_MEMCPY2D *p, CUstream t), (p, t), spw_per_thread(t), plane(&c, p))
COPY(cuMemcpy3D_v2, (const CUDA_MEMCPY3D *p), (p), LEGACY, volume(&c, p))
COPY(cuMemcpy3D_v2_ptds, (const CUDA_MEMCPY3D *p), (p), OWN, volume(&c, p))
COPY(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *p, CUstream t), (p, t), t, volume(&c, p))
COPY(cuMemcpy3DAsync_v2_ptsz, (const CUDA_MEMCPY3D *p, CUstream t), (p, t), spw_per_thread(t), volume(&c, p))
COPY(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER *p), (p), LEGACY, volume_peer(&c, p))
COPY(cuMemcpy3DPeer_ptds, (const CUDA_MEMCPY3D_PEER *p), (p), OWN, volume_peer(&c, p))
COPY(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER *p, CUstream t), (p, t), t, volume_peer(&c, p))
COPY(cuMemcpy3DPeerAsync_ptsz, (const CUDA_MEMCPY3D_PEER *p, CUstream t), (p, t), spw_per_thread(t), volume_peer(&c, p))

#define BATCH_V1 (CUdeviceptr *d, CUdeviceptr *s, size_t *n, size_t k, CUmemcpyAttributes *a, size_t *i, size_t m, size_t *f, CUstream t)
#define BATCH_V2 (CUdeviceptr *d, CUdeviceptr *s, size_t *n, size_t k, CUmemcpyAttributes *a, size_t *i, size_t m, CUstream t)
#define BATCH_3D_V1 (size_t k, CUDA_MEMCPY3D_BATCH_OP *l, size_t *f, unsigned long long g, CUstream t)
#define BATCH_3D_V2 (size_t k, CUDA_MEMCPY3D_BATCH_OP *l, unsigned long long g, CUstream t)
COPY_MANY(cuMemcpyBatchAsync, BATCH_V1, (d, s, n, k, a, i, m, f, t), t, batch(&c, d, s, n, k, a, i, m))
COPY_MANY(cuMemcpyBatchAsync_ptsz, BATCH_V1, (d, s, n, k, a, i, m, f, t), spw_per_thread(t), batch(&c, d, s, n, k, a, i, m))
COPY_MANY(cuMemcpyBatchAsync_v2, BATCH_V2, (d, s, n, k, a, i, m, t), t, batch(&c, d, s, n, k, a, i, m))
COPY_MANY(cuMemcpyBatchAsync_v2_ptsz, BATCH_V2, (d, s, n, k, a, i, m, t), spw_per_thread(t), batch(&c, d, s, n, k, a, i, m))
COPY_MANY(cuMemcpy3DBatchAsync, BATCH_3D_V1, (k, l, f, g, t), t, batch_3d(&c, l, k))
COPY_MANY(cuMemcpy3DBatchAsync_ptsz, BATCH_3D_V1, (k, l, f, g, t), spw_per_thread(t), batch_3d(&c, l, k))
COPY_MANY(cuMemcpy3DBatchAsync_v2, BATCH_3D_V2, (k, l, g, t), t, batch_3d(&c, l, k))
COPY_MANY(cuMemcpy3DBatchAsync_v2_ptsz, BATCH_3D_V2, (k, l, g, t), spw_per_thread(t), batch_3d(&c, l, k))
COPY(cuMemcpyWithAttributesAsync, (CUdeviceptr d, CUdeviceptr s, size_t n, CUmemcpyAttributes *a, CUstream t), (d, s, n, a, t), t, linear_with(&c, d, s, n, a))
COPY(cuMemcpyWithAttributesAsync_ptsz, (CUdeviceptr d, CUdeviceptr s, size_t n, CUmemcpyAttributes *a, CUstream t), (d, s, n, a, t), spw_per_thread(t), linear_with(&c, d, s, n, a))
COPY_MANY(cuMemcpy3DWithAttributesAsync, (CUDA_MEMCPY3D_BATCH_OP *o, unsigned long long g, CUstream t), (o, g, t), t, batch_3d(&c, o, 1))
COPY_MANY(cuMemcpy3DWithAttributesAsync_ptsz, (CUDA_MEMCPY3D_BATCH_OP *o, unsigned long long g, CUstream t), (o, g, t), spw_per_thread(t), batch_3d(&c, o, 1))

#define DECOMPRESS (CUmemDecompressParams *l, size_t k, unsigned int g, size_t *e, CUstream t)
COPY_MANY(cuMemBatchDecompressAsync, DECOMPRESS, (l, k, g, e, t), t, decompress(&c, l, k))
COPY_MANY(cuMemBatchDecompressAsync_ptsz, DECOMPRESS, (l, k, g, e, t), spw_per_thread(t), decompress(&c, l, k))

#define SET(symbol, type, element) \
    COPY(symbol##_v2, (CUdeviceptr d, type v, size_t n), (d, v, n), LEGACY, set(&c, d, n, v, element)) \
    COPY(symbol##_v2_ptds, (CUdeviceptr d, type v, size_t n), (d, v, n), OWN, set(&c, d, n, v, element)) \
    COPY(symbol##Async, (CUdeviceptr d, type v, size_t n, CUstream t), (d, v, n, t), t, set(&c, d, n, v, element)) \
    COPY(symbol##Async_ptsz, (CUdeviceptr d, type v, size_t n, CUstream t), (d, v, n, t), spw_per_thread(t), set(&c, d, n, v, element))
#define SET_2D(symbol, type, element) \
    COPY(symbol##_v2, (CUdeviceptr d, size_t p, type v, size_t w, size_t h), (d, p, v, w, h), LEGACY, set_rows(&c, d, p, w, h, v, element)) \
    COPY(symbol##_v2_ptds, (CUdeviceptr d, size_t p, type v, size_t w, size_t h), (d, p, v, w, h), OWN, set_rows(&c, d, p, w, h, v, element)) \
    COPY(symbol##Async, (CUdeviceptr d, size_t p, type v, size_t w, size_t h, CUstream t), (d, p, v, w, h, t), t, set_rows(&c, d, p, w, h, v, element)) \
    COPY(symbol##Async_ptsz, (CUdeviceptr d, size_t p, type v, size_t w, size_t h, CUstream t), (d, p, v, w, h, t), spw_per_thread(t), set_rows(&c, d, p, w, h, v, element))

SET(cuMemsetD8, unsigned char, 1)
SET(cuMemsetD16, unsigned short, 2)
SET(cuMemsetD32, unsigned int, 4)
SET_2D(cuMemsetD2D8, unsigned char, 1)
SET_2D(cuMemsetD2D16, unsigned short, 2)
SET_2D(cuMemsetD2D32, unsigned int, 4)
