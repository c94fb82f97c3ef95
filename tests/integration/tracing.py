"""tracing.py WORKLOAD - what a trace of a training program says is what the device itself counted.

The device knows nothing of traces: it counts launches, copies and allocations, and one more step of the program is that many
kernels more. The iteration that the trace shows has to be just that."""
import json
import os
import re
import subprocess
import sys
import tempfile

from harness import (DEVICE, SMALL_DEVICE, SPILLWAY, environment, finish, no_misuse, program, require, run,
                     same_in_budget, same_results, sentence, succeeded)

WORKLOAD = sys.argv[1]
FOLDER = tempfile.mkdtemp(prefix="spillway-traces-")
# How a run may differ from plain steps; how many steps make the iteration show; whether each step is as long as the others.
VARIANTS = {"plain steps": ([], 7),
            "gradient accumulation over 4 batches": (["--accumulate", "4"], 7),
            "an evaluation every 7 steps": (["--evaluate-every", "7"], 16),
            "two streams": (["--streams", "2"], 7),
            "three streams": (["--streams", "3"], 7),
            "a short last batch": (["--short-last"], 7),
            "a loss that is kept from each": (["--keep-losses"], 7)}


def spillway(*arguments, status=0):
    done = subprocess.run([SPILLWAY, *arguments], env=environment({}), capture_output=True, text=True, timeout=120, check=False)
    require(done.returncode == status, f"spillway {' '.join(arguments)}: exit status {done.returncode}", done.stderr)
    return done


def trace(command, name, env=None):
    """A traced run, and the file that it left."""
    path = os.path.join(FOLDER, name + ".trace")
    return run(command, options=["--mode", "trace", "--output", path], env=env), path


def report(path):
    return json.loads(spillway("report", "--json", "--time-limit=0", path).stdout)


def small(*options):
    return [WORKLOAD, "--size", "tiny", *options]


def kernels_of_a_step(options, steps):
    """As the device counts them: what one more step launches, where it is a step like any other."""
    fewer, more = (run(small(*options, "--steps", str(n))) for n in (steps, steps + 1))
    succeeded(fewer)
    succeeded(more)
    return more.stats["launches"] - fewer.stats["launches"], fewer.stats["launches"]


@sentence("tracing changes no bit and moves nothing")
def _():
    plain = run(small("--steps", "5"))
    traced, _ = trace(small("--steps", "5"), "same")
    same_results(plain, traced)
    no_misuse(traced)
    for kind in ("launches", "allocations", "frees", "copies", "sets", "map_operations", "peak_mapped_bytes"):
        require(plain.stats[kind] == traced.stats[kind], kind, plain.stats[kind], traced.stats[kind])


@sentence("the trace has every operation and every byte that the device counted")
def _():
    traced, path = trace(small("--steps", "5"), "counts")
    said, counted = report(path)["run"], traced.stats
    require(said["ended"] and said["lost_records"] == 0, said)
    require(said["by_kind"]["launch"]["count"] == counted["launches"], said["by_kind"], counted["launches"])
    require(said["by_kind"]["set"]["count"] == counted["sets"], said["by_kind"], counted["sets"])
    for kind in ("h2d", "d2h", "d2d"):
        require(said["by_kind"]["copy_" + kind] == counted["copies"][kind], kind, said["by_kind"], counted["copies"])
    require(said["allocations"] >= counted["allocations"], said["allocations"], counted["allocations"])


for variant, (options, steps) in VARIANTS.items():
    @sentence(f"the iteration is one step: {variant}")
    def _(variant=variant, options=options, steps=steps):
        # One step more than `steps` is a plain one: the last of a short-last run is not, nor is one with an evaluation.
        plain_options = [option for option in options if option != "--short-last"]
        kernels, _ = kernels_of_a_step(plain_options, 2)
        _, path = trace(small(*options, "--steps", str(steps)), "iteration")
        found = report(path)
        require(found["iteration"], "no iteration was found", found["shapes"])
        launches = found["iteration"]["ops"]["kind"].count(0)
        require(launches == kernels, f"the iteration has {launches} kernels, a step has {kernels}", found["shapes"])
        require(found["iteration"]["timed"], "the iteration was not timed", found["shapes"])


