#!/usr/bin/env python3
"""Trains a plain network of many layers on made-up tables, whose rows are classified."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from common import Task, parse, train

CLASSES = 100


class Net(nn.Module):
    def __init__(self, inputs, width, layers, again):
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.hidden = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Dropout(0.1)) for _ in range(layers))
        self.last = nn.Linear(width, CLASSES)
        self.again = again

    def forward(self, points):
        points = torch.relu(self.first(points))
        for layer in self.hidden:
            points = checkpoint(layer, points, use_reentrant=False) if self.again and self.training else layer(points)
        return self.last(points)


def main(options):
    rows, inputs, width, layers = (8, 32, 64, 2) if options.tiny else (64, 64, 512, 10)

    def make_sample(generator):
        return torch.rand(rows, inputs, generator=generator), torch.randint(0, CLASSES, (rows,), generator=generator)

    def loss_of(model, points, labels):
        return nn.functional.cross_entropy(model(points).flatten(0, 1), labels.flatten())

    train(Task(lambda options: Net(inputs, width, layers, options.checkpoint), make_sample, loss_of, 4 if options.tiny else 48), options)


if __name__ == "__main__":
    main(parse(__doc__))
