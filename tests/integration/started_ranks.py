"""started_ranks.py - programs of several ranks, started by torchrun on the simulated device: what each rank said, and what is left of them."""
import os
import re
import signal
import subprocess
import tempfile
import time
import uuid

from harness import DEVICE, SPILLWAY, Run, environment, read_json

EACH_ITS_OWN = 'eval "SPILLWAY_BUDGET=\\$BUDGET_$LOCAL_RANK"; export SPILLWAY_BUDGET; exec "$@"'
MARK = "RANKS_OF_TEST"


def said_by(folder, rank, what):
    """In the file that torchrun has sent it to."""
    for path, _, names in os.walk(folder):
        if path.endswith(f"attempt_0/{rank}") and what in names:
            with open(os.path.join(path, what), encoding="utf-8", errors="replace") as file:
                return file.read()
    return ""


def process_of(folder, rank):
    found = re.search(r"^memory of process (\d+)$", said_by(folder, rank, "stdout.log"), re.MULTILINE)
    return int(found.group(1)) if found else None


def processes_with(mark):
    """That are left of a run, wherever they went."""
    found, wanted = [], f"{MARK}={mark}".encode()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            pass
    return found


def end(mark):
    for process in processes_with(mark):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Ranks:
    """`count` of them, which `line_of(options, steps, before, between)` starts: torchrun with the options `before`, each rank by the words
    `between`."""

    def __init__(self, count, line_of, env):
        self.count, self.line_of, self.env = count, line_of, env

    def line_within(self, budgets, folder, options, steps):
        """A shell gives each rank its own budget."""
        line = self.line_of(options, steps, ("--redirects", "3", "--log-dir", folder), ("sh", "-c", EACH_ITS_OWN, "sh") if budgets else ())
        return [SPILLWAY, "run", "--budget", str(budgets[0]), "--", *line] if budgets else line

    def settings_of(self, folder, mark, budgets):
        files = {"SIMGPU_STATS": "stats.%p", "SPILLWAY_SUMMARY": "summary.%p"}
        return environment({"LD_LIBRARY_PATH": DEVICE, "SIMGPU_ALIASES": "newest", "SPILLWAY_PLAN": "wait", "SPILLWAY_LOG": "info", **self.env,
                            MARK: mark, **{name: os.path.join(folder, file) for name, file in files.items()},
                            **{f"BUDGET_{rank}": str(budget) for rank, budget in enumerate(budgets)}})

    def start(self, folder, options, steps, budgets):
        mark = uuid.uuid4().hex
        with open(os.path.join(folder, "torchrun"), "w", encoding="utf-8") as log:
            return mark, subprocess.Popen(self.line_within(budgets, folder, options, steps), env=self.settings_of(folder, mark, budgets), cwd=folder,
                                          stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)

    def trained(self, name, options, steps, budgets=(), patience=300):
        """A Run for each rank; what takes longer than `patience` seconds is ended."""
        with tempfile.TemporaryDirectory(prefix="spillway-ranks-") as folder:
            began = time.monotonic()
            mark, torchrun = self.start(folder, options, steps, budgets)
            try:
                status = torchrun.wait(patience)
            except subprocess.TimeoutExpired:
                status = -signal.SIGKILL
            finally:
                end(mark)
            with open(os.path.join(folder, "torchrun"), encoding="utf-8") as file:
                of_torchrun = file.read()
            return [Run(f"rank {rank}: {name} {budgets}", status, said_by(folder, rank, "stdout.log"),
                        said_by(folder, rank, "stderr.log") or of_torchrun,
                        read_json(os.path.join(folder, f"stats.{process_of(folder, rank)}")),
                        read_json(os.path.join(folder, f"summary.{process_of(folder, rank)}")), time.monotonic() - began)
                    for rank in range(self.count)]
