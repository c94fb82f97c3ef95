#!/usr/bin/env python3
"""Trains ResNet-50 on made-up pictures."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from common import Task, parse, train

CLASSES = 1000


class Bottleneck(nn.Module):
    def __init__(self, inward, width, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(inward, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                                  nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                                  nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width))
        self.beside = nn.Identity()
        if stride != 1 or inward != 4 * width:
            self.beside = nn.Sequential(nn.Conv2d(inward, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, points):
        return torch.relu_(self.body(points) + self.beside(points))


class ResNet(nn.Module):
    def __init__(self, blocks, width, again):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        inward, stages = width, []
        for number, count in enumerate(blocks):
            for index in range(count):
                stages.append(Bottleneck(inward, width << number, 2 if index == 0 and number > 0 else 1))
                inward = 4 * (width << number)
        self.blocks = nn.ModuleList(stages)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(inward, CLASSES)
        self.again = again

    def forward(self, points):
        points = self.stem(points)
        for block in self.blocks:
            points = checkpoint(block, points, use_reentrant=False) if self.again and self.training else block(points)
        return self.head(self.pool(points).flatten(1))


def main(options):
    blocks, width, edge = ((1, 1, 1, 1), 8, 32) if options.tiny else ((3, 4, 6, 3), 32, 144)

    def make_sample(generator):
        return (torch.randint(0, 256, (3, edge, edge), dtype=torch.uint8, generator=generator),
                torch.randint(0, CLASSES, (), generator=generator))

    def loss_of(model, points, labels):
        return nn.functional.cross_entropy(model(points.float() / 255), labels)

    train(Task(lambda options: ResNet(blocks, width, options.checkpoint), make_sample, loss_of, 4 if options.tiny else 6), options)


if __name__ == "__main__":
    main(parse(__doc__))
