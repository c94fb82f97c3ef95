"""simulated.py - the PyTorch programs of sim/, the options that each is run with, and how PyTorch is started on the simulated device."""
import functools
import os
import subprocess
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = ("libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13")  # the wheel finds its own by their folder, whatever the loader is told

LOOK = """
import os, shutil, sysconfig, triton
if not os.environ.get("CC") and not shutil.which("gcc") and not shutil.which("clang"):
    print("there is no C compiler")
elif not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
    print("there is no Python.h")
"""


class Row(NamedTuple):
    """A program with options, so many steps of it."""

    options: tuple
    steps: int
    compiles: bool = False  # kernels, while it runs


# The first row of each is the one that has its iteration looked at and its copies and waits left out. Every option is in one of them,
# but for --step-times, which bench/pytorch.py asks for.
ROWS = {
    "gpt": {"Adam": Row((), 12),
            "autocast, a fused optimizer, workers": Row(("--bf16", "--optimizer", "adam-fused", "--workers", "2"), 10),
            "checkpointing, two streams": Row(("--checkpoint", "--streams", "--optimizer", "sgd", "--evaluate-every", "4"), 10),
            "compiled": Row(("--compile",), 12, compiles=True)},
    "resnet": {"SGD": Row(("--optimizer", "sgd"), 8),
               "autocast, two streams, workers": Row(("--optimizer", "sgd", "--bf16", "--streams", "--workers", "2"), 8)},
    "lstm": {"Adam, a tensor at a time": Row(("--optimizer", "adam-plain"), 10),
             "clipping, questions about memory": Row(("--clip", "--probe-memory"), 10),
             "checkpointing, autocast": Row(("--checkpoint", "--bf16", "--optimizer", "sgd"), 10)},
    "mlp": {"Adam": Row((), 12),
            "accumulation, evaluations": Row(("--accumulate", "3", "--evaluate-every", "4"), 12),
            "batches that are too large": Row(("--retry", "--streams", "--optimizer", "sgd"), 12),
            "compiled, autocast, evaluations": Row(("--compile", "--bf16", "--streams", "--evaluate-every", "4", "--optimizer", "adam-fused"), 12,
                                                   compiles=True)},
    "kernels": {"written in Triton": Row(("--optimizer", "written"), 12, compiles=True)},
}
# The same on several ranks (sim/ranks.py): what is exchanged, and how.
RANKS = {"gradients in buckets": Row(("--how", "shared"), 10),
         "gradients that are views of buckets, accumulated, a stream that copies, evaluations":
             Row(("--how", "views", "--accumulate", "2", "--streams", "--evaluate-every", "4"), 10),
         "parameters in parts, gathered twice": Row(("--how", "sharded", "--accumulate", "2"), 8),
         "parameters in parts, gathered once": Row(("--how", "kept"), 8)}
RANK_COUNT = 2
# What makes each byte and each operation cost as many of a model of usual size: operations are cheaper than copies then.
SCALE = {"SIMGPU_SCALE_BYTES": "500", "SIMGPU_SCALE_OPS": "7000"}
# A small device with small granules, so that small tensors are moved too.
DEVICE = {"SIMGPU_GRANULARITY": "64KiB", "SIMGPU_MEMORY": "2GiB"}
ASYNC, NATIVE = "backend:cudaMallocAsync", "backend:native"  # each tensor an allocation of the driver's; blocks that PyTorch cuts up itself


def is_planned_for(finished):
    """The iteration was found and a plan was made for it, which is followed unless eviction on demand is faster."""
    return "planned an iteration" in finished.errors or "on demand: no plan for it" in finished.errors


def command(python, program, options, steps):
    return [python, os.path.join(HERE, "sim", program + ".py"), "--steps", str(steps), *options]


def command_of_ranks(python, options, steps, before=(), between=()):
    """Several of them, started by torchrun with the options `before`, each by the words `between`."""
    return [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANK_COUNT), *before, "--no-python", *between,
            *command(python, "ranks", options, steps)]


@functools.cache
def compiles_not(python):
    """Why no kernel can be compiled here while a program runs; nothing where one can. Triton has a C compiler make a module for Python."""
    done = subprocess.run([python, "-c", LOOK], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else "there is no Triton"


def compiled_beside(layouts):
    """Where compilers keep what they have made for the programs that the table is for: with it, each of their runs has the same images."""
    return os.path.splitext(layouts)[0] + ".compiled"


def settings(build, layouts, allocator=ASYNC, compiled=None):
    """What the environment has to say for it, beside where libcuda.so.1 is."""
    folder, compiled = os.path.join(build, "tests", "simgpu"), compiled or compiled_beside(layouts)
    return {**DEVICE, "TRITON_CACHE_DIR": os.path.join(compiled, "triton"), "TORCHINDUCTOR_CACHE_DIR": os.path.join(compiled, "inductor"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1", "LD_PRELOAD": ":".join(os.path.join(folder, name) for name in LIBRARIES), "SIMGPU_LAYOUTS": layouts,
            "PYTORCH_ALLOC_CONF": allocator, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def nccl_of(build):
    """The stand-in, which is built where the toolkit has NCCL's header."""
    return os.path.join(build, "tests", "simgpu", "libnccl.so.2")


def beside_ranks(build):
    """What several ranks want beside or instead of that. Each has to go on while it waits for others by other means than the device
    (SIMGPU_IDLE). At its end PyTorch's newer way to NCCL asks its allocator for a list that cudaMallocAsync() has not
    (TORCH_DIST_USE_NCCL2)."""
    return {"LD_PRELOAD": ":".join((*(os.path.join(build, "tests", "simgpu", name) for name in LIBRARIES), nccl_of(build))), "SIMGPU_IDLE": "20",
            "TORCH_DIST_USE_NCCL2": "0"}
