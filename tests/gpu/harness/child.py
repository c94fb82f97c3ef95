"""child - runs one program with a time limit, so that whatever it does to itself or the device ends with it."""
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

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


def run(command, limit_s, env=None, cwd=None):
    """Runs it in a process group of its own; at the limit the whole group is killed. Never raises for what it does."""
    command = [str(word) for word in command]
    started = time.monotonic()
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=env, cwd=cwd, text=True, errors='replace', start_new_session=True)
    except OSError as error:
        return Outcome(command, 127, '', str(error), 0.0, False)
    output, errors, timed_out = '', '', False
    try:
        output, errors = process.communicate(timeout=max(limit_s, 0.1))
    except subprocess.TimeoutExpired:
        timed_out = True
        output, errors = _kill(process)
    except BaseException:   # whoever ends the harness doesn't want the device kept busy
        _kill(process)
        raise
    seconds = time.monotonic() - started
    status = process.returncode if process.returncode is not None else -signal.SIGKILL
    return Outcome(command, status, output, errors, seconds, timed_out)


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
