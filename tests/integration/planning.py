"""planning.py GRAPHS - `spillway plan` as a user meets it: budgets, events that hold, what does not fit, traces, bad input.

GRAPHS is the folder of iterations that are known (tests/graphs)."""
import json
import os
import re
import subprocess
import sys
import tempfile

from following import ALIKE_FROM, settings, step_times, tiny, usual, without
from harness import DEVICE, SMALL_DEVICE, SPILLWAY, environment, finish, program, require, sentence

GRAPHS = os.path.abspath(sys.argv[1])
FOLDER = tempfile.TemporaryDirectory(prefix="spillway-plan-")
VGG = os.path.join(GRAPHS, "vgg16-b64-v100-16g-fp32.json")
RESNET = os.path.join(GRAPHS, "resnet50-b190-v100-16g-fp32.json")
KEYS = {"planner": str, "budget_bytes": int, "feasible": bool, "smallest_budget_bytes": int, "peak_bytes": int, "compute_us": float,
        "time_us": float, "lower_bound_us": float, "bound": str, "d2h_bytes": int, "h2d_bytes": int, "replayed_us": float,
        "stall_us": float, "host_peak_bytes": int, "planning_s": float, "budget_share": float, "time_ratio": float}
ALWAYS = {"planner", "budget_bytes", "budget_share", "feasible", "compute_us", "lower_bound_us", "bound", "planning_s"}
SLOWER_AT_MOST = 1.05  # what a report finds in less time than a plan, and the other way round


def spillway(*arguments, status=0, **options):
    done = subprocess.run([SPILLWAY, *arguments], env=environment({**SMALL_DEVICE, "LD_LIBRARY_PATH": DEVICE}), timeout=120, check=False,
                          text=True, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})
    require(done.returncode == status, f"spillway {' '.join(arguments)}: exit status {done.returncode}", done.stdout and done.stdout[-2000:], done.stderr)
    return done


def plan(*arguments, status=0):
    """The figures of a plan, or of a check; none is searched for long unless a limit is said."""
    limit = () if {"--time-limit", "--seed"} & set(arguments) else ("--time-limit", "0.1")
    return json.loads(spillway("plan", *arguments, *limit, "--json", status=status).stdout)


def refused(*arguments, says, status=2, **options):
    said = spillway("plan", *arguments, status=status, **options).stderr
    require(all(part in said for part in says), f"{arguments}: expected {says}", said)
    return said


def path_of(name):
    return os.path.join(FOLDER.name, name)


def stored(name, text):
    with open(path_of(name), "w", encoding="utf-8") as file:
        file.write(text)
    return path_of(name)


