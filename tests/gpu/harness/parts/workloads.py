"""workloads - the training programs, plain and under spillway at shrinking budgets: same bits, within the budget, how fast."""
import json
import tempfile
from pathlib import Path

from .. import place
from ..build import PROGRAMS
from ..device import Watch
from ..results import FAILED, NO_TIME, OK, Result
from ..training import Summaries, beside_context, mib, read, says

NAME = 'workloads'
ABOUT = 'training programs, plain and under spillway'
LIMIT_S = 170
SIMULATED = True
COMPILED = True

# Per cent of the plain run's peak, in this order: where time runs out, what is missing says least.
BUDGETS = (100, 60, 40, 80, 50)
QUICK_BUDGETS = (100, 60)
RUN_LIMIT_S = 60
LEAST_S = 2

# On a GPU large enough that tensors are worth moving, and short; on the simulated device as large as two cores bear.
OPTIONS = {
    'gpu': ('--size', 'base', '--steps', '6'),
    'simulated': ('--size', 'small', '--steps', '4'),
}
SHORT = ('--size', 'small', '--steps', '2')     # for a spy that looks at every launch
READ_TEXT = ('gpt', 'lstm')
READ_DIGITS = ('resnet', 'mlp')


def program(bench, name, variant):
    return place.simulated_workloads() / name if bench.simulated else bench.programs / 'workloads' / variant / name


def data(bench, name):
    """What the program learns from: the text, where this machine lacks it and the build has brought it along, or the images
    of the tree or the pack, which a program that lies elsewhere would not find."""
    if name in READ_DIGITS and place.DIGITS.exists():
        return ('--data', place.DIGITS)
    brought = bench.programs / 'data' / place.TEXT.name
    return ('--data', brought) if name in READ_TEXT and not place.TEXT.exists() and brought.exists() else ()


def measure(bench, command, **environment):
    """Runs a training program and reads what it says and what the device counted."""
    with tempfile.TemporaryDirectory() as folder:
        stats = Path(folder) / 'stats.json'
        if bench.simulated:
            environment.update(SIMGPU_STATS=stats, SIMGPU_GRANULARITY='64KiB')   # small tensors are to be moved too
        with Summaries() as summaries, Watch() as watch:
            outcome = bench.run(command, RUN_LIMIT_S, **summaries.setting, **environment)
            twin_bytes = summaries.twin_bytes()
        counted = json.loads(stats.read_text())['peak_mapped_bytes'] if stats.exists() else watch.rise_bytes
    return read(outcome, counted, twin_bytes)


def run(bench):
    """All plain runs, then budget by budget all programs under spillway."""
    plain = {name: run_plain(bench, name) for name in filter(bench.wants, PROGRAMS)}
    plain = {name: reference for name, reference in plain.items() if reference}
    if bench.missing_spillway():
        return bench.skip('under spillway', bench.missing_spillway())
    for number, percent in enumerate(QUICK_BUDGETS if bench.quick else BUDGETS):
        for name, reference in plain.items():
            run_under_spillway(bench, name, variants(bench)[number % len(variants(bench))], percent, reference)
    return None


def variants(bench):
    """How the programs are linked with the CUDA runtime."""
    return ('static',) if bench.simulated else ('static', 'shared')


def options(bench, name):
    return OPTIONS['simulated' if bench.simulated else 'gpu'] + data(bench, name)


def run_plain(bench, name):
    """Runs each variant; returns the first run, which everything is compared with, or None."""
    first = None
    for variant in variants(bench):
        path, title = program(bench, name, variant), f'{name} {variant}'
        earlier, found = bench.earlier(title), bench.recall(title)
        if found:
            first = first or found
        elif earlier and earlier.status != OK:
            continue
        elif not path.exists():
            message = bench.failures.get(f'workloads/{variant}/{name}', 'there is no such program in the build')
            bench.fail(title, f'not built: {message.splitlines()[-1]}', errors=message)
        elif bench.left_s() < LEAST_S:
            bench.skip(title, NO_TIME)
        else:
            first = run_variant(bench, title, [path, *options(bench, name)], first)
    return first


def run_variant(bench, title, command, first):
    """Holds it against the first one, when it isn't that itself. Returns the first one."""
    found = measure(bench, command)
    first = first or (found if found.training else None)
    result = judge_plain(title, found, first)
    if result.status == OK:
        bench.keep(title, found)
    bench.add(result)
    return first


def run_under_spillway(bench, name, variant, percent, plain):
    title = f'{name} {variant} at {percent} %'
    if bench.earlier(title):
        return None
    if bench.left_s() < LEAST_S:
        return bench.skip(title, NO_TIME)
    budget = plain.training.peak_bytes * percent // 100
    command = [place.tool(), 'run', '--budget', budget, '--', program(bench, name, variant), *options(bench, name)]
    return bench.add(judge(bench, title, measure(bench, command), plain, budget))


def judge_plain(name, run_, reference):
    more = run_.told()
    problem = run_.problem
    if not problem:
        problem = run_.training.differs(reference.training)
    if problem:
        return Result(name, FAILED, f'plain run: {problem}', **more)
    figures = {'steps': len(run_.training.losses), 'step_ms': run_.training.step_ms,
               'peak_bytes': run_.training.peak_bytes, 'device_bytes': run_.device_bytes}
    return Result(name, OK, f'peak {mib(run_.training.peak_bytes)}, {run_.training.step_ms:.3f} ms a step', figures, **more)


def judge(bench, name, run_, plain, budget):
    """A run under spillway is right when its bits are the plain run's and the device's own count stayed in the budget."""
    more = run_.told()
    problem = run_.problem or run_.training.differs(plain.training)
    used, over = mapped_bytes(bench, run_, plain)
    figures = {'budget_bytes': budget, 'device_bytes': run_.device_bytes, 'mapped_bytes': used,
               'twin_bytes': run_.twin_bytes}
    if says(run_.outcome.errors):
        figures['spillway_says'] = says(run_.outcome.errors)
    if run_.training:
        slowdown = run_.training.step_ms / plain.training.step_ms if plain.training.step_ms else 0.0
        figures.update(step_ms=run_.training.step_ms, slowdown=slowdown)
    if not problem and used is not None and used > budget + over:
        problem = f'{mib(used)} were mapped, more than the budget of {mib(budget)}'
    if problem:
        return Result(name, FAILED, problem, figures, **more)
    peak = 'a peak that NVML did not tell' if used is None else f'a peak of {mib(used)}'
    return Result(name, OK, f'same bits, {peak} in a budget of {mib(budget)}, {run_.training.step_ms:.3f} ms a step '
                  f'({slowdown:.2f} times the plain run\'s)', figures, **more)


def mapped_bytes(bench, run_, plain):
    """(bytes, tolerance): what the program's allocations had on the device at most. The simulated device counts just that."""
    return (run_.device_bytes, 0) if bench.simulated else beside_context(run_, plain)
