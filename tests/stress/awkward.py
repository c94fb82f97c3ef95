#!/usr/bin/env python3
"""Random programs that are right, and awkward for whoever runs kernels again, keep their bits, whatever the budget: each is held
against itself without spillway. In one of four no type says what a kernel may write (…-untold). In one of three the device's granules are so
large that tensors share them. One in five runs a second time, with the profile that the first run has left.

usage: awkward.py LIBRARY [KIND] [--first SEED] [--count N] [--minutes M]    so many seeds (default 40), and then as many as the time allows
       awkward.py LIBRARY --reduce SEED [--of N]                             which of a program's layers it takes for its bits to differ

KIND: harm, awkward layers on one stream (harm --random, tests/workloads); crossing, operations on several streams, in one of
six programs of two threads; or wide, the same with copies on the device, host functions and graphs among them.

N kinds to draw from (default all): those that found defects drew from fewer.

LIBRARY: the one that makes its plans in no time, libhasty.so beside the other tests of this folder."""
import argparse
import concurrent.futures
import itertools
import os
import random
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from harness import EXIT_CUDA_ERROR, Failed, finish, no_misuse, require, run, same_results, sentence, succeeded, within  # pylint: disable=wrong-import-position

SHAPE = ["--layers", "24", "--size", "64", "--steps", "30"]
CROSSING = ["--size", "64", "--steps", "30", "--late", "20"]
DEVICE = {"SIMGPU_SCALE_BYTES": "500", "SIMGPU_SCALE_OPS": "7000"}
PACKED = {"SIMGPU_GRANULARITY": "256KiB", "SPILLWAY_SMALL": "4KiB"}  # a granule for sixteen tensors of the usual size
AT_ONCE = 2
# Seeds that found a defect, and how many kinds those of harm drew from then.
WRONG_ONCE = {"crossing": {229: 0, 500107: 0, 3000070: 0, 6001155: 0, 6004285: 0, 7000232: 0, 8000338: 0}, "harm": {100867: 67, 103840: 67, 3002945: 78}}
SENTENCES = {"harm": "random programs of awkward layers", "crossing": "random programs of several streams",
             "wide": "random programs of several streams with host functions and graphs"}
RECOMPUTED_IN = {"harm": 8, "crossing": 8, "wide": 16}  # one of so many programs, at least
SLOWEST = 10  # s of computation; a run that takes more hangs


def is_untold(seed):
    """Of one program in four, kernels that change something late have names in C."""
    return seed % 4 == 3


def crossing(seed):
    drawn = random.Random(seed)
    shape = ["--streams", str(drawn.randint(2, 5)), "--operations", str(drawn.choice((30, 60, 100)))]
    how = ["--threads", "2" if drawn.random() < 1 / 6 else "1", "--alloc", drawn.choice(("async", "async", "plain"))]
    return ["crossing-untold" if is_untold(seed) else "crossing", "--seed", str(seed), *CROSSING, *shape, *how]


def program(seed, kind="harm", places=(), of=0):
    if kind != "harm":
        return [*crossing(seed), "--kinds", {"crossing": "few", "wide": "all"}[kind]]
    return ["harm-untold" if is_untold(seed) else "harm", "--random", "--seed", str(seed), "--of", str(of), *SHAPE,
            *(("--at", ",".join(map(str, places))) if places else ())]


def settings(seed):
    """Share of the peak and settings that the seed is for."""
    drawn = random.Random(seed)
    return drawn.choice((40, 50, 60, 60, 70, 80, 90)), {"SPILLWAY_PLAN": drawn.choice(("wait", "wait", "wait", "on")),
                                                        "SPILLWAY_VERIFY": drawn.choice(("1", "64", "64", "1000000"))}


def device(seed):
    return {**DEVICE, **(PACKED if random.Random(-seed).random() < 1 / 3 else {})}


def is_run_again(seed):
    return seed % 5 == 1


def within_budget(command, budget, library, seed, profile):
    return run(command, via="none", timeout=20 * SLOWEST, cpu_seconds=SLOWEST,
               env={**device(seed), **settings(seed)[1], "LD_PRELOAD": os.path.abspath(library), "SPILLWAY_BUDGET": budget, "SPILLWAY_PROFILE": profile})


