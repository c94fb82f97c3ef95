"""sanitize - the training programs under spillway while compute-sanitizer watches every access of every kernel."""
import re
import shutil

from .. import build, place
from ..device import Watch
from ..results import FAILED, NO_TIME, OK, SKIPPED, Result
from ..training import mib, read
from . import workloads

NAME = 'sanitize'
ABOUT = 'training programs under spillway and compute-sanitizer'
LIMIT_S = 120
SIMULATED = False
COMPILED = True

PROGRAMS = ('mlp', 'gpt', 'resnet')
OPTIONS = ('--size', 'base', '--steps', '2')
BUDGET_PERCENT = 60
RUN_LIMIT_S = 60
LEAST_S = 10
EXIT_ERRORS = 86    # what compute-sanitizer is told to exit with where it found something


def sanitizer():
    """The one on PATH, else the toolkit's; None without one."""
    beside = build.toolkit() / 'bin/compute-sanitizer' if build.toolkit() else None
    return shutil.which('compute-sanitizer') or (beside if beside and beside.exists() else None)


def run(bench):
    tool = sanitizer()
    if not tool:
        return bench.skip(NAME, 'compute-sanitizer is neither on PATH nor in the CUDA toolkit')
    if bench.missing_spillway():
        return bench.skip(NAME, bench.missing_spillway())
    watched = [tool, '--tool', 'memcheck', '--target-processes', 'all', '--error-exitcode', EXIT_ERRORS]
    for name in filter(bench.wants, PROGRAMS):
        if bench.earlier(name):
            continue
        if bench.left_s() < LEAST_S:
            bench.skip(name, NO_TIME)
        else:
            run_one(bench, name, watched)
    return None


def run_one(bench, name, watched):
    program = workloads.program(bench, name, 'static')
    if not program.exists():
        return bench.skip(name, 'not built')
    command = [program, *OPTIONS, *workloads.data(bench, name)]
    plain = bench.step(name, 'plain', lambda: measure(bench, [*watched, *command]))
    if plain.problem:
        return bench.skip(name, f'compute-sanitizer does not get along with the plain run here: {plain.problem}',
                          **plain.told())
    if bench.left_s() < LEAST_S:
        return bench.skip(name, NO_TIME)
    budget = plain.training.peak_bytes * BUDGET_PERCENT // 100
    return bench.add(judge(name, measure(bench, [*watched, place.tool(), 'run', '--budget', budget, '--', *command]), plain,
                           budget))


def measure(bench, command):
    with Watch() as watch:
        outcome = bench.run(command, RUN_LIMIT_S)
    return read(outcome, watch.rise_bytes)


def judge(name, run_, plain, budget):
    """What it found is a failure; what it can't do under spillway (a run too slow for the limit) says nothing."""
    found = re.search(r'ERROR SUMMARY: (\d+) error', run_.outcome.output)
    figures = {'budget_bytes': budget, 'errors': int(found.group(1)) if found else None}
    if run_.outcome.status == EXIT_ERRORS:
        first = re.search(r'^=+ ((?:Invalid|Program hit|Misaligned|Error).*)', run_.outcome.output, re.MULTILINE)
        return Result(name, FAILED, f'{figures["errors"]} errors' + (f', the first: {first.group(1)}' if first else ''),
                      figures, **run_.told())
    if run_.outcome.timed_out:
        return Result(name, SKIPPED, f'it {run_.problem}', figures, **run_.told())
    problem = run_.problem or run_.training.differs(plain.training)
    if problem:
        return Result(name, FAILED, problem, figures, **run_.told())
    return Result(name, OK, f'nothing found, same bits in {mib(budget)}, {BUDGET_PERCENT} % of the peak', figures, **run_.told())
