"""How close PyTorch's programs within a budget come to their plan, and to a device with enough memory.

The programs of tests/torch/sim, which know nothing of spillway, on the simulated device, where each operation and copy costs what it costs in
a big model. Steps are steady: the mean of the last ones, by the program's own events. "It predicts" and "bound" are what the library says at
exit of the plan that it followed last. Shares are those of the program's peak, as PyTorch counts it.

It needs PyTorch's wheel and the table of its kernels: ./dev torch-sim has both made; TORCH_PYTHON and TORCH_LAYOUTS name others."""
import collections
import json
import os
import re
import subprocess
import sys

from harness import BUILD, Failed, run, same_results, succeeded, within

HERE = os.path.dirname(os.path.abspath(__file__))
SUITE = os.path.join(HERE, "..", "tests", "torch")
sys.path.append(SUITE)
from simulated import command, settings  # noqa: E402

PYTHON = os.environ.get("TORCH_PYTHON", os.path.join(BUILD, "torch", "bin", "python"))
CASES = {"gpt, autocast": ("gpt", ("--bf16",)), "gpt": ("gpt", ()), "resnet": ("resnet", ("--optimizer", "sgd")), "mlp": ("mlp", ())}
SHARES = (80, 60, 40)
STEPS, STEADY = 64, 16  # in all, so that what can be recomputed is known and plans have settled; the last ones
SCALES = {"SIMGPU_SCALE_BYTES": "500", "SIMGPU_SCALE_OPS": "7000"}  # gpt's step takes a second then
FROM_PLAN = 1.08
PATIENCE = 900  # seconds for a run, however busy the machine is
Measured = collections.namedtuple("Measured", "took_ms predicted_ms bound_ms peak bits")  # peak: over the budget
COLUMNS = ("", "budget", "unlimited, ms", "planned", "it predicts", "bound", "over prediction", "peak", "bits", "missed")


def table_of_kernels():
    """Its path; None: it cannot be made, and why is said."""
    if "TORCH_LAYOUTS" in os.environ:
        return os.environ["TORCH_LAYOUTS"]
    made = subprocess.run([sys.executable, os.path.join(SUITE, "prepare.py"), PYTHON, BUILD, os.path.join(BUILD, "torch-sim")],
                          capture_output=True, text=True, check=False)
    if made.returncode == 0:
        return made.stdout.strip()
    print(f"skipped: {(made.stderr.strip().splitlines() or ['there is no table of kernels'])[-1]} (./dev torch-sim installs what is missing)")
    return None


def steady_ms(finished):
    times = re.search(r"^step_ms_each(.*)$", finished.output, re.MULTILINE).group(1).split()[-STEADY:]
    return sum(map(float, times)) / len(times)


def ratio(value, whole):
    return f"{value / whole:.3f}" if value and whole else "-"


def told_peak(finished):
    return json.loads(re.search(r"^memory ({.*)$", finished.output, re.MULTILINE).group(1))["peak_bytes"]


class Program:
    """What is measured of a program: `trained(budgets)` has a Run of each of its ranks, with enough memory where there are no budgets.
    Times are those of the slowest rank."""

    def __init__(self, name, trained):
        self.name, self.trained = name, trained
        self.plain = trained(())
        for one in self.plain:
            succeeded(one)
        self.unlimited_ms = max(map(steady_ms, self.plain))

    def bits(self, every, budgets):
        try:
            for plain, finished, budget in zip(self.plain, every, budgets):
                same_results(plain, finished)
                within(budget, finished)
            return "same"
        except Failed as why:
            return str(why).splitlines()[0]

    def measured(self, share):
        budgets = [told_peak(one) * share // 100 for one in self.plain]
        every = self.trained(budgets)
        done = all(one.status == 0 for one in every)
        plans = [((one.summary or {}).get("devices") or [{}])[0].get("planned", {}) for one in every]
        peak = max(((one.peak / budget) for one, budget in zip(every, budgets) if one.stats), default=0)
        return Measured(max(map(steady_ms, every)) if done else 0, *(max((plan.get(what) or 0) / 1000 for plan in plans)
                        for what in ("predicted_us", "bound_us")), peak, self.bits(every, budgets))

    def row(self, share):
        found = self.measured(share)
        missed = [what for what, holds in (("bits", found.bits == "same"), ("prediction", 0 < found.took_ms <= FROM_PLAN * found.predicted_ms))
                  if not holds]
        return (self.name, f"{share} %", f"{self.unlimited_ms:.1f}", *(ratio(ms, self.unlimited_ms) for ms in found[:3]),
                ratio(found.took_ms, found.predicted_ms), ratio(found.peak, 1), found.bits, ", ".join(missed))


def of_one_device(layouts, program, options, env, steps=STEPS):
    """The program as Program takes it."""
    line = command(PYTHON, program, ("--step-times", "--log-every", "1000", *options), steps)
    env = {**settings(BUILD, layouts), **SCALES, "SPILLWAY_PLAN": "wait", **env}
    return lambda budgets: [run(line, budget=budgets[0] if budgets else None, env=env, timeout=PATIENCE)]


def torch(table):
    """ONLY, as in "gpt": only the programs whose names it is part of."""
    layouts, only = table_of_kernels(), os.environ.get("ONLY", "")
    for name in CASES if layouts else ():
        if only in name:
            program = Program(name, of_one_device(layouts, *CASES[name], {}))
            table(f"PyTorch's {name} within a budget, as multiples of the step with unlimited memory (simulated)", COLUMNS,
                  [program.row(share) for share in SHARES])
            sys.stdout.flush()
