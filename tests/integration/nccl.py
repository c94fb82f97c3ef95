#!/usr/bin/env python3
"""What is handed to NCCL stays on the device: its kernels find it by structures there, and run when the group ends.

usage: nccl.py PROGRAM LIBRARY"""
import os
import sys

from harness import finish, require, run, same_in_budget, sentence

PROGRAM, LIBRARY = (os.path.abspath(path) for path in sys.argv[1:3])
TENSOR, SLAB = 65536 * 4, 64 << 10  # and what the stand-in has for itself

plain = run([PROGRAM])


def within(share):
    @sentence(f"buffers of a group are there when its kernel runs, within {share} % of the peak")
    def _():
        budget = plain.peak * share // 100
        finished = run([PROGRAM], budget=budget)
        same_in_budget(plain, finished, budget)
        require(finished.copied("d2h") > plain.copied("d2h"), "nothing was moved, so nothing was tested")


for percent in (80, 50, 30):
    within(percent)


@sentence("where what is handed over has no room, NCCL's call is refused, and nothing runs on missing memory")
def _():
    finished = run([PROGRAM], budget=2 * TENSOR + SLAB)
    require(finished.status == 3 and "a reduction in place: 1\n" in finished.errors, "expected a refused call", finished.describe())
    require(finished.stats["faults"] == 0, "a kernel ran all the same", finished.stats)


@sentence("off and traced the calls go through as they are")
def _():
    for options in (["--mode", "off"], ["--mode", "trace", "--output", "/dev/null"]):
        finished = run([PROGRAM], options=options)
        require(finished.status == 0 and finished.results == plain.results, "other results", finished.describe())


@sentence("the library is NCCL's stand-in, and the calls are its own without spillway")
def _():
    require(os.path.basename(LIBRARY).startswith("libnccl.so"), LIBRARY)
    require(plain.status == 0 and len(plain.results) == 6, plain.describe())


finish()
