#!/usr/bin/env python3
"""The program replay, whose layers are of kinds that a second launch gives the same bits for, or does not: within budgets it reads
what it has made, and it would notice if it did not.

usage: kinds.py TOUCHES"""
import re
import sys

from harness import finish, nothing_left, require, run, same_in_budget, same_results, sentence, succeeded
from touched import Seen

TOUCHES = sys.argv.pop(1)
LEGAL = "plain,matmul,atomics,global,in-place,struct,copy,set,chain,two-outputs"
SABOTEURS = "clock,counter,half,old"
VARYING = {"SIMGPU_BLOCK_ORDER": "varying"}
STEPS = ("--steps", "10")
BUDGETS = (60, 35)

# What is wrong when only the last operation that made a tensor is launched again, somewhere else: kind and how often in ten steps.
NAIVE = {"global": 3, "in-place": 10, "two-outputs": 10, "clock": 10, "counter": 10, "half": 10, "old": 10}

plain_runs = {}


def program(kinds, *options):
    return ["replay", "--kinds", kinds, *STEPS, *options]


def plain(kinds, *options):
    """The run without spillway."""
    key = (kinds, *options)
    if key not in plain_runs:
        plain_runs[key] = run(program(kinds, *options), env=VARYING)
        succeeded(plain_runs[key])
    return plain_runs[key]


def unstable(finished):
    """Kinds of tensors that were not, when they were read again, what they had been, and how many of each."""
    require(re.search(r"^unstable: ", finished.output, re.MULTILINE), finished.describe())
    return {kind: int(count) for kind, count in re.findall(r"^unstable (\S+) (\d+)$", finished.output, re.MULTILINE)}


def matrix(title, kinds, share, *options):
    @sentence(f"{title}: the same results within {share} % of the peak")
    def _():
        without = plain(kinds, *options)
        budget = without.peak * share // 100
        finished = run(program(kinds, *options), budget=budget, env={**VARYING, "SPILLWAY_PLAN": "wait", "SPILLWAY_RECOMPUTE": "on"})
        same_in_budget(without, finished, budget)
        require(finished.copied("d2h") > without.copied("d2h") + budget, "little was moved, so little was tested")


for percent in BUDGETS:
    matrix("kinds that can be launched again", LEGAL, percent)
    matrix("kinds that can't", SABOTEURS, percent)
matrix("all kinds, with cudaMalloc", "all", 50, "--alloc", "plain", "--rounds", "1")


@sentence("what a second launch gets wrong is noticed, and counted by kind")
def _():
    for order, expected in {"ascending": NAIVE, "varying": {**NAIVE, "atomics": 10}}.items():
        finished = run(program("all", "--naive-replay", "--rounds", "1"), env={"SIMGPU_BLOCK_ORDER": order})
        require(finished.status == 1, finished.describe())
        require(unstable(finished) == expected, f"{order}: {unstable(finished)} instead of {expected}")


@sentence("results depend neither on the order of blocks nor on the allocator, yet on the seed")
def _():
    without = plain(LEGAL)
    same_results(without, run(program(LEGAL), env={"SIMGPU_BLOCK_ORDER": "ascending"}))
    same_results(without, run(program(LEGAL, "--alloc", "plain")))
    nothing_left(run(["replay", "--steps", "1"]), without)
    require(run(program(LEGAL, "--seed", "2")).results != without.results, "another seed gives the same results")


@sentence("every page that a kernel of the iteration touches is listed by the exported iteration, written ones as written")
def _():
    kernels, _, untouched = Seen(TOUCHES, ["replay", "--size", "tiny", "--kinds", "all", "--steps", "6"]).require_exported()
    require(kernels > 100, f"only {kernels} kernels touched anything")
    require(untouched == 0, f"{untouched} tensors are listed without being touched")


@sentence("bad options are refused")
def _():
    for bad in ("--kinds=magic", "--kinds=", "--kinds=plain,,old", "--size=huge", "--steps=0", "--alloc=some", "argument"):
        finished = run(["replay", bad])
        require(finished.status == 2 and "--help" in finished.errors, finished.describe())


finish()
