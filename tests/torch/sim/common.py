"""common.py - what the training programs share: options, batches from workers, optimizers, the loop, and fingerprints at the end.

A program is a Task; train() does with it what the options say. Everything comes from fixed seeds, and nothing that a program does next
hangs on a number that the device computed: the same options are the same work, whatever the numbers are.

At the end it prints a line for each tensor of the model and of the optimizer's state with a SHA-256 of its bytes, and one of all. Lines
that begin with "memory" or "step_ms_each" are measured; all others are the same in every run."""
import argparse
import contextlib
import hashlib
import json
import os
from typing import Callable, NamedTuple

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SEED = 20
BATCHES_OF_AN_EPOCH = 6
BATCHES_OF_AN_EVALUATION = 2


class Task(NamedTuple):
    """A model, how one sample of its data is made from a number, and the loss of a batch."""

    make_model: Callable  # options -> nn.Module
    make_sample: Callable  # torch.Generator -> tuple of tensors
    loss_of: Callable  # model, *batch -> loss
    batch: int


class Samples(Dataset):
    """Samples that are made where they are asked for, in a worker or here: number N is always the same."""

    def __init__(self, make_sample, first, count):
        self.make_sample, self.first, self.count = make_sample, first, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index >= self.count:
            raise IndexError(index)
        return self.make_sample(torch.Generator().manual_seed(SEED + self.first + index))


# ---------------------------------------------------------------------------------------------------------- the options
OPTIMIZERS = {
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=1e-3, foreach=True),
    "adam-fused": lambda parameters: torch.optim.Adam(parameters, lr=1e-3, fused=True),
    "adam-plain": lambda parameters: torch.optim.Adam(parameters, lr=1e-3, foreach=False),
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9),
}


def parse(description, arguments=None):
    parser = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--steps", type=int, default=10, help="how often the optimizer steps")
    parser.add_argument("--batch", type=int, default=0, help="samples of a batch; 0: as many as the program is meant for")
    parser.add_argument("--tiny", action="store_true", help="a model of the same kind that a CPU trains in a moment")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adam")
    parser.add_argument("--clip", action="store_true", help="the norm of the gradients is kept below 1")
    parser.add_argument("--bf16", action="store_true", help="autocast to bfloat16")
    parser.add_argument("--workers", type=int, default=0, help="processes that make batches")
    parser.add_argument("--compile", action="store_true", help="the model is compiled by torch.compile")
    parser.add_argument("--checkpoint", action="store_true", help="activations are computed again in the backward pass")
    parser.add_argument("--streams", action="store_true", help="batches are copied, and evaluations computed, on streams of their own")
    parser.add_argument("--accumulate", type=int, default=1, help="batches whose gradients are summed for a step")
    parser.add_argument("--evaluate-every", type=int, default=0, help="after so many steps the loss of other batches is computed")
    parser.add_argument("--log-every", type=int, default=5, help="after so many steps the host waits for the loss and prints it")
    parser.add_argument("--probe-memory", action="store_true", help="asks for memory statistics and empties the cache after each step")
    parser.add_argument("--retry", action="store_true", help="some steps begin with a batch that is too large for the device")
    parser.add_argument("--limit-bytes", type=int, default=0, help="PyTorch is to get along with so much memory")
    parser.add_argument("--step-times", action="store_true", help="prints how long each step took, from its beginning to the next one's")
    return parser.parse_args(arguments)


# ---------------------------------------------------------------------------------------------------------- the batches
class Copied:
    """Batches on the device; with a stream for it, each is copied there while the one before is computed with."""

    def __init__(self, loader, device, stream):
        self.loader, self.device, self.stream = loader, device, stream

    def __iter__(self):
        if self.stream is None:
            for batch in self.loader:
                yield self.moved(batch)
            return
        ahead = None
        for batch in self.loader:
            now, ahead = ahead, self.copied_ahead(batch)
            if now:
                yield self.waited_for(now)
        yield self.waited_for(ahead)

    def moved(self, batch):
        return [part.to(self.device, non_blocking=True) for part in batch]

    def copied_ahead(self, batch):
        with torch.cuda.stream(self.stream):
            return self.moved(batch)

    def waited_for(self, batch):
        using = torch.cuda.current_stream()
        using.wait_stream(self.stream)
        for part in batch:
            part.record_stream(using)
        return batch


def endless(batches):
    """Epoch after epoch; each begins anew, with new workers."""
    while True:
        yield from batches


def batches_of(task, options, first, count, size, stream, shuffle):
    loader = DataLoader(Samples(task.make_sample, first, count * size), batch_size=size, shuffle=shuffle, num_workers=options.workers,
                        pin_memory=options.device == "cuda", drop_last=True, generator=torch.Generator().manual_seed(SEED + first))
    return Copied(loader, options.device, stream)


# ------------------------------------------------------------------------------------------------------------- the loop
def begin_of_step():
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


