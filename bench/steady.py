"""How close a program within a budget comes to its plan, to the bound, and to a device with enough memory.

Each program costs on the simulated device what a big model costs (tests/integration/likeness.py). Its steady state is the
mean over its last steps, by its own events. The planner's figures are for its iteration as `spillway export` prints it, sizes
rounded up to what the device maps, on a machine as the device's profile has it. No schedule of copies beats the bound, which
knows what copies cost those the other way at the same time; "both ways" is the bound where they are always as slow as two at once. Shares are those of that iteration's peak; "all" is what the device has mapped when the program
runs without spillway, which is more."""
import copy
import json
import os
import re
import subprocess
import sys
import tempfile

from harness import DEVICE, SPILLWAY, Failed, environment, program, run, same_in_budget, succeeded
from likeness import LIKE, PROFILES, device_like, program_like

ALL, SHARES = "all", (100, 80, 60, 50, 40)
GRANULE = 64 << 10
SMALL = GRANULE // 2  # tensors below it are never moved
ROOM = {("resnet", "v100-16g"), ("lstm", "v100-16g")}  # where copies alone have room at 90 % of the peak
PROGRAMS = ("gpt", "resnet", "lstm")
STEPS, STEADY = 112, 16  # in all, so that other plans were tried and the fastest stayed; the last ones, which are the steady state
DEMAND_STEPS = 16      # where nothing is tried
PATIENCE = 600          # seconds for a run, however busy the machine is
FROM_PLAN, FROM_BOUND, AT_NINETY, AT_ALL, IN_TIME = 1.08, 1.15, 1.03, 1.01, 0.99  # the goals
PROFILE_FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "simgpu", "profiles")
COLUMNS = ("", "budget", "unlimited, ms", "planned", "on demand", "it predicts", "planner", "best other", "bound", "both ways", "over prediction",
           "over bound", "over both ways", "peak", "in time", "bits", "goals missed")


def profile(name):
    with open(os.path.join(PROFILE_FILES, name + ".profile"), encoding="utf-8") as file:
        return {key: value for key, value in re.findall(r"^(\w+) = ([^#\n]*?)\s*(?:#.*)?$", file.read(), re.MULTILINE)}


