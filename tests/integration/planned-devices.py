#!/usr/bin/env python3
"""Several devices in one process, each with its own budget and plan, and several processes that share the host's memory.

usage: planned-devices.py SEVERAL"""
import sys
from concurrent.futures import ThreadPoolExecutor

from following import ALIKE_FROM, CLOSE, COPIES, library_plans, settings, step_times, tiny, usual, within_budget, without
from harness import Skipped, finish, no_misuse, nothing_left, require, run, same_in_budget, same_results, sentence

SEVERAL = sys.argv.pop(1)
STEPS = 14
SHARE = 50


def device(devices, planning="wait"):
    costs = {"SIMGPU_SCALE_BYTES": 3000, "SIMGPU_SCALE_OPS": 300000, "SIMGPU_DEVICES": devices}
    return {**costs, **({"SPILLWAY_PLAN": planning} if library_plans() else {})}


def several(devices, threads):
    """The run without spillway, one within half of each device's peak, and that budget."""
    command = [SEVERAL, "--nets", str(devices), "--steps", str(STEPS), *(["--threads"] if threads else [])]
    plain = run(command, env=device(devices))
    budgets = [one["peak_mapped_bytes"] * SHARE // 100 for one in plain.stats["devices"]]
    said = ",".join(f"{number}={budget}" for number, budget in enumerate(budgets))
    return plain, budgets, said, command


def in_one_process(devices, threads):
    @sentence(f"{devices} devices in one process, {'a thread each' if threads else 'one thread'}: the same bits within half of each peak")
    def _():
        plain, budgets, said, command = several(devices, threads)
        finished = run(command, budget=said, env=device(devices))
        same_results(plain, finished)
        no_misuse(finished)
        nothing_left(plain, finished)
        for number, (budget, counted) in enumerate(zip(budgets, finished.stats["devices"])):
            for peak in ("peak_mapped_bytes", "peak_physical_bytes"):
                require(counted[peak] <= budget, f"device {number}: {peak} {counted[peak]} of {budget}", finished.describe())
        require(finished.copied("d2h") > plain.copied("d2h"), "nothing was moved, so nothing was tested")


def each_on_its_plan(devices):
    @sentence(f"{devices} devices in one process: from step {ALIKE_FROM + 1} on all steps are alike, and no slower than on demand")
    def _():
        if not library_plans():
            raise Skipped("this library makes no plans")
        _, _, said, command = several(devices, False)
        # Finding out what can be recomputed would make a few of these steps longer.
        times, before = (step_times(run(command, budget=said, env={**device(devices, how), **COPIES}))[ALIKE_FROM:] for how in ("wait", "off"))
        require(max(times) <= CLOSE * usual(times) and usual(times) <= CLOSE * usual(before), f"planned {times}", f"on demand {before}")


def together(ranks, host_budget=None):
    """Finished runs of as many processes at once, each told its rank as launchers do."""
    plain = without("mlp", STEPS, "--streams", "2")
    def one(rank):
        told = {"LOCAL_WORLD_SIZE": ranks, "WORLD_SIZE": ranks, "LOCAL_RANK": rank, "RANK": rank,
                **({"SPILLWAY_HOST_BUDGET": host_budget} if host_budget else {})}
        return within_budget("mlp", STEPS, "--streams", "2", budget=plain.peak // 2, env=told)
    with ThreadPoolExecutor(ranks) as pool:
        return plain, list(pool.map(one, range(ranks)))


def limit_with(**told):
    finished = run(tiny("mlp", 3), budget="1GiB", env={**settings("mlp"), **told})
    return finished.summary["host"]["limit_bytes"]


def in_processes(ranks):
    # promise: host-budget
    @sentence(f"{ranks} processes at once that share the host: the same bits within half the peak each, and no more host memory than their shares")
    def _():
        plain, finished = together(ranks)
        for one in finished:
            same_in_budget(plain, one, plain.peak // 2)
            require(one.copied("d2h") > plain.copied("d2h"), "nothing was moved, so nothing was tested")
            host = one.summary["host"]
            require(host["pinned_bytes"] <= host["limit_bytes"] and one.stats["host_bytes_at_exit"] <= host["limit_bytes"], host)


@sentence("the host budget where the user sets none is shared by the local ranks, whichever launcher tells of them")
def _():
    alone = limit_with()
    for told in ({"LOCAL_WORLD_SIZE": 4}, {"OMPI_COMM_WORLD_LOCAL_SIZE": 4}, {"SLURM_NTASKS_PER_NODE": 4}):
        share = limit_with(**told)
        require(0.2 * alone < share < 0.3 * alone, f"{told}: {share} bytes of {alone}")  # what is free changes between the two


# promise: host-budget
@sentence("a host budget that is too small for the plan, however small: the same bits or a clean error, and never more than it")
def _():
    plain = without("mlp", STEPS, "--streams", "2")
    for share in (5, 20, 40, 80):
        host_budget = plain.peak * share // 100 // 4096 * 4096
        _, (finished, ) = together(1, host_budget)
        if finished.status == 0:
            same_in_budget(plain, finished, plain.peak // 2)
        require(finished.status in (0, 3), finished.describe())
        held = finished.summary["host"]["held_bytes"]
        require(held <= host_budget, f"{held} bytes held of a host budget of {host_budget}", finished.describe())
        print(f"# {share} % of the peak on the host: " + ("same bits" if finished.status == 0 else "clean error"))


for count in (1, 2, 4):
    in_one_process(count, False)
    in_one_process(count, True)
    each_on_its_plan(count)
for count in (2, 4):
    in_processes(count)
finish()
