"""bench - what a part is given: where the programs are, how much time is left, where results go."""
import importlib.util
import os
import time
from dataclasses import dataclass
from pathlib import Path

from . import build, child, place
from .results import FAILED, NO_TIME, OK, SKIPPED, Book, Result


def cuda_libraries():
    """Folders where cuBLAS, NCCL and the like may lie: the toolkit's, and those of Python's packages."""
    folders = [build.toolkit() / 'lib64'] if build.toolkit() else []
    packages = importlib.util.find_spec('nvidia')
    for folder in packages.submodule_search_locations if packages else ():
        folders += sorted(Path(folder).glob('*/lib'))
    return folders


def caller():
    """The environment that the harness was called in, without what would change a program under test."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith(('SPILLWAY_', 'SIMGPU_')) and name != 'LD_PRELOAD'}


@dataclass
class Bench:
    book: Book
    programs: object        # the folder of the build
    failures: dict          # {target: message} of what could not be built
    deadline: float         # on time.monotonic()'s clock
    simulated: bool = False
    part: str = ''
    quick: bool = False     # fewer budgets
    python: object = child.PYTHON     # runs the training scripts
    only: tuple = ()        # the names of the probes and programs that are wanted; all when empty
    ahead: object = None    # of scripts: the run that has been started for the next measurement
    unfit: str = ''         # why programs with machine code can't run on this device
    cut: bool = False       # since the last result a run was ended because the time of the part was, not its own

    def left_s(self):
        return self.deadline - time.monotonic()

    def wants(self, name):
        return not self.only or name in self.only

    def add(self, result):
        """What came of a run that had less than its own limit says nothing, unless it is well."""
        if self.cut and result.status != OK:
            result.status, result.summary = SKIPPED, f'{NO_TIME} to end it: {result.summary}'
        self.cut = False
        self.book.add(self.part, result)

    def earlier(self, name):
        """The result of an earlier start that needs no other; None without one."""
        result = self.book.earlier.get((self.part, name))
        return result if result and result.settled() else None

    def keep(self, name, run):
        """Later starts will want this run, which that result tells of, to compare others with."""
        if self.book.kept:
            self.book.kept.note(self.part, name, run)

    def recall(self, name):
        """The run that was kept; None without one, or where its result is not there."""
        return self.book.kept.find(self.part, name) if self.book.kept and self.earlier(name) else None

    def has_step(self, name, what):
        return bool(self.book.kept and self.book.kept.find(self.part, name, what))

    def step(self, name, what, make):
        """One of several runs towards a result: what make() returns, or what it returned in an earlier start that had
        no time for the result."""
        found = self.book.kept.find(self.part, name, what) if self.book.kept else None
        if found:
            return found
        run = make()
        if self.book.kept and not self.cut:
            self.book.kept.note(self.part, name, run, what)
            self.book.write()
        return run

    def skip(self, name, why, **more):
        self.add(Result(name, SKIPPED, why, **more))

    def fail(self, name, why, **more):
        self.add(Result(name, FAILED, why, **more))

    def environment(self, **more):
        """The environment of a program under test: nothing of spillway's or the simulated device's but what is given."""
        env = caller()
        first = [place.simulated_device()] if self.simulated else []
        brought = [self.programs / 'lib', self.programs / build.OWN_LIBRARIES]
        libraries = [*first, *brought, *filter(None, [env.get('LD_LIBRARY_PATH')]), *cuda_libraries()]
        env['LD_LIBRARY_PATH'] = ':'.join(str(folder) for folder in libraries)
        env.update({name: str(value) for name, value in more.items()})
        return env

    def script_environment(self, **more):
        """The same for a script: its Python brings its own CUDA libraries, so nothing is added but what spillway needs."""
        env = caller()
        libraries = [*filter(None, [env.get('LD_LIBRARY_PATH')]), self.programs / build.OWN_LIBRARIES]
        env['LD_LIBRARY_PATH'] = ':'.join(str(folder) for folder in libraries)
        env.update({name: str(value) for name, value in more.items()})
        return env

    def run(self, command, limit_s, **more):
        """Runs a program within its own limit and within what is left of the part's time."""
        return self._run(command, limit_s, self.environment(**more))

    def start_script(self, command, **more):
        """For finish()."""
        return child.start(command, env=self.script_environment(**more))

    def _run(self, command, limit_s, env):
        return self.finish(child.start(command, env=env), limit_s)

    def finish(self, started, limit_s):
        left_s = max(self.left_s(), 1)
        outcome = child.finish(started, min(limit_s, left_s))
        self.cut = self.cut or (outcome.timed_out and left_s < limit_s)
        return outcome

    def missing_spillway(self):
        """Why nothing can be run under spillway; '' when it can."""
        absent = [path for path in (place.shim(), place.tool()) if not path.exists()]
        return 'not built: ' + ', '.join(str(path) for path in absent) if absent else ''
