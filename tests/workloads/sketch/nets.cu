/* nets.cu - the sketches. */
#include "sketch.h"
#include <string.h>

words upload(const context &c, double kib)
{
    words what = words_of(kib);
    for (int i = 0; i < 64; i++)
        c.host[i] = (uint32_t)drawn(c, i);
    make(7, 1, {}, what);
    CHECK(cudaMemcpyAsync(what.data(), c.host, 64 * sizeof(uint32_t), cudaMemcpyHostToDevice, stream_of(COMPUTE)));
    return what;
}

uint64_t drawn(const context &c, int what)
{
    uint64_t x = ((uint64_t)c.step + 1) * 0x9e3779b97f4a7c15u + (uint64_t)what * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 27;
}

/* A layer of a transformer: attention to itself, and to `memory` where there is one, then two products. */
struct block_weights {
    weights *qkv, *out, *cross, *cross_out, *up, *down;

    block_weights(net &n, double s, bool crosses)
        : qkv(n.add(3 * s)), out(n.add(s)), cross(crosses ? n.add(3 * s) : nullptr), cross_out(crosses ? n.add(s) : nullptr),
          up(n.add(4 * s)), down(n.add(4 * s))
    {
    }
    value forward(tape &t, value x, double a, double cost, const value *memory) const
    {
        value y = t.apply(0, a, cost / 10, {x}, nullptr);
        y = t.apply(1, 3 * a, cost, {y}, qkv);
        y = t.apply(2, a, 2 * cost, {y}, nullptr, SAVE_INPUTS | SAVE_OUTPUT);
        x = t.apply(3, a, cost, {y, x}, out);
        if (memory) {
            y = t.apply(0, a, cost / 10, {x}, nullptr);
            y = t.apply(4, 3 * a, cost, {y, *memory}, cross);
            y = t.apply(2, a, 2 * cost, {y}, nullptr, SAVE_INPUTS | SAVE_OUTPUT);
            x = t.apply(3, a, cost, {y, x}, cross_out);
        }
        y = t.apply(0, a, cost / 10, {x}, nullptr);
        y = t.apply(5, 4 * a, cost, {y}, up);
        y = t.apply(6, 4 * a, cost / 10, {y}, nullptr);
        return t.apply(7, a, 4 * cost, {y, x}, down);
    }
};

static value loss_of(tape &t, const value &x)
{
    return t.apply(0, 0.004, 1, {x});
}

/* Transformers. */
struct transformer : sketch {
    net n;
    std::vector<block_weights> encoder, decoder;
    weights *embedding;
    double a, s, large;
    bool checkpoints, clips;
    int micro, buckets;

    transformer(const context &c, int encoders, int decoders, double activation, double weight, double large_weights = 0)
        : embedding(n.add(2048 * c.size)), a(activation * c.size), s(weight * c.size), large(large_weights),
          checkpoints(false), clips(false), micro(1), buckets(1)
    {
        for (int i = 0; i < encoders; i++)
            encoder.emplace_back(n, s, false);
        for (int i = 0; i < decoders; i++)
            decoder.emplace_back(n, s, true);
        nets = {&n};
    }
    value checkpointed(tape &t, const block_weights &layer, const value &x, double now, double cost)
    {
        tape nothing;
        nothing.recording = false;
        value y = layer.forward(nothing, x, now, cost, nullptr);
        y.grad = std::make_shared<words>();
        t.on_backward([=, &layer] {
            tape again;
            value once = {x.what, std::make_shared<words>()};
            value made = layer.forward(again, once, now, cost, nullptr);
            words dy = *y.grad;
            *y.grad = {};
            give(made, dy);
            dy = {};
            again.go_back();
            give(x, *once.grad);
        });
        return {y.what, y.grad};
    }
    value forward(tape &t, const context &c)
    {
        double now = buckets > 1 ? a * (2 + (double)(drawn(c, 99) % (uint64_t)buckets)) / (1 + buckets) : a;
        value x = t.apply(0, now, 5, {constant(upload(c, 64))}, embedding);
        for (const block_weights &layer : encoder)
            x = checkpoints && t.recording ? checkpointed(t, layer, x, now, 50 * c.cost)
                                           : layer.forward(t, x, now, 50 * c.cost, nullptr);
        if (decoder.empty())
            return loss_of(t, x);
        value y = t.apply(0, now, 5, {constant(upload(c, 32))}, embedding);
        for (const block_weights &layer : decoder)
            y = layer.forward(t, y, now, 50 * c.cost, &x);
        return loss_of(t, y);
    }
    void clip(const context &c)
    {
        words norm = words_of(0.004), sum;
        make(0, 1, {}, norm);
        for (auto &w : n.all) {
            sum = words_of(0.004);
            make(4, 1, {w->grad, norm}, sum);
            norm = sum;
        }
        CHECK(cudaMemcpyAsync(c.host, norm.data(), 4, cudaMemcpyDeviceToHost, stream_of(COMPUTE)));
        CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
        if (c.host[0] % 4 != 0)
            for (auto &w : n.all)
                scale_words(w->grad, c.host[0] | 1);
    }
    words step(const context &c) override
    {
        words last;
        for (int i = 0; i < micro; i++) {
            tape t;
            value loss = forward(t, c);
            t.backward(loss);
            last = loss.what;
        }
        if (clips)
            clip(c);
        n.adam();
        return last;
    }
};

