"""ranges.py MARKS PROGRAM... - where a program says itself that its iterations begin, a traced run and its report have them begin just there."""
import json
import os
import re
import subprocess
import sys
import tempfile

from harness import EXIT_CUDA_ERROR, PRELOAD, SPILLWAY, environment, finish, require, run, same_results, sentence, succeeded

MARKS, *PROGRAMS = sys.argv[1:]
del sys.argv[1:]

LAUNCH = 0  # kinds of operations in a report
FOLDER = tempfile.TemporaryDirectory(prefix="spillway-ranges-")


HALF = 9  # operations of half a step of PROGRAMS
NOT_TRACKED = -2  # what NVTX answers instead of a depth where no library is


def trace(command, *options, **more):
    """A traced run, and what the report says of it."""
    path = os.path.join(FOLDER.name, "ranges.trace")
    traced = run(command, options=["--mode", "trace", "--output", path, *options], **more)
    succeeded(traced)
    done = subprocess.run([SPILLWAY, "report", "--json", "--time-limit=0", path], env=environment({}), capture_output=True, text=True, timeout=60,
                          check=False)
    require(done.returncode == 0, done.stderr)
    return traced, json.loads(done.stdout)


def kernels(said):
    """The names of the iteration's launches, in order, without what stands behind the word."""
    iteration = said["iteration"]
    require(iteration, "no iteration was found", said["shapes"])
    return [re.match(r"\w*", iteration["names"][name]).group() for name, kind in zip(iteration["ops"]["name"], iteration["ops"]["kind"])
            if kind == LAUNCH]


@sentence("a kernel that is named begins the iteration, in the report too")
def _():
    program = ["gpt", "--size", "tiny", "--steps", "9"]
    _, said = trace(program)
    length, usual = said["iteration"]["operations"], kernels(said)
    once = [name for name in usual[1:] if sum(name in other for other in usual) == 1]
    require(once, "no kernel to be named", usual)
    for name in once:
        traced, said = trace(program, "--iteration-kernel", name)
        require(said["iteration"]["operations"] == length, name, said["shapes"])
        require(kernels(said)[0] == name and said["iteration"]["ops"]["kind"][0] == LAUNCH, f"{kernels(said)[0]} instead of {name}")
        require("had no effect" not in traced.errors, traced.errors)


@sentence("a kernel that is never launched is warned about")
def _():
    traced, _ = trace(["mlp", "--size", "tiny", "--steps", "3"], "--iteration-kernel", "no such kernel")
    require(traced.errors.count('no kernel with "no such kernel" in its name') == 1, traced.errors)


# ---------------------------------------------------------------------------------------------------------- NVTX ranges
def marks():
    """Of the trace made last: (what, operation, length)."""
    done = subprocess.run([MARKS, os.path.join(FOLDER.name, "ranges.trace")], capture_output=True, text=True, timeout=60, check=True)
    return [(what, int(op), int(length)) for what, op, length in (line.split() for line in done.stdout.splitlines())]


def depth(finished):
    return int(re.search(r"^depth of a step: (-?\d+)$", finished.errors, re.MULTILINE).group(1))


def warnings(finished):
    return [line for line in finished.errors.splitlines() if "SPILLWAY_ITERATION_RANGE" in line]


def whole_steps(traced, said, steps, before=0):
    """The iteration is a step, both halves of it, in the running program and in the report, and each begins with its range."""
    hints = [op for what, op, _ in marks() if what == "hint"]
    require(hints == [2 * HALF * step for step in range(before, steps)], "hints", hints)
    begun = [(op, length) for what, op, length in marks() if what == "iteration" and op >= 2 * HALF * (before + 3)]
    require(len(begun) >= steps - before - 3, "iterations that were noticed while it ran", begun)
    require(all(op in hints and length == 2 * HALF for op, length in begun), "iterations elsewhere", begun, hints)
    require([shape["operations"] for shape in said["shapes"]][-1:] == [2 * HALF], said["shapes"])
    shape = said["shapes"][-1]
    require(shape["first_operation"] in hints and shape["last_operation"] in hints, shape, hints)
    require(shape["iterations"] >= steps - before - 3, shape)
    require(said["iteration"]["operations"] == 2 * HALF and said["iteration"]["timed"], said["iteration"]["operations"])
    require(sorted(o for o in said["iteration"]["tensors"]["ordinal"] if o is not None) == [0, 1], "the inputs of both halves")
    require(said["iteration"]["tensors"]["persistent"].count(1) == 4, "the weights", said["iteration"]["tensors"]["persistent"])
    require(not warnings(traced), traced.errors)


