#!/usr/bin/env python3
"""In steady state a plan makes nothing: no physical memory, no addresses, no events, no streams, no host memory.

Counted by the device: what a run of more steps does beyond one of fewer."""
from following import library_plans, within_budget, without
from harness import Skipped, finish, require, same_in_budget, sentence

FEW, MANY = 12, 24
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


for workload in ("gpt", "resnet", "lstm", "mlp"):
    makes_nothing(workload, 60, [])
    makes_nothing(workload, 40, ["--streams", "2"])
finish()