/* Convolutions down and up again, each level beside its like. */
struct unet : sketch {
    net n;
    std::vector<weights *> down, up;
    double a;

    explicit unet(const context &c) : a(8192 * c.size)
    {
        for (int i = 0; i < 5; i++) {
            down.push_back(n.add(256 * c.size * (1 << i)));
            down.push_back(n.add(256 * c.size * (1 << i)));
            up.push_back(n.add(256 * c.size * (1 << i)));
            up.push_back(n.add(256 * c.size * (1 << i)));
        }
        nets = {&n};
    }
    value forward(tape &t, const context &c, value x)
    {
        std::vector<value> beside;
        double cost = 40 * c.cost;
        for (size_t i = 0; i < 5; i++) {
            double now = a / (1 << i);
            x = t.apply(1, now, cost, {x}, down[2 * i]);
            x = t.apply(2, now, cost / 20, {x}, nullptr, SAVE_OUTPUT);
            x = t.apply(3, now, cost, {x}, down[2 * i + 1]);
            x = t.apply(4, now, cost / 20, {x}, nullptr, SAVE_OUTPUT);
            beside.push_back(x);
            x = t.apply(5, now / 4, cost / 20, {x});
        }
        for (size_t i = 5; i-- > 0;) {
            double now = a / (1 << i);
            x = t.apply(6, 2 * now, cost / 20, {x, beside[i]}, nullptr, 0);
            beside.pop_back();
            x = t.apply(1, now, cost * 2, {x}, up[2 * i]);
            x = t.apply(2, now, cost / 20, {x}, nullptr, SAVE_OUTPUT);
            x = t.apply(3, now, cost, {x}, up[2 * i + 1]);
            x = t.apply(4, now, cost / 20, {x}, nullptr, SAVE_OUTPUT);
        }
        return x;
    }
    words step(const context &c) override
    {
        tape t;
        value loss = loss_of(t, forward(t, c, constant(upload(c, a / 4))));
        t.backward(loss);
        n.adam();
        return loss.what;
    }
};

/* The U-Net twice: what it says without gradients is its input then. */
struct diffusion : unet {
    using unet::unet;
    words step(const context &c) override
    {
        tape t, nothing;
        nothing.recording = false;
        value x = constant(upload(c, a / 4));
        value noisy = t.apply(7, a / 4, 2, {x, constant(upload(c, 4))}, nullptr, 0);
        value once = forward(nothing, c, {noisy.what, nullptr});
        value twice = t.apply(6, a / 2, 2, {{noisy.what, nullptr}, {once.what, nullptr}}, nullptr, 0);
        once = {};
        value loss = loss_of(t, forward(t, c, twice));
        twice = {};
        t.backward(loss);
        n.adam();
        return loss.what;
    }
};

