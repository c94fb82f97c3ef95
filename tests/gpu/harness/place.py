"""place - where things are: the sources or the pack, the build, spillway's own files."""
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROBES = ROOT / 'tests/gpu/probes'
WORKLOADS = ROOT / 'tests/workloads'
SCRIPTS = ROOT / 'tests/gpu/programs'
STRESS = ROOT / 'tests/stress'
CALLS = ROOT / 'shim/driver/calls.h'
DIGITS = WORKLOADS / 'data/digits.bin'
PACK = 'pack.json'      # in the root of a pack (harness/pack.py), which is laid out as the tree is
TEXT = Path('/usr/share/common-licenses/GPL-3')     # what gpt and lstm learn from, as their sources say

_build = ROOT / 'build'
_simulation = None


def use_build(folder):
    """The meson build folder whose spillway is used; build/ unless told."""
    global _build
    _build = Path(folder).resolve()


def use_simulation(folder):
    """The meson build folder with the simulated device and its programs; that of spillway unless told."""
    global _simulation
    _simulation = Path(folder).resolve() if folder else None


def build_folder():
    return _build


def simulation():
    return _simulation or _build


def shim():
    return _build / 'shim/libspillway.so'


def tool():
    return _build / 'tools/spillway'


def simulated_device():
    return simulation() / 'tests/simgpu'


def simulated_workloads():
    return simulation() / 'tests/workloads'
