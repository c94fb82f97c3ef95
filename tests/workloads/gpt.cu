/* gpt.cu - trains a decoder transformer to continue text, byte by byte. */
#include "operations.h"
#include "train.h"

#define BYTES 256

static const struct program program = {
    "Trains a decoder transformer (learned positions, pre-norm, GELU, Adam) on a text, byte by byte.",
    {2, 64, 2, 8, 64, 6},
    {4, 96, 4, 8, 128, 7},
    {12, 768, 12, 8, 512, 20},
    true,
    true};

struct layer {
    parameter &norm1_scale, &norm1_shift, &qkv, &qkv_bias, &out, &out_bias;
    parameter &norm2_scale, &norm2_shift, &up, &up_bias, &down, &down_bias;

    layer(parameters &p, const std::string &name, int width)
        : norm1_scale(p.constant(name + "norm1.scale", width, 1)), norm1_shift(p.constant(name + "norm1.shift", width, 0)),
          qkv(p.weight(name + "qkv", width, 3 * width, width)), qkv_bias(p.constant(name + "qkv.bias", 3 * width, 0)),
          out(p.weight(name + "out", width, width, width)), out_bias(p.constant(name + "out.bias", width, 0)),
          norm2_scale(p.constant(name + "norm2.scale", width, 1)), norm2_shift(p.constant(name + "norm2.shift", width, 0)),
          up(p.weight(name + "up", width, 4 * width, width)), up_bias(p.constant(name + "up.bias", 4 * width, 0)),
          down(p.weight(name + "down", 4 * width, width, 4 * width)), down_bias(p.constant(name + "down.bias", width, 0))
    {
    }

    variable forward(graph &g, variable x, int sequence, int heads) const
    {
        variable y = layer_norm(g, x, norm1_scale, norm1_shift);
        y = linear(g, y, qkv, qkv_bias);
        y = causal_attention(g, y, sequence, heads);
        y = dropout(g, linear(g, y, out, out_bias), DRAW_AGAIN);
        x = add(g, x, y);

        y = layer_norm(g, x, norm2_scale, norm2_shift);
        y = linear(g, y, up, up_bias);
        y = activate(g, GELU, y);
        y = dropout(g, linear(g, y, down, down_bias), DRAW_AGAIN);
        return add(g, x, y);
    }
};

struct gpt {
    int sequence, heads;
    parameter &bytes, &positions;
    std::vector<layer> layers;
    parameter &norm_scale, &norm_shift, &head, &head_bias;

    gpt(parameters &p, const struct dimensions &d)
        : sequence(d.sequence), heads(d.heads), bytes(p.weight("bytes", BYTES, d.width, 3)),
          positions(p.weight("positions", d.sequence, d.width, 48)), layers(make_layers(p, d)),
          norm_scale(p.constant("norm.scale", d.width, 1)), norm_shift(p.constant("norm.shift", d.width, 0)),
          head(p.weight("head", d.width, BYTES, 4 * d.width)), head_bias(p.constant("head.bias", BYTES, 0))
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
        variable x = add(g, embed(g, b.tokens, bytes), embed(g, position_numbers(b.size, sequence), positions));
        x = dropout(g, x, NOTE_MASK);
        for (const layer &layer : layers)
            x = layer.forward(g, x, sequence, heads);
        x = layer_norm(g, x, norm_scale, norm_shift);
        return cross_entropy(g, linear(g, x, head, head_bias), b.targets);
    }
};

int main(int argc, char **argv)
{
    struct options o = read_options(program, argc, argv);
    text data(o, false);
    int status;
    device_open(o.device, o.streams, o.allocator);
    {
        parameters p(o.seed);
        gpt model(p, o.size);
        optimizer adam(p, ADAM, 3e-3f, o.fused);
        status = train(o, p, adam, data, [&](graph &g, const struct batch &b) { return model.loss(g, b); });
    }
    device_close();
    return status;
}
