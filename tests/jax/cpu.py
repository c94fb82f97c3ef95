#!/usr/bin/env python3
"""JAX with its plugin for CUDA, as its maker ships both, where there is no GPU: it imports, trains on the CPU and exits under spillway
exactly as it does without.

The wheels are large, so that this is a suite of its own: ./dev check --jax."""
import os

import alike
from harness import finish

PYTHON = os.environ["JAX_PYTHON"]
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


def on_the_cpu(_folder, _way):
    return {"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}


def as_it_comes(_folder, _way):
    """JAX asks its plugin first, which finds no device. What the plugin then writes to stderr depends on JAX's release, and names the error of
    the driver: with spillway there is a driver that has no device, and without it there is none."""
    return {"OMP_NUM_THREADS": "1"}


def as_without(name, *arguments, settings=on_the_cpu, note="", **more):
    alike.as_without(" ".join([name, *arguments]) + note, [PYTHON, os.path.join(PROGRAMS, name + ".py"), *arguments], settings, **more)


as_without("train")
as_without("asks")
as_without("asks", settings=as_it_comes, note=", the plugin first", errors=False)
as_without("processes", ways=("spillway run", alike.PRELOADED))
for how, expected in (("status", 7), ("exception", 1), ("at-once", 5), ("signal", -15), ("abort", -6), ("exec", 0)):
    as_without("ends", how, ways=("a budget", alike.PRELOADED), status=expected, output=False)
finish()
