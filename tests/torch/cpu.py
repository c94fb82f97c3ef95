#!/usr/bin/env python3
"""PyTorch as its maker ships it for CUDA, where there is no GPU: it imports, trains on the CPU and exits under spillway exactly as it
does without.

The wheel is large, so that this is a suite of its own: ./dev check --torch."""
import os

import alike
from harness import finish

PYTHON = os.environ["TORCH_PYTHON"]
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
BOTH = ("spillway run", alike.PRELOADED)


def settings(folder, way):
    cache = f"cache-{list(alike.WAYS).index(way) if way else 'plain'}"
    return {"TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, cache), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore::UserWarning"}


def as_without(name, *arguments, **more):
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"] if name == "ranks" else []
    alike.as_without(" ".join([name, *arguments]), [PYTHON, *launcher, os.path.join(PROGRAMS, name + ".py"), *arguments], settings, **more)


as_without("train")
as_without("loader")
as_without("processes", ways=BOTH)
as_without("ranks", ways=BOTH, errors=False)  # the launcher's words have times in them
as_without("compiled", ways=("spillway run",), errors=False)
as_without("asks")
for how, expected in (("status", 7), ("exception", 1), ("at-once", 5), ("signal", -15), ("abort", -6), ("exec", 0)):
    as_without("ends", how, ways=("a budget", alike.PRELOADED), status=expected, output=False)
finish()
