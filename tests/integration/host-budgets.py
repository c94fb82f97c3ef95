#!/usr/bin/env python3
"""A host budget that a refusal names is enough: with it the program comes further than it had come, or to its end with the same bits.

usage: host-budgets.py HASTY PROGRAM...     programs of tests/workloads/odd, or other workloads; without any a choice of them

HASTY: the library with plans that are made in no time (tests/stress/hasty.c)."""
import os
import re
import sys

from harness import EXIT_CUDA_ERROR, SMALLEST, TINY, finish, no_misuse, require, run, same_results, sentence, succeeded

HASTY = os.path.abspath(sys.argv[1])
COSTS = {"SIMGPU_SCALE_BYTES": "500", "SIMGPU_SCALE_OPS": "7000"}
# Of one size, of several, freed and kept, on several streams; and the models.
CHOICE = ["many-streams", "event-threads", "all-of-it", "lazy", "pieces", "selector", "uploading", "from-one", *TINY]
SHARES = ((30, 70), (60, 38))  # of the peak: the device's budget, and the host's
NAMED = re.compile(r"host budget that would do[^:]*: (\d+) bytes")
MORE = re.compile(r"bytes are allocated on device \d+, and (\d+) more do not fit")
TRIES = 12
SLOWEST = 40  # s of computation; a run that takes more hangs


def come_to(finished):
    """How many bytes the program had, or asked for, when it was refused."""
    more = MORE.findall(finished.errors)
    return sum(device["live_bytes_peak"] for device in finished.summary["devices"]) + (int(more[-1]) if more else 0)


def named_is_enough(name):
    # promise: host-budget
    @sentence(f"{name}: whoever is given the host budget that the message names comes further, and in the end to the same bits")
    def _():
        command, env = ([name, *TINY[name]], {}) if name in TINY else (["odd", name], COSTS)
        plain = run(command, env=env)
        succeeded(plain)
        for share, host_share in SHARES:
            budget, host_budget, reached = plain.peak * share // 100, plain.peak * host_share // 100, 0
            for _ in range(TRIES):
                finished = run(command, via="none", timeout=10 * SLOWEST, cpu_seconds=SLOWEST,
                               env={**env, "SPILLWAY_PLAN": "wait", "LD_PRELOAD": HASTY, "SPILLWAY_BUDGET": budget, "SPILLWAY_HOST_BUDGET": host_budget})
                if finished.status != EXIT_CUDA_ERROR:
                    break
                smallest, named = SMALLEST.findall(finished.errors), NAMED.findall(finished.errors)
                if smallest and int(smallest[-1]) > budget:
                    budget = int(smallest[-1])
                    continue
                require(named and int(named[-1]) > host_budget, f"of {host_budget} bytes it names no more", finished.describe())
                require(come_to(finished) > reached, f"with {host_budget} bytes it comes no further than {reached} bytes", finished.describe())
                host_budget, reached = int(named[-1]), come_to(finished)
            same_results(plain, finished)
            no_misuse(finished)
            require(finished.summary["host"]["held_bytes"] <= host_budget, finished.summary["host"])


for chosen in sys.argv[2:] or CHOICE:
    named_is_enough(chosen)
finish()
