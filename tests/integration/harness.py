"""harness.py - runs programs on the simulated device, plain or under spillway, and keeps what program and device said.

A test script is a list of sentences, each a function that returns when it holds and raises where it does not:

    @sentence("losses stay the same at half the peak")
    def _():
        same(plain, run(["gpt"], budget=plain.peak // 2))

    finish()

The output is TAP. Nothing here knows how spillway works: programs are judged by their own output and by the device's."""
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("SPILLWAY_BUILD", "build"))
WORKLOADS = os.path.join(BUILD, "tests", "workloads")
DEVICE = os.path.join(BUILD, "tests", "simgpu")
SPILLWAY = os.path.join(BUILD, "tools", "spillway")
PRELOAD = os.path.join(BUILD, "shim", "libspillway.so")
HASTY = os.path.join(BUILD, "tests", "stress", "libhasty.so")

EXIT_CUDA_ERROR = 3  # how every workload ends when a CUDA call fails

# A small device with small granules, so that small models press on it.
SMALL_DEVICE = {"SIMGPU_GRANULARITY": "64KiB", "SIMGPU_MEMORY": "256MiB"}
# The library waits for the device by queries, as many as a simulated step is long. Where no figure is made, most of them are passed over.
ASKS_LESS = {"SIMGPU_QUERIES": "16"}
# Each workload at a size that is many tensors large and some tenths of a second long.
TINY = {name: ["--size", "small", "--steps", "3"] for name in ("gpt", "resnet", "lstm", "mlp")}
# What figures are made with: scaled so that the small gpt costs the time of one with 350 million parameters.
BENCH = {"device": {"SIMGPU_GRANULARITY": "64KiB", "SIMGPU_MEMORY": "1GiB", "SIMGPU_SCALE_BYTES": "500", "SIMGPU_SCALE_OPS": "7000"},
         "programs": {name: ["--size", "small", "--streams", "2"] for name in ("gpt", "resnet", "lstm", "mlp")}}

OWN_STREAMS = 3  # that the library makes for each device at most, beside one for what it runs again by plan: copies out, in, and what looks for addresses have found


class Failed(Exception):
    """A sentence that does not hold."""


class Skipped(Exception):
    """A sentence that cannot be judged here."""


def forked_on_a_terminal():
    """As pty.fork(): a child on a terminal of its own, and our end of that."""
    try:
        return pty.fork()
    except OSError as error:
        raise Skipped(f"no terminal can be had here: {error}") from error


class Run:
    """One finished program: exit status (negative: signal), both outputs, the device's counts, the library's counts."""

    def __init__(self, command, status, output, errors, stats, summary, seconds):
        self.command, self.status, self.output, self.errors = command, status, output, errors
        self.stats, self.summary, self.seconds = stats, summary, seconds

    @property
    def results(self):
        """What has to be the same in every run: the program's output without its lines about time and memory."""
        return [line for line in self.output.splitlines() if not TIMING.match(line)]

    @property
    def peak(self):
        return self.stats["peak_mapped_bytes"]

    @property
    def step_ms(self):
        """Of one training step in steady state, on the device's clock, as the program itself measured it."""
        return float(re.search(r"^step_ms ([0-9.]+)", self.output, re.MULTILINE).group(1))

    def copied(self, direction):
        return self.stats["copies"][direction]["bytes"]

    def describe(self):
        how = f"signal {signal.Signals(-self.status).name}" if self.status < 0 else f"status {self.status}"
        said = [line for line in self.errors.splitlines()][-12:]
        return f"{self.command}: {how}\n" + "\n".join("    " + line for line in said)


TIMING = re.compile(r"^(step_ms|step_ms_each|peak_bytes|memory) ")


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def environment(extra):
    """A clean environment: nothing of the caller's settings of the device or of spillway gets through, nor that this is continuous integration,
    by which PyTorch compiles other kernels. What one run learns is kept for
    no other, unless a test says so."""
    kept = {name: value for name, value in os.environ.items() if not re.match(r"(SIMGPU_|SPILLWAY_|LD_|CUDA_|ASAN_|CI$)", name)}
    return {**kept, "SPILLWAY_PROFILE": "off", **{name: str(value) for name, value in extra.items()}}


