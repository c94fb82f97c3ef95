/* convolution.cu - convolutions as matrix products whose operand is gathered from the pixels around each place. */
#include "convolution.h"
#include "tile.h"
#ifdef SIMGPU
#include <vector>
#endif

struct convolution convolution_of(int images, int height, int width, int in, int out, int kernel, int stride)
{
    int edge = kernel / 2 * 2 - kernel; /* what the padding adds beyond the kernel's own reach */
    return {images, height, width, in, out, kernel, stride, (height + edge) / stride + 1, (width + edge) / stride + 1};
}

static ON_DEVICE inline int rows_in(const struct convolution &s)
{
    return s.images * s.height * s.width;
}

static ON_DEVICE inline int rows_out(const struct convolution &s)
{
    return s.images * s.out_height * s.out_width;
}

static ON_DEVICE inline int weight_rows(const struct convolution &s)
{
    return s.kernel * s.kernel * s.in;
}

/* Weight gradients are summed over slices of the images first, so that a GPU has enough to do at once. */
static int slices_of(const struct convolution &s)
{
    int slices = rows_out(s) / 4096;
    return slices < 1 ? 1 : slices > 32 ? 32 : slices;
}

#ifdef SIMGPU
/* The row of x that weight position (ky, kx) sees from an output pixel, or -1 in the padding. */
static inline int pixel_seen(const struct convolution &s, int row, int ky, int kx)
{
    int image = row / (s.out_height * s.out_width), place = row % (s.out_height * s.out_width);
    int y = place / s.out_width * s.stride + ky - s.kernel / 2, x = place % s.out_width * s.stride + kx - s.kernel / 2;
    if (y < 0 || y >= s.height || x < 0 || x >= s.width)
        return -1;
    return (image * s.height + y) * s.width + x;
}

/* Output pixels that are treated at once: enough to make the matrix product worth while, few enough for the cache. */
#define PATCH_ROWS 64

/* Writes what output pixels first … first + count see, one after the other. */
static void gather_patches(const struct convolution &s, const float *__restrict__ x, int first, int count,
                           float *__restrict__ patches)
{
    for (int row = first; row < first + count; row++)
        for (int ky = 0; ky < s.kernel; ky++)
            for (int kx = 0; kx < s.kernel; kx++, patches += s.in) {
                int seen = pixel_seen(s, row, ky, kx);
                if (seen < 0)
                    memset(patches, 0, s.in * sizeof(float));
                else
                    memcpy(patches, x + (size_t)seen * s.in, s.in * sizeof(float));
            }
}

/* The reverse: adds each patch to the pixels that it was gathered from. */
static void scatter_patches(const struct convolution &s, const float *__restrict__ patches, int first, int count,
                            float *__restrict__ dx)
{
    for (int row = first; row < first + count; row++)
        for (int ky = 0; ky < s.kernel; ky++)
            for (int kx = 0; kx < s.kernel; kx++, patches += s.in) {
                int seen = pixel_seen(s, row, ky, kx);
                for (int c = 0; c < s.in && seen >= 0; c++)
                    dx[(size_t)seen * s.in + c] += patches[c];
            }
}
#else
struct place {
    int image, y, x;
};

static __device__ inline struct place place_of(int row, int height, int width)
{
    return {row / (height * width), row / width % height, row % width};
}

/* Element of x that weight row `w` sees from an output pixel. */
static __device__ inline float seen_from(const struct convolution &s, const float *x, int row, int w)
{
    struct place p = place_of(row, s.out_height, s.out_width);
    int y = p.y * s.stride + w / (s.kernel * s.in) - s.kernel / 2, at = p.x * s.stride + w / s.in % s.kernel - s.kernel / 2;
    if (y < 0 || y >= s.height || at < 0 || at >= s.width)
        return 0;
    return x[((size_t)(p.image * s.height + y) * s.width + at) * s.in + w % s.in];
}

/* Element of dy that reaches an input pixel through kernel position and output channel w. */
static __device__ inline float reaching(const struct convolution &s, const float *dy, int row, int w)
{
    struct place p = place_of(row, s.height, s.width);
    int y = p.y + s.kernel / 2 - w / (s.kernel * s.out), x = p.x + s.kernel / 2 - w / s.out % s.kernel;
    if (y < 0 || x < 0 || y % s.stride || x % s.stride || y / s.stride >= s.out_height || x / s.stride >= s.out_width)
        return 0;
    return dy[((size_t)(p.image * s.out_height + y / s.stride) * s.out_width + x / s.stride) * s.out + w % s.out];
}
#endif