@sentence("within a budget the trace has the same operations and the same iteration, and the program the same bits")
def _():
    plain = run(small("--steps", "8"))
    path, budget = os.path.join(FOLDER, "moved.trace"), plain.peak * 7 // 10
    moved = run(small("--steps", "8"), budget=budget, options=["--mode", "swap+trace", "--output", path])
    same_in_budget(plain, moved, budget)
    _, traced = trace(small("--steps", "8"), "unmoved")
    with_budget, without = report(path), report(traced)
    for figure in ("operations", "allocations", "frees", "by_kind"):
        require(with_budget["run"][figure] == without["run"][figure], figure, with_budget["run"][figure], without["run"][figure])
    require(with_budget["run"]["mode"] == "swap+trace" and with_budget["devices"][0]["budget_bytes"] == budget, with_budget["devices"])
    require([s["operations"] for s in with_budget["shapes"]] == [s["operations"] for s in without["shapes"]], with_budget["shapes"])
    require(with_budget["iteration"]["ops"]["kind"] == without["iteration"]["ops"]["kind"], "another iteration")
    require(with_budget["iteration"]["peak_bytes"] == without["iteration"]["peak_bytes"], "another peak")


@sentence("what follows the last step is no part of the iteration, timed or not")
def _():
    shown = []
    for timed in ("2", "0"):
        _, path = trace(small("--steps", "12"), "end", env={"SPILLWAY_TIMED": timed})
        found = report(path)["iteration"]
        require(found["timed"] == (timed == "2"), "timed", found["timed"])
        shown.append(found["ops"]["kind"])
    require(shown[0] == shown[1], [len(kinds) for kinds in shown])


for variant, (options, _) in VARIANTS.items():
    @sentence(f"the iteration is found within three repetitions: {variant}")
    def _(variant=variant, options=options):
        # The first step is unlike the others, three more show that they repeat; one has an evaluation in it, or is short.
        other = 1 if "--evaluate-every" in options or "--short-last" in options else 0
        _, path = trace(small(*options, "--steps", "14"), "early")
        shapes = report(path)["shapes"]
        longest = max(shapes, key=lambda shape: shape["operations"])
        require(longest["iterations"] >= 14 - 1 - 3 - other, "found late", shapes)


@sentence("the exported iteration has the program's own peak, and lives that make it")
def _():
    traced, path = trace(small("--steps", "7"), "export")
    graph = json.loads(spillway("export", path).stdout)
    said = int(next(line for line in traced.output.splitlines() if line.startswith("peak_bytes")).split()[1])
    require(graph["format"] == "spillway-iteration/1" and graph["peak_bytes"] == said, graph["peak_bytes"], said)
    live, kept = [0] * (len(graph["ops"]) + 1), 0  # small ones never move, and count as persistent
    for tensor in graph["tensors"]:
        first, last = (0, len(graph["ops"]) - 1) if tensor["persistent"] else (tensor["alloc_before"], tensor["free_after"])
        require(0 <= first <= last < len(graph["ops"]), tensor)
        require(tensor["persistent"] or tensor.get("evictable", True), tensor)
        for op in range(first, last + 1):
            live[op] += tensor["bytes"]
        kept += 0 if tensor.get("evictable", True) else tensor["bytes"]
    require(max(live) - kept <= said <= max(live), max(live), kept, said)
    persistent = sum(t["bytes"] for t in graph["tensors"] if t["persistent"])
    require(persistent - kept <= graph["persistent_bytes"] <= persistent, persistent, kept, graph["persistent_bytes"])
    alive = {t["id"]: (0, len(graph["ops"])) if t["persistent"] else (t["alloc_before"], t["free_after"])
             for t in graph["tensors"]}
    for index, op in enumerate(graph["ops"]):
        for tensor in op["reads"] + op["writes"]:
            require(alive[tensor][0] <= index <= alive[tensor][1], f"operation {index} uses tensor {tensor} outside of its life")


@sentence("of what kernels with types are given, the exported iteration says what they only read")
def _():
    _, path = trace(small("--steps", "7"), "export")
    graph = json.loads(spillway("export", path).stdout)
    sums = [op for op in graph["ops"] if op["name"].startswith("column_sums_kernel")]
    require(sums, "no such kernel was launched", sorted({op["name"] for op in graph["ops"]}))
    for op in sums:
        only_read = set(op["reads"]) - set(op["writes"])  # what is written may hold something that stays
        require(len(only_read) == 1 and op["writes"], "it only reads one tensor, and writes another one", op)
    writers = {}
    for index, op in enumerate(graph["ops"]):
        for tensor in op["writes"]:
            writers.setdefault(tensor, []).append(index)
    made = [t["id"] for t in graph["tensors"] if not t["persistent"]]
    once = sum(len(writers.get(tensor, [])) == 1 for tensor in made)
    require(2 * once > len(made), f"only {once} of {len(made)} tensors of the iteration are written once")


