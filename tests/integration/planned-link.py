#!/usr/bin/env python3
"""A link to the host that becomes slower after plans were made for it: steps take longer for a while, then they are planned anew."""
from following import library_plans, step_times, usual, within_budget, without
from harness import Skipped, finish, require, same_in_budget, sentence

STEPS = 46
SLOWER_FROM = 12  # steps
TIMES = 2         # copies from the host take so much longer
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


for workload, portion in (("gpt", 80), ("resnet", 80)):
    recovers(workload, portion)
finish()
