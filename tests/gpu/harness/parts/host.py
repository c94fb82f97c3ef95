"""host - where the host's time goes: GPT-2 in PyTorch under spillway, sampled."""
import tempfile
from pathlib import Path

from .. import place, scripts
from ..results import FAILED, NO_TIME, OK, SKIPPED, Result
from ..samples import Samples
from . import pytorch

NAME = 'host'
ABOUT = 'where the host\'s time goes under spillway'
LIMIT_S = 90
SIMULATED = False

MODEL, PRECISION = 'gpt2', 'bf16'
BUDGETS = (60, 100)     # per cent of the plain run's peak
STEPS = 120


def run(bench):
    sampler = bench.programs / 'probes/sampler.so'
    missing = bench.missing_spillway() or ('' if sampler.exists() else f'not built: {sampler}')
    if missing:
        return bench.skip('host', missing)
    name = f'{MODEL}-{PRECISION}'
    arguments = [scripts.TORCH, '--model', MODEL, '--precision', PRECISION, '--batch', pytorch.BATCH[MODEL], '--steps', STEPS]
    titles = [f'{name} at {percent} %' for percent in BUDGETS]
    plain = scripts.run_plain(bench, name, arguments, titles)
    for title, percent in zip(titles, BUDGETS) if plain else ():
        if not bench.earlier(title):
            run_sampled(bench, title, arguments, scripts.budget_of(plain, percent), sampler)
    return None


def run_sampled(bench, title, arguments, budget, sampler):
    if bench.left_s() < scripts.LEAST_S:
        return bench.skip(title, NO_TIME)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'samples'
        run_ = scripts.measure(bench, arguments, budget, LD_PRELOAD=sampler, SAMPLES=path)
        text = path.read_text() if path.exists() else ''
    return bench.add(judge(title, run_, text))


def judge(title, run_, text):
    if run_.outcome.status == scripts.MODULE_MISSING:
        return Result(title, SKIPPED, scripts.missing_module(run_.outcome), **run_.told())
    if run_.problem or not text:
        return Result(title, FAILED, run_.problem or 'the sampler wrote nothing', **run_.told())
    samples = Samples(text, place.shim())
    figures = {'step_ms': run_.training.step_ms, **samples.shares(samples.middle_ms())}
    return Result(title, OK, f'{figures["under_spillway_percent"]} % of {figures["samples"]} samples in the second half are under '
                  f'spillway; {run_.training.step_ms:.3f} ms a step', figures, **run_.told())
