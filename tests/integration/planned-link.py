#!/usr/bin/env python3
"""The link to the host: what the program's own copies take on it, and one that becomes slower after plans were made for it: steps take
longer for a while, then they are planned anew."""
from following import COPIES, library_plans, step_times, usual, within_budget, without
from harness import Skipped, finish, require, same_in_budget, sentence

SLOWER_FROM = 12  # steps
OWN = 8           # steps
WAITED = 1.02     # times that operations may seem to take in all, as they were recorded
HIT = (14, 20)    # steps that the old plan has to do with the slower link
AFTER = (40, 46)  # steps that are planned anew
STEPS = AFTER[1]
LOST = 0.3        # of what steps took longer, and tensors came late, at most, once they are planned anew


def late_ms(finished):
    """For which kernels waited for tensors to come, by the device's count."""
    return finished.stats["brought_in"]["late_ns"] / 1e6


def recovers(name, share, times_longer):
    @sentence(f"{name} within {share} %, copies in {times_longer} times as long after {SLOWER_FROM} steps: planned anew, the same bits")
    def _():
        if not library_plans():
            raise Skipped("this library makes no plans")
        plain = without(name, STEPS)
        budget = plain.peak * share // 100
        # What is learned of an iteration is planned with once it is known, at the speed that the link has by then: that would hide
        # what is tested here.
        fast = step_times(within_budget(name, STEPS, budget=budget, env=COPIES))
        env = {**COPIES, "SIMGPU_SLOWER_LINK": f"h2d:{times_longer}@{sum(fast[:SLOWER_FROM]):.0f}", "SPILLWAY_LOG": "info"}
        slower = within_budget(name, STEPS, budget=budget, env=env)
        same_in_budget(plain, slower, budget)
        times = step_times(slower)
        before, hit, after = (usual(times[first:end]) for first, end in ((SLOWER_FROM - 4, SLOWER_FROM - 1), HIT, AFTER))
        late_by = {steps: late_ms(within_budget(name, steps, budget=budget, env=env)) for steps in (*HIT, AFTER[0])} | {STEPS: late_ms(slower)}
        late, late_after = (late_by[end] - late_by[first] for first, end in (HIT, AFTER))
        print(f"# {before:.1f} ms, slower {hit:.1f} ms, then {after:.1f} ms; late by {late:.1f} ms, then {late_after:.1f} ms")
        require(hit > 1.02 * before and late > hit - before, f"steps of {before} ms took {hit} ms, late by {late} ms: nothing was tested")
        require(late_after <= LOST * late, f"tensors came late by {late} ms, and then by {late_after} ms", slower.describe())
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
for workload, portion, longer in (("gpt", 81, 2), ("resnet", 80, 4)):  # with room for a plan that does with less of the link
    recovers(workload, portion, longer)
finish()
