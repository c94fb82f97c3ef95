#!/usr/bin/env python3
"""Whatever the budget, down to the smallest one that is feasible, a training program learns the same bits within it.

usage: budgets.py WORKLOAD"""
import sys

from harness import TINY, finish, named_budget, nothing_left, require, run, same_in_budget, same_results, sentence

WORKLOAD = sys.argv.pop(1)
# What frameworks do that the programs leave out unless told: each kind of model has its own share of it.
AS_FRAMEWORKS = {"gpt": ["--dropout", "0.1", "--in-place"], "resnet": ["--in-place"], "lstm": [], "mlp": ["--in-place"]}
VARIANTS = {"one stream": ["--streams", "1"], "two streams": ["--streams", "2"],
            "stream-ordered allocation": ["--streams", "2", "--alloc", "async"],
            "what frameworks do": ["--streams", "2", "--fused", *AS_FRAMEWORKS[WORKLOAD]]}
SHARES = {"one stream": (100, 80, 60, 50, 40), "two streams": (100, 80, 60, 50, 40), "stream-ordered allocation": (100, 60),
          "what frameworks do": (60, 40)}
MOST_ATTEMPTS = 12

plain_runs = {}


def program(variant):
    return [WORKLOAD, *TINY[WORKLOAD], *VARIANTS[variant]]


def plain(variant):
    """The run without spillway that all runs of this variant are held against."""
    if variant not in plain_runs:
        plain_runs[variant] = run(program(variant))
    return plain_runs[variant]


def moves_nothing(without, finished):
    for direction in ("h2d", "d2h", "d2d"):
        require(finished.copied(direction) == without.copied(direction),
                f"{direction}: {finished.copied(direction)} bytes, without spillway {without.copied(direction)}")


def matrix(variant, share):
    # promise: never-silently-wrong
    # promise: budget-at-run-time
    @sentence(f"{WORKLOAD} with {variant}: the same bits within {share} % of its peak")
    def _():
        without = plain(variant)
        budget = without.peak * share // 100
        finished = run(program(variant), budget=budget)
        same_in_budget(without, finished, budget)
        if share >= 100:
            moves_nothing(without, finished)
        else:
            require(finished.copied("d2h") > without.copied("d2h"), "nothing was moved, so nothing was tested")


def smallest(variant):
    # promise: budget-at-run-time
    @sentence(f"{WORKLOAD} with {variant}: the budget that the message names is enough, and one that is smaller is not")
    def _():
        without = plain(variant)
        budget = without.peak // 50
        for _ in range(MOST_ATTEMPTS):
            finished = run(program(variant), budget=budget)
            if finished.status == 0:
                break
            named = named_budget(finished)
            require(named > budget, f"the budget is {budget}, yet the message names {named}", finished.describe())
            budget = named
        same_in_budget(without, finished, budget)
        require(budget < without.peak // 2, f"the smallest feasible budget, {budget}, is more than half the peak {without.peak}")
        print(f"# smallest feasible budget {budget}, {budget * 100 / without.peak:.0f} % of {without.peak}")
        named_budget(run(program(variant), budget=budget * 9 // 10))


@sentence(f"{WORKLOAD}: the library without any budget changes nothing")
def _():
    variant = "two streams"
    finished = run(program(variant), via="preload")
    same_results(plain(variant), finished)
    nothing_left(plain(variant), finished)
    moves_nothing(plain(variant), finished)


for name in VARIANTS:
    for percent in SHARES[name]:
        matrix(name, percent)
smallest("one stream")
smallest("two streams")
finish()
