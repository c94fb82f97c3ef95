#!/usr/bin/env python3
"""Random programs keep every byte, whatever the budget: tests/stress/random.cu holds them against a reference.

usage: stress.py PROGRAM [SECONDS]     as many seeds as fit in SECONDS (default 40), the first four in any case"""
import itertools
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from harness import EXIT_CUDA_ERROR, finish, require, run, same_in_budget, sentence  # pylint: disable=wrong-import-position

PROGRAM = sys.argv[1]
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 40
SHAPES = (["--threads", "1", "--streams", "1"], ["--threads", "1", "--streams", "3"], ["--threads", "2", "--streams", "2"],
          ["--threads", "4", "--streams", "2", "--buffers", "8"])


def one(seed, shape, share):
    command = [PROGRAM, "--seed", str(seed), *shape]
    plain = run(command)
    budget = plain.peak * share // 100
    finished = run(command, budget=budget)
    while finished.status == EXIT_CUDA_ERROR and budget < plain.peak:
        # One operation needs more, by itself or beside the small allocations that other threads happened to have just then.
        require("out of memory" in finished.errors, finished.describe())
        budget = budget * 5 // 4
        finished = run(command, budget=budget)
    same_in_budget(plain, finished, budget)


def always(seed, shape, share):
    # promise: addresses-stay
    # promise: never-silently-wrong
    @sentence(f"seed {seed}, {' '.join(shape)}: every byte is right within {share} % of the peak")
    def _():
        one(seed, shape, share)


for number, form in enumerate(SHAPES, 1):
    always(number, form, 50)


@sentence("further seeds, as many as the time allows: every byte is right")
def _():
    started, runs = time.monotonic(), 0
    for seed in itertools.count(100):
        if time.monotonic() - started > SECONDS:
            break
        one(seed, SHAPES[seed % len(SHAPES)], (35, 50, 70, 90)[seed // 4 % 4])
        runs += 1
    print(f"# {runs} further seeds")


finish()
