#!/usr/bin/env python3
"""sim_ranks.py [all | kill COUNT [SEED]] - PyTorch as its maker ships it trains on two ranks that torchrun starts, each with a simulated device of its own.

The ranks exchange through the stand-in for NCCL. Fingerprints of both are the same within budgets. With "all", that is tried at
100, 80, 60 and 40 % of the peak in place of 60 alone. With "kill", so many long runs are made of which a rank is killed at a random moment:
the others end as without spillway, soon, and nothing is left."""
import functools
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

from harness import BUILD, SPILLWAY, environment, finish, no_misuse, require, same_results, sentence, within
from simulated import RANK_COUNT as COUNT
from simulated import RANKS, beside_ranks, command_of_ranks, is_planned_for, settings
from started_ranks import Ranks, end, process_of, processes_with, said_by

STARTED = Ranks(COUNT, functools.partial(command_of_ranks, os.environ["TORCH_PYTHON"]),
                {**settings(BUILD, os.environ["TORCH_LAYOUTS"]), **beside_ranks(BUILD)})
PATIENCE = 300
SOON = 10  # seconds in which the others end once a rank is gone
FIRST = next(iter(RANKS))


def trained(row, budgets=()):
    return STARTED.trained(row, RANKS[row].options, RANKS[row].steps, budgets, PATIENCE)


@functools.cache
def plain(row):
    every = trained(row)
    for one in every:
        require(one.status == 0, one.describe())
        require("has no layout" not in one.errors, "the table lacks kernels", one.errors)
        no_misuse(one)
    return every


def peak(row, rank):
    return int(re.search(r'^memory .*"peak_bytes": (\d+)', plain(row)[rank].output, re.MULTILINE).group(1))


def same_within(row, shares):
    budgets = [peak(row, rank) * share // 100 for rank, share in enumerate(shares)]
    every = trained(row, budgets)
    for rank, one in enumerate(every):
        same_results(plain(row)[rank], one)
        no_misuse(one)
        within(budgets[rank], one)
        moved = one.copied("d2h") - plain(row)[rank].copied("d2h")
        print(f"# rank {rank}: {one.peak} of {budgets[rank]} bytes, {moved} bytes moved out, {one.seconds:.1f} s", flush=True)
        if shares[rank] <= 60:
            require(moved > 0, "nothing was moved, so nothing was tested", one.describe())
            require(is_planned_for(one), "no plan was made", one.describe())
    return every


def wait_for_begin(folder, torchrun):
    until = time.monotonic() + PATIENCE
    while not all(process_of(folder, rank) for rank in range(COUNT)):
        require(torchrun.poll() is None and time.monotonic() < until, "the ranks did not begin", said_by(folder, 0, "stderr.log")[-2000:])
        time.sleep(0.1)


def seconds_until_gone(mark, torchrun):
    began = time.monotonic()
    while processes_with(mark) and time.monotonic() < began + 3 * SOON:
        torchrun.poll()
        time.sleep(0.05)
    return time.monotonic() - began


def killed(row, share, seed, steps):
    """One long run; how long it took from the kill of a rank until all were gone, and what may have been left by name."""
    choice = random.Random(seed)
    victim, when = choice.randrange(COUNT), choice.uniform(0, 20)
    with tempfile.TemporaryDirectory(prefix="spillway-ranks-") as folder:
        mark, torchrun = STARTED.start(folder, RANKS[row].options, steps, [peak(row, rank) * share // 100 for rank in range(COUNT)])
        try:
            wait_for_begin(folder, torchrun)
            time.sleep(when)
            require(torchrun.poll() is None, "it ended too early to kill a rank of it", said_by(folder, victim, "stderr.log")[-2000:])
            processes = [process_of(folder, rank) for rank in range(COUNT)]
            os.kill(processes[victim], signal.SIGKILL)
            seconds = seconds_until_gone(mark, torchrun)
            require(seconds < SOON, f"rank {victim} was killed, and {processes_with(mark)} were still there {seconds:.1f} s later")
            require(torchrun.wait() != 0, "torchrun has not noticed")
            other = said_by(folder, 1 - victim, "stderr.log")
            require("simgpu: kernel" not in other and "ordering error" not in other, "the other rank did what it must not", other[-2000:])
            print(f"# seed {seed}: all gone {seconds:.1f} s after rank {victim} was killed, {when:.1f} s after it began", flush=True)
            require(not left_of(processes), "left behind", left_of(processes))
        finally:
            end(mark)
            torchrun.wait()


def left_of(processes):
    """What has a name: shared memory and sockets. Pages of the dead go with the next look at the living."""
    subprocess.run([SPILLWAY, "top", "--once"], env=environment({}), capture_output=True, timeout=60, check=False)
    with open("/proc/net/unix", encoding="utf-8") as file:
        named = [line.split("@")[1].strip() for line in file if "@simgpu-nccl-" in line] + os.listdir("/dev/shm")
    return [name for name in named if any(str(process) in re.findall(r"\d+", name) for process in processes)]


if sys.argv[1:2] == ["kill"]:
    RUNS, SEED = int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1

    @sentence(f"{RUNS} runs of which a rank is killed: the other ends within {SOON} s, and nothing is left")
    def _():
        for seed in range(SEED, SEED + RUNS):
            killed(FIRST, 60, seed, 1000)

    finish()

SHARES = (100, 80, 60, 40) if sys.argv[1:2] == ["all"] else (60,)
for each in RANKS:
    for some in SHARES:
        @sentence(f"{each}: the same fingerprints within {some} % of the peak")
        def _(row=each, share=some):
            same_within(row, (share, share))

@sentence("each rank keeps a budget of its own, and shares the host's memory with the others")
def _():
    every = same_within(FIRST, (50, 90))
    limits = [one.summary["host"]["limit_bytes"] for one in every]
    print(f"# host budgets {limits}", flush=True)
    with open("/proc/meminfo", encoding="utf-8") as file:
        whole = int(re.search(r"^MemTotal: *(\d+)", file.read()).group(1)) << 10
    require(0 < sum(limits) <= whole // 2, "more than half of the machine together", limits, whole)


@sentence("of two ranks one is killed: the other ends soon, and nothing is left")
def _():
    killed(FIRST, 60, 1, 1000)


finish()
