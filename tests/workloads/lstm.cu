/* lstm.cu - trains an LSTM to continue text, byte by byte, through a long sequence. */
#include "operations.h"
#include "train.h"

#define BYTES 256

static const struct program program = {
    "Trains an LSTM (Adam, backpropagation through the whole sequence) on a text, byte by byte.",
    {1, 32, 0, 128, 16, 6},
    {1, 64, 0, 256, 40, 7},
    {2, 512, 0, 512, 256, 20}};

struct cell {
    parameter &from_input, &from_output, &bias;

    cell(parameters &p, const std::string &name, int width)
        : from_input(p.weight(name + "input", width, 4 * width, 2 * width)),
          from_output(p.weight(name + "recurrent", width, 4 * width, 2 * width)),
          bias(p.constant(name + "bias", 4 * width, 0))
    {
    }
};

struct lstm {
    int width, sequence;
    parameter &bytes;
    std::vector<cell> cells;
    parameter &head, &head_bias;

    lstm(parameters &p, const struct dimensions &d)
        : width(d.width), sequence(d.sequence), bytes(p.weight("bytes", BYTES, d.width, 3)), cells(make_cells(p, d)),
          head(p.weight("head", d.width, BYTES, d.width)), head_bias(p.constant("head.bias", BYTES, 0))
    {
    }

    static std::vector<cell> make_cells(parameters &p, const struct dimensions &d)
    {
        std::vector<cell> cells;
        for (int i = 0; i < d.layers; i++)
            cells.emplace_back(p, "cell" + std::to_string(i) + ".", d.width);
        return cells;
    }

    std::vector<struct lstm_state> first_states(int size) const
    {
        std::vector<struct lstm_state> states;
        for (size_t i = 0; i < cells.size(); i++) {
            struct lstm_state state = {input(tensor(size, width)), input(tensor(size, width))};
            fill(state.output.value, 0);
            fill(state.cell.value, 0);
            states.push_back(state);
        }
        return states;
    }

    variable loss(graph &g, const struct batch &b) const
    {
        std::vector<struct lstm_state> states = first_states(b.size);
        variable total;
        for (int t = 0; t < sequence; t++) {
            size_t first = (size_t)t * b.size;
            variable x = embed(g, b.tokens.slice(first, b.size), bytes);
            for (size_t i = 0; i < cells.size(); i++) {
                states[i] = lstm_step(g, x, states[i], cells[i].from_input, cells[i].from_output, cells[i].bias);
                x = states[i].output;
            }
            variable part = cross_entropy(g, linear(g, x, head, head_bias), b.targets.slice(first, b.size), 1.0f / sequence);
            total = t ? add(g, total, part) : part;
        }
        return total;
    }
};

int main(int argc, char **argv)
{
    struct options o = read_options(program, argc, argv);
    text data(o, true);
    int status;
    device_open(o.device, o.streams, o.allocator);
    {
        parameters p(o.seed);
        lstm model(p, o.size);
        optimizer adam(p, ADAM, 1e-2f, o.fused);
        status = train(o, p, adam, data, [&](graph &g, const struct batch &b) { return model.loss(g, b); });
    }
    device_close();
    return status;
}
