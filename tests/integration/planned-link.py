#!/usr/bin/env python3
"""The link to the host: what the program's own copies take on it, and one that becomes slower after plans were made for it: steps take
longer for a while, then they are planned anew."""
from following import COPIES, library_plans, step_times, usual, within_budget, without
from harness import Skipped, finish, require, same_in_budget, sentence

STEPS = 46
SLOWER_FROM = 12  # steps
TIMES = 2         # copies from the host take so much longer
OWN = 8           # steps
WAITED = 1.02     # times that operations may seem to take in all, as they were recorded
LOST = 0.3        # of what steps took longer, at most, once they are planned anew


def recovers(name, share):
    @sentence(f"{name} within {share} %, copies in {TIMES} times as long after {SLOWER_FROM} steps: planned anew, the same bits")
    def _():
        if not library_plans():
            raise Skipped("this library makes no plans")
        plain = without(name, STEPS)
        budget = plain.peak * share // 100
        fast = step_times(within_budget(name, STEPS, budget=budget))
        from_ms = sum(fast[:SLOWER_FROM])
        slower = within_budget(name, STEPS, budget=budget,
                               env={"SIMGPU_SLOWER_LINK": f"h2d:{TIMES}@{from_ms:.0f}", "SPILLWAY_LOG": "info"})
        same_in_budget(plain, slower, budget)
        times = step_times(slower)
        before, hit, after = usual(times[SLOWER_FROM - 4:SLOWER_FROM - 1]), usual(times[SLOWER_FROM + 2:SLOWER_FROM + 8]), usual(times[-6:])
        print(f"# {before:.1f} ms, slower {hit:.1f} ms, then {after:.1f} ms")
        require(hit > 1.02 * before, f"steps of {before} ms took {hit} ms: nothing was tested")
        require(after - before <= LOST * (hit - before), f"{before} ms, slower {hit} ms, then {after} ms", slower.describe())
        require("planning anew" in slower.errors, "nobody says so", slower.describe())


def own_time(name, share):
    @sentence(f"{name} within {share} %: its own copies count for no longer than they take, whoever was before them on the link")
    def _():
        if not library_plans():
            raise Skipped("this library makes no plans")
        plain = without(name, OWN)
        finished = within_budget(name, OWN, budget=plain.peak * share // 100, env=COPIES)
        ops_ms = finished.summary["devices"][0]["planned"]["ops_us"] / 1000
        step_ms = usual(step_times(plain)[2:])
        print(f"# operations of {ops_ms:.2f} ms, alone {step_ms:.2f} ms")
        require(ops_ms <= WAITED * step_ms, f"{ops_ms} ms for what takes {step_ms} ms")


for workload, portion in (("mlp", 60), ("resnet", 60)):
    own_time(workload, portion)
for workload, portion in (("gpt", 80), ("resnet", 80)):
    recovers(workload, portion)
finish()
