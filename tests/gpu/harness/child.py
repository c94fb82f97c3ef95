"""child - runs one program with a time limit, so that whatever it does to itself or the device ends with it."""
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Optional

PYTHON = sys.executable or os.readlink('/proc/self/exe')    # without PATH it doesn't know where it is


@dataclass
class Outcome:
    command: list
    status: int         # exit status; negative: killed by that signal; 127: could not be started
    output: str
    errors: str
    seconds: float
    timed_out: bool

    @property
    def ok(self):
        return self.status == 0 and not self.timed_out

    def why(self):
        """What went wrong, in words; empty when nothing did."""
        if self.timed_out:
            return f'took longer than {self.seconds:.0f} s'
        last = next((line for line in reversed(self.errors.splitlines()) if line.strip()), '')
        if self.status < 0:
            return f'ended by {signal.Signals(-self.status).name}' + (f': {last}' if last else '')
        return f'exit status {self.status}' + (f': {last}' if last else '') if self.status else ''


@dataclass
class Started:
    """A program that runs, or could not be started."""
    command: list
    process: Optional[subprocess.Popen]
    problem: str = ''


def start(command, env=None, cwd=None):
    """In a process group of its own."""
    command = [str(word) for word in command]
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=env, cwd=cwd, text=True, errors='replace', start_new_session=True)
    except OSError as error:
        return Started(command, None, str(error))
    return Started(command, process)


def finish(started, limit_s):
    """Waits for its end; at the limit the whole group is killed. Never raises for what it does. Seconds count from here on."""
    process = started.process
    if not process:
        return Outcome(started.command, 127, '', started.problem, 0.0, False)
    began = time.monotonic()
    output, errors, timed_out = '', '', False
    try:
        output, errors = process.communicate(timeout=max(limit_s, 0.1))
    except subprocess.TimeoutExpired:
        timed_out = True
        output, errors = _kill(process)
    except BaseException:   # whoever ends the harness doesn't want the device kept busy
        _kill(process)
        raise
    seconds = time.monotonic() - began
    status = process.returncode if process.returncode is not None else -signal.SIGKILL
    return Outcome(started.command, status, output, errors, seconds, timed_out)


def drop(started):
    """Nobody wants to know what becomes of it."""
    if started.process and started.process.poll() is None:
        _kill(started.process)


def run(command, limit_s, env=None, cwd=None):
    return finish(start(command, env, cwd), limit_s)


def _kill(process):
    """A process stuck in the driver may not even die of SIGKILL: then it is left behind after five seconds."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    try:
        return process.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        return '', 'could not be killed'
