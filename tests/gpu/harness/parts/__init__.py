"""parts - what tests/gpu/run can do, one file each.

A part is a module with NAME, ABOUT (one line), LIMIT_S (its share of the time), SIMULATED (whether it also runs on the
simulated device) and run(bench), which adds results to bench.book. A new part is a file here and its name in PARTS."""
from . import probe, workloads

PARTS = {module.NAME: module for module in (probe, workloads)}
