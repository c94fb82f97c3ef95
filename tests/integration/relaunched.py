#!/usr/bin/env python3
"""Graphs that are launched again on memory which was freed and allocated anew at the same address find it in place.

usage: relaunched.py PROGRAM"""
import re
import sys

from harness import finish, no_misuse, nothing_left, require, run, same_results, sentence, within

PROGRAM = sys.argv.pop(1)
plain = run([PROGRAM])


@sentence("without a budget the program does what it means to")
def _():
    require(plain.status == 0, plain.describe())


def relaunched_within(share):
    # promise: nothing-on-missing-memory
    @sentence(f"within {share} % of the peak, graphs find what was allocated anew at the addresses that they have")
    def _():
        budget = plain.peak * share // 100
        finished = run([PROGRAM], budget=budget)
        same_results(plain, finished)
        no_misuse(finished)
        within(budget, finished)
        nothing_left(plain, finished)
        times = int(re.search(r"as they were: (\d+)", finished.errors).group(1))
        require(times > 12, "hardly an address came again, so hardly anything was tested", finished.describe())
        require(finished.copied("h2d") > plain.copied("h2d"), "nothing came back, so nothing was tested", finished.describe())


for percent in (80, 60):
    relaunched_within(percent)
finish()
