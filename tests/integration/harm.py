#!/usr/bin/env python3
"""Programs that are right, and awkward for whoever runs kernels again (tests/workloads/harm), keep their bits within budgets, whatever the
data on the device come to say late in the run.

usage: harm.py HASTY GROUP...        the kinds of these groups: indices, partial, late, states, or all; a few runs of each
       harm.py HASTY untold          those that change something late, by kernels whose names do not say what they may write
       harm.py HASTY --long MINUTES  all kinds at every budget, later changes, other places: as many as the time allows

HASTY: the library with plans that are made in no time (tests/stress/hasty.c), with which most runs are."""
import concurrent.futures
import functools
import itertools
import os
import re
import sys
import time

from harness import Failed, finish, no_misuse, require, run, same_results, sentence, succeeded, within

HASTY = os.path.abspath(sys.argv[1])
HARM = ["harm"]
COSTS = {"SIMGPU_SCALE_BYTES": "500", "SIMGPU_SCALE_OPS": "7000"}
GROUPS = {
    "indices": ["order16", "order32", "picked", "hash", "rings", "list", "semaphore", "semaphore-small", "semaphore-cleared", "scan", "table-made"],
    "partial": ["scatter", "scatter-filled", "scatter-empty", "slices", "slices-some", "accumulate", "accumulate-2", "accumulate-on", "relu",
                "relu-mask", "beta", "beta-set", "half"],
    "late": ["late-input", "late-side", "late-side-small", "late-side-kept", "late-sum", "late-sum-small",
             "late-count", "late-sum-word", "late-clip", "late-clip-between", "late-between",
             "late-between-small", "late-between-word", "late-flip", "late-flip-word", "late-flip-twice", "late-flip-back"],
    "states": ["variable", "variable-between", "variable-each", "symbol", "symbol-between", "constant", "counter", "running", "running-large",
               "dropout", "dropout-apart", "dropout-told", "two-outputs", "two-outputs-kept", "zero", "table"],
    "graphs": ["graph-each", "graph-between", "graph-late", "graph-sudden", "graph-makes", "graph-anew"],
    "hosts": ["host", "host-packed", "host-followed", "host-late", "host-followed-late", "host-followed-long", "host-managed", "host-registered"],
    "stored": ["stored", "stored-late", "stored-host", "stored-host-late", "symbol-host", "constant-host", "constant-changed", "stored-own", "tensor-host", "tensor-host-tally", "numbers"],
}
ALL = [kind for kinds in GROUPS.values() for kind in kinds]
SHARES = (80, 60, 50, 40)
# What is recomputed depends on how many layers there are beside the awkward ones, and how many of these.
SHAPES = ((80, ()), (60, ("--layers", "12", "--every", "4")), (50, ("--layers", "16", "--every", "2")), (40, ()))
PINS = {"graph-anew"}  # these keep too much in place for half of the layers to be of the kind
SEARCHED = 3  # kinds, of which one has plans searched for as usual; each has in --long
AT_ONCE = 2
SLOWEST = 30  # s of computation; a run that takes more hangs


@functools.cache
def plain(command):
    finished = run(command, env=COSTS)
    succeeded(finished)
    no_misuse(finished)
    return finished


def one(command, share, planning="wait", hasty=True):
    """The run within the budget, held against the one without."""
    without = plain(command)
    budget = without.peak * share // 100
    settings = {**COSTS, "SPILLWAY_PLAN": planning}
    limits = {"timeout": 20 * SLOWEST, "cpu_seconds": SLOWEST}
    if hasty:
        finished = run(command, via="none", env={**settings, "LD_PRELOAD": HASTY, "SPILLWAY_BUDGET": budget}, **limits)
    else:
        finished = run(command, budget=budget, env=settings, **limits)
    same_results(without, finished)
    no_misuse(finished)
    within(budget, finished)
    require("refused" not in finished.errors, "a call was refused", finished.describe())
    return finished


def told(command, share, planning="wait", hasty=True):
    """What is wrong with it, if anything."""
    try:
        one(command, share, planning, hasty)
    except Failed as why:
        return f"{' '.join(command)}, plans made with {planning}{' in no time' if hasty else ''}, {share} % of the peak:\n{why}"
    return None


def right(runs):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as workers:
        wrong = [text for text in workers.map(lambda what: told(*what), runs) if text]
    require(not wrong, *wrong)


def usual(kind, late, *more, program="harm"):
    return (program, "--kind", kind, "--steps", str(late + 10), "--late", str(late), *more)


def kept(kind):
    # promise: never-silently-wrong
    @sentence(f"{kind}: the same bits within 80 to 40 % of the peak, and nothing is refused")
    def _():
        shapes = [one for one in SHAPES if kind not in PINS or one[0] != 50]
        right([(usual(kind, 30), 60, "wait", ALL.index(kind) % SEARCHED != 0), *((usual(kind, 30, *shape), share) for share, shape in shapes)])


