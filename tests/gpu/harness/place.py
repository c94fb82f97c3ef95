"""place - where things are: the sources, the build, spillway's own files."""
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROBES = ROOT / 'tests/gpu/probes'
WORKLOADS = ROOT / 'tests/workloads'
SCRIPTS = ROOT / 'tests/gpu/programs'
STRESS = ROOT / 'tests/stress'
CALLS = ROOT / 'shim/driver/calls.h'
TEXT = Path('/usr/share/common-licenses/GPL-3')     # what gpt and lstm learn from, as their sources say

_build = ROOT / 'build'


def use_build(folder):
    """The meson build folder whose spillway is used; build/ unless told."""
    global _build
    _build = Path(folder).resolve()


def build_folder():
    return _build


def shim():
    return _build / 'shim/libspillway.so'


def tool():
    return _build / 'tools/spillway'


def simulated_device():
    return _build / 'tests/simgpu'


def simulated_workloads():
    return _build / 'tests/workloads'
