#!/usr/bin/env python3
"""However a program ends, and whatever children it makes, it ends the same under spillway and leaves nothing behind.

usage: leaving.py PROGRAM"""
import os
import subprocess
import sys
import tempfile

from harness import SPILLWAY, environment, finish, no_misuse, require, run, sentence, within

PROGRAM = sys.argv.pop(1)
SHARES = (150, 60, 35)
UNFINISHED = -6, -9  # signals after which the device has written no statistics
# way: what its status is
WAYS = {"children": 0, "worker": 21, "children-of-the-busy": 0, "without-waiting": 41, "at-once": 42, "quickly": 43,
        "by-another-program": 21, "by-abort": -6, "by-signal": -9, "by-another-thread": 44, "with-handlers": 45,
        "with-an-early-handler": 46, "with-a-destructor": 47, "opened-again": 0}
SHARED_MEMORY = "/dev/shm"


def shared_memory():
    return set(os.listdir(SHARED_MEMORY)) if os.path.isdir(SHARED_MEMORY) else set()


def is_of_a_living_process(name):
    pid = name.rpartition(".")[2]
    return pid.isdigit() and os.path.exists(f"/proc/{pid}")


def clean():
    """Who was killed or did not end by exit() leaves its status page to whoever looks next."""
    subprocess.run([SPILLWAY, "top", "--once"], env=environment({}), stdout=subprocess.DEVNULL, timeout=20, check=True)


def leaves_nothing(command, **how):
    """The finished run, of which no file is left where programs put what is temporary."""
    with tempfile.TemporaryDirectory(prefix="spillway-") as folder:
        before = shared_memory()
        finished = run(command, env={"TMPDIR": folder}, **how)
        require(not os.listdir(folder), f"left behind: {os.listdir(folder)}", finished.describe())
        clean()
        left = [name for name in shared_memory() - before
                if ("spillway" in name or "simgpu" in name) and not is_of_a_living_process(name)]
        require(not left, f"left behind in {SHARED_MEMORY}: {left}", finished.describe())
        return finished


def ends_the_same(way, status):
    # promise: good-guest
    @sentence(f"{way}: ends the same under any budget, with status {status}")
    def _():
        command = [PROGRAM, way]
        plain = leaves_nothing(command)
        require(plain.status == status, plain.describe())
        peak = run([PROGRAM, "worker"]).peak  # the same tensors
        for share in SHARES:
            budget = peak * share // 100
            finished = leaves_nothing(command, budget=budget)
            require(finished.status == status, f"with {share} %:", finished.describe())
            require(finished.output == plain.output, f"with {share} %: other output:", finished.output, "instead of",
                    plain.output, finished.describe())
            if finished.stats is None:
                require(plain.stats is None or status in UNFINISHED, "the device wrote no statistics", finished.describe())
                continue
            no_misuse(finished)
            within(budget, finished)


for name, expected in WAYS.items():
    ends_the_same(name, expected)
finish()
