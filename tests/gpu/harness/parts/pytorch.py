"""torch - models that everyone knows in PyTorch, in three precisions: same bits within shrinking budgets, and how fast."""
from .. import scripts

NAME = 'torch'
ABOUT = 'GPT-2, ResNet-50/101 and BERT in PyTorch, plain and under spillway'
LIMIT_S = 175
SIMULATED = False

BUDGETS = (100, 80, 60, 40)     # per cent of the plain run's peak
QUICK_BUDGETS = (100, 60)

BATCH = {'gpt2': 4, 'resnet50': 64, 'bert-base': 16, 'resnet101': 64}
STEPS = 240     # the host takes seconds for a plan, and the device a tenth of one for a step: the last third is to go by it

# (model, precision): the models that everyone knows, each precision once; and when all parts had their turn, the others.
BASE = (('gpt2', 'bf16'), ('resnet50', 'fp32'), ('bert-base', 'tf32'))
OTHERS = (('resnet101', 'tf32'), ('gpt2', 'fp32'), ('bert-base', 'bf16'), ('resnet50', 'bf16'), ('gpt2', 'tf32'),
          ('bert-base', 'fp32'), ('resnet50', 'tf32'), ('resnet101', 'bf16'), ('resnet101', 'fp32'))


def arguments(model, precision):
    return [scripts.TORCH, '--model', model, '--precision', precision, '--batch', BATCH[model], '--steps', STEPS]


def run(bench):
    if bench.missing_spillway():
        bench.skip('under spillway', bench.missing_spillway())
    run_cases(bench, BASE)


def rest(bench):
    run_cases(bench, () if bench.quick else OTHERS)


def run_cases(bench, cases):
    for model, precision in cases:
        name = f'{model}-{precision}'
        if bench.wants(model) or bench.wants(name):
            scripts.run_case(bench, name, arguments(model, precision), QUICK_BUDGETS if bench.quick else BUDGETS)


def dry(bench):
    for model, precision in BASE:
        scripts.try_tiny(bench, f'{model}-{precision}', [scripts.TORCH, '--model', model, '--precision', precision])