@sentence("the exported durations are what the device's lanes took, within one in a hundred")
def _():
    # Each operation large enough that its time is not what a launch costs.
    heavy = {**SMALL_DEVICE, "SIMGPU_SCALE_BYTES": "200000", "SIMGPU_SCALE_OPS": "2000000"}
    fewer, more = (run(small("--steps", str(steps)), env=heavy).stats["devices"][0]["busy_ns"] for steps in (7, 8))
    _, path = trace(small("--steps", "7"), "durations", env=heavy)
    iteration = report(path)["iteration"]
    copies = sum(time_ns for kind, time_ns in zip(iteration["ops"]["kind"], iteration["ops"]["duration_ns"]) if kind in (2, 3))
    for what, said, took in (("compute", iteration["compute_ns"], more["compute"] - fewer["compute"]),
                             ("copies", copies, more["h2d"] - fewer["h2d"] + more["d2h"] - fewer["d2h"])):
        require(0.99 * took <= said <= 1.01 * took, f"{what}: {said} ns in the trace, {took} ns on the device")
    graph = json.loads(spillway("export", path).stdout)
    # What goes on at the same time counts once.
    together_ns, tolerance_ns = graph["compute_us"] * 1000, 0.01 * iteration["compute_ns"]
    require(max(iteration["compute_ns"], copies) - tolerance_ns <= together_ns <= iteration["compute_ns"] + copies + tolerance_ns,
            together_ns, iteration["compute_ns"], copies)


@sentence("an operation takes at most 24 bytes of the file")
def _():
    _, path = trace(small("--steps", "30"), "size")
    operations, size = report(path)["run"]["operations"], os.path.getsize(path)
    require(size <= 24 * operations, f"{size} bytes for {operations} operations")
    require(os.stat(path).st_mode & 0o777 == 0o600, "others can read it")


@sentence("the forms of the report say the same")
def _():
    _, path = trace(small("--steps", "7"), "forms")
    said, text = report(path), spillway("report", "--time-limit=0", path).stdout
    perfetto, folded = os.path.join(FOLDER, "events.json"), os.path.join(FOLDER, "folded")
    spillway("report", "--perfetto", perfetto, "--folded", folded, path)
    with open(perfetto, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    on_device = [event for event in events if event["ph"] == "X" and event["pid"] == 2]
    require(len(on_device) == said["iteration"]["operations"], len(on_device), said["iteration"]["operations"])
    starts = {event["id"] for event in events if event["ph"] == "s"}
    require(starts == {event["id"] for event in events if event["ph"] == "f"} and len(starts) == len(on_device), "arrows")
    with open(folded, encoding="utf-8") as file:
        weight = sum(int(line.rsplit(" ", 1)[1]) for line in file)
    require(weight == said["iteration"]["peak_bytes"], weight, said["iteration"]["peak_bytes"])
    require(f"operations  {said['run']['operations']}:" in text, text)


@sentence("places are named by what tells them apart, with lines of the file that the function is in")
def _():
    _, path = trace(small("--steps", "7"), "places")
    sites = [site for site in report(path)["sites"] if site]
    stacks = {}
    for site in sites:
        require(stacks.setdefault(tuple(site["stack"]), site["name"]) == site["name"], "the same in all frames, but called", site["name"])
    require(len(set(stacks.values())) >= 0.85 * len(stacks), len(stacks), sorted(stacks.values()))
    require(any(" > " in site["name"] for site in sites), "nothing had to be told apart, so nothing is shown by this")
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "workloads")
    checked = 0
    for frame in {frame for site in sites for frame in site["stack"]}:
        plain = re.fullmatch(r"([a-z_]+)\(.*\) \(([a-z_]+\.cu):([0-9]+)\)", frame)  # a function of its own, not of a class
        if not plain or plain.group(1) == "main":
            continue
        with open(os.path.join(folder, plain.group(2)), encoding="utf-8") as file:
            lines = file.read().splitlines()
        defined = [number for number, line in enumerate(lines, 1) if re.match(rf"[a-z].*\b{plain.group(1)}\(", line)]
        require(defined and lines[int(plain.group(3)) - 1].strip(), frame)
        checked += 1
    require(checked >= 2, "too few frames to show anything by this")


finish()
for name in os.listdir(FOLDER):
    os.unlink(os.path.join(FOLDER, name))
os.rmdir(FOLDER)
