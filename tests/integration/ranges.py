"""ranges.py - where a program says itself that its iterations begin, a traced run and its report have them begin just there."""
import json
import os
import re
import subprocess
import tempfile

from harness import SPILLWAY, environment, finish, require, run, sentence, succeeded

LAUNCH = 0  # kinds of operations in a report
FOLDER = tempfile.TemporaryDirectory(prefix="spillway-ranges-")


def trace(command, *options, **more):
    """A traced run, and what the report says of it."""
    path = os.path.join(FOLDER.name, "ranges.trace")
    traced = run(command, options=["--mode", "trace", "--output", path, *options], **more)
    succeeded(traced)
    done = subprocess.run([SPILLWAY, "report", "--json", path], env=environment({}), capture_output=True, text=True, timeout=60,
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


finish()
