"""How close a program within a budget comes to one with enough memory where tensors may be recomputed.

Steps are steady, as in steady.py, on devices where the programs cost what big models cost. "Swap only" is the same program with
SPILLWAY_RECOMPUTE=off, "it predicts" and "bound" are what the library says at exit of the plan that it followed last."""
import os
import re
import sys
import tempfile

from harness import run
from likeness import device_like, program_like
from steady import FROM_PLAN, Iteration, promise, ratio, steady_ms
from steady import Row as PlannedRow

STEPS = 150  # more than for copies alone: what is learned, and compared for the first time, comes before, and more plans are tried
CASES = (("resnet", "v100-16g", {60: 1.05, 40: 1.10, 30: 1.15}), ("gpt", "h200", {60: 1.12, 40: 1.25}), ("gpt", "a100-40g", {60: 1.12, 40: 1.25}),
         ("lstm", "v100-16g", {60: None, 40: None}), ("mlp", "h200", {60: None, 40: None}))
COLUMNS = ("", "budget", "unlimited, ms", "recomputing", "swap only", "it predicts", "bound", "over prediction", "peak", "learned in", "bits", "goal",
           "missed")
LARGEST, BATCH, BATCHES, PER_SAMPLE = ("resnet", "v100-16g"), 256, (1, 2, 4), 1.15  # the batch of its size "small"


def step_times(finished):
    return [float(ms) for ms in re.search(r"^step_ms_each(.*)$", finished.output, re.MULTILINE).group(1).split()]


def learning(recomputing, swapping):
    """What learning costs: steps that took longer than the same ones did without it, in steps."""
    pairs = list(zip(step_times(recomputing), step_times(swapping)))[:-1]
    usual = steady_ms(swapping)
    return f"{sum(max(0, one - other) for one, other in pairs) / usual:.1f} steps"


class Row(PlannedRow):
    def finished(self, planning, recompute="on", *more):
        settings = {**device_like(self.name, self.kind), "SPILLWAY_PLAN": planning, "SPILLWAY_RECOMPUTE": recompute}
        return run(program_like(self.name, STEPS, *more), budget=self.budget, env=settings, timeout=600)

    def measured(self, goal):
        recomputing, swapping = self.finished("wait"), self.finished("wait", "off")
        both = recomputing.status == 0 and swapping.status == 0
        unlimited_us, told, bits = self.unlimited * 1000, promise(recomputing), self.bits(recomputing)
        took_us, swap_us = (steady_ms(one) * 1000 if one.status == 0 else 0 for one in (recomputing, swapping))
        bound_us = ((recomputing.summary or {}).get("devices") or [{}])[0].get("planned", {}).get("bound_us")
        missed = [what for what, holds in (("bits", bits == "same"), ("step", not goal or 0 < took_us <= goal * unlimited_us),
                                           ("prediction", took_us <= FROM_PLAN * (told["predicted_us"] or 0))) if not holds]
        return (f"{self.name}, {self.kind}", f"{self.share} %", f"{self.unlimited:.1f}", ratio(took_us, unlimited_us), ratio(swap_us, unlimited_us),
                ratio(told["predicted_us"], unlimited_us), ratio(bound_us, unlimited_us), ratio(took_us, told["predicted_us"]),
                ratio(recomputing.stats and recomputing.peak, self.budget), learning(recomputing, swapping) if both else "-", bits, goal or "",
                ", ".join(missed))


def plain_run(name, kind, *more):
    return run(program_like(name, STEPS, *more), env=device_like(name, kind), timeout=600)


def rows(name, kind, goals):
    plain = plain_run(name, kind)
    fitting = run(program_like(name, 3), budget=plain.peak * 2, env=device_like(name, kind))
    with tempfile.TemporaryDirectory(prefix="spillway-bench-") as folder:
        iteration = Iteration(name, kind, folder)
        for share, goal in goals.items():
            yield Row(name, kind, share, plain, iteration, fitting.summary["devices"][0]["slab_bytes"]).measured(goal)


def batches():
    """Larger and larger batches within what the usual one takes at its peak: time per sample, over that of the usual one."""
    name, kind = LARGEST
    first = plain_run(name, kind)
    for times in BATCHES:
        device = {**device_like(name, kind), "SPILLWAY_PLAN": "wait", "SPILLWAY_RECOMPUTE": "on"}
        finished = run(program_like(name, STEPS, "--batch", str(BATCH * times)), budget=first.peak, env=device, timeout=600)
        done, unlimited_us = finished.status == 0, times * steady_ms(first) * 1000
        took_us, plan = (steady_ms(finished) * 1000, finished.summary["devices"][0]["planned"]) if done else (0, {})
        yield (f"{name}, {kind}", f"{times} x", ratio(took_us, unlimited_us), *(ratio(plan.get(what), unlimited_us) for what in ("predicted_us", "bound_us")),
               ratio(finished.stats and finished.peak, first.peak), PER_SAMPLE, "" if 0 < took_us <= PER_SAMPLE * unlimited_us else "per sample")


def recomputed(table):
    """ONLY, as in "gpt, h200": only the programs and devices whose names it is part of; "batch": the larger batches."""
    only = os.environ.get("ONLY", "")
    found = [row for name, kind, goals in CASES if only in f"{name}, {kind}" for row in rows(name, kind, goals)]
    if found:
        table("Steady state within a budget where tensors may be recomputed, as multiples of the step with unlimited memory (simulated)", COLUMNS, found)
        sys.stdout.flush()
    if only in "batch":
        table("Largest batch within the memory of the usual one: time per sample, as a multiple of the usual one's (simulated)",
              ("", "batch", "per sample", "it predicts", "bound", "peak", "goal", "missed"), list(batches()))
