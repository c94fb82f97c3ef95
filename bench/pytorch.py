"""How close PyTorch's programs within a budget come to their plan, and to a device with enough memory.

The programs of tests/torch/sim, which know nothing of spillway, on the simulated device, where each operation and copy costs what it costs in
a big model. Steps are steady: the mean of the last ones, by the program's own events. "It predicts" and "bound" are what the library says at
exit of the plan that it followed last. Shares are those of the program's peak, as PyTorch counts it.

It needs PyTorch's wheel and the table of its kernels: ./dev torch-sim has both made; TORCH_PYTHON and TORCH_LAYOUTS name others."""
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

CASES = {"gpt, autocast": ("gpt", ("--bf16",)), "gpt": ("gpt", ()), "resnet": ("resnet", ("--optimizer", "sgd")), "mlp": ("mlp", ())}
SHARES = (80, 60, 40)
STEPS, STEADY = 64, 16  # in all, so that what can be recomputed is known and plans have settled; the last ones
SCALES = {"SIMGPU_SCALE_BYTES": "500", "SIMGPU_SCALE_OPS": "7000"}  # gpt's step takes a second then
FROM_PLAN = 1.08
PATIENCE = 900  # seconds for a run, however busy the machine is
COLUMNS = ("", "budget", "unlimited, ms", "planned", "it predicts", "bound", "over prediction", "peak", "bits", "missed")


def table_of_kernels(python):
    """Its path; None: it cannot be made, and why is said."""
    if "TORCH_LAYOUTS" in os.environ:
        return os.environ["TORCH_LAYOUTS"]
    made = subprocess.run([sys.executable, os.path.join(SUITE, "prepare.py"), python, BUILD, os.path.join(BUILD, "torch-sim")],
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


class Program:
    def __init__(self, name, python, layouts):
        program, options = CASES[name]
        self.name = name
        self.command = command(python, program, ("--step-times", "--log-every", "1000", *options), STEPS)
        self.env = {**settings(BUILD, layouts), **SCALES, "SPILLWAY_PLAN": "wait"}
        self.plain = run(self.command, env=self.env, timeout=PATIENCE)
        succeeded(self.plain)
        self.peak = json.loads(re.search(r"^memory (.*)$", self.plain.output, re.MULTILINE).group(1))["peak_bytes"]

    def bits(self, finished, budget):
        try:
            same_results(self.plain, finished)
            within(budget, finished)
            return "same"
        except Failed as why:
            return str(why).splitlines()[0]

    def row(self, share):
        budget, unlimited_ms = self.peak * share // 100, steady_ms(self.plain)
        finished = run(self.command, budget=budget, env=self.env, timeout=PATIENCE)
        bits, took_ms = self.bits(finished, budget), steady_ms(finished) if finished.status == 0 else 0
        plan = ((finished.summary or {}).get("devices") or [{}])[0].get("planned", {})
        predicted_ms, bound_ms = ((plan.get(what) or 0) / 1000 for what in ("predicted_us", "bound_us"))
        missed = [what for what, holds in (("bits", bits == "same"), ("prediction", 0 < took_ms <= FROM_PLAN * predicted_ms)) if not holds]
        return (self.name, f"{share} %", f"{unlimited_ms:.1f}", *(ratio(ms, unlimited_ms) for ms in (took_ms, predicted_ms, bound_ms)),
                ratio(took_ms, predicted_ms), ratio(finished.stats and finished.peak, budget), bits, ", ".join(missed))


def torch(table):
    """ONLY, as in "gpt": only the programs whose names it is part of."""
    python = os.environ.get("TORCH_PYTHON", os.path.join(BUILD, "torch", "bin", "python"))
    layouts, only = table_of_kernels(python), os.environ.get("ONLY", "")
    for name in CASES if layouts else ():
        if only in name:
            program = Program(name, python, layouts)
            table(f"PyTorch's {name} within a budget, as multiples of the step with unlimited memory (simulated)", COLUMNS,
                  [program.row(share) for share in SHARES])
            sys.stdout.flush()
