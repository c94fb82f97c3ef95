"""probe - the questions of docs/driver-facts.md, section 8: one program each, which answers in one line of JSON."""
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .. import device, place
from ..build import WORKLOADS
from ..results import FAILED, NO_TIME, OK, SKIPPED, Result
from . import workloads

NAME = 'probe'
ABOUT = 'questions about the driver that only a device can answer'
LIMIT_S = 170
SIMULATED = True    # those that need no machine code and no clock
COMPILED = True


@dataclass(frozen=True)
class Probe:
    name: str
    limit_s: float
    arguments: tuple = ()
    preload: str = ''       # '', 'spillway', or the name of a spy in the build
    program: str = ''       # when it isn't the probe's name: another probe's, or a path in the build
    simulated: bool = False # also runs on the simulated device, where it shows that it works, not what a GPU does
    reports: bool = False   # its preload writes the answer into the file that SPY_REPORT names

    @property
    def target(self):
        return self.program if '/' in self.program else f'probes/{self.program or self.name}'


PROBES = (
    Probe('escapes', 40, preload='spillway'),
    Probe('addresses', 20, simulated=True),
    Probe('addresses-under-spillway', 20, ('spillway',), preload='spillway', program='addresses', simulated=True),
    Probe('handles', 40, preload='spy-launch'),
    Probe('map-cost', 40),
    Probe('mapping-rules', 20, simulated=True),
    Probe('unmap-running', 40),
    Probe('two-addresses', 60),
    Probe('unmapped-query', 30, simulated=True),
    Probe('tensor-map', 20, simulated=True),
    Probe('host-backed', 40),
    Probe('copy-speed', 40),
    Probe('replay', 30),
    *(Probe(f'replay-{name}', 30, workloads.SHORT, 'spy-replay', f'workloads/shared/{name}', True, True)
      for name in WORKLOADS),
    Probe('range-cost', 20),
    Probe('call-cost', 20),
    Probe('map-beside-copies', 30),
    Probe('host-register', 50),
    Probe('hash', 40, simulated=True),
)


DEVICE = Probe('device', 60)


def describe(bench):
    """(figures, sentence): which device this is, as the probe of that name tells it; {} when it can't."""
    outcome = bench.run([bench.programs / DEVICE.target], DEVICE.limit_s)
    result = read(DEVICE.name, outcome)
    return result.figures if result.status == OK else {}, result.summary


def run(bench):
    for probe in PROBES:
        if not bench.wants(probe.name) or (bench.simulated and not probe.simulated):
            continue
        if bench.earlier(probe.name):
            continue
        if bench.left_s() < 2:
            bench.skip(probe.name, NO_TIME)
            continue
        run_one(bench, probe)


def needed_for_simulation():
    """The targets that a dry run needs in the build."""
    probes = [probe for probe in PROBES if probe.simulated]
    return ({probe.target for probe in probes if not probe.reports}
            | {f'probes/{probe.preload}.so' for probe in probes if probe.preload.startswith('spy-')})


def run_one(bench, probe):
    """One probe; whatever it does, it ends in one result."""
    program = bench.programs / probe.target
    arguments = probe.arguments
    if probe.reports:
        name = Path(probe.target).name
        program = workloads.program(bench, name, 'shared')
        arguments += workloads.data(bench, name)
    if probe.target in bench.failures or not program.exists():
        message = bench.failures.get(probe.target, 'there is no such program in the build')
        return bench.fail(probe.name, f'not built: {message.splitlines()[-1]}', errors=message)
    if probe.preload == 'spillway' and bench.missing_spillway():
        return bench.skip(probe.name, bench.missing_spillway())
    more = {'LD_PRELOAD': preloaded(bench, probe)} if probe.preload else {}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / 'report'
        if probe.preload.startswith('spy-'):
            more.update(SPY_DRIVER=device.driver_file(bench.environment()), SPY_REPORT=report)
        outcome = bench.run([program, *arguments], probe.limit_s, **more)
        if probe.reports:
            outcome.output = report.read_text() if report.exists() else ''
    return bench.add(read(probe.name, outcome))


def preloaded(bench, probe):
    return place.shim() if probe.preload == 'spillway' else bench.programs / f'probes/{probe.preload}.so'


def read(name, outcome):
    """The result that a probe's output stands for. A probe that crashed or said nothing has failed; one that says that
    the question can't be answered here is skipped, with its reason."""
    common = {'seconds': outcome.seconds, 'command': ' '.join(outcome.command), 'errors': outcome.errors[-4000:]}
    lines = [line for line in outcome.output.splitlines() if line.startswith('{')]
    try:
        said = json.loads(lines[-1]) if lines else None
        if said is not None:
            common.update(figures=said['figures'], question=said['question'])
            said = (bool(said['answered']), str(said['answer']))
    except (ValueError, KeyError, TypeError) as error:
        return Result(name, FAILED, f'its answer could not be read: {error!r}', **common)
    if not outcome.ok:
        return Result(name, FAILED, outcome.why(), **common)
    if said is None:
        return Result(name, FAILED, 'it ended without an answer', **common)
    return Result(name, OK if said[0] else SKIPPED, said[1], **common)
