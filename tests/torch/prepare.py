#!/usr/bin/env python3
"""prepare.py PYTHON BUILD FOLDER - makes the table of kernel layouts that the suite torch-sim needs, and prints its path.

Made are three things after another: a table of the kernels of PyTorch's wheel as their machine code tells them; the names of those that the
programs launch, and what they compile themselves, by running each for two steps; and the table again, which tells more of these. It lies in
FOLDER under a name made of all that it was made from, so that it is made once, and beside it what was compiled. Where something is missing for
it, one line on stderr says what, and the exit status is 77; where a program does not run on the simulated device, 1."""
import concurrent.futures
import functools
import hashlib
import itertools
import os
import subprocess
import sys
import tempfile

from simulated import HERE, RANKS, ROWS, beside_ranks, command, command_of_ranks, compiled_beside, compiles_not, nccl_of, settings

MAKER = os.path.join(HERE, "layouts")
PATIENCE = 900
AT_ONCE = 2  # programs, as in the suite: host memory stands for that of each device
MISSING = 77  # exit status, as tests have it that are skipped
LACKS = (3, 4, 5, 6)  # how the maker ends without a wheel, a tool, room, or kernels that it knows


class Missing(Exception):
    """What there can be no table without."""


class Failed(Exception):
    """What does not work."""


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def version_of(python):
    """PyTorch's and CUDA's."""
    done = subprocess.run([python, "-c", "import torch; print(torch.__version__, torch.version.cuda)"], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    if done.returncode != 0:
        raise Missing(f"{python} cannot import torch: {last_line(done.stderr)}")
    torch, cuda = done.stdout.split()
    if not cuda.startswith("13."):
        raise Missing(f"PyTorch {torch} is for CUDA {cuda}, and the simulated device is one of CUDA 13")
    return f"{torch} {cuda}"


def sources():
    """Of the tables, and of what is launched; the suites may change without either."""
    for folder in (HERE, os.path.join(HERE, "layouts"), os.path.join(HERE, "sim")):
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            if name.endswith(".py") and name not in ("sim.py", "sim_ranks.py", "cpu.py"):
                yield os.path.join(folder, name)


def key(python):
    """Of all that the table is made from."""
    digest = hashlib.sha256(version_of(python).encode())
    for path in sources():
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:16]


def make(python, path, *options):
    done = subprocess.run([sys.executable, MAKER, "--python", python, "--output", path, *options], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    if done.returncode != 0:
        raise (Missing if done.returncode in LACKS else Failed)(f"no table of kernel layouts: {last_line(done.stderr)}")


def launch(line_of, program, options, environment):
    """`line_of` the options and a number of steps is what to run."""
    steps = 2 if "--evaluate-every" not in options else int(options[options.index("--evaluate-every") + 1])
    done = subprocess.run(line_of(options, steps), env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode != 0:
        raise Failed(f"{program} {' '.join(options)} does not run on the simulated device: {last_line(done.stderr)}")


def programs(python, build, environment):
    """What launch() takes of each, those first that compile: these take longest."""
    for program, row in sorted(((program, row) for program, rows in ROWS.items() for row in rows.values()), key=lambda one: not one[1].compiles):
        if not (row.compiles and compiles_not(python)):
            yield functools.partial(command, python, program), program, row.options, environment
    for row in RANKS.values() if os.path.exists(nccl_of(build)) else ():
        yield functools.partial(command_of_ranks, python), "ranks", row.options, {**environment, **beside_ranks(build)}


def launch_all(python, build, environment, scratch):
    """The names of all kernels that they launch. Each program lists its own: a name may be longer than what is written at once."""
    def listed(number, what):
        path = os.path.join(scratch, f"launched-{number}")
        launch(*what[:-1], {**what[-1], "SIMGPU_LAUNCHED": path})
        return path

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as workers:
        paths = list(workers.map(listed, itertools.count(), programs(python, build, environment)))
    names = set()
    for path in filter(os.path.exists, paths):
        with open(path, encoding="utf-8") as file:
            names.update(file.read().split())
    return names


def prepare(python, build, folder):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, key(python) + ".layouts")
    if not os.path.exists(path):
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            first, launched, images, whole = (os.path.join(scratch, name) for name in ("first", "launched", "images", "whole"))
            os.mkdir(images)
            make(python, first)
            names = launch_all(python, build, {**os.environ, "CI": "", **settings(build, first, compiled=compiled_beside(path)),
                                               "SIMGPU_IMAGES": images, "LD_LIBRARY_PATH": os.path.join(build, "tests", "simgpu")}, scratch)
            with open(launched, "w", encoding="utf-8") as file:
                file.write("\n".join(sorted(names)) + "\n")
            make(python, whole, "--launched", launched, "--images", images)
            os.replace(whole, path)
    return path


if __name__ == "__main__":
    try:
        print(prepare(sys.argv[1], os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])))
    except (Missing, OSError) as why:
        print(why, file=sys.stderr)
        sys.exit(MISSING)
    except (Failed, subprocess.TimeoutExpired) as why:
        sys.exit(str(why))
