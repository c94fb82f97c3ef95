#!/usr/bin/env python3
"""What is handed to NCCL stays on the device until it is used: its kernels find it by structures there, and run when the group ends.

usage: nccl.py PROGRAM PROGRAM_BY_NAME LIBRARY"""
import os
import shutil
import sys
import tempfile

from harness import finish, require, run, same_in_budget, sentence

LINKED, BY_NAME, LIBRARY = (os.path.abspath(path) for path in sys.argv[1:4])
TENSOR, SLAB = 65536 * 4, 64 << 10  # and what the stand-in has for itself
WAYS = {"linked": [LINKED], "looked up": [BY_NAME, "--library", LIBRARY]}
plain = {way: run(command) for way, command in WAYS.items()}


def stays(way, command):
    def within(share):
        @sentence(f"{way}: buffers of a group are there when its kernel runs, within {share} % of the peak")
        def _():
            budget = plain[way].peak * share // 100
            finished = run(command, budget=budget)
            same_in_budget(plain[way], finished, budget)
            require(finished.copied("d2h") > plain[way].copied("d2h"), "nothing was moved, so nothing was tested")

    for percent in (80, 50, 30):
        within(percent)

    @sentence(f"{way}: buffers of other groups leave, so that more can be handed over one after the other than fits")
    def _():
        rest = run([*command, "--others", "3"])
        budget = rest.peak * 40 // 100
        finished = run([*command, "--others", "3"], budget=budget)
        same_in_budget(rest, finished, budget)

    @sentence(f"{way}: an iteration with calls of NCCL is left in a profile and found again, and the driver is asked of nothing that is no function")
    def _():
        with tempfile.TemporaryDirectory(prefix="spillway-nccl-") as folder:
            rest = run([*command, "--rounds", "12"])
            for again in (False, True):
                finished = run([*command, "--rounds", "12"], budget=rest.peak // 2,
                               env={"SPILLWAY_PROFILE": os.path.join(folder, "p"), "SPILLWAY_PLAN": "wait", "SPILLWAY_LOG": "info"})
                same_in_budget(rest, finished, rest.peak // 2)
                require(("known from an earlier run" in finished.errors) == again, again, finished.errors)

    @sentence(f"{way}: where NCCL is to know buffers from one call to the next, each stays for good")
    def _():
        refused = run([*command, "--others", "3"], budget=plain[way].peak * 40 // 100, env={"NCCL_LOCAL_REGISTER": "1"})
        require(refused.status == 3 and "that cannot move" in refused.errors, "buffers were moved", refused.describe())

    @sentence(f"{way}: where what is handed over has no room, NCCL's call is refused, and nothing runs on missing memory")
    def _():
        finished = run(command, budget=2 * TENSOR + SLAB)
        require(finished.status == 3 and "a reduction in place: 1\n" in finished.errors, "expected a refused call", finished.describe())
        require(finished.stats["faults"] == 0, "a kernel ran all the same", finished.stats)

    @sentence(f"{way}: off and traced the calls go through as they are")
    def _():
        for options in (["--mode", "off"], ["--mode", "trace", "--output", "/dev/null"]):
            finished = run(command, options=options)
            require(finished.status == 0 and finished.results == plain[way].results, "other results", finished.describe())

    @sentence(f"{way}: the library is NCCL's stand-in, and the calls are its own without spillway")
    def _():
        require(os.path.basename(LIBRARY).startswith("libnccl.so"), LIBRARY)
        require(plain[way].status == 0 and len(plain[way].results) == 6, plain[way].describe())


for each in WAYS.items():
    stays(*each)


@sentence("a program that looks up two of them reaches each by its own calls")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-nccl-") as folder:
        other = shutil.copy(LIBRARY, os.path.join(folder, "another.so"))
        command = [*WAYS["looked up"], "--other", other]
        alone = run(command)
        require(alone.results == plain["looked up"].results, alone.describe())
        for budget in (alone.peak // 2, alone.peak * 2):
            finished = run(command, budget=budget)
            same_in_budget(alone, finished, budget)
            require(finished.stats["launches"] == alone.stats["launches"] or budget < alone.peak, "other launches", finished.stats["launches"])


finish()
