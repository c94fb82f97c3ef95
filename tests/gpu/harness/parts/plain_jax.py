"""jax - a small transformer in plain JAX, layer by layer: same bits within shrinking budgets, and how fast."""
from .. import scripts

NAME = 'jax'
ABOUT = 'a small transformer in JAX, plain and under spillway'
LIMIT_S = 120
SIMULATED = False

BUDGETS = (100, 80, 60)     # per cent of the plain run's peak
QUICK_BUDGETS = (100, 60)
CASE = 'transformer'


def run(bench):
    if bench.missing_spillway():
        bench.skip('under spillway', bench.missing_spillway())
    scripts.run_case(bench, CASE, [scripts.JAX, '--batch', 16, '--steps', 24], QUICK_BUDGETS if bench.quick else BUDGETS)


def dry(bench):
    scripts.try_tiny(bench, CASE, [scripts.JAX])
