"""scripts - runs the training scripts of tests/gpu/programs, plain and under spillway, and judges what they say."""
from . import child, place
from .device import Watch
from .results import FAILED, OK, SKIPPED, Result
from .training import Summaries, beside_context, mib, read, says

TORCH = place.SCRIPTS / 'train_torch.py'
JAX = place.SCRIPTS / 'train_jax.py'

MODULE_MISSING = 77     # the exit status with which they say so
RUN_LIMIT_S = 60
LEAST_S = 15            # a run that has less is not begun: importing the framework alone takes a good part of that

# Per cent of the plain run's peak, and how many times the plain run's step time are aimed at there.
GOALS = {100: 1.01, 80: 1.05, 60: 1.15}


def measure(bench, arguments, budget=None, limit_s=RUN_LIMIT_S, **environment):
    """Runs a script and reads what it says and what NVML counted meanwhile; under spillway when there is a budget."""
    command = [bench.python, *arguments]
    if budget:
        command = [place.tool(), 'run', '--budget', budget, '--', *command]
    with Summaries() as summaries, Watch() as watch:
        outcome = child.run(command, min(limit_s, max(bench.left_s(), 1)),
                            bench.script_environment(**summaries.setting, **environment))
        twin_bytes = summaries.twin_bytes()
    return read(outcome, watch.rise_bytes, twin_bytes)


def run_case(bench, name, arguments, budgets, limit_s=RUN_LIMIT_S, **environment):
    """The plain run, then one under spillway at each of these per cent of its peak. Returns the plain one, or None."""
    plain = run_plain(bench, name, arguments, limit_s=limit_s, **environment)
    if plain and not bench.missing_spillway():
        for percent in budgets:
            run_within(bench, f'{name} at {percent} %', arguments, percent, plain, limit_s=limit_s, **environment)
    return plain


def run_plain(bench, name, arguments, **how):
    """The run that others are compared with; None when there is none, which is then told. `how` is for measure()."""
    if bench.left_s() < LEAST_S:
        bench.skip(name, 'no time was left')
        return None
    found = measure(bench, arguments, **how)
    result = judge_plain(name, found)
    bench.add(result)
    return found if result.status == OK else None


def run_within(bench, name, arguments, percent, plain, **how):
    if bench.left_s() < LEAST_S:
        return bench.skip(name, 'no time was left')
    budget = plain.training.peak_bytes * percent // 100
    found = measure(bench, arguments, budget, **how)
    again = None
    if found.training and found.training.differs(plain.training) and bench.left_s() > LEAST_S:
        again = measure(bench, arguments, **how)
    return bench.add(judge(name, found, plain, budget, GOALS.get(percent), again))


def judge_plain(name, run):
    if run.outcome.status == MODULE_MISSING:
        return Result(name, SKIPPED, missing_module(run.outcome), **run.told())
    if run.problem:
        return Result(name, FAILED, f'plain run: {run.problem}', **run.told())
    figures = {'steps': len(run.training.losses), 'step_ms': run.training.step_ms, 'peak_bytes': run.training.peak_bytes,
               'allocated_bytes': run.training.allocated_bytes, 'device_bytes': run.device_bytes}
    return Result(name, OK, f'peak {mib(run.training.peak_bytes)}, {run.training.step_ms:.3f} ms a step', figures, **run.told())


def judge(name, run, plain, budget, goal=None, again=None):
    """A run under spillway has failed when its bits aren't the plain run's or its peak is above the budget. A goal of time
    that is missed is told. Where a second plain run (`again`) differs from the first, bits say nothing about spillway."""
    used, over = beside_context(run, plain)
    figures = {'budget_bytes': budget, 'device_bytes': run.device_bytes, 'mapped_bytes': used, 'twin_bytes': run.twin_bytes,
               'spillway_says': says(run.outcome.errors)}
    problem = run.problem or run.training.differs(plain.training)
    if run.training and problem and again and again.training and again.training.differs(plain.training):
        return Result(name, SKIPPED, f'the program is not the same twice without spillway either: '
                      f'{again.training.differs(plain.training)}', figures, **run.told())
    if not problem and used is not None and used > budget + over:
        problem = f'{mib(used)} were mapped, more than the budget of {mib(budget)}'
    if problem:
        return Result(name, FAILED, problem, figures, **run.told())
    slowdown = run.training.step_ms / plain.training.step_ms if plain.training.step_ms else 0.0
    figures.update(step_ms=run.training.step_ms, plain_step_ms=plain.training.step_ms, slowdown=slowdown)
    peak = 'a peak that NVML did not tell' if used is None else f'a peak of {mib(used)}'
    text = (f'same bits, {peak} in a budget of {mib(budget)}, {run.training.step_ms:.3f} ms a step '
            f'({slowdown:.3f} times the plain run\'s{against(slowdown, goal)})')
    if goal:
        figures.update(goal=goal, goal_met=slowdown <= goal)
    return Result(name, OK, text, figures, **run.told())


def against(ratio, goal):
    """In words, whether a goal was met; '' where there is none."""
    return f'; goal {goal:g} {"met" if ratio <= goal else "missed"}' if goal else ''


def missing_module(outcome):
    last = next((line for line in reversed(outcome.errors.splitlines()) if line.strip()), 'a module is missing')
    return f'not run: {last}'


def try_tiny(bench, name, arguments):
    """A dry run: two steps of a tiny model on the CPU, without spillway."""
    if bench.left_s() < LEAST_S:
        return bench.skip(name, 'no time was left')
    found = measure(bench, [*arguments, '--device', 'cpu', '--tiny', '--batch', '2', '--steps', '2'], limit_s=120)
    result = judge_plain(name, found)
    if result.status == OK:
        result.summary, result.figures = 'two steps of a tiny model on the CPU, as they should be', {}
    return bench.add(result)
