#!/usr/bin/env python3
"""Whole programs that are right, each about one way of using the device (tests/workloads/odd), keep their bits within a budget.

usage: odd.py HASTY GROUP...     the programs of these groups, or of all
       odd.py HASTY --long MINUTES  all of them within 80 to 40 % of the peak, of either kind of names, with either way of planning, each
                                 replay compared or one of many: as many of these as the time allows

HASTY: the library with plans that are made in no time (tests/stress/hasty.c)."""
import concurrent.futures
import functools
import itertools
import os
import random
import sys
import time

from harness import EXIT_CUDA_ERROR, SMALLEST, Failed, finish, no_misuse, require, run, same_results, sentence, succeeded

HASTY = os.path.abspath(sys.argv[1])
COSTS = {"SIMGPU_SCALE_BYTES": "500", "SIMGPU_SCALE_OPS": "7000"}
GROUPS = {
    "memory": ["pieces", "stack", "views", "pingpong", "pools", "expandable", "elsewhere", "rectangles"],
    "stream": ["event-threads", "free-threads", "free-async-threads", "values", "defaults", "short-streams", "events-asked", "two-threads"],
    "graph": ["told-anew", "updated", "allocating", "whole-step", "by-hand", "uploading"],
    "host": ["loader", "host-function", "registered", "offload", "decisions", "as-free", "forks", "mailbox", "uploads"],
    "shape": ["accumulation", "lengths", "growing", "checkpoints", "contexts", "surgery", "reversible", "pipelined"],
    "kernel": ["tables", "optimizer", "spans", "indices", "late-sides", "noise", "launches", "variables", "embedding", "chosen"],
    "sharing": ["block-of-streams", "many-streams", "short-threads", "never-waits", "workspace", "callbacks", "halves"],
    "habits": ["small", "many-arguments", "tied", "many-writers", "managed", "lazy", "averages", "pages", "selector", "tries", "all-of-it", "from-one"],
    "calls": ["memory-operations", "branches", "graph-events", "attributes", "context-events", "modules", "devices"],
}
ALL = [name for names in GROUPS.values() for name in names]
SLOWEST = 40  # s of computation; a run that takes more hangs
AT_ONCE = 2
TRIES = 6  # with the smallest budget that a message names, as far as the program had come


def device(name):
    return {**COSTS, "SIMGPU_DEVICES": "2" if name == "devices" else "1"}


def within_on_each(budget, finished):
    """The budget is one for each device."""
    for of_device in finished.stats["devices"]:
        most = max(of_device["peak_mapped_bytes"], of_device["peak_physical_bytes"])
        require(most <= budget, f"{most} bytes on a device, the budget is {budget}", finished.describe())


@functools.cache
def plain(program, name):
    finished = run([program, *name.split()], env=device(name))
    succeeded(finished)
    no_misuse(finished)
    return finished


def one(name, share, program="odd", planning="wait", verify=64):
    without = plain(program, name)
    budget = max(of_device["peak_mapped_bytes"] for of_device in without.stats["devices"]) * share // 100
    for _ in range(TRIES):
        finished = run([program, *name.split()], via="none", timeout=10 * SLOWEST, cpu_seconds=SLOWEST,
                       env={**device(name), "SPILLWAY_PLAN": planning, "SPILLWAY_VERIFY": verify, "LD_PRELOAD": HASTY, "SPILLWAY_BUDGET": budget})
        named = SMALLEST.findall(finished.errors)
        if finished.status != EXIT_CUDA_ERROR or not named or int(named[-1]) <= budget:
            break
        budget = int(named[-1])
    same_results(without, finished)
    no_misuse(finished)
    within_on_each(budget, finished)
    require("refused" not in finished.errors, "a call was refused", finished.describe())


def told(run_of):
    """What is wrong with it, if anything."""
    try:
        one(*run_of)
    except Failed as why:
        return f"{run_of}:\n{why}"
    return None


def right(runs):
    wrong, count = [], 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as workers:
        for some in iter(lambda: list(itertools.islice(runs, AT_ONCE)), []):
            wrong += [text for text in workers.map(told, some) if text]
            count += len(some)
    print(f"# {count} runs", flush=True)
    require(not wrong, *wrong)


def kept(name, place):
    # promise: never-silently-wrong
    @sentence(f"{name}: the same bits within a budget, or within the smallest that a message names")
    def _():
        right(iter([(name, (60, 50)[place % 2]), (name, 45, "odd-untold", "on")]))


def kept_in_place():
    # promise: budget-at-run-time
    @sentence("graphs, within a quarter of the peak: what has to stay in place is refused with the smallest budget that would do, which does")
    def _():
        right(iter([("updated --layers 12", 25)]))


def named_at_once():
    # promise: budget-at-run-time
    @sentence("a graph that does not fit is refused with the budget that all of it takes: with that its tensors stay")
    def _():
        for share in (20, 25):
            budget = plain("odd", "whole-step").peak * share // 100
            told_of = []
            for _ in range(2):
                finished = run(["odd", "whole-step"], via="none", cpu_seconds=SLOWEST,
                               env={**device("whole-step"), "SPILLWAY_PLAN": "wait", "LD_PRELOAD": HASTY, "SPILLWAY_BUDGET": budget})
                told_of.append("have to stay on device" in finished.errors)
                budget = int((SMALLEST.findall(finished.errors) or [budget])[-1])
            require(told_of == [True, False], told_of, finished.describe())


def as_long_as(minutes):
    runs = list(itertools.product(ALL, (80, 60, 50, 40), ("odd", "odd-untold"), ("wait", "on"), (64, 1)))
    random.Random(0).shuffle(runs)

    @sentence(f"all of them at every budget, as many as {minutes:g} minutes allow: the same bits")
    def _():
        ends = time.monotonic() + 60 * minutes
        right(itertools.takewhile(lambda _: time.monotonic() < ends, runs))


def main(arguments):
    if arguments[:1] == ["--long"]:
        as_long_as(float(arguments[1]))
    for group in GROUPS if arguments == ["all"] else [name for name in arguments if name in GROUPS]:
        for place, name in enumerate(GROUPS[group]):
            kept(name, place)
        if group == "graph":
            kept_in_place()
            named_at_once()

    @sentence("each program that there is is one of these")
    def _():
        listed = run(["odd", "--list"])
        require(listed.output.split() == ALL, listed.output)
    finish()


if __name__ == "__main__":
    main(sys.argv[2:] or ["all"])
