/* resnet.cu - trains a residual network of convolutions to read digits. */
#include "operations.h"
#include "train.h"

#define SIDE    8
#define CLASSES 10
#define STAGES  3

static const struct program program = {
    "Trains a residual network (3x3 convolutions, batch normalisation, momentum) on images of digits.",
    {1, 8, 0, 64, 0, 6},
    {3, 16, 0, 256, 0, 6},
    {4, 64, 0, 1024, 0, 20},
    true};

/* A convolution and its normalisation. */
struct unit {
    int in, out, kernel, stride;
    parameter &weight, &scale, &shift;
    tensor &mean, &variance;

    unit(parameters &p, const std::string &name, int inputs, int outputs, int kernel_size, int step)
        : in(inputs), out(outputs), kernel(kernel_size), stride(step),
          weight(p.weight(name + "weight", (size_t)kernel * kernel * in, out, (size_t)kernel * kernel * in)),
          scale(p.constant(name + "scale", out, 1)), shift(p.constant(name + "shift", out, 0)), mean(p.buffer(out, 0)),
          variance(p.buffer(out, 1))
    {
    }

    variable forward(graph &g, const variable &x, int images, int side) const
    {
        variable y = convolve(g, convolution_of(images, side, side, in, out, kernel, stride), x, weight);
        return batch_norm(g, y, scale, shift, mean, variance);
    }
};

/* Two units, and the input around them: as it is, or brought to the same shape. */
struct residual {
    unit first, second;
    std::unique_ptr<unit> shortcut;

    residual(parameters &p, const std::string &name, int in, int out, int stride)
        : first(p, name + "first.", in, out, 3, stride), second(p, name + "second.", out, out, 3, 1)
    {
        if (stride != 1 || in != out)
            shortcut = std::make_unique<unit>(p, name + "shortcut.", in, out, 1, stride);
    }

    variable forward(graph &g, const variable &x, int images, int side) const
    {
        variable y = activate(g, RELU, first.forward(g, x, images, side));
        y = second.forward(g, y, images, side / first.stride);
        y = add(g, y, shortcut ? shortcut->forward(g, x, images, side) : x);
        return activate(g, RELU, std::move(y));
    }
};

struct resnet {
    unit stem;
    std::vector<residual> blocks;
    parameter &head, &head_bias;

    resnet(parameters &p, const struct dimensions &d)
        : stem(p, "stem.", 1, d.width, 3, 1), blocks(make_blocks(p, d)),
          head(p.weight("head", (size_t)d.width << (STAGES - 1), CLASSES, (size_t)d.width << (STAGES - 1))),
          head_bias(p.constant("head.bias", CLASSES, 0))
    {
    }

    static std::vector<residual> make_blocks(parameters &p, const struct dimensions &d)
    {
        std::vector<residual> blocks;
        int in = d.width;
        for (int stage = 0; stage < STAGES; stage++)
            for (int i = 0; i < d.layers; i++) {
                int out = d.width << stage, stride = stage > 0 && i == 0 ? 2 : 1;
                blocks.emplace_back(p, "block" + std::to_string(blocks.size()) + ".", in, out, stride);
                in = out;
            }
        return blocks;
    }

    variable loss(graph &g, const struct batch &b) const
    {
        int side = SIDE;
        tensor pixels = b.images.reshaped(b.images.count(), 1);
        variable x = activate(g, RELU, stem.forward(g, input(pixels), b.size, side));
        for (const residual &block : blocks) {
            x = block.forward(g, x, b.size, side);
            side /= block.first.stride;
        }
        x = pixel_means(g, x, side * side);
        return cross_entropy(g, linear(g, x, head, head_bias), b.targets);
    }
};

int main(int argc, char **argv)
{
    struct options o = read_options(program, argc, argv);
    digits data(o);
    int status;
    device_open(o.device, o.streams, o.allocator);
    {
        parameters p(o.seed);
        resnet model(p, o.size);
        optimizer momentum(p, MOMENTUM, 0.05f, o.fused);
        status = train(o, p, momentum, data, [&](graph &g, const struct batch &b) { return model.loss(g, b); });
    }
    device_close();
    return status;
}