class Training:
    """A model in training: what train() does step by step."""

    def __init__(self, task, options):
        self.task, self.options = task, options
        self.batch = options.batch or task.batch
        self.on_device = options.device == "cuda"
        copying = torch.cuda.Stream() if options.streams and self.on_device else None
        self.evaluating = torch.cuda.Stream() if options.streams and self.on_device else None
        self.model = task.make_model(options).to(options.device).train()
        if options.compile:
            self.model.compile()
        self.optimizer = OPTIMIZERS[options.optimizer](self.model.parameters())
        self.batches = endless(batches_of(task, options, 0, BATCHES_OF_AN_EPOCH, self.batch, copying, shuffle=True))
        self.others = batches_of(task, options, 1 << 20, BATCHES_OF_AN_EVALUATION, self.batch, None, shuffle=False)

    def loss(self, batch):
        with torch.autocast(self.options.device, torch.bfloat16, enabled=self.options.bf16):
            return self.task.loss_of(self.model, *batch)

    def step(self):
        """Returns the loss of the last of its batches, on the device."""
        for _ in range(self.options.accumulate):
            loss = self.loss(next(self.batches))
            (loss / self.options.accumulate).backward()
        if self.options.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def evaluate(self):
        """The mean loss of other batches, on a stream of its own where there is one."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            if self.evaluating:
                self.evaluating.wait_stream(torch.cuda.current_stream())
                stack.enter_context(torch.cuda.stream(self.evaluating))
            self.model.eval()
            mean = torch.stack([self.loss(batch).float() for batch in self.others]).mean().item()  # the host waits, so what follows may go on
            self.model.train()
        return mean

    def try_too_much(self):
        """A step with a batch that no device has the memory for, as a program that looks for the largest one does."""
        batch = [part.expand(1 << 24, *part.shape[1:]) for part in (part[:1] for part in next(iter(self.others)))]
        try:
            self.loss(batch).backward()
        except torch.cuda.OutOfMemoryError:
            self.optimizer.zero_grad(set_to_none=True)
            torch.cuda.empty_cache()
            return "too large"
        return "large enough"

    def probe(self):
        """What programs print about memory as they go."""
        free, total = torch.cuda.mem_get_info()
        held = torch.cuda.memory_stats().get("allocated_bytes.all.current", 0)
        torch.cuda.empty_cache()
        if not 0 <= free <= total or held > torch.cuda.max_memory_allocated():
            raise ValueError(f"{free} of {total} bytes are free, {held} are allocated, {torch.cuda.max_memory_allocated()} were at most")


def settle(options):
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.backends.cudnn.enabled = False
    if options.limit_bytes:
        torch.cuda.set_per_process_memory_fraction(options.limit_bytes / torch.cuda.get_device_properties(0).total_memory)


def train(task, options):
    settle(options)
    training, allocations, begins = Training(task, options), [], []
    for step in range(1, options.steps + 1):
        before = allocated(training)
        if options.step_times and training.on_device:
            begins.append(begin_of_step())
        if options.retry and step % 4 == 2 and training.on_device:
            print(f"step {step}: a larger batch is {training.try_too_much()}")
        loss = training.step()
        if options.probe_memory and training.on_device:
            training.probe()
        if step % options.log_every == 0:
            print(f"step {step}: loss {loss.item().hex()}", flush=True)
        if options.evaluate_every and step % options.evaluate_every == 0:
            print(f"step {step}: evaluated {training.evaluate().hex()}", flush=True)
        allocations.append(allocated(training) - before)
    tell(training)
    if training.on_device:
        tell_memory(allocations)
    if begins:
        print("step_ms_each", *(f"{one.elapsed_time(other):.3f}" for one, other in zip(begins, begins[1:])))


# -------------------------------------------------------------------------------------------------------------- the end
def fingerprint(tensor):
    return hashlib.sha256(tensor.detach().cpu().flatten().contiguous().view(torch.uint8).numpy()).hexdigest()


def tensors_of(training):
    yield from training.model.state_dict().items()
    for name, parameter in training.model.named_parameters():
        for what, state in sorted(training.optimizer.state[parameter].items()):
            if torch.is_tensor(state):
                yield f"{name}.{what}", state


def tell(training):
    together = hashlib.sha256()
    for name, tensor in tensors_of(training):
        line = f"tensor {name} {tuple(tensor.shape)} {tensor.dtype} {fingerprint(tensor)}"
        together.update(line.encode())
        print(line)
    print("fingerprint", together.hexdigest())


def allocated(training):
    """How many tensors and workspaces PyTorch has allocated on the device so far; only its native allocator counts them."""
    return torch.cuda.memory_stats().get("allocation.all.allocated", 0) if training.on_device else 0


def tell_memory(allocations):
    stats = torch.cuda.memory_stats()
    print("memory", json.dumps({"process": os.getpid(), "peak_bytes": torch.cuda.max_memory_allocated(), "reserved_bytes": torch.cuda.max_memory_reserved(), "allocations_of_steps": allocations,
                                "retries": stats.get("num_alloc_retries", 0), "refusals": stats.get("num_ooms", 0)}))
