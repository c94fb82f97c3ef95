"""Makes the table of kernel layouts (SIMGPU_LAYOUTS) of a PyTorch wheel: which parameters each of its kernels takes, and what it does
with them. The simulated runtime needs it to stand in for kernels that it cannot run.

    python3 tests/torch/layouts --python VENV/bin/python --output layouts.txt"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
import classify  # noqa: E402
import cubin  # noqa: E402
import images  # noqa: E402
import names  # noqa: E402
import refine  # noqa: E402
import sass  # noqa: E402

USAGE, NO_WHEEL, NO_TOOL, NO_SPACE, NO_KERNELS = 2, 3, 4, 5, 6
LIBRARY = "libtorch_cuda.so"
FIND = "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
# The cubins of one architecture have been 1.5 times as large as the library, which has them compressed and of seven.
SPACE_PER_BYTE = 2
AT_ONCE = 40  # functions to disassemble with one call: their names are one argument, which has to stay below 128 KiB


class Given(Exception):
    """Why there is no table, and the status to end with."""

    def __init__(self, status, why):
        super().__init__(why)
        self.status = status


def wheel(python):
    """The folder of the torch of that Python, and its version."""
    try:
        said = subprocess.run([python, "-c", FIND], capture_output=True, text=True, timeout=60, check=False).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise Given(NO_WHEEL, f"{python} cannot be run: {error}") from error
    folder = Path(said)
    if not said or not (folder / "lib" / LIBRARY).exists():
        raise Given(NO_WHEEL, f"the Python {python} has no torch with CUDA" + (f": no lib/{LIBRARY} in {said}" if said else ""))
    version = re.search(r"^__version__ = '([^'+]+)", (folder / "version.py").read_text(encoding="utf-8"), re.MULTILINE)
    return folder, version.group(1) if version else "unknown"


def tool(name, torch):
    """The path of one of CUDA's tools: where they usually are, and the wheel's Triton brings some."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    places = [*os.environ.get("PATH", "").split(":"), f"{home}/bin", str(torch.parent / "triton/backends/nvidia/bin")]
    return shutil.which(name, path=":".join(places))


def extract(library, architecture, cuobjdump, folder):
    """The cubins of that architecture, in this folder."""
    need, free = library.stat().st_size * SPACE_PER_BYTE, shutil.disk_usage(folder).free
    if free < need:
        raise Given(NO_SPACE, f"{folder} has {free >> 20} MiB free, {need >> 20} MiB are needed for a while")
    done = subprocess.run([cuobjdump, "-xelf", architecture, str(library)], cwd=folder, capture_output=True, text=True, check=False)
    found = sorted(Path(folder).glob("*.cubin"))
    if done.returncode or not found:
        raise Given(NO_KERNELS, f"{cuobjdump} finds no kernels for {architecture} in {library}: {done.stderr.strip()[-200:]}")
    return found


def read(paths):
    """Each kernel once, by name. Some libraries have the same one several times."""
    found = {}
    for path in paths:
        for kernel in cubin.kernels(path):
            found.setdefault(kernel.name, kernel)
    return found


def accesses(kernels, launched, cuobjdump, seconds):
    """What the code of each of these kernels does, by name; without those for which there was no time."""
    wanted, until, found = {}, time.monotonic() + seconds, {}
    for name in sorted(kernels.keys() & launched):
        wanted.setdefault(kernels[name].path, []).append(name)
    calls = [(path, names_[begin:begin + AT_ONCE]) for path, names_ in wanted.items() for begin in range(0, len(names_), AT_ONCE)]
    for path, functions in calls:
        left = until - time.monotonic()
        listing = sass.listing(cuobjdump, path, functions, left) if left > 0 else ""
        for name, steps in sass.code_of(listing).items():
            if name in kernels and time.monotonic() < until:
                found[name] = sass.Flow(steps, kernels[name].base, kernels[name].size).run()
    return found


def line(kernel, uses):
    params = ",".join(f"{offset}:{size}" for offset, size in kernel.params) or "-"
    used = ",".join(f"{use.offset}:{use.size}:{use.how}" for use in refine.settled(uses)) or "-"
    return f"{kernel.name} bytes={kernel.size} shared={kernel.shared} registers={kernel.registers} params={params} uses={used}\n"


def of_images(folder, cuobjdump, seconds):
    """Lines for what programs have made while they ran."""
    until = time.monotonic() + seconds
    return [line(kernel, images.uses(kernel, images.code(kernel, cuobjdump, until - time.monotonic()))) for kernel in images.kernels(folder)]


def table(kernels, found, heading):
    """The text of the whole table, but for images."""
    order, lines = sorted(kernels, key=str.encode), [heading]
    for name, known in zip(order, map(names.parsed, names.demangled(order))):
        uses = classify.uses_of(kernels[name], known)
        lines.append(line(kernels[name], refine.refined(kernels[name], uses, found[name]) if name in found else uses))
    return "".join(lines)


def arguments():
    parser = argparse.ArgumentParser(prog="layouts", description=__doc__.split("\n\n")[0])
    parser.add_argument("--python", required=True, help="the Python that has the wheel")
    parser.add_argument("--output", required=True, type=Path, help="where to write the table; its folder is used for the kernels meanwhile")
    parser.add_argument("--arch", default="sm_90", help="whose kernels (default: %(default)s)")
    parser.add_argument("--launched", type=Path, help="a file with names of kernels, one a line: those that programs have launched. What their "
                        "structs are used for is read off their code; without, only that they may have addresses in them")
    parser.add_argument("--images", type=Path, help="a folder of images that programs have made while they ran (SIMGPU_IMAGES): the table has "
                        "their kernels, too, by what their code does")
    parser.add_argument("--seconds", type=float, default=300, help="for reading the code of either, at most; what is left stays as without "
                        "(default: %(default)s)")
    return parser.parse_args()


def make(options):
    """Writes the table; the number of kernels in it, and that of those whose code was read."""
    launched = set(options.launched.read_text(encoding="utf-8").split()) if options.launched else set()
    torch, version = wheel(options.python)
    cuobjdump = tool("cuobjdump", torch)
    if not cuobjdump:
        raise Given(NO_TOOL, "there is no cuobjdump: not on PATH, not in CUDA's folder, not with the wheel's Triton")
    with tempfile.TemporaryDirectory(prefix="layouts-", dir=options.output.absolute().parent) as folder:
        kernels = read(extract(torch / "lib" / LIBRARY, options.arch, cuobjdump, folder))
        found = accesses(kernels, launched, cuobjdump, options.seconds)
    more = of_images(options.images, cuobjdump, options.seconds) if options.images else []
    whole = table(kernels, found, f"simgpu-layouts 1 torch {version} {options.arch}\n") + "".join(more)
    options.output.write_text(whole, encoding="utf-8")
    return len(kernels), len(found), len(launched)


def main():
    options = arguments()
    try:
        kernels, read_code, launched = make(options)
    except (Given, OSError, cubin.Unreadable) as why:
        print(f"layouts: {why}", file=sys.stderr)
        return why.status if isinstance(why, Given) else NO_KERNELS if isinstance(why, cubin.Unreadable) else USAGE
    print(f"{kernels} kernels" + (f", the code of {read_code} of {launched} read" if launched else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
