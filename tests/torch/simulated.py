"""simulated.py - the PyTorch programs of sim/, the options that each is run with, and how PyTorch is started on the simulated device."""
import os
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = ("libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13")  # the wheel finds its own by their folder, whatever the loader is told


class Row(NamedTuple):
    """A program with options, so many steps of it."""

    options: tuple
    steps: int


# The first row of each is the one that has its iteration looked at and its copies and waits left out. Every option is in one of them,
# but for --step-times, which bench/pytorch.py asks for.
ROWS = {
    "gpt": {"Adam": Row((), 12),
            "autocast, a fused optimizer, workers": Row(("--bf16", "--optimizer", "adam-fused", "--workers", "2"), 10),
            "checkpointing, two streams": Row(("--checkpoint", "--streams", "--optimizer", "sgd", "--evaluate-every", "4"), 10)},
    "resnet": {"SGD": Row(("--optimizer", "sgd"), 8),
               "autocast, two streams, workers": Row(("--optimizer", "sgd", "--bf16", "--streams", "--workers", "2"), 8)},
    "lstm": {"Adam, a tensor at a time": Row(("--optimizer", "adam-plain"), 10),
             "clipping, questions about memory": Row(("--clip", "--probe-memory"), 10),
             "checkpointing, autocast": Row(("--checkpoint", "--bf16", "--optimizer", "sgd"), 10)},
    "mlp": {"Adam": Row((), 12),
            "accumulation, evaluations": Row(("--accumulate", "3", "--evaluate-every", "4"), 12),
            "batches that are too large": Row(("--retry", "--streams", "--optimizer", "sgd"), 12)},
}
# A small device with small granules, so that small tensors are moved too.
DEVICE = {"SIMGPU_GRANULARITY": "64KiB", "SIMGPU_MEMORY": "2GiB"}
ASYNC, NATIVE = "backend:cudaMallocAsync", "backend:native"  # each tensor an allocation of the driver's; blocks that PyTorch cuts up itself


def command(python, program, options, steps):
    return [python, os.path.join(HERE, "sim", program + ".py"), "--steps", str(steps), *options]


def settings(build, layouts, allocator=ASYNC):
    """What the environment has to say for it, beside where libcuda.so.1 is."""
    folder = os.path.join(build, "tests", "simgpu")
    return {**DEVICE, "LD_PRELOAD": ":".join(os.path.join(folder, name) for name in LIBRARIES), "SIMGPU_LAYOUTS": layouts,
            "PYTORCH_ALLOC_CONF": allocator, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