/* Many time steps with the same weights. */
struct recurrent : sketch {
    net n;
    weights *from_input, *from_state, *head;
    double state;
    int times;

    explicit recurrent(const context &c)
        : from_input(n.add(3072 * c.size)), from_state(n.add(3072 * c.size)), head(n.add(4096 * c.size)),
          state(256 * c.size), times(c.repeat ? c.repeat : 128)
    {
        nets = {&n};
    }
    words step(const context &c) override
    {
        tape t;
        words inputs = upload(c, state * times);
        value h = t.apply(0, state, 1, {constant(upload(c, 16))}, nullptr, 0), all = h;
        for (int i = 0; i < times; i++) {
            words now = inputs.slice((size_t)i * inputs.rows / (size_t)times, inputs.rows / (size_t)times);
            value gates = t.apply(1, 3 * state, 40 * c.cost, {constant(now), h}, from_state);
            h = t.apply(2, state, 10 * c.cost, {gates, h}, nullptr, SAVE_INPUTS | SAVE_OUTPUT);
            if (i % 16 == 15)
                all = t.apply(3, state, 40 * c.cost, {h, all}, head);
        }
        value loss = loss_of(t, all);
        t.backward(loss);
        n.adam();
        return loss.what;
    }
};

/* Two nets in turn. */
struct adversaries : sketch {
    net maker, judge;
    std::vector<weights *> makes, judges;
    double a;

    explicit adversaries(const context &c) : a(4096 * c.size)
    {
        for (int i = 0; i < 6; i++) {
            makes.push_back(maker.add(2048 * c.size));
            judges.push_back(judge.add(1536 * c.size));
        }
        nets = {&maker, &judge};
    }
    static value chain(tape &t, const context &c, value x, const std::vector<weights *> &layers, double first, double last)
    {
        for (size_t i = 0; i < layers.size(); i++) {
            double now = first + (last - first) * (double)i / (double)(layers.size() - 1);
            x = t.apply(1, now, 60 * c.cost, {x}, layers[i]);
            x = t.apply(2, now, 3, {x});
        }
        return x;
    }
    words step(const context &c) override
    {
        words last;
        {
            tape t, nothing;
            nothing.recording = false;
            value made = chain(nothing, c, constant(upload(c, 256)), makes, a / 4, 2 * a);
            value real = constant(upload(c, 2 * a));
            value loss = t.apply(3, 0.004, 1,
                                 {loss_of(t, chain(t, c, {made.what, nullptr}, judges, 2 * a, a / 4)),
                                  loss_of(t, chain(t, c, real, judges, 2 * a, a / 4))});
            t.backward(loss);
            judge.adam();
        }
        {
            tape t;
            value made = chain(t, c, constant(upload(c, 256)), makes, a / 4, 2 * a);
            value loss = loss_of(t, chain(t, c, made, judges, 2 * a, a / 4));
            made = {};
            t.backward(loss);
            last = loss.what;
            judge.zero();
            maker.adam();
        }
        return last;
    }
};

struct variational : sketch {
    net n;
    std::vector<weights *> in, out;
    weights *mean, *spread;
    double a;

    explicit variational(const context &c) : mean(nullptr), spread(nullptr), a(6144 * c.size)
    {
        for (int i = 0; i < 5; i++)
            in.push_back(n.add(1024 * c.size * (i + 1)));
        mean = n.add(2048 * c.size);
        spread = n.add(2048 * c.size);
        for (int i = 0; i < 5; i++)
            out.push_back(n.add(1024 * c.size * (5 - i)));
        nets = {&n};
    }
    words step(const context &c) override
    {
        tape t;
        words image = upload(c, 2 * a);
        value x = adversaries::chain(t, c, constant(image), in, 2 * a, a / 4);
        value m = t.apply(3, 512, 20, {x}, mean), s = t.apply(4, 512, 20, {x}, spread);
        x = {};
        words noise = words_of(512);
        make(5, 2, {m.what}, noise);
        value z = t.apply(6, 512, 2, {m, s, constant(noise)});
        value y = adversaries::chain(t, c, z, out, a / 4, 2 * a);
        value loss = t.apply(7, 0.004, 1,
                             {loss_of(t, t.apply(5, 2 * a, 2, {y, constant(image)})), loss_of(t, t.apply(3, 4, 1, {m, s}))});
        y = z = m = s = {};
        image = {};
        t.backward(loss);
        n.adam();
        return loss.what;
    }
};

