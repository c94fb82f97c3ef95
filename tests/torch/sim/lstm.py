#!/usr/bin/env python3
"""Trains a language model of characters with stacked LSTMs, on made-up text."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from common import Task, parse, train

CHARACTERS = 96


class Recurrent(nn.Module):
    def __init__(self, width, layers, again):
        super().__init__()
        self.embedding = nn.Embedding(CHARACTERS, width)
        self.layers = nn.ModuleList(nn.LSTM(width, width, batch_first=True) for _ in range(layers))
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(width, CHARACTERS)
        self.again = again

    def forward(self, text):
        points = self.embedding(text)
        for layer in self.layers:
            points = self.dropout((checkpoint(layer, points, use_reentrant=False) if self.again and self.training else layer(points))[0])
        return self.head(points)


def main(options):
    width, layers, length = (32, 2, 8) if options.tiny else (384, 3, 24)

    def make_sample(generator):
        text = torch.randint(0, CHARACTERS, (length + 1,), generator=generator)
        return text[:-1], text[1:]

    def loss_of(model, text, following):
        return nn.functional.cross_entropy(model(text).flatten(0, 1), following.flatten())

    train(Task(lambda options: Recurrent(width, layers, options.checkpoint), make_sample, loss_of, 4 if options.tiny else 128), options)


if __name__ == "__main__":
    main(parse(__doc__))
