#!/usr/bin/env python3
"""In steady state all goes by plan, tensors are back in time, and nothing is made: no physical memory, no addresses, no events,
no streams, no host memory.

Counted by the device, and by the library: what a run of more steps does beyond one of fewer."""
from following import library_plans, within_budget, without
from harness import Skipped, finish, require, same_in_budget, sentence

FEW, MANY = 12, 24
IN_TIME = 0.99
MAKES = ("cuMemCreate", "cuMemRelease", "cuMemAddressReserve", "cuMemAddressFree", "cuMemHostAlloc", "cuMemFreeHost", "cuMemHostRegister",
         "cuMemHostUnregister", "cuEventCreate", "cuEventDestroy", "cuStreamCreate", "cuStreamCreateWithPriority", "cuStreamDestroy",
         "cuMemAlloc", "cuMemFree")
COUNTED = {"SIMGPU_FAIL": ",".join(f"{call}:1000000000=999" for call in MAKES)}


def makes_nothing(name, share, options):
    @sentence(f"{name} within {share} %{' '.join(['', *options])}: twice as many steps make no more of anything")
    def _():
        if not library_plans():
            raise Skipped("this library makes no plans")
        budget = without(name, FEW, *options).peak * share // 100
        calls = []
        for steps in (FEW, MANY):
            finished = within_budget(name, steps, *options, budget=budget, env=COUNTED)
            same_in_budget(without(name, steps, *options), finished, budget)
            calls.append(finished.stats["calls"])
        more = {call: calls[1][call] - calls[0][call] for call in MAKES if calls[1][call] != calls[0][call]}
        require(not more, f"{MANY - FEW} steps more make {more}")


def books(finished):
    return {**finished.summary["devices"][0]["planned"], **finished.summary["carried"], "stalls": finished.summary["stalls"]}


def in_time(name, share, options):
    @sentence(f"{name} within {share} %{' '.join(['', *options])}: later steps go by plan, and 99 of 100 tensors are back before they are needed")
    def _():
        if not library_plans():
            raise Skipped("this library makes no plans")
        budget = without(name, FEW, *options).peak * share // 100
        few, many = (books(within_budget(name, steps, *options, budget=budget)) for steps in (FEW, MANY))
        more = {what: many[what] - few[what] for what in many if isinstance(many[what], int)}
        print(f"# {more}")
        require(more["planned_iterations"] == MANY - FEW and more["lost"] == more["plans"] == 0, f"{MANY - FEW} steps more are {more}")
        come = more["restored_count"] + more["late_count"]
        require(come > 0 and more["restored_in_time"] >= IN_TIME * come, f"{MANY - FEW} steps more are {more}")


for workload in ("gpt", "resnet", "lstm", "mlp"):
    makes_nothing(workload, 60, [])
    makes_nothing(workload, 40, ["--streams", "2"])
    in_time(workload, 60, [])
    in_time(workload, 40, ["--streams", "2"])
finish()
