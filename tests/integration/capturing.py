#!/usr/bin/env python3
"""A program that captures in the strictest mode does the same when its tensors were evicted: making room is not part of it.

usage: capturing.py PROGRAM"""
import sys

from harness import finish, no_misuse, nothing_left, require, run, same_results, sentence, within

PROGRAM = sys.argv.pop(1)
plain = run([PROGRAM])


@sentence("without a budget the program captures and launches what it means to")
def _():
    require(plain.status == 0 and " NO" not in plain.output, plain.describe())


@sentence("captures stay valid while the program is traced and every operation is timed")
def _():
    finished = run([PROGRAM], options=["--mode", "trace", "--output", "/dev/null"], env={"SPILLWAY_TIMED": "all"})
    same_results(plain, finished)
    no_misuse(finished)


def captured_within(share):
    @sentence(f"captures stay valid and graphs give the same results within {share} % of the peak")
    def _():
        budget = plain.peak * share // 100
        finished = run([PROGRAM], budget=budget)
        same_results(plain, finished)
        no_misuse(finished)
        within(budget, finished)
        nothing_left(plain, finished)
        require(finished.copied("h2d") > plain.copied("h2d"), "nothing came back, so nothing was tested", finished.describe())


for percent in (80, 60):
    captured_within(percent)
finish()
