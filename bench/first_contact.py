"""What a new user meets: a trace and what is planned with it, a first run within a budget, and the same run again, which begins with what
the first one has learned (docs/design/profile.md).

Programs cost on the simulated device what big models cost, and run with default settings but that plans are waited for, as a step of ours
is much shorter than one of theirs. A step is steady from the first on from which all but one take at most a tenth longer than the last
ones do."""
import json
import os
import re
import tempfile

from harness import program, run, same_in_budget
from likeness import LIKE, device_like, program_like
from steady import ratio, spillway, steady_ms

STEPS, SHARES = 40, (60, 40)
CASES = (("gpt", "h200"), ("resnet", "v100-16g"), ("lstm", "v100-16g"), ("mlp", "h200"))
PROMISE, STEADY_FROM = 1.05, 3  # the goals
COLUMNS = ("", "budget", "unlimited, ms", "trace promises", "first run predicts", "first run", "second run", "over promise", "over prediction",
           "steady from step", "second run", "bits", "goals missed")


def step_times(finished):
    return [float(ms) for ms in re.search(r"^step_ms_each(.*)$", finished.output, re.MULTILINE).group(1).split()]


def steady_from(finished):
    """Counted from 1."""
    slow = [step for step, ms in enumerate(step_times(finished)[:-1], 1) if ms > 1.1 * steady_ms(finished)]
    return slow[-2] + 1 if len(slow) > 1 else 1


def promised(name, kind, peak, folder):
    """By share of what the program takes without spillway: the multiple of the time with unlimited memory that its trace promises."""
    trace = os.path.join(folder, "trace")
    spillway("trace", "--output", trace, "--", *program(program_like(name, 7)), env=device_like(name, kind))
    plans = {share: json.loads(spillway("plan", trace, "--json", f"--budget={peak * share // 100}", accepted=(0, 3)) or "{}") for share in SHARES}
    return {share: plan["time_ratio"] for share, plan in plans.items() if plan.get("feasible")}


def row(name, kind, share, plain, promise, folder):
    budget = plain.peak * share // 100
    settings = {**device_like(name, kind), "SPILLWAY_PLAN": "wait", "SPILLWAY_PROFILE": os.path.join(folder, f"profile-{share}")}
    first, second = (run(program_like(name, STEPS), budget=budget, env=settings, timeout=600) for _ in range(2))
    for finished in (first, second):
        same_in_budget(plain, finished, budget)
    unlimited, predicted = steady_ms(plain), first.summary["devices"][0]["planned"].get("predicted_us") or 0
    took, again = steady_ms(first), steady_ms(second)
    missed = [what for what, holds in (("promise", promise and 1 / PROMISE <= took / unlimited / promise <= PROMISE),
                                       ("prediction", predicted and 1 / PROMISE <= 1000 * took / predicted <= PROMISE),
                                       ("steady", steady_from(second) <= STEADY_FROM)) if not holds]
    return (f"{name}, {kind}", f"{share} %", f"{unlimited:.1f}", f"{promise:.3f}" if promise else "-", ratio(predicted, 1000 * unlimited),
            ratio(took, unlimited), ratio(again, unlimited), ratio(took, promise and promise * unlimited), ratio(1000 * took, predicted),
            steady_from(first), steady_from(second), "same", ", ".join(missed))


def rows(name, kind):
    plain = run(program_like(name, STEPS), env=device_like(name, kind), timeout=600)
    with tempfile.TemporaryDirectory(prefix="spillway-bench-") as folder:
        promises = promised(name, kind, plain.peak, folder)
        for share in SHARES:
            yield row(name, kind, share, plain, promises.get(share), folder)


def first_contact(table):
    """ONLY, as in "gpt, h200": only the programs and devices whose names it is part of."""
    only = os.environ.get("ONLY", "")
    assert all(name in LIKE for name, _ in CASES)
    table("What a new user meets: trace, first run, second run, as multiples of the step with unlimited memory (simulated)", COLUMNS,
          [one for name, kind in CASES if only in f"{name}, {kind}" for one in rows(name, kind)])
