#!/usr/bin/env python3
"""A device that lies while a plan is followed is found out: the tests of planned execution can fail.

As sabotage.py, but late in a run of many steps, when most copies and waits are those of a plan."""
from following import within_budget, without
from harness import Failed, finish, require, same_in_budget, sentence

WORKLOAD, STEPS, OPTIONS = "mlp", 14, ["--streams", "2"]
WHERE = [0.45 + 0.5 * (0.618034 * i % 1) for i in range(26)]  # of all operations that could be chosen; in no step with its length
# switch: at how many places of how many it has to show; most waits are for what is ordered in
# another way too
SWITCHES = {"skip-copy": (8, 13), "truncate-copy": (8, 13), "wrong-map": (6, 13), "drop-wait": (1, 26), "early-event": (1, 26), "skip-kernel": (8, 13)}

plain = without(WORKLOAD, STEPS, *OPTIONS)
budget = plain.peak // 2


def lied_to(rule):
    return within_budget(WORKLOAD, STEPS, *OPTIONS, budget=budget, env={"SIMGPU_SABOTAGE": rule})


honest = lied_to("skip-copy:1000000000")


def places(switch, count):
    return [int(honest.stats["sabotage"][switch] * share) for share in sorted(WHERE[:count])]


def shows(switch, place):
    try:
        same_in_budget(plain, lied_to(f"{switch}:{place}"), budget)
    except Failed:
        return True
    return False


def noticed(switch, least, count):
    @sentence(f"{switch}: a device that does this once, late, is noticed")
    def _():
        found = [place for place in places(switch, count) if shows(switch, place)]
        print(f"# noticed at {len(found)} of {count} places: {found} of {honest.stats['sabotage'][switch]}")
        require(len(found) >= least, f"{switch} was noticed at {found} only, of {places(switch, count)}")


@sentence("an honest device gives the same bits within the budget")
def _():
    same_in_budget(plain, honest, budget)


@sentence("stale-map: memory that loses its bytes between two mappings harms nothing, since every byte is brought again")
def _():
    for place in places("stale-map", 13):
        same_in_budget(plain, lied_to(f"stale-map:{place}"), budget)


for name, needed in SWITCHES.items():
    noticed(name, *needed)
finish()
