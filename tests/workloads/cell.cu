/* cell.cu - one step of an LSTM after its matrix products: gates, cell and output. */
#include "cell.h"
#include "launch.h"

__global__ void lstm_cell_kernel(float *__restrict__ gates, const float *__restrict__ before, float *__restrict__ cell,
                                 float *__restrict__ output, int rows, int width)
{
    ROWS (r, (size_t)rows) {
        float *gate = gates + r * width * 4;
        LANES (c, width) {
            float in = sigmoid(gate[c]), keep = sigmoid(gate[width + c]);
            float candidate = hyperbolic_tangent(gate[2 * width + c]), out = sigmoid(gate[3 * width + c]);
            float now = keep * before[r * width + c] + in * candidate;
            gate[c] = in;
            gate[width + c] = keep;
            gate[2 * width + c] = candidate;
            gate[3 * width + c] = out;
            cell[r * width + c] = now;
            output[r * width + c] = out * hyperbolic_tangent(now);
        }
    }
}
SIMGPU_FOOTPRINT(lstm_cell_kernel, (float *gates, const float *before, float *cell, float *output, int rows, int width),
                 100.0 * rows * width, RW(gates, (size_t)rows *width * 4), R(before, (size_t)rows *width),
                 W(cell, (size_t)rows *width), W(output, (size_t)rows *width))

void lstm_cell(const tensor &gates, const tensor &cell_before, const tensor &cell, const tensor &output)
{
    lstm_cell_kernel<<<blocks_for_rows(cell.rows), THREADS, 0, stream_of(COMPUTE)>>>(
        gates.data(), cell_before.data(), cell.data(), output.data(), (int)cell.rows, (int)cell.columns);
    CHECK_LAUNCH(lstm_cell_kernel);
}

__global__ void lstm_cell_gradient_kernel(const float *__restrict__ gates, const float *__restrict__ before,
                                          const float *__restrict__ cell, const float *__restrict__ doutput,
                                          const float *__restrict__ dcell, float *__restrict__ dgates,
                                          float *__restrict__ dbefore, int rows, int width)
{
    ROWS (r, (size_t)rows) {
        const float *gate = gates + r * width * 4;
        float *dgate = dgates + r * width * 4;
        LANES (c, width) {
            float in = gate[c], keep = gate[width + c], candidate = gate[2 * width + c], out = gate[3 * width + c];
            float shown = hyperbolic_tangent(cell[r * width + c]), dout = doutput[r * width + c];
            float d = dout * out * (1.0f - shown * shown) + (dcell ? dcell[r * width + c] : 0.0f);
            dgate[c] = d * candidate * in * (1.0f - in);
            dgate[width + c] = d * before[r * width + c] * keep * (1.0f - keep);
            dgate[2 * width + c] = d * in * (1.0f - candidate * candidate);
            dgate[3 * width + c] = dout * shown * out * (1.0f - out);
            dbefore[r * width + c] = d * keep;
        }
    }
}
SIMGPU_FOOTPRINT(lstm_cell_gradient_kernel,
                 (const float *gates, const float *before, const float *cell, const float *doutput, const float *dcell,
                  float *dgates, float *dbefore, int rows, int width),
                 60.0 * rows * width, R(gates, (size_t)rows *width * 4), R(before, (size_t)rows *width),
                 R(cell, (size_t)rows *width), R(doutput, (size_t)rows *width), R(dcell, dcell ? (size_t)rows *width : 0),
                 W(dgates, (size_t)rows *width * 4), W(dbefore, (size_t)rows *width))

void lstm_cell_gradient(const tensor &gates, const tensor &cell_before, const tensor &cell, const tensor &doutput,
                        const tensor &dcell, const tensor &dgates, const tensor &dcell_before)
{
    lstm_cell_gradient_kernel<<<blocks_for_rows(cell.rows), THREADS, 0, stream_of(COMPUTE)>>>(
        gates.data(), cell_before.data(), cell.data(), doutput.data(), dcell.data(), dgates.data(), dcell_before.data(),
        (int)cell.rows, (int)cell.columns);
    CHECK_LAUNCH(lstm_cell_gradient_kernel);
}
