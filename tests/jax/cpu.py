#!/usr/bin/env python3
"""JAX with its plugin for CUDA, as its maker ships both, where there is no GPU: it imports, trains on the CPU and exits under spillway
exactly as it does without.

The wheels are large, so that this is a suite of its own: ./dev check --jax."""
import os

import alike
from harness import finish

PYTHON = os.environ["JAX_PYTHON"]
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


def quiet(_folder, _way):
    """The plugin is not to complain that there is no driver."""
    return {"OMP_NUM_THREADS": "1", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1"}


def as_it_comes(_folder, _way):
    return {"OMP_NUM_THREADS": "1"}


def as_without(name, *arguments, settings=quiet, note="", **more):
    alike.as_without(" ".join([name, *arguments]) + note, [PYTHON, os.path.join(PROGRAMS, name + ".py"), *arguments], settings, **more)


as_without("train")
as_without("asks")
# The plugin has found a driver then, which has no device; without spillway it has found none. It says which.
as_without("asks", settings=as_it_comes, note=", with the plugin's complaint", ways=("a budget", alike.PRELOADED), errors=False)
as_without("processes", ways=("spillway run", alike.PRELOADED))
for how, expected in (("status", 7), ("exception", 1), ("at-once", 5), ("signal", -15), ("abort", -6), ("exec", 0)):
    as_without("ends", how, ways=("a budget", alike.PRELOADED), status=expected, output=False)
finish()