__global__ void convolve_kernel(struct convolution s, const float *x, const float *weights, float *y)
{
#ifdef SIMGPU
    std::vector<float> patches((size_t)PATCH_ROWS * weight_rows(s));
    memset(y, 0, (size_t)rows_out(s) * s.out * sizeof(float));
    for (int first = 0; first < rows_out(s); first += PATCH_ROWS) {
        int count = rows_out(s) - first < PATCH_ROWS ? rows_out(s) - first : PATCH_ROWS;
        gather_patches(s, x, first, count, patches.data());
        host_multiply(count, s.out, weight_rows(s), 1.0f, patches.data(), weight_rows(s), 1, weights, s.out, 1,
                      y + (size_t)first * s.out, s.out);
    }
#else
    int across = tiles(s.out);
    for (int tile = blockIdx.x; tile < across * tiles(rows_out(s)); tile += gridDim.x)
        multiply_tile(
            rows_out(s), s.out, weight_rows(s), tile / across * TILE, tile % across * TILE, true, true,
            [&](int row, int w) { return seen_from(s, x, row, w); }, [&](int w, int c) { return weights[w * s.out + c]; },
            [&](int row, int c, float sum) { y[(size_t)row * s.out + c] = sum; });
#endif
}
SIMGPU_FOOTPRINT(convolve_kernel, (struct convolution s, const float *x, const float *weights, float *y),
                 2.0 * rows_out(s) * weight_rows(s) * s.out, R(x, (size_t)rows_in(s) * s.in),
                 R(weights, weight_rows(s) * s.out), W(y, (size_t)rows_out(s) * s.out))

tensor convolve(const struct convolution &s, const tensor &x, const tensor &weights)
{
    tensor y(rows_out(s), s.out);
    unsigned blocks = blocks_for((size_t)((rows_out(s) + 63) / 64) * ((s.out + 63) / 64), 1);
    convolve_kernel<<<blocks, THREADS, 0, stream_of(COMPUTE)>>>(s, x.data(), weights.data(), y.data());
    CHECK_LAUNCH(convolve_kernel);
    return y;
}

__global__ void convolution_input_gradient_kernel(struct convolution s, const float *dy, const float *weights, float *dx)
{
#ifdef SIMGPU
    std::vector<float> patches((size_t)PATCH_ROWS * weight_rows(s));
    memset(dx, 0, (size_t)rows_in(s) * s.in * sizeof(float));
    for (int first = 0; first < rows_out(s); first += PATCH_ROWS) {
        int count = rows_out(s) - first < PATCH_ROWS ? rows_out(s) - first : PATCH_ROWS;
        memset(patches.data(), 0, patches.size() * sizeof(float));
        host_multiply(count, weight_rows(s), s.out, 1.0f, dy + (size_t)first * s.out, s.out, 1, weights, 1, s.out,
                      patches.data(), weight_rows(s));
        scatter_patches(s, patches.data(), first, count, dx);
    }
#else
    int across = tiles(s.in);
    for (int tile = blockIdx.x; tile < across * tiles(rows_in(s)); tile += gridDim.x)
        multiply_tile(
            rows_in(s), s.in, s.kernel * s.kernel * s.out, tile / across * TILE, tile % across * TILE, true, false,
            [&](int row, int w) { return reaching(s, dy, row, w); },
            [&](int w, int c) { return weights[(w / s.out * s.in + c) * s.out + w % s.out]; },
            [&](int row, int c, float sum) { dx[(size_t)row * s.in + c] = sum; });
#endif
}
SIMGPU_FOOTPRINT(convolution_input_gradient_kernel, (struct convolution s, const float *dy, const float *weights, float *dx),
                 2.0 * rows_out(s) * weight_rows(s) * s.out, R(dy, (size_t)rows_out(s) * s.out),
                 R(weights, weight_rows(s) * s.out), W(dx, (size_t)rows_in(s) * s.in))

tensor convolution_input_gradient(const struct convolution &s, const tensor &dy, const tensor &weights)
{
    tensor dx(rows_in(s), s.in);
    unsigned blocks = blocks_for((size_t)((rows_in(s) + 63) / 64) * ((s.in + 63) / 64), 1);
    convolution_input_gradient_kernel<<<blocks, THREADS, 0, stream_of(COMPUTE)>>>(s, dy.data(), weights.data(), dx.data());
    CHECK_LAUNCH(convolution_input_gradient_kernel);
    return dx;
}

