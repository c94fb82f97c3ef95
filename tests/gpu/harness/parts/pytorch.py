"""torch - models that everyone knows in PyTorch, in three precisions: same bits within shrinking budgets, and how fast."""
from .. import scripts

NAME = 'torch'
ABOUT = 'GPT-2 and ResNet-50/101 in PyTorch, plain and under spillway'
LIMIT_S = 175
SIMULATED = False

BUDGETS = (100, 80, 60, 40)     # per cent of the plain run's peak
QUICK_BUDGETS = (100, 60)

BATCH = {'gpt2': 4, 'resnet50': 64, 'resnet101': 64}
STEPS = 24      # spillway watches some, plans, and has to be followed for a few

# (model, precision), in this order: where time runs out, each model and each precision was there once.
CASES = (('gpt2', 'bf16'), ('resnet50', 'fp32'), ('resnet101', 'tf32'),
         ('gpt2', 'fp32'), ('resnet50', 'bf16'), ('gpt2', 'tf32'),
         ('resnet50', 'tf32'), ('resnet101', 'bf16'), ('resnet101', 'fp32'))
QUICK_CASES = CASES[:3]


def arguments(model, precision):
    return [scripts.TORCH, '--model', model, '--precision', precision, '--batch', BATCH[model], '--steps', STEPS]


def run(bench):
    if bench.missing_spillway():
        bench.skip('under spillway', bench.missing_spillway())
    for model, precision in QUICK_CASES if bench.quick else CASES:
        name = f'{model}-{precision}'
        if bench.wants(model) or bench.wants(name):
            scripts.run_case(bench, name, arguments(model, precision), QUICK_BUDGETS if bench.quick else BUDGETS)


def dry(bench):
    for model, precision in QUICK_CASES:
        scripts.try_tiny(bench, f'{model}-{precision}', [scripts.TORCH, '--model', model, '--precision', precision])