/* Who gets how much is known only when it was computed. */
struct experts : sketch {
    net n;
    std::vector<std::vector<weights *>> layers;
    double a;

    explicit experts(const context &c) : a(6144 * c.size)
    {
        for (int i = 0; i < 4; i++) {
            layers.emplace_back();
            for (int k = 0; k < 4; k++)
                layers.back().push_back(n.add(2048 * c.size));
        }
        nets = {&n};
    }
    words step(const context &c) override
    {
        tape t;
        value x = t.apply(0, a, 2, {constant(upload(c, 256))});
        for (size_t layer = 0; layer < layers.size(); layer++) {
            value routed = t.apply(1, 4, 1, {x});
            CHECK(cudaMemcpyAsync(c.host, routed.what.data(), 16, cudaMemcpyDeviceToHost, stream_of(COMPUTE)));
            CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
            double sum = 0, shares[4];
            for (int k = 0; k < 4; k++)
                sum += shares[k] = 1 + c.host[k] % 16;
            std::vector<value> parts;
            for (size_t k = 0; k < 4; k++) {
                value mine = t.apply(2, a * shares[k] / sum, 1, {x, routed});
                mine = t.apply(3, 4 * a * shares[k] / sum, 60 * c.cost, {mine}, layers[layer][k]);
                parts.push_back(t.apply(4, a * shares[k] / sum, 60 * c.cost, {mine}, layers[layer][k]));
            }
            x = t.apply(5, a, 1, parts, nullptr, 0);
        }
        value loss = loss_of(t, x);
        x = {};
        t.backward(loss);
        n.adam();
        return loss.what;
    }
};

/* An encoder, one that follows it slowly, and a queue of what that one said. */
struct contrast : sketch {
    net n, slow;
    std::vector<weights *> layers, follows;
    words queue;
    double a;
    int place = 0;

    explicit contrast(const context &c) : queue(words_of(16384 * c.size)), a(4096 * c.size)
    {
        make(0, 1, {}, queue);
        for (int i = 0; i < 8; i++) {
            layers.push_back(n.add(1536 * c.size));
            follows.push_back(slow.add(1536 * c.size));
        }
        nets = {&n, &slow};
    }
    words step(const context &c) override
    {
        tape t, nothing;
        nothing.recording = false;
        for (size_t i = 0; i < layers.size(); i++)
            add_to_words(follows[i]->value, layers[i]->value);
        value q = adversaries::chain(t, c, constant(upload(c, a)), layers, 2 * a, a / 4);
        value k = adversaries::chain(nothing, c, constant(upload(c, a)), follows, 2 * a, a / 4);
        value loss = loss_of(t, t.apply(3, 2048, 40, {q, k, constant(queue)}));
        q = {};
        t.backward(loss);
        n.adam();
        size_t row = k.what.bytes() / sizeof(uint32_t), rows = queue.count() / row;
        CHECK(cudaMemcpyAsync(queue.data() + (size_t)place++ % rows * row, k.what.data(), k.what.bytes(),
                              cudaMemcpyDeviceToDevice, stream_of(COMPUTE)));
        return loss.what;
    }
};

/* States of a simulation, forward in time, and what the end owes to each on the way back. */
struct adjoint : sketch {
    net n;
    weights *field;
    double a;
    int times;

    explicit adjoint(const context &c) : field(n.add(4096 * c.size)), a(4096 * c.size), times(c.repeat ? c.repeat : 48)
    {
        nets = {&n};
    }
    words step(const context &c) override
    {
        tape t;
        value x = t.apply(0, a, 2, {constant(upload(c, 64))});
        for (int i = 0; i < times; i++)
            x = t.apply(1, a, 60 * c.cost, {x}, field);
        value loss = loss_of(t, x);
        x = {};
        t.backward(loss);
        n.adam();
        return loss.what;
    }
};

