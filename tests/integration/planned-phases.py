#!/usr/bin/env python3
"""Programs of phases, as reinforcement learning has them: many small equal steps of a rollout, then a few large minibatches, and again.

Each phase is an iteration of its own, or all of it is one. Its first iteration goes by plan like the others: where there are two minibatches,
half of all work would go on demand otherwise."""
import statistics

from following import WAIT, library_plans, step_times
from harness import ASKS_LESS, Skipped, finish, require, run, same_in_budget, sentence, succeeded

# Kernels and copies that take as long, beside each other, as those of a policy many times as wide.
DEVICE = {"SIMGPU_GRANULARITY": "4KiB", "SIMGPU_MEMORY": "1GiB", "SIMGPU_PROFILE": "h200", "SIMGPU_SCALE_BYTES": "2755", "SIMGPU_SCALE_OPS": "78844",
          **ASKS_LESS}
SHARE = 60
LAST = 6  # steps that are looked at
# what it is called: options, steps until all is planned and tried, and how much longer than with enough memory a step may take
PROGRAMS = {
    "a rollout of 16 and 2 minibatches, observations in one tensor": (["--rollout", "16", "--batches", "2", "--observations", "64", "--keep", "buffer"], 24, 1.7),
    "a rollout of 32 and 4 minibatches, observations in one tensor": (["--rollout", "32", "--batches", "4", "--observations", "128", "--keep", "buffer"], 20, 1.6),
    "a rollout of 8 and 6 minibatches, environments on the host": (["--rollout", "8", "--batches", "6", "--host"], 16, 1.5),
}


def run_ppo(options, steps, **how):
    return run(["ppo", "--step-times", "--steps", str(steps), *options], **how)


def goes_by_plan(what, options, steps, most):
    # promise: never-silently-wrong
    @sentence(f"{what}: within {SHARE} % of the peak a step takes at most {most} times as long as with enough memory")
    def _():
        if not library_plans():
            raise Skipped("this library makes no plans")
        plain = run_ppo(options, steps, env=DEVICE)
        succeeded(plain)
        budget = plain.peak * SHARE // 100
        finished = run_ppo(options, steps, budget=budget, env={**DEVICE, **WAIT})
        same_in_budget(plain, finished, budget)
        takes, took = (statistics.median(step_times(one)[-LAST:]) for one in (plain, finished))
        print(f"# {took / takes:.2f} times as long", flush=True)
        require(took <= most * takes, f"{took} ms, and {takes} ms with enough memory", step_times(finished), finished.describe())


for name, (arguments, count, limit) in PROGRAMS.items():
    goes_by_plan(name, arguments, count, limit)
finish()