def kept_untold(kind):
    """No type says what these kernels may write."""
    @sentence(f"{kind}, of kernels with names in C: the same bits within 80 to 40 % of the peak, and nothing is refused")
    def _():
        right([*((usual(kind, 30, *shape, program="harm-untold"), share) for share, shape in SHAPES),
               (usual(kind, 90, program="harm-untold"), 80), (usual(kind, 30, "--size", "64", program="harm-untold"), 50)])

    if kind.endswith("-word"):
        @sentence(f"{kind}, of kernels with names in C: a word that changes in a tensor of 3 MiB is seen at once")
        def _():
            right([(usual(kind, 30, "--size", "3072", "--layers", "16", "--every", "2", program="harm-untold"), 50)])


    if kind.startswith("late-flip"):
        @sentence(f"{kind}, of kernels with names in C, changed at step 60, plans made on a thread: the same bits within 80 to 40 % of the peak")
        def _():
            right([(usual(kind, 60, program="harm-untold"), share, "on") for share in SHARES])


def kept_in_what_is_left():
    # promise: surprise-is-slow
    @sentence("graph-sudden, in little more than one operation and what a graph begins to keep: what is dropped by then is made again")
    def _():
        right([(("harm", "--kind", "graph-sudden", "--steps", "34", "--layers", "12", "--every", "4", "--size", "64"), 26, "wait", False)])


def kept_on_a_thread(group):
    @sentence(f"{group}, all in one program, changed at step 90, plans made on a thread: the same bits within 60 % of the peak")
    def _():
        right([((*usual(",".join(part), 90), "--every", "2"), 60, "on", False) for part in (GROUPS[group][::2], GROUPS[group][1::2])])


def kept_beside(work):
    @sentence(f"all kinds at once beside a second thread with {work} of its own: the same bits, and captures stay valid")
    def _():
        right([((*usual(",".join(ALL[part::3]), 30), "--every", "2", "--beside", work), share, planning, hasty)
               for part, (share, planning, hasty) in enumerate(((60, "wait", False), (50, "wait", True), (70, "on", True)))])


def told_apart():
    @sentence("a module is refused once its variables hold an address, and not for numbers that are as large")
    def _():
        for kind in ("stored-late", "stored-host", "symbol-host", "constant-host", "stored-own", "numbers"):
            command = usual(kind, 30, "--layers", "16", "--every", "2")
            finished = run(command, budget=plain(command).peak // 2, env={**COSTS, "SPILLWAY_PLAN": "wait", "SPILLWAY_LOG": "info"})
            same_results(plain(command), finished)
            require(("hold addresses" in finished.errors) == (kind != "numbers"), kind, finished.errors[-2000:])
            require(finished.summary["replayed"]["by_plan_count"] > 0 or kind != "numbers", kind)


def ordered_by_the_host():
    @sentence("streams that a function of the host's orders, from the first step on or late: the same bits within 80 to 40 % of the peak, and no end to wait for")
    def _():
        unseen = {**COSTS, "SIMGPU_ORDER": "off"}
        for late in (1, 6, 30):
            command = (*HARM, "--kind", "ordered", "--steps", "40", "--late", str(late))
            without = run(command, env=unseen)
            succeeded(without)
            for share in SHARES:
                budget = without.peak * share // 100
                finished = run(command, via="none", env={**unseen, "SPILLWAY_PLAN": "wait", "LD_PRELOAD": HASTY, "SPILLWAY_BUDGET": budget},
                               timeout=4 * SLOWEST, cpu_seconds=SLOWEST)
                same_results(without, finished)
                within(budget, finished)
                require("other bytes" not in finished.errors, finished.describe())


def long_runs():
    """All there is, what takes longest first."""
    for late, planning, share in itertools.product((200, 90, 30), ("wait", "on"), SHARES):
        for number, kind in enumerate(ALL):
            place = ("--at", str((number * 5 + share // 10 + late) % 20)) if share == 50 else ()
            size = ("--size", "64") if share == 40 and late == 90 else ()
            if kind in PINS and share < 60:
                continue
            yield usual(kind, late, *place, *size), share, planning, late == 90


def as_long_as(minutes):
    @sentence(f"each kind at every budget, changed at step 30, 90 and 200, as many as {minutes:g} minutes allow: the same bits")
    def _():
        ends, wrong, count = time.monotonic() + 60 * minutes, [], 0
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as workers:
            judged = (workers.submit(told, *what) for what in long_runs())
            for some in iter(lambda: list(itertools.islice(judged, AT_ONCE)), []):
                for text in (one_run.result() for one_run in some):
                    count += 1
                    if text:
                        wrong.append(text)
                        print("\n".join("# " + line for line in text.splitlines()), flush=True)
                if time.monotonic() > ends:
                    break
        print(f"# {count} runs", flush=True)
        require(not wrong, f"{len(wrong)} of {count} runs")


def main(arguments):
    if arguments[:1] == ["--long"]:
        as_long_as(float(arguments[1]))
    for kind in GROUPS["late"] if arguments == ["untold"] else []:
        kept_untold(kind)
    for group in GROUPS if arguments == ["all"] else [name for name in arguments if name in GROUPS]:
        for kind in GROUPS[group]:
            kept(kind)
        kept_on_a_thread(group)
        if group == "stored":
            told_apart()
        if group == "hosts":
            ordered_by_the_host()
        if group == "graphs":
            kept_in_what_is_left()
            kept_beside("captures")
            kept_beside("launches")

    @sentence("each kind that there is is one of these")
    def _():
        listed = run([*HARM, "--list"])
        require([line.split()[0] for line in listed.output.splitlines()] == ALL, listed.output)
    finish()


if __name__ == "__main__":
    main(sys.argv[2:] or ["all"])
