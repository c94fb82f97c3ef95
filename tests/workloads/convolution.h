/* convolution.h - convolutions over images kept as one row per pixel: row (image, y, x), one column per channel.
 *
 * Weights have one row per (ky, kx, input channel) and one column per output channel. */
#ifndef WORKLOADS_CONVOLUTION_H
#define WORKLOADS_CONVOLUTION_H
#include "array.h"

struct convolution {
    int images, height, width, in; /* what comes in; the edge is padded with kernel / 2 zeros */
    int out, kernel, stride;
    int out_height, out_width;
};

struct convolution convolution_of(int images, int height, int width, int in, int out, int kernel, int stride);

tensor convolve(const struct convolution &s, const tensor &x, const tensor &weights);
tensor convolution_input_gradient(const struct convolution &s, const tensor &dy, const tensor &weights);
tensor convolution_weight_gradient(const struct convolution &s, const tensor &dy, const tensor &x, enum role role);

/* The mean of each image's pixels, and its gradient. */
tensor pixel_means(const tensor &x, int pixels);
tensor pixel_means_gradient(const tensor &dy, int pixels);
#endif
