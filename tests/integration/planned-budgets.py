#!/usr/bin/env python3
"""Many steps of a training program within a budget, most of them by plan: the same bits, never more memory, and steps that
are alike and no slower than on demand where only copies are planned.

usage: planned-budgets.py WORKLOAD"""
import sys

from following import ALIKE_FROM, CLOSE, COPIES, RECOMPUTING, library_plans, step_times, usual, within_budget, without
from harness import Skipped, finish, require, same_in_budget, sentence

WORKLOAD = sys.argv.pop(1)
STEPS = 12
LEARNED = 30  # steps: in the last ones it is known what can be recomputed
ALIKE = 1.25  # no step takes more times as long as the usual one, though physical memory is still being cut to size
AT_ALL = 1.01  # the step's time within a budget that is all it needs
VARIANTS = {"one stream": [], "two streams": ["--streams", "2"], "three streams": ["--streams", "3"],
            "plain allocation": ["--streams", "2", "--alloc", "plain"]}
SHARES = {"one stream": (80, 60, 50, 40), "two streams": (80, 60, 50, 40), "three streams": (60, 40), "plain allocation": (80, 50)}
PROFILES = ("a100-40g", "rtx4090", "h200", "v100-16g")


def runs(variant, share, **how):
    plain = without(WORKLOAD, STEPS, *VARIANTS[variant])
    budget = plain.peak * share // 100
    return plain, budget, within_budget(WORKLOAD, STEPS, *VARIANTS[variant], budget=budget, **how)


def matrix(variant, share):
    # promise: never-silently-wrong
    @sentence(f"{WORKLOAD} with {variant}: {STEPS} steps have the same bits within {share} % of its peak")
    def _():
        plain, budget, finished = runs(variant, share)
        same_in_budget(plain, finished, budget)
        if share < 80:
            require(finished.copied("d2h") > plain.copied("d2h"), "nothing was moved, so nothing was tested")


def on_plan(share):
    @sentence(f"{WORKLOAD} within {share} %: from step {ALIKE_FROM + 1} on all steps are alike, and no slower than on demand")
    def _():
        if not library_plans():
            raise Skipped("this library makes no plans")
        _, _, planned = runs("one stream", share, env=COPIES)
        _, _, on_demand = runs("one stream", share, planning="off")
        later = step_times(planned)[ALIKE_FROM:-1]
        require(max(later) <= ALIKE * usual(later), f"steps differ: {later}", planned.describe())
        require(usual(later) <= CLOSE * usual(step_times(on_demand)[ALIKE_FROM:-1]), f"planned {later}",
                f"on demand {step_times(on_demand)}", planned.describe())


def recomputing(share):
    @sentence(f"{WORKLOAD} within {share} %: {LEARNED} steps, the later ones with what was learned of recomputation, have the same bits")
    def _():
        plain = without(WORKLOAD, LEARNED)
        budget = plain.peak * share // 100
        finished = within_budget(WORKLOAD, LEARNED, budget=budget, env=RECOMPUTING)
        same_in_budget(plain, finished, budget)
        proofs = finished.summary["proofs"]
        require(proofs["unproven_count"] <= proofs["proven_count"], "what a plan relies on is copied without a digest", proofs)


# promise: free-when-it-fits
@sentence(f"{WORKLOAD} within all that it takes without: no byte moves, and the usual step takes hardly longer")
def _():
    plain, budget, finished = runs("one stream", 100)
    same_in_budget(plain, finished, budget)
    for direction in ("h2d", "d2h", "d2d"):
        require(finished.copied(direction) == plain.copied(direction), f"{direction}: {finished.copied(direction)} bytes", finished.describe())
    before, now = step_times(plain)[ALIKE_FROM:-1], step_times(finished)[ALIKE_FROM:-1]
    require(usual(now) <= AT_ALL * usual(before), f"milliseconds without spillway {before}, with it {now}", finished.describe())


@sentence(f"{WORKLOAD} on each device that is simulated: the same bits at half the peak, with a plan made while the program goes on")
def _():
    for profile in PROFILES:
        plain = without(WORKLOAD, STEPS, profile=profile)
        finished = within_budget(WORKLOAD, STEPS, budget=plain.peak // 2, profile=profile, planning="on")
        same_in_budget(plain, finished, plain.peak // 2)


for name in VARIANTS:
    for percent in SHARES[name]:
        matrix(name, percent)
for percent in (80, 60, 40):
    on_plan(percent)
for percent in (80, 60, 40, 30):
    recomputing(percent)
finish()
