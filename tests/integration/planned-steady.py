#!/usr/bin/env python3
"""In steady state all goes by plan, tensors are back in time, and nothing is made: no addresses, no events, no streams, no host
memory, and physical memory only where a piece is cut.

Counted by the device, and by the library: what a run of more steps does beyond one of fewer."""
import os
import tempfile

from following import COPIES, library_plans, step_times, usual, within_budget, without
from harness import Skipped, finish, require, run, same_in_budget, sentence, succeeded
from likeness import device_like, program_like

FEW, MANY = 12, 24
SETTLED = 72, 84  # by then all plans have been tried
PAIRS = 3  # of runs, of which one has to show it
KEPT = 8  # pieces of physical memory that more steps may keep, of which each step makes some in place of others
SHORT = 40  # steps
KEEPS_UP = 1.08  # times what was predicted, that a step takes whose host has many short operations to submit
NO_PLAN = 1.15  # times what a run takes on demand, that one takes which finds out that no plan is faster
IN_TIME = 0.99
HIDDEN = 1.01  # a plan that takes so many times as long as its operations has all copies in time
MAKES = ("cuMemCreate", "cuMemRelease", "cuMemAddressReserve", "cuMemAddressFree", "cuMemHostAlloc", "cuMemFreeHost", "cuMemHostRegister",
         "cuMemHostUnregister", "cuEventCreate", "cuEventDestroy", "cuStreamCreate", "cuStreamCreateWithPriority", "cuStreamDestroy",
         "cuMemAlloc", "cuMemFree")
COUNTED = {"SIMGPU_FAIL": ",".join(f"{call}:1000000000=999" for call in MAKES)}


def made_more(name, options, budget):
    """What a run of more steps makes beyond one of fewer: pieces of memory that it keeps, and all else."""
    calls = []
    for steps in SETTLED:
        # Plans with replays are tried until later than this, and with each the sizes that are alive at once change.
        finished = within_budget(name, steps, *options, budget=budget, via="hasty", env={**COUNTED, **COPIES})
        same_in_budget(without(name, steps, *options), finished, budget)
        require(finished.summary["changed_hands"]["early_count"] > 0, "no memory went from tensor to tensor before the device was done with it")
        calls.append(finished.stats["calls"])
    more = {call: calls[1][call] - calls[0][call] for call in MAKES if calls[1][call] > calls[0][call]}
    return more.pop("cuMemCreate", 0) - more.pop("cuMemRelease", 0), more


def makes_nothing(name, share, options):
    @sentence(f"{name} within {share} %{' '.join(['', *options])}: more steps make no more of anything")
    def _():
        if not library_plans():
            raise Skipped("this library makes no plans")
        budget, steps, seen = without(name, FEW, *options).peak * share // 100, SETTLED[1] - SETTLED[0], []
        # Who comes first for a piece is also a matter of the host's speed, so that runs differ by some. What each step makes shows in every pair.
        for _ in range(PAIRS):
            made, more = made_more(name, options, budget)
            seen.append(f"{steps} steps more make {more}, and keep {made} pieces of memory")
            if abs(made) <= KEPT and not more:
                return
        require(False, *seen)


def books(finished):
    plan, moved = finished.summary["devices"][0]["planned"], finished.summary["carried"]
    return {"iterations": plan["planned_iterations"], "lost": plan["lost"], "plans": plan["plans"], "brought": moved["restored_count"],
            "no_memory": moved["late_count"], "late": finished.stats["brought_in"]["late"]}


def in_time(name, share, options):
    @sentence(f"{name} within {share} %{' '.join(['', *options])}: later steps go by plan, and nearly all tensors are back before they are needed")
    def _():
        if not library_plans():
            raise Skipped("this library makes no plans")
        budget = without(name, FEW, *options).peak * share // 100
        runs = [within_budget(name, steps, *options, budget=budget, env=COPIES) for steps in (FEW, MANY)]
        few, many = map(books, runs)
        more = {what: many[what] - few[what] for what in many}
        plan = runs[1].summary["devices"][0]["planned"]
        print(f"# {more}, predicted {plan['predicted_us'] / plan['ops_us']:.3f} times the operations")
        require(more["iterations"] == MANY - FEW and more["lost"] == more["plans"] == 0, f"{MANY - FEW} steps more are {more}")
        require(more["brought"] > 0, "nothing was brought back, so nothing was tested")
        # Otherwise the plan itself has operations wait for the link; and it knows nothing of streams that compute at once.
        if plan["predicted_us"] <= HIDDEN * plan["ops_us"] and "--streams" not in options:
            require(more["late"] <= (1 - IN_TIME) * more["brought"], f"{MANY - FEW} steps more are {more}")


@sentence("lstm on an h200 within 60 %, whose host has little time: steps take hardly longer than predicted")
def _():
    if not library_plans():
        raise Skipped("this library makes no plans")
    program, device = program_like("lstm", SHORT), device_like("lstm", "h200")
    plain = run(program, env=device)
    succeeded(plain)
    budget = plain.peak * 60 // 100
    finished = run(program, budget=budget, env={**device, **COPIES, "SPILLWAY_PLAN": "wait"})
    same_in_budget(plain, finished, budget)
    predicted_us, later = finished.summary["devices"][0]["planned"]["predicted_us"], step_times(finished)[-9:-1]
    if predicted_us is None:  # no plan is predicted to be faster than on demand
        on_demand = run(program, budget=budget, env={**device, **COPIES, "SPILLWAY_PLAN": "off"})
        predicted_us = 1000 * usual(step_times(on_demand)[-9:-1])
    require(usual(later) <= KEEPS_UP * predicted_us / 1000, f"predicted {predicted_us} us", f"steps {later}")


@sentence("tensors of half a granule on an h200 within 60 %, where a plan loses against eviction on demand: a run takes hardly longer than that")
def _():
    if not library_plans():
        raise Skipped("this library makes no plans")
    program = ["harm", "--layers", "24", "--size", "1024", "--steps", str(SHORT)]
    device = {"SIMGPU_PROFILE": "h200", "SIMGPU_GRANULARITY": "2MiB", "SIMGPU_MEMORY": "4GiB"}
    plain = run(program, env=device)
    succeeded(plain)
    budget = plain.peak * 60 // 100
    with tempfile.TemporaryDirectory(prefix="spillway-steady-") as folder:
        learning = {**device, "SPILLWAY_PROFILE": os.path.join(folder, "profile")}
        runs = {"on demand": {**device, "SPILLWAY_PLAN": "off"}, "by plan": {**learning, "SPILLWAY_PLAN": "wait"},
                "by plan, with what was learned": {**learning, "SPILLWAY_PLAN": "wait"}, "by plan, made beside it": {**device, "SPILLWAY_PLAN": "on"}}
        took = {}
        for how, env in runs.items():
            finished = run(program, budget=budget, env=env)
            same_in_budget(plain, finished, budget)
            took[how] = finished.stats["virtual_ns"]
    require(max(took.values()) <= NO_PLAN * took["on demand"], took)


for workload in ("gpt", "resnet", "lstm", "mlp"):
    makes_nothing(workload, 60, [])
    makes_nothing(workload, 40, ["--streams", "2"])
    in_time(workload, 80, [])
    in_time(workload, 60, [])
    in_time(workload, 40, ["--streams", "2"])
finish()
