"""lookup.py - what the look-up tests share: running a program under the library with a driver that writes down its callers."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ.get("LOOKUP_BUILD", "."))
SOURCE = Path(os.environ.get("LOOKUP_SOURCE", "."))
SHIM = os.environ.get("LOOKUP_SHIM", "")
COMMAND = os.environ.get("LOOKUP_COMMAND", "")
OURS = Path(SHIM).name

# kind, symbol, name that it is asked for, parameters
TABLE = re.findall(r'X\(([A-Z_]+), (\w+), "(\w+)", \((.*?)\), \(', (SOURCE / "shim/driver/calls.h").read_text())
CALLS = [line[:3] for line in TABLE]
COVERED = {symbol for _, symbol, _ in CALLS}
ASKED = {asked for _, _, asked in CALLS}
NAMES = [n for n in (SOURCE / "shim/entry/forward.list").read_text().split("\n") if n and not n.startswith("#")]
AGES = ("11.8", "12.2", "12.4", "12.8", "13.0", "13.4")  # of the fake drivers


def version_of(age):
    """The number by which CUDA knows an age."""
    major, minor = map(int, age.split("."))
    return major * 1000 + minor * 10


def read_introduced():
    """The version that brought each name; 0 for those that cuGetProcAddress does not answer."""
    since = dict.fromkeys(NAMES, 0)
    for line in (SOURCE / "tests/lookup/fake/introduced.list").read_text().split("\n"):
        if line and not line.startswith("#"):
            age, *names = line.split()
            since.update(dict.fromkeys(names, version_of(age)))
    return since


INTRODUCED = read_introduced()


class Case(unittest.TestCase):
    """A folder of its own, with fake drivers under the name that programs ask for."""

    AGE = "13.0"
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.log = self.folder / "driver.log"

    def driver_folder(self, age=None):
        age = age or self.AGE
        folder = self.folder / age
        folder.mkdir(exist_ok=True)
        link = folder / "libcuda.so.1"
        if not link.exists():
            link.symlink_to(BUILD / f"libfake-{age}.so")
        return folder

    def environment(self, age="", preload=SHIM, **more):
        """The environment of a program that finds a fake driver of this age (None: no driver at all)."""
        age = self.AGE if age == "" else age
        drop = ("SPILLWAY_", "FAKE_", "PYTORCH_", "XLA_", "TF_GPU")
        env = {k: v for k, v in os.environ.items() if not k.startswith(drop) and k not in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
        if preload:
            env["LD_PRELOAD"] = preload
            env["SPILLWAY_MODE"] = "trace"
            env["SPILLWAY_TRACE_FILE"] = str(self.folder / "trace")
        if age:
            env["LD_LIBRARY_PATH"] = str(self.driver_folder(age))
            env["FAKE_VERSION"] = str(version_of(age))
        elif preload:
            env["SPILLWAY_DRIVER"] = str(self.folder / "no-driver")
        env["FAKE_LOG"] = str(self.log)
        env.update({k: v for k, v in more.items() if v is not None})
        for name in [k for k, v in more.items() if v is None]:
            env.pop(name, None)
        return env

    def run_program(self, *command, env, timeout=90):
        done = subprocess.run([str(c) for c in command], env=env, capture_output=True, text=True, timeout=timeout)
        self.said = done.stderr
        return done

    def calls(self):
        """What the driver saw: a list of (function, object that called it)."""
        lines = self.log.read_text().split("\n") if self.log.exists() else []
        return [tuple(line.split()[1:3]) for line in lines if line.startswith("call ")]

    def assert_all_covered_calls_are_ours(self):
        past = {(name, caller) for name, caller in self.calls() if name in COVERED and caller != OURS}
        self.assertEqual(past, set(), "covered calls that went past the library")


class Tap(unittest.TextTestResult):
    """Results as TAP, so that each test is one line of its own."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.number = 0

    def line(self, ok, test, note=""):
        self.number += 1
        print(f"{'ok' if ok else 'not ok'} {self.number} - {test.id().split('.', 1)[1]}{note}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.line(True, test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line(True, test, f" # SKIP {reason}")

    def tell(self, test, error):
        self.line(False, test)
        print("\n".join("# " + l for l in self._exc_info_to_string(error, test).split("\n")), flush=True)
        print("\n".join("# said: " + l for l in getattr(test, "said", "").split("\n")[:20]), flush=True)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.tell(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self.tell(test, error)


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    print(f"1..{suite.countTestCases()}", flush=True)
    with open(os.devnull, "w") as nowhere:
        runner = unittest.TextTestRunner(stream=nowhere, resultclass=Tap)
        sys.exit(not runner.run(suite).wasSuccessful())