def of(program):
    """Sentences about one program: with NVTX's own headers, or with what stands in for them."""
    name = "with NVTX's headers" if program.endswith("-nvtx") else "with a stand-in for NVTX"

    @sentence(f"without a hint half a step is the iteration, and nobody listens, {name}")
    def _():
        traced, said = trace([program, "text", "12"])
        require(said["iteration"]["operations"] == HALF, said["shapes"])
        require(depth(traced) == NOT_TRACKED and not [mark for mark in marks() if mark[0] == "hint"], traced.errors)

    for way, range_name, expected in (("text", "step", 1), ("wide", "Schritt →", 1), ("event", "step", 1), ("start", "step", 1),
                                      ("registered", "step", 0), ("domain", "step", 0), ("text", "st*", 1), ("wide", "Schritt*", 1)):
        @sentence(f"a range '{range_name}' makes both halves of a step the iteration: {way}, {name}")
        def _(way=way, range_name=range_name, expected=expected):
            plain = run([program, way, "10"])
            traced, said = trace([program, way, "10"], "--iteration-range", range_name)
            same_results(plain, traced)
            require(depth(traced) == expected, traced.errors)
            whole_steps(traced, said, 10)

    @sentence(f"ranges that come late put right what was found before, {name}")
    def _():
        traced, said = trace([program, "text", "16", "6"], "--iteration-range", "step")
        whole_steps(traced, said, 16, before=6)

    @sentence(f"the exported graph has both halves, {name}")
    def _():
        trace([program, "text", "8"], "--iteration-range", "step")
        done = subprocess.run([SPILLWAY, "export", os.path.join(FOLDER.name, "ranges.trace")], env=environment({}), capture_output=True,
                              text=True, timeout=60, check=True)
        require(len(json.loads(done.stdout)["ops"]) == 2 * HALF, done.stdout[:300])

    @sentence(f"a range that never begins is warned about once, by its name, {name}")
    def _():
        traced, said = trace([program, "text", "12"], "--iteration-range", "Schritt")
        require(len(warnings(traced)) == 1 and '"Schritt"' in warnings(traced)[0], traced.errors)
        require(said["iteration"]["operations"] == HALF, said["shapes"])

    @sentence(f"another tool keeps its ranges, which is said once, {name}")
    def _():
        traced, _ = trace([program, "text", "8"], "--iteration-range", "step", env={"NVTX_INJECTION64_PATH": "/opt/profiler.so"})
        require(len(warnings(traced)) == 1 and "/opt/profiler.so" in warnings(traced)[0], traced.errors)
        require(depth(traced) == NOT_TRACKED, traced.errors)

    @sentence(f"in a plain preload the range is heard too, with the library named by a path from where it starts, {name}")
    def _():
        path = os.path.join(FOLDER.name, "ranges.trace")
        env = {"SPILLWAY_MODE": "trace", "SPILLWAY_TRACE_FILE": path, "SPILLWAY_ITERATION_RANGE": "step"}
        for more, without in (({}, 0), ({"LD_PRELOAD": os.path.relpath(PRELOAD, FOLDER.name)}, 0),
                              ({"LD_PRELOAD": os.path.relpath(PRELOAD, FOLDER.name)}, 1), ({"NVTX_INJECTION64_PATH": PRELOAD}, 0)):
            traced = run([program, "text", "8", str(without)], via="none", env={"LD_PRELOAD": PRELOAD, **env, **more}, start_in=FOLDER.name)
            succeeded(traced)
            require(depth(traced) == 1 - without and not warnings(traced), more, traced.errors)
            require(len([mark for mark in marks() if mark[0] == "hint"]) == 8 - without, more, marks())

    @sentence(f"where nothing is traced nobody listens, {name}")
    def _():
        plain = run([program, "text", "4"])
        for options in (["--mode", "swap"], ["--mode", "off"]):
            finished = run([program, "text", "4"], options=[*options, "--iteration-range", "step"])
            same_results(plain, finished)
            require(depth(finished) == NOT_TRACKED and not warnings(finished), options, finished.errors)


for each in PROGRAMS:
    of(each)


@sentence("a program without NVTX is told that nothing could be heard")
def _():
    traced, _ = trace(["mlp", "--size", "tiny", "--steps", "3"], "--iteration-range", "step")
    require(len(warnings(traced)) == 1 and "nor any other that spillway could see" in warnings(traced)[0], traced.errors)


@sentence("a kernel and a range together are refused, before the program starts and in a plain preload")
def _():
    both = {"SPILLWAY_ITERATION_KERNEL": "softmax", "SPILLWAY_ITERATION_RANGE": "step"}
    refused = run([PROGRAMS[0]], options=["--iteration-kernel", "softmax", "--iteration-range", "step"])
    require(refused.status == 2 and not refused.output, refused.describe())
    preloaded = run([PROGRAMS[0]], via="preload", env=both)
    require(preloaded.status == EXIT_CUDA_ERROR, preloaded.describe())
    for finished in (refused, preloaded):
        require(all(name in finished.errors for name in both) and "accepted" in finished.errors, finished.describe())


finish()
