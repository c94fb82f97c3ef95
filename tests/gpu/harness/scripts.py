"""scripts - runs the training scripts of tests/gpu/programs, plain and under spillway, and judges what they say."""
import functools
import time
from pathlib import Path

from . import child, place
from .device import Watch
from .results import FAILED, NO_TIME, NOT_RUN, OK, SKIPPED, Result
from .training import Summaries, beside_context, mib, read, says

TORCH = place.SCRIPTS / 'train_torch.py'
JAX = place.SCRIPTS / 'train_jax.py'

MODULE_MISSING = 77     # the exit status with which they say so
RUN_LIMIT_S = 120
LEAST_S = 15            # a run that has less is not begun: importing the framework alone takes a good part of that

# Per cent of the plain run's peak, and how many times the plain run's step time are aimed at there.
GOALS = {100: 1.01, 80: 1.05, 60: 1.15}


class Begun:
    """A script that was started, and imports what it needs until it is given its turn on the device (programs/turn.py)."""

    def __init__(self, bench, arguments, budget, environment):
        self.key = (arguments, budget, environment)
        self.summaries = Summaries().__enter__()
        self.started = bench.start_script(command_of(bench, arguments, budget), TURN=self.summaries.turn,
                                          **self.summaries.setting, **environment)

    def wait_until_ready(self, limit_s):
        """Until it is, or has ended, or does not know of turns."""
        process, end = self.started.process, time.monotonic() + limit_s
        while process and process.poll() is None and not Path(f'{self.summaries.turn}.ready').exists():
            if time.monotonic() > end:
                break
            time.sleep(0.002)

    def give_turn(self):
        Path(f'{self.summaries.turn}.go').touch()

    def close(self):
        child.drop(self.started)
        self.summaries.__exit__()


def command_of(bench, arguments, budget):
    command = [bench.python, *arguments]
    return [place.tool(), 'run', '--budget', budget, '--', *command] if budget else command


def begin_ahead(bench, arguments, budget=None, **environment):
    """What is measured next, if it is this, imports what it needs meanwhile."""
    drop_ahead(bench)
    if bench.left_s() >= 2 * LEAST_S:
        bench.ahead = Begun(bench, arguments, budget, environment)


def drop_ahead(bench):
    if bench.ahead:
        bench.ahead.close()
    bench.ahead = None


def measure(bench, arguments, budget=None, limit_s=RUN_LIMIT_S, then=None, **environment):
    """Runs a script and reads what it says and what NVML counted meanwhile; under spillway when there is a budget. `then` begins
    what comes next, once this one is to have the device."""
    begun, bench.ahead = bench.ahead, None
    if begun and begun.key != (arguments, budget, environment):
        begun.close()
        begun = None
    begun = begun or Begun(bench, arguments, budget, environment)
    try:
        begun.wait_until_ready(min(limit_s, bench.left_s()))
        if then:
            then()
        with Watch() as watch:
            begun.give_turn()
            outcome = bench.finish(begun.started, limit_s)
        return read(outcome, watch.rise_bytes, begun.summaries.twin_bytes())
    finally:
        begun.close()


def run_case(bench, name, arguments, budgets, limit_s=RUN_LIMIT_S, **environment):
    """The plain run, then one under spillway at each of these per cent of its peak."""
    within = () if bench.missing_spillway() else [(f'{name} at {percent} %', percent) for percent in budgets]
    plain = run_plain(bench, name, arguments, [title for title, _ in within], limit_s=limit_s, **environment)
    left = [(title, percent) for title, percent in within if not bench.earlier(title)] if plain else []
    try:
        for (title, percent), (_, following) in zip(left, [*left[1:], (None, None)]):
            then = functools.partial(begin_ahead, bench, arguments, budget_of(plain, following), **environment) if following else None
            run_within(bench, title, arguments, percent, plain, limit_s=limit_s, then=then, **environment)
    finally:
        drop_ahead(bench)


def run_plain(bench, name, arguments, others, **how):
    """The run that the results of these other names are compared with, perhaps one of an earlier start. None when it
    can't be had, which is then told, or when nothing is missing. `how` is for measure()."""
    earlier = bench.earlier(name)
    if earlier and (earlier.status != OK or all(map(bench.earlier, others))):
        return None
    found = bench.recall(name)
    if found:
        return found
    if bench.left_s() < LEAST_S:
        bench.skip(name, NO_TIME)
        return None
    found = measure(bench, arguments, **how)
    result = judge_plain(name, found)
    if result.status == OK:
        bench.keep(name, found)
    bench.add(result)
    return found if result.status == OK else None


def budget_of(plain, percent):
    return plain.training.peak_bytes * percent // 100


def run_within(bench, name, arguments, percent, plain, **how):
    if bench.earlier(name):
        return None
    if bench.left_s() < LEAST_S:
        return bench.skip(name, NO_TIME)
    budget = budget_of(plain, percent)
    found = measure(bench, arguments, budget, **how)
    how.pop('then', None)
    again = plain_again(bench, found, plain, arguments, **how)
    if plain.remembered and again and again.training and again.training.differs(plain.training):
        plain = again       # what the earlier start ran with, PyTorch for instance, is not what there is now
        again = plain_again(bench, found, plain, arguments, **how)
    return bench.add(judge(name, found, plain, budget, GOALS.get(percent), again))


def plain_again(bench, found, plain, arguments, **how):
    """Where bits differ and there is time, another plain run; None where not."""
    if not found.training or not found.training.differs(plain.training) or bench.left_s() <= LEAST_S:
        return None
    again = measure(bench, arguments, **how)
    bench.cut = False       # the run that is judged had its time
    return again


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
    return f'{NOT_RUN}{last}'


def try_tiny(bench, name, arguments):
    """A dry run: two steps of a tiny model on the CPU, without spillway."""
    if bench.left_s() < LEAST_S:
        return bench.skip(name, NO_TIME)
    found = measure(bench, [*arguments, '--device', 'cpu', '--tiny', '--batch', '2', '--steps', '2'], limit_s=120)
    result = judge_plain(name, found)
    if result.status == OK:
        result.summary, result.figures = 'two steps of a tiny model on the CPU, as they should be', {}
    return bench.add(result)
