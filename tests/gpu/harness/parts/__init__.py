"""parts - what tests/gpu/run can do, one file each.

A part is a module with NAME, ABOUT (one line), LIMIT_S (its share of the time), SIMULATED (whether it also runs on the
simulated device) and run(bench), which adds results to bench.book. It may have COMPILED, true
where it runs programs that hold machine code for some devices and not for others, and rest(bench), what matters less and is run
when all parts had their turn; those that run scripts also have dry(bench), which tries each of these on the CPU. A new part
is a file here and its name in PARTS."""
from . import batch, compiled, host, peers, plain_jax, probe, pytorch, sanitize, stress, workloads

# In the order of what matters most: where the time for all is short, the last ones get none.
PARTS = {module.NAME: module for module in (probe, workloads, pytorch, peers, batch, compiled, plain_jax, stress,
                                             sanitize, host)}
