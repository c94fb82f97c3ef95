/* softmax.cu - attention's softmax, and the classification loss. */
#include "softmax.h"
#include "launch.h"

__global__ void causal_softmax_kernel(const float *__restrict__ scores, float *__restrict__ weights, int rows, int columns)
{
    ROWS (r, (size_t)rows) {
        const float *from = scores + r * columns;
        float *to = weights + r * columns;
        int visible = (int)(r % columns) + 1;
        float most = from[0], sum = 0;
        LANES (c, visible)
            most = from[c] > most ? from[c] : most;
        most = team_max(most);
        LANES (c, columns)
            to[c] = c < visible ? exponential(from[c] - most) : 0.0f;
        LANES (c, visible)
            sum += to[c];
        float share = 1.0f / team_sum(sum);
        LANES (c, visible)
            to[c] *= share;
    }
}
SIMGPU_FOOTPRINT(causal_softmax_kernel, (const float *scores, float *weights, int rows, int columns), 20.0 * rows * columns,
                 R(scores, (size_t)rows *columns), W(weights, (size_t)rows *columns))

tensor causal_softmax(const tensor &scores)
{
    tensor weights(scores.rows, scores.columns);
    causal_softmax_kernel<<<blocks_for_rows(scores.rows), THREADS, 0, stream_of(COMPUTE)>>>(
        scores.data(), weights.data(), (int)scores.rows, (int)scores.columns);
    CHECK_LAUNCH(causal_softmax_kernel);
    return weights;
}

__global__ void causal_softmax_gradient_kernel(const float *__restrict__ weights, const float *__restrict__ dweights,
                                               float *__restrict__ dscores, int rows, int columns)
{
    ROWS (r, (size_t)rows) {
        const float *weight = weights + r * columns, *grad = dweights + r * columns;
        float sum = 0;
        LANES (c, columns)
            sum += weight[c] * grad[c];
        sum = team_sum(sum);
        LANES (c, columns)
            dscores[r * columns + c] = weight[c] * (grad[c] - sum);
    }
}
SIMGPU_FOOTPRINT(causal_softmax_gradient_kernel,
                 (const float *weights, const float *dweights, float *dscores, int rows, int columns), 4.0 * rows * columns,
                 R(weights, (size_t)rows *columns), R(dweights, (size_t)rows *columns), W(dscores, (size_t)rows *columns))

tensor causal_softmax_gradient(const tensor &weights, const tensor &dweights)
{
    tensor dscores(weights.rows, weights.columns);
    causal_softmax_gradient_kernel<<<blocks_for_rows(weights.rows), THREADS, 0, stream_of(COMPUTE)>>>(
        weights.data(), dweights.data(), dscores.data(), (int)weights.rows, (int)weights.columns);
    CHECK_LAUNCH(causal_softmax_gradient_kernel);
    return dscores;
}

__global__ void log_softmax_kernel(const float *__restrict__ scores, float *__restrict__ logs, int rows, int columns)
{
    ROWS (r, (size_t)rows) {
        const float *from = scores + r * columns;
        float *to = logs + r * columns;
        float most = from[0], sum = 0;
        LANES (c, columns)
            most = from[c] > most ? from[c] : most;
        most = team_max(most);
        LANES (c, columns)
            sum += exponential(from[c] - most);
        float all = most + logf(team_sum(sum));
        LANES (c, columns)
            to[c] = from[c] - all;
    }
}
SIMGPU_FOOTPRINT(log_softmax_kernel, (const float *scores, float *logs, int rows, int columns), 20.0 * rows * columns,
                 R(scores, (size_t)rows *columns), W(logs, (size_t)rows *columns))

tensor log_softmax(const tensor &scores)
{
    tensor logs(scores.rows, scores.columns);
    log_softmax_kernel<<<blocks_for_rows(scores.rows), THREADS, 0, stream_of(COMPUTE)>>>(
        scores.data(), logs.data(), (int)scores.rows, (int)scores.columns);
    CHECK_LAUNCH(log_softmax_kernel);
    return logs;
}

/* One warp, whatever the grid: the rows are few beside what came before. */
__global__ void mean_loss_kernel(const float *__restrict__ logs, const int *__restrict__ targets, float *__restrict__ loss,
                                 float weight, int rows, int columns)
{
    ROWS (only, (size_t)1) {
        float sum = 0;
        LANES (r, rows)
            sum -= logs[(size_t)r * columns + targets[r]];
        sum = team_sum(sum);
        if (FIRST_LANE)
            loss[only] = weight * sum / rows;
    }
}
SIMGPU_FOOTPRINT(mean_loss_kernel, (const float *logs, const int *targets, float *loss, float weight, int rows, int columns),
                 1.0 * rows, R(logs, (size_t)rows *columns), R(targets, rows), W(loss, 1))

tensor mean_loss(const tensor &logs, const indices &targets, float weight)
{
    tensor loss(1, 1);
    mean_loss_kernel<<<1, THREADS, 0, stream_of(COMPUTE)>>>(logs.data(), targets.data(), loss.data(), weight, (int)logs.rows,
                                                            (int)logs.columns);
    CHECK_LAUNCH(mean_loss_kernel);
    return loss;
}

__global__ void mean_loss_gradient_kernel(const float *__restrict__ logs, const int *__restrict__ targets,
                                          const float *__restrict__ dloss, float *__restrict__ dscores, float weight,
                                          int rows, int columns)
{
    float factor = dloss[0] * weight / rows;
    ROWS (r, (size_t)rows)
        LANES (c, columns)
            dscores[r * columns + c] = factor * (exponential(logs[r * columns + c]) - (c == targets[r] ? 1.0f : 0.0f));
}
SIMGPU_FOOTPRINT(mean_loss_gradient_kernel,
                 (const float *logs, const int *targets, const float *dloss, float *dscores, float weight, int rows,
                  int columns),
                 15.0 * rows * columns, R(logs, (size_t)rows *columns), R(targets, rows), R(dloss, 1),
                 W(dscores, (size_t)rows *columns))

tensor mean_loss_gradient(const tensor &logs, const indices &targets, float weight, const tensor &dloss)
{
    tensor dscores(logs.rows, logs.columns);
    mean_loss_gradient_kernel<<<blocks_for_rows(logs.rows), THREADS, 0, stream_of(COMPUTE)>>>(
        logs.data(), targets.data(), dloss.data(), dscores.data(), weight, (int)logs.rows, (int)logs.columns);
    CHECK_LAUNCH(mean_loss_gradient_kernel);
    return dscores;
}
