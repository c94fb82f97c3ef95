"""training - what a training program says of its run, what the device counted meanwhile, and whether it was the same run.

The programs of tests/workloads and of tests/gpu/programs print
    step 1 loss 6.93 0x1.bb7p+2     each step's loss, with its bits as hex
    parameters 0x5f3a…              a checksum of all parameters at the end
    peak_bytes 1234                 of device memory for tensors
    allocated_bytes 1200            the same without what lay idle between tensors, where it is less
    reserved_bytes 2345             what their allocator had of the driver for them, where it is more
    step_ms 12.5                    one line or several
and whatever else they like."""
import json
import re
import statistics
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Optional

from .child import Outcome

# What the context, spillway's own streams and the loaded kernels may differ by between two runs, as NVML counts; to which comes
# what spillway loads a second time.
NVML_SLACK_BYTES = 96 << 20


@dataclass
class Training:
    """What one run of a training program printed."""
    losses: list            # the bits of each loss, as hex
    parameters: str         # the checksum of all parameters at the end
    step_ms: float          # median; 0 when it was not told
    peak_bytes: int         # of its tensors, by its own count
    allocated_bytes: int    # without what lay idle between them
    reserved_bytes: int     # what it had of the driver for them

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
    losses = re.findall(r'^step \d+ loss \S+ (-?0x\S+|nan|-?inf)', output, re.MULTILINE)
    parameters = re.search(r'^parameters (0x[0-9a-fA-F]+)', output, re.MULTILINE)
    peak = re.search(r'\bpeak_bytes[ =](\d+)', output)
    times = [float(ms) for ms in re.findall(r'\bstep_ms[ =]([0-9.]+)', output)]
    if not losses or not parameters or not peak:
        raise ValueError('no losses, no checksum or no peak in its output')
    if not all('0x' in loss for loss in losses):
        raise ValueError('a loss is no finite number, which would make any two runs alike')
    peak_bytes = int(peak.group(1))
    allocated, reserved = (int(told.group(1)) if told else peak_bytes
                           for told in (re.search(rf'^{what}_bytes (\d+)', output, re.MULTILINE)
                                        for what in ('allocated', 'reserved')))
    return Training(losses, parameters.group(1), statistics.median(times) if times else 0.0, peak_bytes,
                    min(allocated, peak_bytes), max(reserved, peak_bytes))


@dataclass
class Run:
    outcome: Outcome
    training: Optional[Training]    # None when it failed
    device_bytes: Optional[int]     # the most that was in use, as the device or NVML counted it; None: not known
    problem: str
    twin_bytes: int = 0             # of the images that spillway loaded a second time: they take no more beside the budget
    remembered: bool = False        # it was run in an earlier start

    def told(self):
        """What every result says of the run it comes from."""
        return {'seconds': self.outcome.seconds, 'command': ' '.join(self.outcome.command),
                'errors': self.outcome.errors[-4000:]}


def read(outcome, device_bytes, twin_bytes=0):
    """The run that an outcome stands for: one that failed or said nothing readable has a problem."""
    if not outcome.ok:
        return Run(outcome, None, device_bytes, outcome.why(), twin_bytes)
    try:
        return Run(outcome, parse(outcome.output), device_bytes, '', twin_bytes)
    except ValueError as error:
        return Run(outcome, None, device_bytes, str(error), twin_bytes)


def to_json(run):
    """What a later start needs to know of a run."""
    told = asdict(run)
    told['outcome'].update(output='', errors=run.outcome.errors[-4000:])
    return told


def from_json(told):
    training = Training(**told['training']) if told['training'] else None
    return Run(**{**told, 'outcome': Outcome(**told['outcome']), 'training': training, 'remembered': True})


class Summaries:
    """Where the processes of one run leave spillway's summaries; without spillway there will be none."""

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        return self

    def __exit__(self, *unused):
        self._folder.cleanup()

    @property
    def turn(self):
        """What the program's turn is told by (programs/turn.py)."""
        return f'{self._folder.name}/turn'

    @property
    def setting(self):
        return {'SPILLWAY_SUMMARY': f'{self._folder.name}/%p.json'}

    def twin_bytes(self):
        found = 0
        for path in Path(self._folder.name).glob('*.json'):
            try:
                found += json.loads(path.read_text())['replayed']['twin_image_bytes']
            except (ValueError, KeyError):
                pass    # of a process that was killed, or that never allocated
        return found


def beside_context(run, plain):
    """(bytes, tolerance): what the program's tensors had on the device at most. NVML counts the context too: what it
    showed beyond what the plain run had for tensors is taken for that. bytes is None where NVML didn't answer."""
    if run.device_bytes is None or plain.device_bytes is None:
        return None, 0
    context = max(plain.device_bytes - plain.training.reserved_bytes, 0)
    return max(run.device_bytes - context, 0), NVML_SLACK_BYTES + run.twin_bytes


def says(errors):
    """spillway's own line at the end of a run; '' without one."""
    told = re.search(r'^spillway: (device \d+: up to .*)', errors, re.MULTILINE)
    return told.group(1) if told else ''


def mib(count):
    return f'{count / (1 << 20):.1f} MiB'
