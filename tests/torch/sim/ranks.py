#!/usr/bin/env python3
"""Trains a program on each of several ranks that torchrun starts, which exchange their gradients or parameters.

The program is one of this folder (--program), with its own options behind those of here. Each rank has batches of its own."""
import argparse
import contextlib
import importlib
import os

import torch
import torch.distributed as ranks
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

import common


class Shared(torch.nn.Module):
    """A model whose gradients all ranks have the mean of, in buckets that go while the backward pass does."""

    def __init__(self, model, views):
        super().__init__()
        self.model = DistributedDataParallel(model, bucket_cap_mb=1, gradient_as_bucket_view=views)

    def forward(self, *inputs):
        return self.model(*inputs)

    def without_exchange(self):
        return self.model.no_sync()

    def let_go_of_gradients(self):
        """Nothing else than this stream has them."""


class Sharded(torch.nn.Module):
    """A model whose parameters each rank has a part of; a layer's are gathered for as long as it needs them."""

    def __init__(self, model, keep):
        super().__init__()
        layers = [layer for layer in model.modules() if isinstance(layer, (torch.nn.Linear, torch.nn.TransformerEncoderLayer))]
        for layer in layers:
            fully_shard(layer, reshard_after_forward=not keep)
        for before, layer in zip(layers, layers[1:]):
            before.set_modules_to_forward_prefetch([layer])
        self.model = fully_shard(model, reshard_after_forward=not keep)

    def forward(self, *inputs):
        return self.model(*inputs)

    @contextlib.contextmanager
    def without_exchange(self):
        self.model.set_requires_gradient_sync(False)
        yield
        self.model.set_requires_gradient_sync(True)

    def let_go_of_gradients(self):
        """They were allocated for the stream that reduced them, and cudaFreeAsync() frees them in its order: it has to come after
        the optimizer's. FSDP itself leaves that to PyTorch's own allocator, which does not give them away before the next backward pass."""
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                parameter.grad.to_local().record_stream(torch.cuda.current_stream())


class Training(common.Training):
    """As that of one device; gradients are exchanged in the last batch of a step alone."""

    def step(self):
        for number in range(self.options.accumulate):
            last = number + 1 == self.options.accumulate
            with contextlib.nullcontext() if last else self.model.without_exchange():
                loss = self.loss(next(self.batches))
                (loss / self.options.accumulate).backward()
        if self.options.clip:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.model.let_go_of_gradients()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", choices=("gpt", "mlp"), default="mlp")
    parser.add_argument("--how", choices=("shared", "views", "sharded", "kept"), default="shared",
                        help="gradients are shared, in buckets beside them or as views of these; parameters are sharded, or kept once gathered")
    return parser.parse_known_args()


def distribute(task, own):
    """The same task, of a model on all ranks, each with its own samples."""
    rank = ranks.get_rank()

    def make_model(options):
        model = task.make_model(options).to(options.device)
        if own.how in ("shared", "views"):
            return Shared(model, own.how == "views")
        return Sharded(model, own.how == "kept")

    def make_sample(generator):
        return task.make_sample(torch.Generator().manual_seed(generator.initial_seed() * 64 + rank))

    return task._replace(make_model=make_model, make_sample=make_sample)


def fingerprint_of_part(whole):
    """Of a tensor that is in parts on all ranks: of this one's."""
    return lambda tensor: whole(tensor.to_local() if isinstance(tensor, DTensor) else tensor)


def main():
    own, rest = parse()
    torch.cuda.set_device(0)
    ranks.init_process_group("nccl")
    train = common.train
    common.Training, common.fingerprint = Training, fingerprint_of_part(common.fingerprint)

    def train_all(task, options):
        print(f"rank {ranks.get_rank()} of {ranks.get_world_size()}")
        print(f"memory of process {os.getpid()}", flush=True)
        train(distribute(task, own), options)

    program = importlib.import_module(own.program)
    program.train = train_all
    program.main(common.parse(__doc__, rest))
    ranks.destroy_process_group()


if __name__ == "__main__":
    main()