/* Weights that are copied into slower ones every tenth step, or an evaluation every twentieth. */
struct now_and_then : transformer {
    bool averages;
    std::vector<words> average;

    now_and_then(const context &c, bool averaging) : transformer(c, 6, 0, 2048, 1024), averages(averaging)
    {
        for (auto &w : n.all) {
            if (averages) {
                average.push_back(words(w->value.count(), 1));
                make(0, 1, {}, average.back());
            }
        }
    }
    words step(const context &c) override
    {
        words loss = transformer::step(c);
        if (averages && c.step % 10 == 9)
            for (size_t i = 0; i < average.size(); i++)
                add_to_words(average[i], n.all[i]->value);
        for (int i = 0; !averages && c.step % 20 == 19 && i < 3; i++) {
            tape nothing;
            nothing.recording = false;
            words of = forward(nothing, c).what;
            add_to_words(loss, of);
        }
        return loss;
    }
};

static std::unique_ptr<transformer> plain(const context &c)
{
    return std::make_unique<transformer>(c, c.repeat ? c.repeat : 6, 0, 2048, 1024);
}

static const struct {
    const char *name;
    std::unique_ptr<sketch> (*make)(const context &c);
} sketches[] = {
    {"encdec",
     [](const context &c) -> std::unique_ptr<sketch> { return std::make_unique<transformer>(c, 4, 4, 2048, 1024); }},
    {"unet", [](const context &c) -> std::unique_ptr<sketch> { return std::make_unique<unet>(c); }},
    {"gru", [](const context &c) -> std::unique_ptr<sketch> { return std::make_unique<recurrent>(c); }},
    {"gan", [](const context &c) -> std::unique_ptr<sketch> { return std::make_unique<adversaries>(c); }},
    {"vae", [](const context &c) -> std::unique_ptr<sketch> { return std::make_unique<variational>(c); }},
    {"moe", [](const context &c) -> std::unique_ptr<sketch> { return std::make_unique<experts>(c); }},
    {"accumulate",
     [](const context &c) -> std::unique_ptr<sketch> {
         auto made = plain(c);
         made->micro = 4;
         return made;
     }},
    {"buckets",
     [](const context &c) -> std::unique_ptr<sketch> {
         auto made = plain(c);
         made->buckets = 4;
         return made;
     }},
    {"clip",
     [](const context &c) -> std::unique_ptr<sketch> {
         auto made = plain(c);
         made->clips = true;
         return made;
     }},
    {"checkpoint",
     [](const context &c) -> std::unique_ptr<sketch> {
         auto made = std::make_unique<transformer>(c, 10, 0, 2048, 768);
         made->checkpoints = true;
         return made;
     }},
    {"states",
     [](const context &c) -> std::unique_ptr<sketch> { return std::make_unique<transformer>(c, 6, 0, 512, 2048); }},
    {"average", [](const context &c) -> std::unique_ptr<sketch> { return std::make_unique<now_and_then>(c, true); }},
    {"evaluate", [](const context &c) -> std::unique_ptr<sketch> { return std::make_unique<now_and_then>(c, false); }},
    {"contrast", [](const context &c) -> std::unique_ptr<sketch> { return std::make_unique<contrast>(c); }},
    {"diffusion", [](const context &c) -> std::unique_ptr<sketch> { return std::make_unique<diffusion>(c); }},
    {"adjoint", [](const context &c) -> std::unique_ptr<sketch> { return std::make_unique<adjoint>(c); }},
};

std::unique_ptr<sketch> sketch_named(const char *name, const context &c)
{
    for (const auto &one : sketches)
        if (strcmp(one.name, name) == 0)
            return one.make(c);
    return nullptr;
}

const char *sketch_name(int index)
{
    return index < (int)(sizeof sketches / sizeof *sketches) ? sketches[index].name : nullptr;
}
