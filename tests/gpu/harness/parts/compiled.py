"""compile - GPT-2 under torch.compile, in its default mode and in the one with CUDA graphs: same bits within budgets."""
import tempfile

from .. import scripts

NAME = 'compile'
ABOUT = 'GPT-2 under torch.compile, plain and under spillway'
LIMIT_S = 175
SIMULATED = False

MODES = ('default', 'reduce-overhead')
BUDGETS = (100, 80, 60)     # per cent of the plain run's peak
QUICK_BUDGETS = (100, 60)
COMPILED_LIMIT_S = 110      # the first run of a mode compiles, the others find what it made


def run(bench):
    if bench.missing_spillway():
        bench.skip('under spillway', bench.missing_spillway())
    with tempfile.TemporaryDirectory() as folder:
        for mode in filter(bench.wants, MODES):
            arguments = [scripts.TORCH, '--model', 'gpt2', '--batch', 4, '--precision', 'bf16', '--steps', 24, '--compile', mode]
            scripts.run_case(bench, mode, arguments, QUICK_BUDGETS if bench.quick else BUDGETS, COMPILED_LIMIT_S,
                             TORCHINDUCTOR_CACHE_DIR=folder)


def dry(bench):
    for mode in MODES:
        scripts.try_tiny(bench, mode, [scripts.TORCH, '--model', 'gpt2', '--compile', mode])
