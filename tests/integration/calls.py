#!/usr/bin/env python3
"""Unlike programs, each of which leans on one kind of driver call, do under any budget what they do without.

usage: calls.py PROGRAM     one of tests/integration/variety/, which each say at their top what they are about"""
import re
import sys

from harness import Skipped, finish, named_budget, no_misuse, nothing_left, require, run, same_in_budget, same_results, sentence

PROGRAM = sys.argv.pop(1)
MOST_ATTEMPTS = 12
ROOM_TO_SPARE = 150  # percent: whole granules for each tensor and for small allocations of each size
SHARES = (80, 60)

plain_runs = []


def plain():
    if not plain_runs:
        plain_runs.append(run([PROGRAM]))
        require(plain_runs[0].status == 0, plain_runs[0].describe())
        require(" NO" not in plain_runs[0].output, "something does not hold even without a budget", plain_runs[0].output)
    return plain_runs[0]


def with_room():
    # promise: free-when-it-fits
    @sentence("with room for everything the program does the same and not one byte moves")
    def _():
        without = plain()
        finished = run([PROGRAM], budget=without.peak * ROOM_TO_SPARE // 100)
        same_results(without, finished)
        nothing_left(without, finished)
        for direction in ("h2d", "d2h", "d2d"):
            require(finished.copied(direction) == without.copied(direction),
                    f"{direction}: {finished.copied(direction)} bytes, without spillway {without.copied(direction)}")


def while_traced():
    @sentence("the same while it is traced and every operation is timed")
    def _():
        without = plain()
        finished = run([PROGRAM], options=["--mode", "trace", "--output", "/dev/null"], env={"SPILLWAY_TIMED": "all"})
        same_results(without, finished)
        no_misuse(finished)
        for count in ("launches", "allocations", "frees", "copies", "sets", "map_operations", "peak_mapped_bytes"):
            require(without.stats[count] == finished.stats[count], count, without.stats[count], finished.stats[count])


def while_moved_and_traced():
    @sentence("the same within 60 % of its peak while it is traced and every operation is timed")
    def _():
        without = plain()
        budget = without.peak * 60 // 100
        finished = run([PROGRAM], budget=budget, options=["--mode", "swap+trace", "--output", "/dev/null"], env={"SPILLWAY_TIMED": "all"})
        same_in_budget(without, finished, budget)
        require(finished.stats["launches"] == without.stats["launches"], finished.stats["launches"], without.stats["launches"])


def in_less(share):
    # promise: addresses-stay
    @sentence(f"the same within {share} % of its peak, and bytes had to move")
    def _():
        without = plain()
        budget = without.peak * share // 100
        finished = run([PROGRAM], budget=budget)
        same_in_budget(without, finished, budget)
        require(finished.copied("d2h") > without.copied("d2h"), "nothing was moved, so nothing was tested")
        require("the driver refused" not in finished.errors, finished.errors)


def in_the_least():
    @sentence("the same in the smallest budget that the message names")
    def _():
        without = plain()
        budget = without.peak // 50
        for _ in range(MOST_ATTEMPTS):
            finished = run([PROGRAM], budget=budget)
            if finished.status == 0:
                break
            named = named_budget(finished)
            require(named > budget, f"the budget is {budget}, yet the message names {named}", finished.describe())
            budget = named
        same_in_budget(without, finished, budget)
        print(f"# smallest feasible budget {budget}, {budget * 100 / without.peak:.0f} % of {without.peak}")


def without_registering():
    @sentence("the same within 60 % where the host's memory cannot be registered")
    def _():
        refusing = {"SIMGPU_FAIL": "cuMemHostRegister:1+=CUDA_ERROR_NOT_SUPPORTED"}
        without = run([PROGRAM], env=refusing)
        if without.status != 0:
            raise Skipped("the program registers memory itself")
        budget = plain().peak * 60 // 100
        finished = run([PROGRAM], budget=budget, env=refusing)
        same_in_budget(without, finished, budget)


def with_short_host_memory(host_budget):
    # promise: host-budget
    @sentence(f"told that {host_budget} of host memory are not enough, the program lets go and gets the same result")
    def _():
        without = plain()
        budget = without.peak // 2
        finished = run([PROGRAM], budget=budget, env={"SPILLWAY_HOST_BUDGET": host_budget})
        same_in_budget(without, finished, budget)
        require("let go of 0 tensors" not in finished.errors, "it was never out of memory", finished.describe())
        told = [line for line in finished.errors.splitlines() if "out of memory" in line]
        require(len(told) == 1, f"told of it {len(told)} times", finished.describe())


def with_the_host_memory_that_is_named():
    # promise: host-budget
    @sentence("the host budget that the message names is enough for what was refused")
    def _():
        without = plain()
        budget, named = without.peak // 2, 0
        host_budget = without.peak - budget - (1 << 20)
        for _ in range(MOST_ATTEMPTS):
            finished = run([PROGRAM], budget=budget, env={"SPILLWAY_HOST_BUDGET": host_budget})
            same_in_budget(without, finished, budget)
            found = re.findall(r"host budget that would do[^:]*: (\d+) bytes", finished.errors)
            if not found:
                break
            named += 1
            require(int(found[-1]) > host_budget, f"of {host_budget} bytes it says that {found[-1]} would do", finished.describe())
            host_budget = int(found[-1])
        require(named > 0 and not found, f"after {named} times it is still refused", finished.describe())
        require("out of memory" not in finished.errors, finished.describe())


with_room()
while_traced()
while_moved_and_traced()
for percent in SHARES:
    in_less(percent)
in_the_least()
without_registering()
if PROGRAM.endswith("out-of-memory"):
    for little in ("64KiB", "256KiB", "1MiB", "2MiB"):
        with_short_host_memory(little)
    with_the_host_memory_that_is_named()
finish()
