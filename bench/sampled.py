"""What it costs to sample every tensor that is computed again (shim/recompute/spot_checks.h): the same program within the same budget, with the library as
it is, and with one that samples nothing (unsampled.c)."""
import os
import statistics

from harness import BUILD, run
from likeness import device_like, program_like
from recomputed import step_times
from steady import ratio

STEPS, STEADY = 120, 40  # the last ones: by then all plans have been tried
CASES = (("gpt", "h200", 60), ("gpt", "h200", 40), ("gpt", "a100-40g", 40), ("resnet", "v100-16g", 40))
GOAL = 1.01
UNSAMPLED = os.path.join(BUILD, "bench", "libunsampled.so")
COLUMNS = ("", "budget", "samples a step", "with samples", "without", "with/without", "bits", "goal", "missed")


def steady(finished):
    return statistics.median(step_times(finished)[-STEADY:-1])


def row(name, kind, share):
    program, device = program_like(name, STEPS), {**device_like(name, kind), "SPILLWAY_PLAN": "wait"}
    plain = run(program, env=device_like(name, kind), timeout=600)
    budget = plain.peak * share // 100
    sampled = run(program, budget=budget, env=device, timeout=600)
    without = run(program, via="none", env={**device, "LD_PRELOAD": UNSAMPLED, "SPILLWAY_BUDGET": budget}, timeout=600)
    bits = all(one.status == 0 and one.results == plain.results for one in (sampled, without))
    unlimited, cost = steady(plain), steady(sampled) / steady(without)
    return (f"{name}, {kind}", f"{share} %", f"{sampled.summary['sampled']['asked_count'] / STEPS:.1f}", ratio(steady(sampled), unlimited),
            ratio(steady(without), unlimited), f"{cost:.4f}", "same" if bits else "OTHER", GOAL, "" if bits and cost <= GOAL else "yes")


def sampled(table):
    """ONLY, as in "gpt, h200": only the programs and devices whose names it is part of."""
    only = os.environ.get("ONLY", "")
    table("What samples of all that is computed again cost in steady state, as multiples of the step with unlimited memory (simulated)", COLUMNS,
          [row(*case) for case in CASES if only in f"{case[0]}, {case[1]}"])
