#!/usr/bin/env python3
"""PyTorch as its maker ships it for CUDA, where there is no GPU: it imports, trains on the CPU and exits under spillway exactly as it
does without.

The wheel is large, so that this is a suite of its own: ./dev check --torch."""
import os
import subprocess
import tempfile

from harness import PRELOAD, SPILLWAY, Failed, environment, finish, require, sentence

PYTHON = os.environ["TORCH_PYTHON"]
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
PATIENCE = 300
WAYS = {"spillway run": [SPILLWAY, "run", "--"], "a budget": [SPILLWAY, "run", "--budget", "1GiB", "--"],
        "a trace": [SPILLWAY, "run", "--mode", "trace", "--"], "the preload alone": []}


def said(name, arguments, way, folder):
    """Status, output and errors of a program that is started so; None: without spillway."""
    settings = {"PYTHONUNBUFFERED": "1", "TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, f"cache-{list(WAYS).index(way) if way else 'plain'}"), "OMP_NUM_THREADS": "1",
                "PYTHONWARNINGS": "ignore::UserWarning", "SPILLWAY_TRACE_FILE": os.path.join(folder, "trace")}
    before = WAYS.get(way, [])
    if way == "the preload alone":
        settings["LD_PRELOAD"] = PRELOAD
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"] if name == "ranks" else []
    command = [*before, PYTHON, *launcher, os.path.join(PROGRAMS, name + ".py"), *arguments]
    try:
        done = subprocess.run(command, env=environment(settings), cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{' '.join(command)}: still running after {PATIENCE} s") from late
    return done.returncode, done.stdout, done.stderr


def as_without(name, *arguments, ways=tuple(WAYS), status=0, errors=True):
    @sentence(" ".join([name, *arguments]) + ": the same as without spillway, by " + ", ".join(ways))
    def _():
        with tempfile.TemporaryDirectory(prefix="spillway-torch-") as folder:
            plain = said(name, arguments, None, folder)
            require(plain[0] == status and (plain[1] or name == "ends"), f"without spillway: status {plain[0]}, {status} expected", *plain[1:])
            for way in ways:
                under = said(name, arguments, way, folder)
                same = under[0] == plain[0] and under[1] == plain[1] and (not errors or under[2] == plain[2])
                require(same, f"by {way}: status {under[0]}", *under[1:], f"without: status {plain[0]}", *plain[1:])


as_without("train")
as_without("loader")
as_without("processes", ways=("spillway run", "the preload alone"))
as_without("ranks", ways=("spillway run", "the preload alone"), errors=False)  # the launcher's words have times in them
as_without("compiled", ways=("spillway run",), errors=False)
as_without("asks")
for how, expected in (("status", 7), ("exception", 1), ("at-once", 5), ("signal", -15), ("abort", -6), ("exec", 0)):
    as_without("ends", how, ways=("a budget", "the preload alone"), status=expected)
finish()