def program(command):
    """The first word may be a workload's bare name, or a path from here."""
    name = command[0]
    if name and os.path.exists(os.path.join(WORKLOADS, name)):
        name = os.path.join(WORKLOADS, name)
    return [os.path.abspath(name) if os.path.exists(name) else name, *command[1:]]


def run(command, budget=None, via="command", env=None, options=(), timeout=120, cpu_seconds=None, start_in=None):
    """Runs `command` on the simulated device; with a budget or options under spillway, started the way `via` says.

    via: "command" (spillway run), "preload" (LD_PRELOAD and variables alone), "hasty" (the same, of the library whose searches for plans
    end at once, for runs whose speed is not judged: tests/stress/hasty.c), "none" (as `env` says).
    timeout: by the clock; cpu_seconds: of computation, after which it ends by SIGXCPU, however busy the machine is.
    start_in: the folder to start it in, a fresh one by default."""
    with tempfile.TemporaryDirectory(prefix="spillway-") as folder:
        stats, summary = os.path.join(folder, "stats"), os.path.join(folder, "summary")
        settings = {**SMALL_DEVICE, "SIMGPU_ALIASES": "newest", "LD_LIBRARY_PATH": DEVICE, "SIMGPU_STATS": stats, "SPILLWAY_SUMMARY": summary, **(env or {})}
        line = program(list(command))
        if via == "command" and (budget is not None or options):
            line = [SPILLWAY, "run", *(("--budget", str(budget)) if budget is not None else ()), *options, "--", *line]
        elif via in ("preload", "hasty"):
            settings["LD_PRELOAD"] = HASTY if via == "hasty" else PRELOAD
            if budget is not None:
                settings["SPILLWAY_BUDGET"] = budget
        if cpu_seconds is not None:
            line = ["prlimit", f"--cpu={cpu_seconds}:{cpu_seconds + 5}", *line]
        started = time.monotonic()
        try:
            done = subprocess.run(line, env=environment(settings), cwd=start_in or folder, capture_output=True, timeout=timeout, check=False,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{' '.join(line)}: still running after {timeout} s\n{(late.stderr or b'').decode(errors='replace')[-2000:]}")
        shown = " ".join([f"{name}={value}" for name, value in (env or {}).items()] + [os.path.basename(line[0]), *line[1:]])
        return Run(shown, done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"),
                   read_json(stats), read_json(summary), time.monotonic() - started)


# ------------------------------------------------------------------------------------------------------ what must hold
def require(condition, *explanation):
    if not condition:
        raise Failed("\n".join(str(part) for part in explanation))


def succeeded(finished):
    require(finished.status == 0, finished.describe())
    require(finished.stats is not None, "the device wrote no statistics", finished.describe())


def same_results(plain, finished):
    """The program succeeded and printed the same bits."""
    succeeded(finished)
    for expected, got in zip(plain.results, finished.results):
        require(expected == got, "different bits:", f"  expected {expected}", f"  got      {got}", finished.describe())
    require(len(plain.results) == len(finished.results), "fewer or more lines than without spillway", finished.describe())
    require(plain.results, "the program printed nothing to compare", finished.describe())


def no_misuse(finished):
    """By the device's own count nothing was used too early, too late, or without being there."""
    require(finished.stats is not None, "the device wrote no statistics", finished.describe())
    for count in ("ordering_errors", "faults"):
        require(finished.stats[count] == 0, f"{count}: {finished.stats[count]}", finished.describe())


def nothing_left(plain, finished):
    """What is left at exit beyond what the program leaves by itself is what the library keeps for reuse, by its own books."""
    books = finished.summary or {"devices": [], "events_held": 0, "host": {"pinned_bytes": 0}, "addresses": {"host_bytes": 0}}
    devices = books["devices"]
    runs_again = books.get("replayed", {}).get("by_plan_count", 0) > 0
    digests = [device["digest_bytes"] for device in devices if device["digest_bytes"]]
    kept = {"live_allocations": len(digests), "live_handles": sum(device["handles"] for device in devices),
            "live_reservations": len(devices), "streams": (OWN_STREAMS + runs_again) * len(devices), "events": books["events_held"],
            "host_bytes": books["host"]["pinned_bytes"] + books["addresses"]["host_bytes"] + sum(digests)}
    for kind, most in kept.items():
        left = finished.stats[kind + "_at_exit"] - plain.stats[kind + "_at_exit"]
        require(left <= most, f"left at exit: {left} {kind.replace('_', ' ')}, the library knows of {most}", finished.describe())
    require(all(device["live_allocations"] == 0 for device in devices), "allocations are still in the books", finished.describe())


def within(budget, finished):
    """The device never had more mapped or created than the budget."""
    require(finished.peak <= budget, f"{finished.peak} bytes mapped, the budget is {budget}", finished.describe())
    physical = sum(device["peak_physical_bytes"] for device in finished.stats["devices"])
    require(physical <= budget, f"{physical} physical bytes, the budget is {budget}", finished.describe())


def same_in_budget(plain, finished, budget):
    same_results(plain, finished)
    no_misuse(finished)
    within(budget, finished)
    nothing_left(plain, finished)


def same_or_clean_error(plain, finished, budget=None):
    """Either the same bits, or the exit status of a program that was told of a CUDA error. Nothing else."""
    if finished.status == EXIT_CUDA_ERROR:
        return
    same_results(plain, finished)
    no_misuse(finished)
    if budget is not None:
        within(budget, finished)


def require_found_out(what, could, least, shows, tries=12):
    """That a device which does `what` at one of the `could` places where it can is found out at `least` of some of them, far apart and all
    but the first of the run's. One alone may do no harm: not all that is moved is read again, and most waits order what others order too.
    shows(place) says whether it was noticed; a place more is tried only while too few have shown."""
    places = [int(could * (0.25 + 0.7 * (0.618034 * (i + 1) % 1))) for i in range(tries)]
    found, tried = [], 0
    while tried < tries and len(found) < least:
        found += [places[tried]] if shows(places[tried]) else []
        tried += 1
    print(f"# {what}: found out at {found} of {places[:tried]}, {could} in all", flush=True)
    require(len(found) >= least, f"{what} was noticed at {found} only, of {places}")


SMALLEST = re.compile(r"smallest budget that would do: (\d+)")


def named_budget(finished):
    """The smallest budget that would do, as the message of a run that failed for want of memory names it."""
    require(finished.status == EXIT_CUDA_ERROR, "expected a clean CUDA error", finished.describe())
    named = SMALLEST.findall(finished.errors)
    require(named, "no message names the smallest budget that would do", finished.describe())
    return int(named[-1])


# ----------------------------------------------------------------------------------------------------------------- TAP
_sentences = []


def sentence(text):
    """Registers the function below it as a test called `text`."""
    def register(function):
        _sentences.append((text, function))
        return function
    return register


def finish():
    """Runs the sentences (those that contain the text in ONLY, if it is set), prints TAP, and ends the script."""
    chosen = [(text, function) for text, function in _sentences if os.environ.get("ONLY", "") in text]
    print(f"1..{len(chosen)}", flush=True)
    failures = 0
    for number, (text, function) in enumerate(chosen, 1):
        try:
            function()
            print(f"ok {number} - {text}", flush=True)
        except Skipped as why:
            print(f"ok {number} - {text} # SKIP {why}", flush=True)
        except Failed as why:
            failures += 1
            print(f"not ok {number} - {text}")
            print("\n".join("# " + line for line in str(why).splitlines()), flush=True)
    sys.exit(1 if failures else 0)
