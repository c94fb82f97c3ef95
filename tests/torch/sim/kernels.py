#!/usr/bin/env python3
"""Trains a plain network whose activations, sums and updates are kernels written in Triton, as a user writes them."""
import torch
import triton
import triton.language as tl
from torch import nn

from common import OPTIMIZERS, Task, parse, train

CLASSES, BLOCK, ROWS = 100, 1024, 32


@triton.jit
def activate(points, shifts, activated, count, width, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    point = tl.load(points + place, mask=inside) + tl.load(shifts + place % width, mask=inside)
    tl.store(activated + place, tl.maximum(point, 0.01 * point), mask=inside)


@triton.jit
def activate_backward(activated, incoming, outgoing, count, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    slope = tl.where(tl.load(activated + place, mask=inside) > 0, 1.0, 0.01)
    tl.store(outgoing + place, slope * tl.load(incoming + place, mask=inside), mask=inside)


@triton.jit
def sum_rows(points, sums, rows, width, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Adds to the sums, which somebody has set to zero: many blocks to each of them."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    part = tl.load(points + row * width + column, mask=(row < rows) & (column < width), other=0.0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(sums + column, tl.sum(part, 0), mask=column < width)


@triton.jit
def update(parameter, momentum, gradient, rate, count, BLOCK: tl.constexpr):
    """Changes the first two in place."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    speed = 0.9 * tl.load(momentum + place, mask=inside) + tl.load(gradient + place, mask=inside)
    tl.store(momentum + place, speed, mask=inside)
    tl.store(parameter + place, tl.load(parameter + place, mask=inside) - rate * speed, mask=inside)


class Activation(torch.autograd.Function):
    @staticmethod
    def forward(context, points, shifts):
        activated = torch.empty_like(points)
        activate[triton.cdiv(points.numel(), BLOCK),](points, shifts, activated, points.numel(), shifts.numel(), BLOCK)
        context.save_for_backward(activated)
        return activated

    @staticmethod
    def backward(context, incoming):
        activated, = context.saved_tensors
        outgoing, count, width = torch.empty_like(activated), activated.numel(), activated.shape[-1]
        activate_backward[triton.cdiv(count, BLOCK),](activated, incoming.contiguous(), outgoing, count, BLOCK)
        shifts = torch.zeros(width, device=activated.device)
        sum_rows[triton.cdiv(count // width, ROWS), triton.cdiv(width, 128)](outgoing, shifts, count // width, width, ROWS, 128)
        return outgoing, shifts


class Momentum(torch.optim.Optimizer):
    """Stochastic gradient descent, a tensor at a time."""

    def __init__(self, parameters):
        super().__init__(parameters, {"rate": 0.01})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                if not state:
                    state["momentum"] = torch.zeros_like(parameter)
                update[triton.cdiv(parameter.numel(), BLOCK),](parameter, state["momentum"], parameter.grad.contiguous(), group["rate"],
                                                               parameter.numel(), BLOCK)


class Layer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.product, self.shifts = nn.Linear(inputs, outputs, bias=False), nn.Parameter(torch.zeros(outputs))

    def forward(self, points):
        return Activation.apply(self.product(points), self.shifts)


def main(options):
    rows, inputs, width, layers = (8, 32, 64, 2) if options.tiny else (64, 64, 512, 10)

    def make_model(_):
        return nn.Sequential(Layer(inputs, width), *(Layer(width, width) for _ in range(layers)), nn.Linear(width, CLASSES))

    def make_sample(generator):
        return torch.rand(rows, inputs, generator=generator), torch.randint(0, CLASSES, (rows,), generator=generator)

    def loss_of(model, points, labels):
        return nn.functional.cross_entropy(model(points).flatten(0, 1), labels.flatten())

    train(Task(make_model, make_sample, loss_of, 4 if options.tiny else 48), options)


if __name__ == "__main__":
    OPTIMIZERS["written"] = Momentum
    main(parse(__doc__))
