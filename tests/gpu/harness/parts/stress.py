"""stress - random programs, tests/stress/random: every byte held against a reference on the host, within shrinking budgets."""
import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from .. import place
from ..build import STRESS
from ..child import Outcome
from ..device import Watch
from ..results import FAILED, NO_TIME, OK, Result
from ..training import NVML_SLACK_BYTES, mib

NAME = 'stress'
ABOUT = 'random programs, every byte held against a reference'
LIMIT_S = 90
SIMULATED = True
COMPILED = True

SHAPES = (('--threads', '1', '--streams', '1'), ('--threads', '1', '--streams', '3'),
          ('--threads', '2', '--streams', '2'), ('--threads', '4', '--streams', '2', '--buffers', '8'))
SHARES = (50, 35, 70, 90)   # per cent of what it takes where memory is plenty
SEEDS = 12
QUICK_SEEDS = 4
RUN_LIMIT_S = 40
LEAST_S = 5

# On a GPU large enough for many pieces of memory each; on the simulated device as large as two cores bear.
SIZES = {'gpu': ('--kibibytes', '32768', '--operations', '250'), 'simulated': ()}
EXIT_CUDA_ERROR = 3


@dataclass
class Run:
    outcome: Outcome
    sums: list                      # a line for each thread: of all bytes that it has compared
    device_bytes: Optional[int]     # as the device or NVML counted; None: not known
    mapped_bytes: Optional[int]     # as spillway counted; None without it
    twin_bytes: int = 0             # of the images that it loaded a second time

    def wrong(self, plain):
        """What went wrong, in words; '' when nothing did."""
        if not self.outcome.ok:
            return self.outcome.why()
        return '' if self.sums == plain.sums else f'it ended with {self.sums} instead of {plain.sums}'


def program(bench):
    return place.simulation() / STRESS if bench.simulated else bench.programs / 'stress/random'


def call(bench, arguments, *spillway):
    """One run, under spillway when there are options for that."""
    with tempfile.TemporaryDirectory() as folder:
        summary, stats = Path(folder) / 'summary.json', Path(folder) / 'stats.json'
        command = [program(bench), *arguments, *SIZES['simulated' if bench.simulated else 'gpu']]
        if spillway:
            command = [place.tool(), 'run', '--summary', summary, *spillway, '--', *command]
        more = {'SIMGPU_STATS': stats, 'SIMGPU_GRANULARITY': '64KiB'} if bench.simulated else {}
        with Watch() as watch:
            outcome = bench.run(command, RUN_LIMIT_S, **more)
        counted = json.loads(stats.read_text())['peak_mapped_bytes'] if stats.exists() else watch.rise_bytes
        told_ = json.loads(summary.read_text()) if summary.exists() else {}
    devices, replayed = told_.get('devices', []), told_.get('replayed', {})
    mapped = sum(device['physical_bytes_peak'] for device in devices) if devices else None
    return Run(outcome, re.findall(r'^thread .*', outcome.output, re.MULTILINE), counted, mapped, replayed.get('twin_image_bytes', 0))


def run(bench):
    if not program(bench).exists():
        message = bench.failures.get('stress/random', 'there is no such program in the build')
        return bench.fail(NAME, f'not built: {message.splitlines()[-1]}', errors=message)
    if bench.missing_spillway():
        return bench.skip(NAME, bench.missing_spillway())
    for seed in range(1, 1 + (QUICK_SEEDS if bench.quick else SEEDS)):
        shape, share = SHAPES[(seed - 1) % len(SHAPES)], SHARES[(seed - 1) // len(SHAPES) % len(SHARES)]
        name = f'seed {seed}, {" ".join(shape)}'
        if bench.earlier(name) or bench.earlier(roomily(name)):
            continue
        if bench.left_s() < LEAST_S:
            return bench.skip(f'seed {seed} and on', NO_TIME)
        run_seed(bench, name, ('--seed', seed, *shape), share)
    return None


def roomily(name):
    return f'{name} with memory enough'


def run_seed(bench, name, arguments, share):
    plain = call(bench, arguments)
    if not plain.outcome.ok:
        return bench.fail(name, f'plain run: {plain.outcome.why()}', **told(plain))
    roomy = call(bench, arguments, '--log', 'warn')
    if roomy.wrong(plain) or not roomy.mapped_bytes:
        return bench.fail(roomily(name), roomy.wrong(plain) or 'it left no summary', **told(roomy))
    budget = roomy.mapped_bytes * share // 100
    while True:
        tight = call(bench, arguments, '--budget', budget)
        # One operation may need more: the program's threads had other small allocations just then.
        if tight.outcome.status != EXIT_CUDA_ERROR or 'out of' not in tight.outcome.errors or budget >= roomy.mapped_bytes:
            break
        budget = budget * 5 // 4
    return bench.add(judge(name, tight, roomy, plain, budget))


def judge(name, tight, roomy, plain, budget):
    """Every byte is right if the program says so and has compared the same ones; the device must not have had more."""
    figures = {'budget_bytes': budget, 'roomy_bytes': roomy.mapped_bytes, 'mapped_bytes': tight.mapped_bytes,
               'device_bytes': tight.device_bytes}
    problem = tight.wrong(plain)
    if not problem and tight.device_bytes is not None and roomy.device_bytes is not None:
        context = max(roomy.device_bytes - roomy.mapped_bytes, 0)
        used, over = tight.device_bytes - context, NVML_SLACK_BYTES + tight.twin_bytes if context else 0
        problem = f'{mib(used)} were mapped, more than the budget of {mib(budget)}' if used > budget + over else ''
    if problem:
        return Result(name, FAILED, problem, figures, **told(tight))
    return Result(name, OK, f'every byte right in {mib(budget)} of {mib(roomy.mapped_bytes)}', figures, **told(tight))


def told(run_):
    return {'seconds': run_.outcome.seconds, 'command': ' '.join(run_.outcome.command),
            'errors': run_.outcome.errors[-4000:]}
