#!/usr/bin/env python3
"""A device that lies is found out: these tests can fail.

Each switch makes the simulated device misbehave once, silently, at a place where the library depends on it. What the
other tests compare (bits, ordering, faults) has to show it, or those comparisons prove nothing. A single place may be
one that does not matter (a tensor moved out and never read again); so several places are tried for each switch, and
most of them have to show."""
from harness import TINY, Failed, finish, require, run, same_in_budget, sentence

COMMAND = ["mlp", *TINY["mlp"], "--streams", "2"]
PLACES = (7, 19, 43, 69, 93, 120)
# Most waits of a stream order what the host has waited for already, or another wait orders as well: the first ones are those of the look for
# addresses.
WAITS = range(56, 200, 4)
# switch: how many of the places have to show
SWITCHES = {"skip-copy": 4, "truncate-copy": 3, "wrong-map": 3, "drop-wait": 4, "early-event": 1, "skip-kernel": 4}

plain = run(COMMAND)
budget = plain.peak // 2


def shows(switch, place):
    try:
        finished = run(COMMAND, budget=budget, env={"SIMGPU_SABOTAGE": f"{switch}:{place}"})
        same_in_budget(plain, finished, budget)
    except Failed:
        return True
    return False


def noticed(switch, least):
    # promise: nothing-on-missing-memory
    @sentence(f"{switch}: a device that does this once is noticed")
    def _():
        tried = WAITS if switch == "drop-wait" else PLACES
        places = [place for place in tried if shows(switch, place)]
        print(f"# noticed at {len(places)} of {len(tried)} places: {places}")
        require(len(places) >= least, f"{switch} was noticed at {places} only, of {list(tried)}")


@sentence("an honest device gives the same bits within the budget")
def _():
    same_in_budget(plain, run(COMMAND, budget=budget), budget)


@sentence("stale-map: memory that loses its bytes between two mappings harms nothing, since every byte is brought again")
def _():
    for place in PLACES:
        same_in_budget(plain, run(COMMAND, budget=budget, env={"SIMGPU_SABOTAGE": f"stale-map:{place}"}), budget)


for name, needed in SWITCHES.items():
    noticed(name, needed)
finish()
