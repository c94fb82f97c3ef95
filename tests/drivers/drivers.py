"""drivers.py - NVIDIA's own drivers that lie in a folder, and how programs are run with one of them, with and without the library."""
import os
import subprocess
import sys
from pathlib import Path

import lookup
from lookup import SHIM

FOLDER = Path(os.environ["DRIVERS"])
PROGRAMS = Path(os.environ["DRIVERS_PROGRAMS"])
JETSON = {"cuEventCreateFromEGLSync"}  # which the drivers of its boards alone have
FOUND = sorted(path.parent for path in FOLDER.glob("*/libcuda.so.1"))
RUNTIMES = sorted(FOLDER.glob("runtimes/*/nvidia/*/lib/libcudart.so.*"))


def environment(driver, ours):
    dropped = ("SPILLWAY_", "LD_", "CUDA_", "FAKE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return kept | {"LD_LIBRARY_PATH": str(driver)} | ({"LD_PRELOAD": SHIM} if ours else {})


def run(driver, ours, *command, told=(), **more):
    """(exit status, output, errors) of a program that finds this driver; `told` are the lines that it reads."""
    done = subprocess.run([str(part) for part in command], env=environment(driver, ours) | more, input="".join(f"{line}\n" for line in told),
                          capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def version_of(driver):
    """The number of the CUDA version that the driver is of."""
    program = "import ctypes; n = ctypes.c_int(); ctypes.CDLL('libcuda.so.1').cuDriverGetVersion(ctypes.byref(n)); print(n.value)"
    status, said, errors = run(driver, False, sys.executable, "-c", program)
    assert status == 0, errors
    return int(said)


def cases(base):
    """A class of tests for each driver, by its version."""
    return {f"Driver_{driver.name.replace('.', '_')}": type(f"Driver_{driver.name.replace('.', '_')}", (base, lookup.Case), {"DRIVER": driver})
            for driver in FOUND}
