"""workloads - the training programs, plain and under spillway at shrinking budgets: same bits, within the budget, how fast."""
import json
import re
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .. import place
from ..build import PROGRAMS
from ..device import Watch
from ..results import FAILED, OK, Result

NAME = 'workloads'
ABOUT = 'training programs, plain and under spillway'
LIMIT_S = 280
SIMULATED = True

# Per cent of the plain run's peak, in this order: where time runs out, what is missing says least.
BUDGETS = (100, 60, 40, 80, 50)
QUICK_BUDGETS = (100, 60)
RUN_LIMIT_S = 60

# On a GPU large enough that tensors are worth moving, and short; on the simulated device as large as two cores bear.
OPTIONS = {
    'gpu': ('--size', 'base', '--steps', '6'),
    'simulated': ('--size', 'small', '--steps', '4'),
}
SHORT = ('--size', 'small', '--steps', '2')     # for a spy that looks at every launch
READ_TEXT = ('gpt', 'lstm')

# What the context, spillway's own streams and the loaded kernels may differ by between two runs, as NVML counts.
NVML_SLACK_BYTES = 96 << 20


@dataclass
class Training:
    """What one run of a training program printed."""
    losses: list            # the bits of each loss, as hex
    parameters: str         # the checksum of all parameters at the end
    step_ms: float          # median; 0 when it was not told
    peak_bytes: int         # of its allocations, by its own count

    def differs(self, other):
        """Where two runs part, in words; '' when they are equal to the bit."""
        if len(self.losses) != len(other.losses):
            return f'{len(self.losses)} steps instead of {len(other.losses)}'
        for step, (ours, theirs) in enumerate(zip(self.losses, other.losses), 1):
            if ours != theirs:
                return f'the {step}. loss is {ours} instead of {theirs}'
        if self.parameters != other.parameters:
            return f'the parameters are {self.parameters} instead of {other.parameters}'
        return ''


def parse(output):
    """Raises ValueError when that is not the output of a training run."""
    losses = re.findall(r'^step \d+ loss \S+ (0x[0-9a-fA-F]+)', output, re.MULTILINE)
    parameters = re.search(r'^parameters (0x[0-9a-fA-F]+)', output, re.MULTILINE)
    peak = re.search(r'\bpeak_bytes[ =](\d+)', output)
    times = [float(ms) for ms in re.findall(r'\bstep_ms[ =]([0-9.]+)', output)]
    if not losses or not parameters or not peak:
        raise ValueError('no losses, no checksum or no peak in its output')
    return Training(losses, parameters.group(1), statistics.median(times) if times else 0.0, int(peak.group(1)))


@dataclass
class Run:
    outcome: object
    training: object        # None when it failed
    device_bytes: object    # the most that was in use, as the device or NVML counted it; None: not known
    problem: str


def program(bench, name, variant):
    return place.simulated_workloads() / name if bench.simulated else bench.programs / 'workloads' / variant / name


def data(bench, name):
    """Where this machine lacks the text that the program learns from, the build has brought it along."""
    brought = bench.programs / 'data' / place.TEXT.name
    return ('--data', brought) if name in READ_TEXT and not place.TEXT.exists() and brought.exists() else ()


def measure(bench, command, **environment):
    """Runs a training program and reads what it says and what the device counted."""
    with tempfile.TemporaryDirectory() as folder:
        stats = Path(folder) / 'stats.json'
        if bench.simulated:
            environment.update(SIMGPU_STATS=stats, SIMGPU_GRANULARITY='64KiB')   # small tensors are to be moved too
        with Watch() as watch:
            outcome = bench.run(command, RUN_LIMIT_S, **environment)
        counted = json.loads(stats.read_text())['peak_mapped_bytes'] if stats.exists() else watch.rise_bytes
    if not outcome.ok:
        return Run(outcome, None, counted, outcome.why())
    try:
        return Run(outcome, parse(outcome.output), counted, '')
    except ValueError as error:
        return Run(outcome, None, counted, str(error))


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
        path = program(bench, name, variant)
        if not path.exists():
            message = bench.failures.get(f'workloads/{variant}/{name}', 'there is no such program in the build')
            bench.fail(f'{name} {variant}', f'not built: {message.splitlines()[-1]}', errors=message)
        elif bench.left_s() < 2:
            bench.skip(f'{name} {variant}', 'no time was left')
        else:
            found = measure(bench, [path, *options(bench, name)])
            first = first or (found if found.training else None)
            bench.add(judge_plain(f'{name} {variant}', found, first))
    return first


def run_under_spillway(bench, name, variant, percent, plain):
    title = f'{name} {variant} at {percent} %'
    if bench.left_s() < 2:
        return bench.skip(title, 'no time was left')
    budget = plain.training.peak_bytes * percent // 100
    command = [place.tool(), 'run', '--budget', budget, '--', program(bench, name, variant), *options(bench, name)]
    return bench.add(judge(bench, title, measure(bench, command), plain, budget))


def judge_plain(name, run_, reference):
    more = {'seconds': run_.outcome.seconds, 'command': ' '.join(run_.outcome.command),
            'errors': run_.outcome.errors[-4000:]}
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
    more = {'seconds': run_.outcome.seconds, 'command': ' '.join(run_.outcome.command),
            'errors': run_.outcome.errors[-4000:]}
    problem = run_.problem or run_.training.differs(plain.training)
    used, over = mapped_bytes(bench, run_, plain)
    figures = {'budget_bytes': budget, 'device_bytes': run_.device_bytes, 'mapped_bytes': used}
    told = re.search(r'^spillway: (device \d+: up to .*)', run_.outcome.errors, re.MULTILINE)
    if told:
        figures['spillway_says'] = told.group(1)
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
    """(bytes, tolerance): what the program's allocations had on the device at most. The simulated device counts just
    that. NVML counts the context too: what it showed beyond the plain run's own peak is taken for that."""
    if bench.simulated or run_.device_bytes is None or plain.device_bytes is None:
        return run_.device_bytes, 0
    context = max(plain.device_bytes - plain.training.peak_bytes, 0)
    return max(run_.device_bytes - context, 0), NVML_SLACK_BYTES


def mib(count):
    return f'{count / (1 << 20):.1f} MiB'