def spillway(*arguments, env=None, accepted=(0,)):
    done = subprocess.run([SPILLWAY, *arguments], env=environment({"LD_LIBRARY_PATH": DEVICE, **(env or {})}), capture_output=True, text=True,
                          check=False)
    if done.returncode not in accepted:
        raise RuntimeError(f"spillway {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def as_mapped(graph):
    """The iteration as the library has it: whole granules, of which what is used is copied; what is small lives in slabs, which are
    always there."""
    for tensor in graph["tensors"]:
        small = tensor["bytes"] < SMALL
        tensor.update({way + "_us": tensor["bytes"] / rate for way, rate in graph["copy_bytes_per_us"].items()})
        tensor["bytes"] = 0 if small else (tensor["bytes"] + GRANULE - 1) // GRANULE * GRANULE
        tensor["evictable"] = not small and tensor.get("evictable", True)
    return graph


class Iteration:
    """The program's iteration as the planner takes it, in files in `folder`."""

    def __init__(self, name, kind, folder):
        device, trace = device_like(name, kind), os.path.join(folder, "trace")
        spillway("trace", "--output", trace, "--", *program(program_like(name, 7)), env=device)
        graph, costs = json.loads(spillway("export", trace)), {key: value for key, value in profile(kind).items() if key != "name"}
        costs = {key: float(value) for key, value in costs.items()}
        self.machine = (f"--duplex={costs['duplex'] * 100}%", f"--map-us={(costs['map_ns'] + costs['set_access_ns']) / 1000}",
                        f"--unmap-us={costs['unmap_ns'] / 1000}", f"--launch-us={costs['launch_ns'] / 1000}")
        for way, share in (("alone", 1), ("both", costs["duplex"])):
            scale = 1000 * share / LIKE[name].scales["small"][0]
            graph["copy_bytes_per_us"] = {"d2h": costs["d2h_gbps"] * scale, "h2d": costs["h2d_gbps"] * scale}
            with open(os.path.join(folder, way), "w", encoding="utf-8") as file:
                json.dump(as_mapped(copy.deepcopy(graph)), file)
        self.folder = folder
        self.peak = self.plan("alone", "100%")["budget_bytes"]

    def plan(self, way, budget, *options):
        """Figures of plans that only copy; {} where none fits."""
        return json.loads(spillway("plan", os.path.join(self.folder, way), "--json", "--no-recompute", f"--budget={budget}", *options,
                                   accepted=(0, 3)) or "{}")


def steady_ms(finished):
    times = re.search(r"^step_ms_each(.*)$", finished.output, re.MULTILINE).group(1).split()[-STEADY - 1:-1]  # the last has nothing behind it
    return sum(map(float, times)) / len(times)


def ratio(value, whole):
    return f"{value / whole:.3f}" if value and whole else "-"


def can_plan():
    """Whether the library is one that follows plans; one that is not evicts on demand in either case."""
    return "--plan" in spillway("run", "--help")


class Row:
    """One program on one device within one budget: `slab_bytes` more than `share` of what its iteration needs."""

    def __init__(self, name, kind, share, plain, iteration, slab_bytes):
        self.name, self.kind, self.share, self.plain, self.iteration = name, kind, share, plain, iteration
        self.budget = plain.peak if share == ALL else iteration.peak * share // 100 + slab_bytes
        self.to_plan_for = self.budget - slab_bytes
        self.unlimited = steady_ms(plain)

    def finished(self, planning, steps=STEPS):
        settings = {**device_like(self.name, self.kind), "SPILLWAY_RECOMPUTE": "off", **({"SPILLWAY_PLAN": planning} if can_plan() else {})}
        return run(program_like(self.name, steps), budget=self.budget, env=settings, timeout=PATIENCE)

    def bits(self, finished):
        try:
            same_in_budget(self.plain, finished, self.budget)
            return "same"
        except Failed as why:
            return str(why).splitlines()[0]

    def measure(self):
        planned, on_demand = self.finished("wait"), self.finished("off", DEMAND_STEPS)
        plans = [one for one in self.iteration.plan("alone", self.to_plan_for, "--compare", *self.iteration.machine) or [] if one["feasible"]]
        plan = next((one for one in plans if one["planner"] == "auto"), {})
        others = [one["time_us"] for one in plans if one["planner"] != "auto"]
        both_us = self.iteration.plan("both", self.to_plan_for, "--time-limit=0.001").get("lower_bound_us")
        bits, told, unlimited_us = self.bits(planned), promise(planned), self.unlimited * 1000
        measured_us = steady_ms(planned) * 1000 if planned.status == 0 else 0
        bound_us, predicted_us = plan.get("lower_bound_us"), told["predicted_us"] or plan.get("time_us")
        figures = (measured_us, steady_ms(on_demand) * 1000 if on_demand.status == 0 else 0, told["predicted_us"], plan.get("time_us"),
                   min(others, default=0), bound_us, both_us)
        return (f"{self.name}, {self.kind}", self.share if self.share == ALL else f"{self.share} %", f"{self.unlimited:.1f}",
                *(ratio(figure, unlimited_us) for figure in figures), ratio(measured_us, predicted_us), ratio(measured_us, bound_us),
                ratio(measured_us, both_us), ratio(planned.stats and planned.peak, self.budget), in_time(told), bits,
                self.goals(measured_us, unlimited_us, predicted_us, bound_us, told, bits == "same"))

    def goals(self, measured_us, unlimited_us, predicted_us, bound_us, told, same):
        if not same:
            return "bits"
        if self.share in (ALL, 100):
            return "overhead" if measured_us > AT_ALL * unlimited_us else ""
        missed = ["prediction"] * (measured_us > FROM_PLAN * predicted_us) + ["bound"] * (measured_us > FROM_BOUND * bound_us)
        missed += ["90 %"] * (self.share == 90 and measured_us > AT_NINETY * unlimited_us)
        if predicted_us < AT_ALL * unlimited_us:  # otherwise the plan itself has operations wait for the link
            missed += ["in time"] * (told["in_time"] < IN_TIME * told["come"])
        return ", ".join(missed)


def promise(finished):
    """What the library says at exit of the plan that it followed last; how much came back by plan in the whole run, and how much of
    that too late by the device's count."""
    books = finished.summary or {}
    plan, carried = (books.get("devices") or [{}])[0].get("planned", {}), books.get("carried", {})
    come = carried.get("restored_count", 0) + carried.get("late_count", 0)
    late = min(come, finished.stats["brought_in"]["late"]) if finished.stats else come
    return {"predicted_us": plan.get("predicted_us"), "come": come, "in_time": come - late}


def in_time(told):
    return f"{told['in_time'] * 100 / told['come']:.1f} %" if told["come"] else "-"


def rows(name, kind):
    device = device_like(name, kind)
    plain = run(program_like(name, STEPS), env=device, timeout=PATIENCE)
    fitting = run(program_like(name, 3), budget=plain.peak * 2, env=device)
    for finished in (plain, fitting):
        succeeded(finished)
    shares = [ALL, *sorted({*SHARES, *([90] if (name, kind) in ROOM else [])}, reverse=True)]
    with tempfile.TemporaryDirectory(prefix="spillway-bench-") as folder:
        iteration = Iteration(name, kind, folder)
        for share in shares:
            yield Row(name, kind, share, plain, iteration, fitting.summary["devices"][0]["slab_bytes"]).measure()


def planned(table):
    """ONLY, as in "lstm, v100": only the programs and devices whose names it is part of."""
    only = os.environ.get("ONLY", "")
    for kind in PROFILES:
        found = [row for name in PROGRAMS if only in f"{name}, {kind}" for row in rows(name, kind)]
        if found:
            table(f"Steady state within a budget on {kind}, as multiples of the step with unlimited memory (simulated)", COLUMNS, found)
            sys.stdout.flush()