/* Slice i of `slices` sums over output pixels i * rows_out / slices to (i + 1) * rows_out / slices. */
__global__ void convolution_weight_gradient_kernel(struct convolution s, int slices, const float *dy, const float *x,
                                                   float *partial)
{
    size_t slice_size = (size_t)weight_rows(s) * s.out, rows = rows_out(s);
#ifdef SIMGPU
    std::vector<float> patches((size_t)PATCH_ROWS * weight_rows(s));
    memset(partial, 0, slices * slice_size * sizeof(float));
    for (int slice = 0; slice < slices; slice++) {
        int end = (int)(rows * (slice + 1) / slices);
        for (int first = (int)(rows * slice / slices); first < end; first += PATCH_ROWS) {
            int count = end - first < PATCH_ROWS ? end - first : PATCH_ROWS;
            gather_patches(s, x, first, count, patches.data());
            host_multiply(weight_rows(s), s.out, count, 1.0f, patches.data(), 1, weight_rows(s), dy + (size_t)first * s.out,
                          s.out, 1, partial + slice * slice_size, s.out);
        }
    }
#else
    int across = tiles(s.out), each = across * tiles(weight_rows(s));
    for (int tile = blockIdx.x; tile < each * slices; tile += gridDim.x) {
        int slice = tile / each, first = (int)(rows * slice / slices), end = (int)(rows * (slice + 1) / slices);
        multiply_tile(
            weight_rows(s), s.out, end - first, tile % each / across * TILE, tile % across * TILE, false, true,
            [&](int w, int row) { return seen_from(s, x, first + row, w); },
            [&](int row, int c) { return dy[(size_t)(first + row) * s.out + c]; },
            [&](int w, int c, float sum) { partial[slice * slice_size + w * s.out + c] = sum; });
    }
#endif
}
SIMGPU_FOOTPRINT(convolution_weight_gradient_kernel,
                 (struct convolution s, int slices, const float *dy, const float *x, float *partial),
                 2.0 * rows_out(s) * weight_rows(s) * s.out, R(dy, (size_t)rows_out(s) * s.out),
                 R(x, (size_t)rows_in(s) * s.in), W(partial, (size_t)slices *weight_rows(s) * s.out))

__global__ void sum_slices_kernel(const float *__restrict__ partial, float *__restrict__ sums, int slices, size_t n)
{
    SPAN (i, n) {
        float sum = 0;
        for (int slice = 0; slice < slices; slice++)
            sum += partial[slice * n + i];
        sums[i] = sum;
    }
}
SIMGPU_FOOTPRINT(sum_slices_kernel, (const float *partial, float *sums, int slices, size_t n), 1.0 * slices * n,
                 R(partial, slices *n), W(sums, n))

tensor convolution_weight_gradient(const struct convolution &s, const tensor &dy, const tensor &x, enum role role)
{
    int slices = slices_of(s);
    tensor partial((size_t)slices * weight_rows(s), s.out, role), dw(weight_rows(s), s.out, role);
    unsigned blocks = blocks_for((size_t)slices * ((weight_rows(s) + 63) / 64) * ((s.out + 63) / 64), 1);
    convolution_weight_gradient_kernel<<<blocks, THREADS, 0, stream_of(role)>>>(s, slices, dy.data(), x.data(),
                                                                                partial.data());
    CHECK_LAUNCH(convolution_weight_gradient_kernel);
    sum_slices_kernel<<<blocks_for(dw.count()), THREADS, 0, stream_of(role)>>>(partial.data(), dw.data(), slices,
                                                                               dw.count());
    CHECK_LAUNCH(sum_slices_kernel);
    return dw;
}

__global__ void pixel_means_kernel(const float *__restrict__ x, float *__restrict__ y, int images, int pixels, int channels)
{
    ROWS (image, (size_t)images)
        LANES (c, channels) {
            float sum = 0;
            for (int p = 0; p < pixels; p++)
                sum += x[(image * pixels + p) * channels + c];
            y[image * channels + c] = sum / pixels;
        }
}
SIMGPU_FOOTPRINT(pixel_means_kernel, (const float *x, float *y, int images, int pixels, int channels),
                 (double)images *pixels *channels, R(x, (size_t)images *pixels *channels), W(y, (size_t)images *channels))

tensor pixel_means(const tensor &x, int pixels)
{
    tensor y(x.rows / pixels, x.columns);
    pixel_means_kernel<<<blocks_for_rows(y.rows), THREADS, 0, stream_of(COMPUTE)>>>(x.data(), y.data(), (int)y.rows, pixels,
                                                                                    (int)y.columns);
    CHECK_LAUNCH(pixel_means_kernel);
    return y;
}

__global__ void pixel_means_gradient_kernel(const float *__restrict__ dy, float *__restrict__ dx, int images, int pixels,
                                            int channels)
{
    ROWS (row, (size_t)images * pixels)
        LANES (c, channels)
            dx[row * channels + c] = dy[row / pixels * channels + c] / pixels;
}
SIMGPU_FOOTPRINT(pixel_means_gradient_kernel, (const float *dy, float *dx, int images, int pixels, int channels),
                 (double)images *pixels *channels, R(dy, (size_t)images *channels), W(dx, (size_t)images *pixels *channels))

tensor pixel_means_gradient(const tensor &dy, int pixels)
{
    tensor dx(dy.rows * pixels, dy.columns);
    pixel_means_gradient_kernel<<<blocks_for_rows(dx.rows), THREADS, 0, stream_of(COMPUTE)>>>(
        dy.data(), dx.data(), (int)dy.rows, pixels, (int)dy.columns);
    CHECK_LAUNCH(pixel_means_gradient_kernel);
    return dx;
}
