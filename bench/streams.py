"""What several streams cost within a budget: the training programs on one, two and three streams (copies of the input, gradients of
weights and updates beside the computation), each against itself with enough memory.

Steps are steady, as in steady.py, and simulated. "It predicts" and "bound" are what the library says at exit of the plan that it
followed last; "recomputed" is how often the plan had an operation replayed."""
import os

from harness import run
from likeness import device_like, program_like
from ranks import ranks
from steady import ratio, steady_ms

STEPS = 100
CASES = (("gpt", "h200"), ("gpt", "a100-40g"), ("resnet", "v100-16g"), ("lstm", "v100-16g"))
STREAMS, SHARES = (1, 2, 3), (60, 40)
COLUMNS = ("", "streams", "budget", "unlimited, ms", "step", "of one stream's", "it predicts", "bound", "recomputed", "peak", "bits")


def measured(name, kind, streams, share, one_stream):
    more = ("--streams", str(streams)) if streams > 1 else ()
    plain = run(program_like(name, STEPS, *more), env=device_like(name, kind), timeout=600)
    settings = {**device_like(name, kind), "SPILLWAY_PLAN": "wait", "SPILLWAY_RECOMPUTE": "on"}
    finished = run(program_like(name, STEPS, *more), budget=plain.peak * share // 100, env=settings, timeout=600)
    unlimited_us, done = steady_ms(plain) * 1000, finished.status == 0
    took_us, plan = (steady_ms(finished) * 1000, finished.summary["devices"][0]["planned"]) if done else (0, {})
    one_us = one_stream.setdefault(share, took_us)
    return (f"{name}, {kind}", streams, f"{share} %", f"{unlimited_us / 1000:.1f}", ratio(took_us, unlimited_us), ratio(took_us, one_us),
            ratio(plan.get("predicted_us"), unlimited_us), ratio(plan.get("bound_us"), unlimited_us),
            finished.summary["replayed"]["by_plan_count"] if done else "-", ratio(finished.stats and finished.peak, plain.peak * share // 100),
            "same" if done and finished.results == plain.results else "DIFFERENT")


def rows(name, kind):
    one_stream = {}
    return [measured(name, kind, streams, share, one_stream) for streams in STREAMS for share in SHARES]


def streams(table):
    """ONLY, as in "gpt, h200": only the programs and devices whose names it is part of. PyTorch's come last."""
    only = os.environ.get("ONLY", "")
    found = [row for name, kind in CASES if only in f"{name}, {kind}" for row in rows(name, kind)]
    if found:
        table("Steady state on several streams within a budget, as multiples of the step with unlimited memory (simulated)", COLUMNS, found)
    ranks(table, only)