def graph_of(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def traced():
    """The trace of a small training program, made once."""
    path = path_of("gpt.trace")
    if not os.path.exists(path):
        spillway("trace", "--output", path, "--", *program(["gpt", "--size", "tiny", "--steps", "7"]))
    return path


# A forward and a backward of one layer, in which the operation with the most needs 270 bytes and all is 370.
SMALL = """{"format": "spillway-iteration/1", "name": "small", "copy_bytes_per_us": {"d2h": 10, "h2d": 10},
"tensors": [
{"id": 0, "bytes": 100, "persistent": true},
{"id": 1, "bytes": 100, "alloc_before": 0, "free_after": 2},
{"id": 2, "bytes": 170, "alloc_before": 1, "free_after": 1}],
"ops": [
{"name": "forward", "us": 10, "reads": [0], "writes": [1], "replayable": true},
{"name": "loss", "us": 10, "reads": [0], "writes": [2], "replayable": true},
{"name": "backward", "us": 10, "reads": [1], "writes": [0], "replayable": false}]}
"""


def memory_of(graph, plan_file):
    """Most bytes on the device at once when the events of a plan are gone through, by the little that can be known without
    durations: what has begun holds its bytes until it is dropped, and in the order of times drops come first."""
    tensors, ops = {tensor["id"]: tensor for tensor in graph["tensors"]}, graph["ops"]
    there = {id for id, tensor in tensors.items() if tensor.get("persistent") and id not in plan_file["initial_host"]}
    there |= {id for id, tensor in tensors.items() if tensor.get("initial")}
    now = peak = sum(tensors[id]["bytes"] for id in there)
    done = []
    for kind, id, _ in sorted(plan_file["events"], key=lambda event: (event[2], event[0] != "drop")):
        if kind == "drop":
            require(id in there, f"tensor {id} is dropped and not there")
            there.remove(id)
            now -= tensors[id]["bytes"]
            continue
        come = ops[id]["writes"] if kind in ("op", "replay") else [id] if kind == "h2d" else []
        missing = [t for t in (ops[id]["reads"] if kind in ("op", "replay") else [id] if kind == "d2h" else []) if t not in there]
        require(not missing, f"{kind} {id}: {missing} not there")
        done += [id] if kind == "op" else []
        now += sum(tensors[t]["bytes"] for t in come if t not in there)
        there |= set(come)
        peak = max(peak, now)
    require(done == list(range(len(ops))), "not every operation once, in order")
    return peak


# ------------------------------------------------------------------------------------------------------------ one plan
@sentence("a plan within 60 % of the peak says all its figures, and they go together")
def _():
    got = plan(RESNET, "--budget", "60%")
    for key, kind in KEYS.items():
        require(isinstance(got.get(key), kind), f"{key}: {got.get(key)!r} is no {kind.__name__}", got)
    peak = graph_of(RESNET)["peak_bytes"]
    require(got["feasible"] and got["budget_bytes"] == int(peak * 0.6) and got["peak_bytes"] <= got["budget_bytes"], got)
    require(got["smallest_budget_bytes"] <= got["budget_bytes"], got)
    require(got["compute_us"] <= got["lower_bound_us"] <= got["time_us"], got)
    require(abs(got["time_us"] - got["compute_us"] - got["replayed_us"] - got["stall_us"]) < 1, "time is more than its parts", got)
    require(abs(got["time_ratio"] - got["time_us"] / got["compute_us"]) < 1e-9, got)


@sentence("the events of a plan are valid by the checker, and for whoever else goes through them")
def _():
    for budget in ("80%", "40%"):
        events = path_of("events.json")
        got = plan(VGG, "--budget", budget, "--events", events)
        checked = plan(VGG, "--check", events, "--budget", str(got["budget_bytes"]))
        require(checked["valid"] and abs(checked["time_us"] - got["time_us"]) < 1e-6 * got["time_us"], got, checked)
        for key in ("peak_bytes", "host_peak_bytes", "d2h_bytes", "h2d_bytes"):
            require(checked[key] == got[key], key, got, checked)
        peak = memory_of(graph_of(VGG), graph_of(events))
        require(peak == got["peak_bytes"], f"{peak} bytes by the events", got)


@sentence("a plan that breaks a rule is refused where it breaks it")
def _():
    events = path_of("events.json")
    budget = str(plan(VGG, "--budget", "50%", "--events", events)["budget_bytes"])
    said = spillway("plan", VGG, "--check", events).stdout
    require(said.startswith("valid: "), said)
    with open(events, encoding="utf-8") as file:
        lines = file.read().splitlines()
    place = next(i for i, line in enumerate(lines) if '["h2d"' in line)
    broken = stored("broken.json", "\n".join(lines[:place] + lines[place + 1:]))
    said = refused(VGG, "--check", broken, "--budget", budget, status=1, says=["broken.json:", "missing"])
    require(re.search(r"broken\.json:\d+: events\[\d+\]: \w+: ", said), said)
    got = plan(VGG, "--check", broken, status=1)
    require(got["valid"] is False and got["fault"] and got["time_us"] is None, got)
    refused(VGG, "--check", events, "--budget", "20%", status=1, says=["memory"])
    refused(VGG, "--check", stored("odd.json", '{"events": [\n["op", 0, 0],\n["op", "x", 0]]}'), says=["odd.json:3: events[1]: expected the index"])


@sentence("without copies nothing is copied, and without recomputation nothing is recomputed")
def _():
    both = plan(VGG, "--budget", "60%")
    copies = plan(VGG, "--budget", "60%", "--no-recompute")
    again = plan(VGG, "--budget", "60%", "--no-swap")
    require(copies["replayed_us"] == 0 and copies["d2h_bytes"] > 0, copies)
    require(again["d2h_bytes"] == again["h2d_bytes"] == again["host_peak_bytes"] == 0 and again["replayed_us"] > 0, again)
    require(both["time_us"] <= 1.001 * min(copies["time_us"], again["time_us"]), both["time_us"], copies["time_us"], again["time_us"])


@sentence("a host budget is kept")
def _():
    free = plan(VGG, "--budget", "50%", "--no-recompute")
    kept = plan(VGG, "--budget", "50%", "--host-budget", str(free["host_peak_bytes"] * 3 // 4))
    require(kept["host_peak_bytes"] <= free["host_peak_bytes"] * 3 // 4, free, kept)


@sentence("the same seed gives the same plan")
def _():
    texts = []
    for seed in ("1", "1", "2"):
        plan(VGG, "--budget", "40%", "--seed", seed, "--events", path_of("events.json"))
        with open(path_of("events.json"), encoding="utf-8") as file:
            texts.append(file.read())
    require(texts[0] == texts[1], "seed 1 gave two plans")


@sentence("a time limit is kept")
def _():
    got = plan(RESNET, "--budget", "50%", "--time-limit", "0.2")
    require(got["planning_s"] < 5, got)


@sentence("durations that are off are tried, and cost a little")
def _():
    got = plan(VGG, "--budget", "60%", "--jitter", "20%")["jitter"]
    require(got["trials"] > 0 and 1 <= got["mean_ratio"] <= got["worst_ratio"] < 3, got)
    require("jitter" in spillway("plan", VGG, "--budget", "60%", "--jitter", "20").stdout)


# ----------------------------------------------------------------------------------------------------------- for people
@sentence("the summary is a page of plain lines that says time, bound, memory, what is moved and recomputed")
def _():
    said = spillway("plan", RESNET, "--budget", "40%", "--time-limit", "0.1").stdout
    for word in ("time", "lower bound", "memory", "copied out", "recomputed", "stalled", "smallest", "Copied back", "Recomputed", "with unlimited memory"):
        require(word in said, f"no {word}", said)
    for line in said.splitlines():
        require(len(line) <= 110 and line == line.rstrip(), line)


@sentence("the planners that are listed are those that are accepted")
def _():
    listed = re.findall(r"^(\S+) +\S", spillway("plan", "--planners").stdout, re.MULTILINE)
    require(listed[0] == "auto" and len(listed) == len(set(listed)), listed)
    refused(VGG, "--budget", "60%", "--planner", "best", says=[f"--planner=best is refused; accepted: {', '.join(listed)}\n"])
    for name in listed:
        spillway("plan", "--planners", "--planner", name)
    require(plan(VGG, "--budget", "100%", "--planner", "none")["planner"] == "none")


# ----------------------------------------------------------------------------------------------------- sweep and compare
@sentence("the sweep goes from the peak down to the smallest feasible budget, and more memory is never slower")
def _():
    curve = plan(VGG, "--sweep")
    budgets, times = [row["budget_bytes"] for row in curve], [row["time_us"] for row in curve]
    require(budgets == sorted(set(budgets), reverse=True) and len(curve) >= 5, budgets)
    require(budgets[0] == graph_of(VGG)["peak_bytes"] and curve[0]["time_ratio"] == 1, curve[0])
    require(times == sorted(times), times)
    require(all(row["feasible"] and row["peak_bytes"] <= row["budget_bytes"] and row["lower_bound_us"] <= row["time_us"] + 1e-6 for row in curve))
    require(budgets[-1] == curve[0]["smallest_budget_bytes"], budgets)
    said = spillway("plan", VGG, "--time-limit", "0.1").stdout
    require(len(re.findall(r" % .* auto", said)) == len(curve) and said.count("smallest feasible budget") == 1, said)


@sentence("just below the smallest feasible budget there is no plan: exit status 3, the operation, its bytes, what would do")
def _():
    smallest = plan(VGG, "--budget", "60%")["smallest_budget_bytes"]
    require(plan(VGG, "--budget", str(smallest))["feasible"])
    said = refused(VGG, "--budget", "1GiB", status=3, says=["operation 3 (conv1.fwd) needs", str(smallest), "smallest feasible budget"])
    require(VGG in said, said)
    got = plan(VGG, "--budget", str(smallest * 98 // 100), status=3)
    require(not got["feasible"] and got["time_us"] is None and got["smallest_budget_bytes"] == smallest, got)
    require(got["operation"]["name"] == "conv1.fwd" and got["operation"]["bytes"] <= smallest, got)
    require(set(got) == set(KEYS) | {"operation"} and all(got[key] is not None for key in ALWAYS), got)


@sentence("what does not fit is named in a graph where it can be seen")
def _():
    small = stored("small.json", SMALL)
    refused(small, "--budget", "269", status=3,
            says=[f"{small}: does not fit within 269 bytes (269 bytes): operation 1 (loss) needs 270 bytes (270 bytes) at once; "
                  "the smallest feasible budget is 270 bytes"])
    refused(small, "--budget", "369", "--planner", "none", status=3, says=["planner none finds no plan within 369 bytes", "370 bytes"])
    require(plan(small, "--budget", "270")["feasible"])


@sentence("compared are all planners, beside the bound, at one budget or at several")
def _():
    names = [name for name in re.findall(r"^(\S+) +\S", spillway("plan", "--planners").stdout, re.MULTILINE)]
    one = plan(VGG, "--compare", "--budget", "70%")
    require([row["planner"] for row in one] == names, one)
    require(all(not row["feasible"] or row["lower_bound_us"] <= row["time_us"] * (1 + 1e-9) for row in one), one)
    small = stored("small.json", SMALL)
    several = plan(small, "--compare")
    require(len(several) % len(names) == 0 and len(several) > len(names), len(several))
    for options in ((), ("--budget", "80%")):
        said = spillway("plan", small, "--compare", "--time-limit", "0.1", *options).stdout
        require(all(re.search(rf"^{name} ", said, re.MULTILINE) for name in names) and "lower bound" in said, said)


# ------------------------------------------------------------------------------------------------- what the machine adds
def chain(*durations):
    """Operations in a row, each of which reads what the one before wrote: 100 bytes."""
    tensors = [{"id": i, "bytes": 100, "alloc_before": max(i - 1, 0), "free_after": i, "initial": i == 0} for i in range(len(durations))]
    ops = [{"us": us, "reads": [i], "writes": [i + 1] if i + 1 < len(durations) else [], "replayable": True} for i, us in enumerate(durations)]
    return stored("chain.json", json.dumps({"format": "spillway-iteration/1", "copy_bytes_per_us": {"d2h": 10, "h2d": 10}, "tensors": tensors, "ops": ops}))


def rotating():
    """Three tensors of 100 bytes that carry over, and three operations of 10 us, each of which updates one."""
    tensors = [{"id": i, "bytes": 100, "persistent": True} for i in range(3)]
    ops = [{"us": 10, "reads": [i], "writes": [i], "replayable": False} for i in range(3)]
    return stored("rotating.json", json.dumps({"format": "spillway-iteration/1", "copy_bytes_per_us": {"d2h": 10, "h2d": 10}, "tensors": tensors, "ops": ops}))


def time_of(path, *options):
    return plan(path, *options)["time_us"]


@sentence("what the host has to do for each operation and each piece of memory is in the plan's time")
def _():
    def equals(durations, expected, *options):
        got = time_of(chain(*durations), "--budget", "1000", "--planner", "none", *options)
        require(got == expected, f"{durations} {options}: {got}, not {expected}")
    equals([10, 10, 10], 30)
    equals([10, 10, 10], 85, "--launch-us", "25")  # submitted at 25, 50 and 75
    equals([10, 10, 10], 37.5, "--launch-us", "7.5")  # the first at 7.5, and the others while it runs
    equals([10, 10, 10], 70, "--map-us", "25")  # the first at 25, the second at 50; the third writes nothing
    require(time_of(chain(10, 10, 10), "--budget", "200", "--planner", "none", "--map-us", "25") == 80)  # the second waits for the first's memory
    equals([10, 10, 10], 60, "--unmap-us", "25")  # the third comes behind two tensors that are given back
    equals([20, 1, 1, 1], 28, "--launch-us", "5")
    equals([20, 1, 1, 1], 28, "--launch-us", "5", "--run-ahead", "0")
    equals([20, 1, 1, 1], 31, "--launch-us", "5", "--run-ahead", "1")  # the third is submitted when the second starts, at 25, the last 5 later
    equals([20, 1, 1, 1], 28, "--launch-us", "5", "--run-ahead", "2")


@sentence("copies in pieces, and copies that slow each other down, are in the plan's time")
def _():
    def equals(expected, *options):
        got = time_of(rotating(), "--budget", "200", "--planner", "lru", *options)
        require(abs(got - expected) < 1e-3, f"{options}: {got}, not {expected}")
    # out, in, operation, in, operation; out, in, operation: of the six copies two run beside another one
    equals(60)
    equals(76, "--chunk", "25", "--chunk-us", "1")  # four pieces each, four copies one after the other
    equals(68, "--chunk", "64", "--chunk-us", "1")
    equals(60, "--chunk", "64")
    equals(70, "--duplex", "50%")  # the first copy in runs beside one out: 20 us
    equals(60, "--duplex", "100%")


@sentence("sizes are rounded up to the granularity, those of the figures too, and copies take as long as before")
def _():
    small = stored("small.json", SMALL)
    got = plan(small, "--budget", "448", "--planner", "none", "--granularity", "64")  # 128, 128 and 192 bytes for 100, 100 and 170
    require(got["budget_share"] == 1 and got["peak_bytes"] == got["smallest_budget_bytes"] == 448, got)
    require(plan(small, "--budget", "320", "--granularity", "64")["smallest_budget_bytes"] == 320)
    refused(small, "--budget", "319", "--granularity", "64", status=3, says=["operation 1 (loss) needs 320 bytes"])
    require(time_of(rotating(), "--budget", "256", "--planner", "lru", "--granularity", "128") == 60)
    events = path_of("events.json")
    require(plan(small, "--budget", "320", "--granularity", "64", "--events", events)["feasible"])
    require(plan(small, "--check", events, "--budget", "270")["peak_bytes"] == 270)
    require(plan(small, "--check", events, "--budget", "320", "--granularity", "64")["peak_bytes"] == 320)
    refused(small, "--check", events, "--budget", "319", "--granularity", "64", status=1, says=["memory"])


@sentence("the search looks for what is best with these costs")
def _():
    small = stored("slow.json", SMALL.replace('"us": 10', '"us": 60', 1))
    copied = plan(small, "--budget", "270", "--seed", "1")  # 60, out 10, 10, in 10, 10
    require(copied["time_us"] == 100 and copied["replayed_us"] == 0, copied)
    again = plan(small, "--budget", "270", "--seed", "1", "--chunk", "10", "--chunk-us", "10")  # a copy takes 110, and a replay 60
    require(again["time_us"] == 140 and again["replayed_us"] == 60 and again["d2h_bytes"] == 0, again)


@sentence("sweep and comparison are made with these costs")
def _():
    path = chain(10, 10, 10)
    require(plan(path, "--sweep", "--seed", "1", "--launch-us", "25")[0]["time_us"] == 85)
    rows = {row["planner"]: row for row in plan(path, "--compare", "--seed", "1", "--budget", "100%", "--launch-us", "25")}
    require(rows["none"]["time_us"] == rows["auto"]["time_us"] == 85, rows)
    require(plan(path, "--budget", "100%", "--launch-us", "25", "--jitter", "1%")["jitter"]["mean_ratio"] > 2.7)


@sentence("events with these costs are as late as they make them, and valid without")
def _():
    events, costs = path_of("events.json"), ("--launch-us", "50", "--map-us", "100", "--unmap-us", "80", "--run-ahead", "3", "--duplex", "60%",
                                             "--chunk", "4MiB", "--chunk-us", "20", "--granularity", "2MiB")
    plain = plan(VGG, "--budget", "60%", "--planner", "lru")
    got = plan(VGG, "--budget", "60%", "--planner", "lru", *costs, "--events", events)
    checked = plan(VGG, "--check", events, "--budget", str(got["budget_bytes"]), "--granularity", "2MiB")
    require(checked["valid"] and checked["peak_bytes"] == got["peak_bytes"], got, checked)
    require(plain["time_us"] < checked["time_us"] <= got["time_us"] * (1 + 1e-9), plain, checked, got)
    refused(VGG, "--check", events, "--map-us", "100", says=["--check judges by model S+ (docs/planning.md), which has no --map-us"])


@sentence("costs that make no sense are refused with what is accepted, in one line")
def _():
    microseconds, size = "microseconds from 0 to 1000000, such as 4.5", "bytes such as 2097152, 2MiB or 2M (above 0, up to 1GiB)"
    cases = {"map-us": (microseconds, "-1", "x", "1000001", "nan", "5us", ""), "unmap-us": (microseconds, "-0.5", "inf"),
             "launch-us": (microseconds, "1e7", "5%"), "chunk-us": (microseconds, "-1", "1 2"),
             "run-ahead": ("a whole number from 0 to 1000000", "-1", "1.5", "1000001", "x"),
             "duplex": ("a percentage above 0 and up to 100, such as 80%", "0", "101%", "-5%", "x", "nan"),
             "granularity": (size, "0", "50%", "2GiB", "-1", "x"), "chunk": (size, "0", "50%", "1.1GiB", "x")}
    for option, (accepted, *values) in cases.items():
        for value in values:
            said = refused(VGG, f"--{option}={value}", says=[f"--{option}={value} is refused; accepted: {accepted}\n"])
            require(said.startswith("spillway plan: "), said)
    refused(VGG, "--chunk-us", "3", says=["needs the size of one: --chunk"])


# --------------------------------------------------------------------------------------------------------------- traces
@sentence("a trace is planned for as the iteration that export prints of it")
def _():
    exported = stored("gpt.json", spillway("export", traced()).stdout)
    timing = re.compile(r'^ +"planning_s".*$', re.MULTILINE)
    both = [timing.sub("", spillway("plan", path, "--budget", "70%", "--json").stdout) for path in (traced(), exported)]
    require(both[0] == both[1], *both)
    require(json.loads(spillway("plan", traced(), "--budget", "70%", "--json").stdout)["feasible"])
    require("gpt.trace on " in spillway("plan", traced(), "--sweep", "--time-limit", "0.1").stdout)


def takes_as_long(streams):
    @sentence(f"with {streams} streams the exported iteration takes as long as the program's step, and so does its plan with memory enough")
    def _():
        for name in ("gpt", "mlp"):
            step_us = 1000 * usual(step_times(without(name, 10, "--streams", streams))[ALIKE_FROM:-1])
            trace = path_of(f"{name}-{streams}.trace")
            subprocess.run([SPILLWAY, "trace", "--output", trace, "--", *program(tiny(name, 7, "--streams", streams))], check=True,
                           env=environment({**settings(name), "LD_LIBRARY_PATH": DEVICE}), capture_output=True, timeout=120)
            exported, planned = json.loads(spillway("export", trace).stdout), plan(trace, "--budget", "100%")
            for us in (exported["compute_us"], planned["time_us"]):
                require(abs(us - step_us) <= 0.01 * step_us, f"{name}: {us} us, where a step takes {step_us}")


for number in ("1", "2", "3"):
    takes_as_long(number)


@sentence("the events of a trace's plan are valid")
def _():
    events = path_of("events.json")
    got = plan(traced(), "--budget", "60%", "--events", events)
    checked = plan(traced(), "--check", events, "--budget", str(got["budget_bytes"]))
    require(checked["valid"] and checked["peak_bytes"] == got["peak_bytes"], checked)


@sentence("a report searches for no curve in 0 seconds, and is refused a time that is none")
def _():
    require(json.loads(spillway("report", "--json", "--time-limit", "0", traced()).stdout)["plan"] is None)
    require("smaller budget" not in spillway("report", "--time-limit", "0", traced()).stdout)
    for bad in ("-1", "1.5", "soon", "86401"):
        said = spillway("report", f"--time-limit={bad}", traced(), status=2).stderr
        require(f"--time-limit={bad} is refused; accepted: seconds, a whole number from 0 to 86400" in said, said)


@sentence("the report of a trace has the curve of the planner that it names, as figures and in words")
def _():
    told = json.loads(spillway("report", "--json", traced()).stdout)["plan"]
    curve = plan(traced(), "--sweep", "--planner", told["planner"], "--seed", "1")  # a seed is said, so that plans are searched for as by default
    require([point["budget_bytes"] for point in told["points"]] == [row["budget_bytes"] for row in curve], told, curve)
    same = 0
    for point, row in zip(told["points"], curve):
        require(abs(point["lower_bound_ns"] - 1000 * row["lower_bound_us"]) <= 1, point, row)
        require(row["time_us"] <= point["time_ns"] / 1000 * SLOWER_AT_MOST and point["time_ns"] / 1000 <= row["time_us"] * SLOWER_AT_MOST, point, row)
        same += all(abs(point[f"{name}_ns"] - 1000 * row[f"{name}_us"]) <= 1 for name in ("time", "replayed", "stall")) and all(
            point[name] == row[name] for name in ("peak_bytes", "d2h_bytes", "h2d_bytes", "host_peak_bytes"))
    require(same >= 2, same)
    require(told["smallest_budget_bytes"] == curve[-1]["budget_bytes"] == curve[0]["smallest_budget_bytes"], told)
    said = spillway("report", traced()).stdout
    slowest = f"{told['points'][-1]['time_ns'] / told['compute_ns']:.3f}"
    require(re.search(rf"what a smaller budget would cost.*planner {told['planner']}\)\n(?: .*\n)*  smallest .* {slowest} of the time;", said), slowest, said)


# ------------------------------------------------------------------------------------------------------------ bad input
@sentence("an iteration that is wrong is refused with line, path and what was expected")
def _():
    cases = {"dangling": ('"reads": [1]', '"reads": [1, 9]', ":9: ops[2].reads[1]: expected the id of a tensor that is there"),
             "negative": ('"bytes": 170', '"bytes": -170', ":5: tensors[2].bytes: expected a whole number of bytes, not negative"),
             "unwritten": ('"writes": [1]', '"writes": []', ":9: ops[2].reads[0]: expected a tensor that was written before"),
             "early": ('"alloc_before": 0', '"alloc_before": 1', ":7: ops[0].writes[0]: expected a tensor that is allocated by then"),
             "type": ('"us": 10', '"us": "10"', ":7: ops[0].us: expected a number of microseconds"),
             "format": ("iteration/1", "iteration/9", ':1: format: expected "spillway-iteration/1"'),
             "cut": ('"backward"', "", ":9: not JSON: ")}
    for name, (old, new, says) in cases.items():
        path = stored(name + ".json", SMALL.replace(old, new, 1))
        said = refused(path, "--budget", "60%", says=[f"spillway: {path}{says}"])
        require(said.count("\n") == 1, said)


@sentence("an iteration may come from standard input")
def _():
    done = spillway("plan", "-", "--budget", "300", "--json", input=SMALL)
    require(json.loads(done.stdout)["feasible"], done.stdout)
    refused("-", "--budget", "300", input="\n[", says=["standard input:"])


@sentence("what is no iteration and no trace is refused")
def _():
    refused(stored("text", "hello\n"), "--budget", "60%", says=["text: offset 0: "])
    refused(stored("empty", ""), "--budget", "60%", says=["empty:1: not JSON"])
    refused(path_of("none"), "--budget", "60%", says=["none: No such file"])
    refused(FOLDER.name, "--budget", "60%", says=["Is a directory"])
    with open(traced(), "rb") as file:
        half = file.read()
    with open(path_of("half.trace"), "wb") as file:
        file.write(half[:len(half) // 2])
    refused(path_of("half.trace"), "--budget", "60%", says=["half.trace: offset "])


@sentence("arguments that make no sense are refused with what is accepted")
def _():
    for arguments, says in ((["--budget", "0"], "--budget=0 is refused; accepted: bytes such as"), (["--budget", "120%"], "(up to 100%)"),
                            (["--budget", "x"], "--budget=x is refused"), (["--host-budget", "50%"], "--host-budget=50% is refused"),
                            (["--time-limit", "-1"], "--time-limit=-1 is refused; accepted: seconds"), (["--time-limit", "nan"], "is refused"),
                            (["--seed", "-1"], "--seed=-1 is refused"), (["--seed", "1x"], "is refused"), (["--jitter", "100%"], "--jitter=100% is refused"),
                            (["--device", "1000"], "--device=1000 is refused"), (["--sweep", "--compare"], "one at a time"),
                            (["--sweep", "--budget", "1G"], "takes no --budget"), (["--compare", "--planner", "auto"], "takes no --planner"),
                            (["--events", "e"], "needs a --budget"), ([VGG], "one iteration at a time"), (["--budgets=3"], "unrecognized option")):
        refused(VGG, *arguments, says=[says])
    refused(says=["which iteration or trace?"])


@sentence("what cannot be written is said, with exit status 1")
def _():
    refused(VGG, "--budget", "80%", "--events", path_of("no/where.json"), status=1, says=["no/where.json: No such file"])
    if os.path.exists("/dev/full"):
        refused(VGG, "--budget", "80%", "--events", "/dev/full", status=1, says=["/dev/full: No space left"])
        with open("/dev/full", "w", encoding="utf-8") as full:
            refused(VGG, "--budget", "80%", "--json", status=1, says=["standard output: No space left"], stdout=full)


finish()
