#!/usr/bin/env python3
"""Trains a small GPT on made-up text."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from common import Task, parse, train

WORDS = 2048


class Attention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.inward, self.outward = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, points):
        batch, length, width = points.shape
        query, key, value = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.inward(points).split(width, dim=2))
        seen = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True, dropout_p=self.dropout if self.training else 0)
        return self.outward(seen.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(width), Attention(width, heads, dropout), nn.Dropout(dropout))
        self.thinking = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout))

    def forward(self, points):
        points = points + self.attention(points)
        return points + self.thinking(points)


class GPT(nn.Module):
    def __init__(self, width, heads, layers, length, again, dropout=0.1):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, width), nn.Embedding(length, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, WORDS, bias=False)
        self.head.weight = self.words.weight
        self.again = again

    def forward(self, text):
        points = self.dropout(self.words(text) + self.places(torch.arange(text.shape[1], device=text.device)))
        for block in self.blocks:
            points = checkpoint(block, points, use_reentrant=False) if self.again and self.training else block(points)
        return self.head(self.norm(points))


def main(options):
    width, heads, layers, length = (32, 2, 2, 16) if options.tiny else (256, 4, 6, 128)

    def make_sample(generator):
        text = torch.randint(0, WORDS, (length + 1,), generator=generator)
        return text[:-1], text[1:]

    def loss_of(model, text, following):
        return nn.functional.cross_entropy(model(text).flatten(0, 1).float(), following.flatten())

    train(Task(lambda options: GPT(width, heads, layers, length, options.checkpoint), make_sample, loss_of, 4 if options.tiny else 16), options)


if __name__ == "__main__":
    main(parse(__doc__))