def same(seed, library, kind="harm", places=(), of=0):
    command = program(seed, kind, places, of)
    share, _ = settings(seed)
    plain = run(command, env=device(seed))
    succeeded(plain)
    no_misuse(plain)
    budget = plain.peak * share // 100
    with tempfile.TemporaryDirectory(prefix="spillway-awkward-") as folder:
        profile = os.path.join(folder, "profile") if is_run_again(seed) else "off"
        finished = judged_run(plain, command, budget, library, seed, profile)
        if os.path.exists(profile):
            finished = judged_run(plain, command, budget, library, seed, profile)
    return finished.summary["replayed"]["by_plan_count"]


def judged_run(plain, command, budget, library, seed, profile):
    finished = within_budget(command, budget, library, seed, profile)
    while finished.status == EXIT_CUDA_ERROR and "out of memory" in finished.errors and budget < 2 * plain.peak:
        budget = budget * 5 // 4  # one launch needs more by itself, or what graphs use, which is pinned, shares granules
        finished = within_budget(command, budget, library, seed, profile)
    no_misuse(finished)
    within(budget, finished)
    same_results(plain, finished)
    require("refused" not in finished.errors, "a call was refused", finished.describe())
    return finished


def judged(seed, library, kind, of=0):
    """How many replays there were, and what was wrong, if anything."""
    try:
        return seed, same(seed, library, kind, of=of), None
    except Failed as why:
        return seed, 0, str(why)


def many(library, kind, first, count, minutes):
    ends, wrong, done, replaying = time.monotonic() + 60 * minutes, [], 0, 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as workers:
        waiting = []
        for seed in itertools.count(first):
            if seed - first >= count and time.monotonic() > ends:
                break
            waiting.append(workers.submit(judged, seed, library, kind))
            while len(waiting) > 2 * AT_ONCE:
                seed_of, replays, text = waiting.pop(0).result()
                done, replaying = done + 1, replaying + (replays > 0)
                if text:
                    wrong.append(seed_of)
                    print("\n".join(f"# seed {seed_of}: " + line for line in text.splitlines()), flush=True)
        for seed_of, replays, text in (one.result() for one in waiting):
            done, replaying = done + 1, replaying + (replays > 0)
            if text:
                wrong.append(seed_of)
                print("\n".join(f"# seed {seed_of}: " + line for line in text.splitlines()), flush=True)
    print(f"# {done} programs, {replaying} of them with replays by plan", flush=True)
    require(not wrong, f"{len(wrong)} of {done} programs, the first seeds {' '.join(map(str, wrong[:20]))}")
    require(done < 20 or replaying > done // RECOMPUTED_IN[kind], f"only {replaying} of {done} programs had anything recomputed")


def reduced(library, seed, of):
    """The fewest awkward layers with which it is still wrong, by leaving out one after the other."""
    shown = run([*program(seed, of=of), "--show"]).output
    awkward = [int(number) for number, kind in re.findall(r"^layer (\d+) (\S+)", shown, re.MULTILINE) if kind != "plain"]

    def wrong(places):
        return judged_with(places) is not None

    def judged_with(places):
        try:
            same(seed, library, places=places, of=of)
        except Failed as why:
            return str(why)
        return None

    for place in list(awkward):
        rest = [other for other in awkward if other != place]
        if rest and wrong(rest):
            awkward = rest
    print(shown, end="")
    print(f"places {awkward}, {settings(seed)}")
    print(judged_with(awkward))


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("library")
    options.add_argument("kind", nargs="?", choices=SENTENCES, default="harm")
    options.add_argument("--first", type=int, default=1)
    options.add_argument("--count", type=int, default=40)
    options.add_argument("--minutes", type=float, default=0)
    options.add_argument("--reduce", type=int)
    options.add_argument("--of", type=int, default=0)
    told = options.parse_args()
    if told.reduce is not None:
        reduced(told.library, told.reduce, told.of)
        return

    @sentence(f"{SENTENCES[told.kind]}: the same bits within every budget")
    def _():
        many(told.library, told.kind, told.first, told.count, told.minutes)

    if told.kind in WRONG_ONCE:
        @sentence(f"{SENTENCES[told.kind]} that found defects: the same bits")
        def _():
            wrong = [why for seed, of in WRONG_ONCE[told.kind].items() for why in judged(seed, told.library, told.kind, of)[2:] if why]
            require(not wrong, *wrong)
    finish()


main()
