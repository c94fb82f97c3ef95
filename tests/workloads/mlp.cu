/* mlp.cu - trains a deep perceptron to read digits. */
#include "operations.h"
#include "train.h"

#define PIXELS  64
#define CLASSES 10

static const struct program program = {
    "Trains a perceptron of many residual layers (layer normalisation, GELU, momentum) on images of digits.",
    {6, 64, 0, 256, 0, 8},
    {16, 128, 0, 1024, 0, 8},
    {24, 2048, 0, 4096, 0, 20},
    true};

struct layer {
    parameter &weight, &bias, &scale, &shift;

    layer(parameters &p, const std::string &name, int width)
        : weight(p.weight(name + "weight", width, width, width)), bias(p.constant(name + "bias", width, 0)),
          scale(p.constant(name + "scale", width, 1)), shift(p.constant(name + "shift", width, 0))
    {
    }

    variable forward(graph &g, const variable &x) const
    {
        variable y = layer_norm(g, linear(g, x, weight, bias), scale, shift);
        return add(g, x, activate(g, GELU, y));
    }
};

struct mlp {
    parameter &entry, &entry_bias;
    std::vector<layer> layers;
    parameter &norm_scale, &norm_shift, &head, &head_bias;

    mlp(parameters &p, const struct dimensions &d)
        : entry(p.weight("entry", PIXELS, d.width, PIXELS)), entry_bias(p.constant("entry.bias", d.width, 0)),
          layers(make_layers(p, d)), norm_scale(p.constant("norm.scale", d.width, 1)),
          norm_shift(p.constant("norm.shift", d.width, 0)), head(p.weight("head", d.width, CLASSES, 4 * d.width)),
          head_bias(p.constant("head.bias", CLASSES, 0))
    {
    }

    static std::vector<layer> make_layers(parameters &p, const struct dimensions &d)
    {
        std::vector<layer> layers;
        for (int i = 0; i < d.layers; i++)
            layers.emplace_back(p, "layer" + std::to_string(i) + ".", d.width);
        return layers;
    }

    variable loss(graph &g, const struct batch &b) const
    {
        variable x = linear(g, input(b.images), entry, entry_bias);
        for (const layer &layer : layers)
            x = layer.forward(g, x);
        x = layer_norm(g, x, norm_scale, norm_shift);
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
        mlp model(p, o.size);
        optimizer momentum(p, MOMENTUM, 0.05f, o.fused);
        status = train(o, p, momentum, data, [&](graph &g, const struct batch &b) { return model.loss(g, b); });
    }
    device_close();
    return status;
}
