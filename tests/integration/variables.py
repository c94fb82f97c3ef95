#!/usr/bin/env python3
"""Kernels that use variables of their module, which no parameter of theirs leads to, are run again with what these held
when they ran first: the bits stay the same though kernels change such a variable late, count their launches in one, and the
program changes a constant in each step.

usage: variables.py VARIABLES"""
import functools
import os
import sys

from following import RECOMPUTING, library_plans
from harness import ASKS_LESS, finish, no_misuse, require, run, same_results, sentence, within

VARIABLES = os.path.abspath(sys.argv.pop(1))
COSTS = {"SIMGPU_SCALE_BYTES": 3000, "SIMGPU_SCALE_OPS": 300000, "SIMGPU_PROFILE": "rtx4090", **ASKS_LESS}
STEPS, LAYERS = 100, 24


@functools.cache
def plain(*options):
    return run([VARIABLES, "--steps", str(STEPS), "--layers", str(LAYERS), *options], env=COSTS)


def planned(share, *options):
    plans = {"SPILLWAY_PLAN": "wait", **RECOMPUTING} if library_plans() else {}
    return run([VARIABLES, "--steps", str(STEPS), "--layers", str(LAYERS), *options], budget=plain().peak * share // 100, via="hasty", env={**COSTS, **plans}, timeout=100)


def same(percent, again, *options):
    """The bits, with so many operations run again at least."""
    finished = planned(percent, *options)
    same_results(plain(*options), finished)
    no_misuse(finished)
    within(plain().peak * percent // 100, finished)
    if library_plans():
        counted = finished.summary["replayed"]
        require(counted["operations"] >= again, "hardly anything was run again, so nothing was tested", counted)


# within so many per cent of the peak: how many operations are run again at least; above, copies alone do
for percent, again in {80: 0, 60: 25, 40: 2 * STEPS}.items():
    @sentence(f"within {percent} % of the peak: the same bits, the same variables, and nothing stops the program")
    def _(percent=percent, again=again):
        same(percent, again)


@sentence("a variable that is as the image says until a kernel changes it late: the same bits, and nothing stops the program")
def _():
    same(40, 2 * STEPS, "--late")


for way, how in {"--captured": "a copy that was captured", "--node": "a node that copies", "--set": "a node that sets"}.items():
    @sentence(f"a constant that a graph writes, by {how}: the same bits, and nothing stops the program")
    def _(way=way):
        same(40, STEPS, "--late", way)
finish()
