"""compile - GPT-2 under torch.compile, in its default mode and in the one with CUDA graphs: same bits within budgets.

PyTorch's trees of CUDA graphs keep blocks of its own allocator from one replay to the next. With the allocator of the driver,
which spillway has PyTorch use, that mode is expected to fail, and to fail without spillway just so: where it does, that is
what the part tells, and nothing is run within budgets."""
import tempfile

from .. import scripts
from ..results import NO_TIME, OK, Result

NAME = 'compile'
ABOUT = 'GPT-2 under torch.compile, plain and under spillway'
LIMIT_S = 175
SIMULATED = False

GRAPHS = 'reduce-overhead'
MODES = ('default', GRAPHS)
BUDGETS = (100, 80, 60)     # per cent of the plain run's peak
QUICK_BUDGETS = (100, 60)
COMPILED_LIMIT_S = 110      # the first run of a mode compiles, the others find what it made

DRIVERS_ALLOCATOR = dict.fromkeys(('PYTORCH_ALLOC_CONF', 'PYTORCH_CUDA_ALLOC_CONF'), 'backend:cudaMallocAsync')


def run(bench):
    if bench.missing_spillway():
        bench.skip('under spillway', bench.missing_spillway())
    with tempfile.TemporaryDirectory() as folder:
        for mode in filter(bench.wants, MODES):
            arguments = [scripts.TORCH, '--model', 'gpt2', '--batch', 4, '--precision', 'bf16', '--steps', 24, '--compile', mode]
            run_mode(bench, mode, arguments, limit_s=COMPILED_LIMIT_S, TORCHINDUCTOR_CACHE_DIR=folder)


def run_mode(bench, mode, arguments, **how):
    budgets = () if bench.missing_spillway() else QUICK_BUDGETS if bench.quick else BUDGETS
    within = {f'{mode} at {percent} %': percent for percent in budgets}
    plain = scripts.run_plain(bench, mode, arguments, within, **how)
    if not plain or not within or (mode == GRAPHS and not can_be_had(bench, mode, arguments, **how)):
        return
    for title, percent in within.items():
        scripts.run_within(bench, title, arguments, percent, plain, **how)


def can_be_had(bench, mode, arguments, **how):
    """Whether the mode works without spillway, with the allocator that spillway has PyTorch use; tells where it doesn't."""
    name = f'{mode} with backend:cudaMallocAsync, without spillway'
    earlier = bench.earlier(name)
    if earlier:
        return earlier.status == OK and not earlier.figures.get('expected_failure')
    if bench.left_s() < scripts.LEAST_S:
        bench.skip(name, NO_TIME)
        return False
    found = scripts.measure(bench, arguments, **how, **DRIVERS_ALLOCATOR)
    if not found.problem:
        bench.add(Result(name, OK, 'it works: the budgets are tried', **found.told()))
    elif found.outcome.timed_out:
        bench.skip(name, f'it {found.problem}: nothing was tried within budgets', **found.told())
    else:
        bench.add(Result(name, OK, f'expected: PyTorch has no such graphs with this allocator, so there are none under spillway ({found.problem})',
                         {'expected_failure': True}, **found.told()))
    return not found.problem


def dry(bench):
    for mode in MODES:
        scripts.try_tiny(bench, mode, [scripts.TORCH, '--model', 'gpt2', '--compile', mode])
