#!/usr/bin/env python3
"""A long run leaves nothing behind and does not slow down: a training program that steps until the time is up, by plan.

usage: long.py [SECONDS]     as many steps as fit in SECONDS (default 60); LONG_STEPS=100000: as many as that says"""
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from following import settings, step_times, tiny, without  # pylint: disable=wrong-import-position
from harness import finish, require, run, same_in_budget, sentence, succeeded  # pylint: disable=wrong-import-position

SECONDS = float(sys.argv.pop(1)) if len(sys.argv) > 1 else 60
WORKLOAD, OPTIONS = "mlp", ["--streams", "2"]
TRIAL = 300  # steps from which the number that fits is told
WINDOW, SETTLED = 50, 50  # steps whose mean is compared; steps after which everything is as it stays
DRIFT = 1.01
PIECES = 1.1  # so many times the handles: pieces of memory that turn out to be too large are cut now and then
GROWTH = 1 << 20  # bytes of the process that may come in the whole run: a step's time is kept by the program itself
PAGE = os.sysconf("SC_PAGE_SIZE")


class Watch:
    """Resident bytes of this process's child, sampled while it runs: first and last of those after it has settled."""

    def __init__(self):
        self.samples, self.over = [], threading.Event()
        self.thread = threading.Thread(target=self.sample)

    def resident(self):
        for task in os.listdir("/proc/self/task"):
            try:
                with open(f"/proc/self/task/{task}/children", encoding="ascii") as children:
                    child = children.read().split()
                if child:
                    with open(f"/proc/{child[0]}/statm", encoding="ascii") as counts:
                        self.samples.append(int(counts.read().split()[1]) * PAGE)
            except OSError:
                pass  # it has just ended

    def sample(self):
        while not self.over.wait(0.05):
            self.resident()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def growth(self):
        """From the time that a third of the run is over to its end: the most before, the most after."""
        third = len(self.samples) // 3
        return max(self.samples[third:]) - max(self.samples[:third])


def stepping(steps):
    budget = without(WORKLOAD, TRIAL, *OPTIONS).peak // 2
    started = time.monotonic()
    with Watch() as watch:
        finished = run(tiny(WORKLOAD, steps, *OPTIONS), budget=budget, env=settings(WORKLOAD, "on"), timeout=3600)
    succeeded(finished)
    return finished, watch, time.monotonic() - started


def kept(finished):
    """What the device and the library say is there at the end."""
    at_exit = {what: count for what, count in finished.stats.items() if what.endswith("_at_exit") and what != "live_handles_at_exit"}
    books = finished.summary
    held = {what: books["host"][what] for what in ("held_bytes", "pinned_bytes", "used_bytes_peak")}
    return {**at_exit, **held, "events": books["events_held"], "streams": books["streams_known"]}


def handles(finished):
    require(sum(device["handles"] for device in finished.summary["devices"]) == finished.stats["live_handles_at_exit"],
            "the device and the library count different handles", finished.describe())
    return finished.stats["live_handles_at_exit"]


@sentence("a training program that runs for long keeps its memory, its handles, its events and its step time")
def _():
    plain = without(WORKLOAD, TRIAL, *OPTIONS)
    trial, _, seconds = stepping(TRIAL)
    same_in_budget(plain, trial, plain.peak // 2)
    steps = int(os.environ.get("LONG_STEPS", max(2 * TRIAL, TRIAL * SECONDS / seconds)))
    finished, watch, _ = stepping(steps)
    print(f"# {steps} steps")
    require(finished.results[:TRIAL] == trial.results[:TRIAL], "the same steps have other losses", finished.describe())
    require(kept(finished) == kept(trial), f"after {TRIAL} steps {kept(trial)}", f"after {steps} {kept(finished)}", finished.describe())
    require(handles(finished) <= PIECES * handles(trial), f"after {TRIAL} steps {handles(trial)} handles, after {steps} {handles(finished)}")
    require(watch.growth() <= GROWTH, f"the process grew by {watch.growth()} bytes", watch.samples[::len(watch.samples) // 20 + 1])
    times = step_times(finished)
    first, last = (sum(part) / len(part) for part in (times[SETTLED:SETTLED + WINDOW], times[-WINDOW - 1:-1]))
    require(last <= DRIFT * first, f"a step took {first:.3f} ms, and {last:.3f} ms at the end")


finish()
