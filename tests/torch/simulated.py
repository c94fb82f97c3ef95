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
# What makes each byte and each operation cost as many of a model of usual size: operations are cheaper than copies then.
SCALE = {"SIMGPU_SCALE_BYTES": "500", "SIMGPU_SCALE_OPS": "7000"}
# A small device with small granules, so that small tensors are moved too.
DEVICE = {"SIMGPU_GRANULARITY": "64KiB", "SIMGPU_MEMORY": "2GiB"}
ASYNC, NATIVE = "backend:cudaMallocAsync", "backend:native"  # each tensor an allocation of the driver's; blocks that PyTorch cuts up itself


def command(python, program, options, steps):
    return [python, os.path.join(HERE, "sim", program + ".py"), "--steps", str(steps), *options]


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
