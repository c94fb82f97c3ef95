#!/usr/bin/env python3
"""Pools that the driver serves itself count on the device where they lie, for as long as they keep the memory.

usage: shared-pools.py PROGRAM"""
import re
import sys

from harness import EXIT_CUDA_ERROR, finish, no_misuse, nothing_left, require, run, same_results, sentence

PROGRAM = sys.argv.pop(1)
PIECE = 256 << 10
IN_POOL = 4 * PIECE
TWO = {"SIMGPU_DEVICES": "2"}
plain = run([PROGRAM], env=TWO)


def peaks(finished):
    return [max(device["peak_mapped_bytes"], device["peak_physical_bytes"]) for device in finished.stats["devices"]]


def in_budgets(finished, budgets):
    for device, (budget, peak) in enumerate(zip(budgets, peaks(finished))):
        require(peak <= budget, f"device {device}: {peak} bytes, the budget is {budget}", finished.describe())


def said(budgets):
    return ",".join(f"{device}={budget}" for device, budget in enumerate(budgets))


# promise: budget-at-run-time
def within(*shares, env=None):
    budgets = [peak * share // 100 for peak, share in zip(peaks(plain), shares)]

    @sentence(f"within {shares[0]} and {shares[1]} % of the devices' peaks the results are the same, and what pools keep counts: {env or 'no failure'}")
    def _():
        finished = run([PROGRAM], budget=said(budgets), env={**TWO, **(env or {})})
        same_results(plain, finished)
        require(" NO" not in finished.output, finished.describe())
        no_misuse(finished)
        in_budgets(finished, budgets)
        nothing_left(plain, finished)
        require(finished.copied("h2d") > plain.copied("h2d"), "nothing came back, so nothing was tested")


def refused(budgets, device):
    @sentence(f"what a pool of device {device} cannot have within its budget is refused, with a message")
    def _():
        finished = run([PROGRAM], budget=said(budgets), env=TWO)
        require(finished.status == EXIT_CUDA_ERROR, "expected a clean error", finished.describe())
        in_budgets(finished, budgets)
        require(re.search(rf"out of device memory: cuMemAllocFromPoolAsync takes {PIECE} bytes.*the budget of device {device} is {IN_POOL - PIECE} bytes",
                          finished.errors), "no message says so", finished.describe())


for pair in ((80, 80), (60, 60), (45, 45), (100, 50), (50, 100)):
    within(*pair)
within(60, 60, env={"SIMGPU_FAIL": "cuMemPoolTrimTo:1+=CUDA_ERROR_NOT_SUPPORTED"})
refused([64 * PIECE, IN_POOL - PIECE], 1)
refused([IN_POOL - PIECE, 64 * PIECE], 0)
finish()
