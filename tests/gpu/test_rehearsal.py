#!/usr/bin/env python3
"""test_rehearsal.py BUILD - makes a real pack with nvcc and runs it from a copy in an empty place, on the simulated device.

BUILD is a meson build folder with spillway and the simulated device; what is compiled for the pack stays in it."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import build, pack, place  # noqa: E402
from harness.parts import PARTS, workloads  # noqa: E402
from test_harness import run_all  # noqa: E402

SIMULATED = [name for name, part in PARTS.items() if part.SIMULATED]
FEW = ('stress', '--quick')


def built():
    return Path(sys.argv[1]).resolve()


def why_not():
    """Why there can be no pack here; '' when there can."""
    if not build.toolkit():
        return 'there is no nvcc to make a pack with'
    return '' if (built() / 'tests/simgpu/libcuda.so.1').exists() else 'there is no simulated device'


def hiding(nothing):
    """What a command begins with that shall find an empty folder where the tree, the build and the CUDA toolkit are; nothing
    where this machine does not let us."""
    nothing.mkdir()
    folders = [place.ROOT, *([built()] if place.ROOT not in built().parents else []), build.toolkit().resolve()]
    mounts = ' && '.join(f"mount --bind '{nothing}' '{folder}'" for folder in folders)
    command = ['unshare', '--map-root-user', '--mount', 'sh', '-c', f'{mounts} && exec "$@"', 'sh']
    try:
        works = subprocess.run([*command, 'true'], capture_output=True, check=False).returncode == 0
    except OSError:
        works = False
    return command if works else []


class Rehearsal(unittest.TestCase):
    """All starts are made from one copy of the pack, with nothing of the caller's environment."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        packed = cls.folder / 'made/pack'
        cls.made = subprocess.run([sys.executable, place.ROOT / 'tests/gpu/run', '--pack', '--build', built(), '--into', packed],
                                  capture_output=True, text=True, check=False)
        if cls.made.returncode:
            raise AssertionError(cls.made.stdout + cls.made.stderr)
        cls.pack = cls.folder / 'empty/pack'
        cls.pack.parent.mkdir()
        shutil.copytree(packed, cls.pack)
        shutil.rmtree(packed.parent)
        cls.simulation = cls.folder / 'simulation'
        for name in ('tests/simgpu/*.so*', 'tests/simgpu/*.profile', 'tests/workloads/*', 'tests/stress/random'):
            for path in built().glob(name):
                if path.is_file():
                    (cls.simulation / path.relative_to(built())).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, cls.simulation / path.relative_to(built()))

        cls.hiding = hiding(cls.folder / 'nothing')

    def setUp(self):
        shutil.rmtree(self.pack / pack.RESULTS, ignore_errors=True)

    def command(self, *words):
        return [*self.hiding, sys.executable, self.pack / 'tests/gpu/run', '--simulated', '--simulation', self.simulation, *words]

    def start(self, *words):
        """Returns the results: {(part, name): result}."""
        told = subprocess.run(self.command(*words), cwd=self.pack.parent, env={}, capture_output=True, text=True, check=False)
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
        return self.results()

    def results(self):
        found, = (self.pack / pack.RESULTS).glob('*/results.json')
        return {(part, result['name']): result for part, results in json.loads(found.read_text())['parts'].items()
                for result in results}

    def test_a_pack_is_small_enough_to_be_taken_anywhere(self):
        self.assertLessEqual(pack.size(self.pack), pack.MOST_BYTES)
        self.assertEqual(pack.MOST_BYTES, 30 << 20)

    def test_it_holds_no_debug_information_and_the_names_of_functions(self):
        for path in (self.pack / 'build/shim/libspillway.so', self.pack / 'build/gpu/workloads/static/gpt'):
            sections = subprocess.run(['readelf', '-SW', path], capture_output=True, text=True, check=True).stdout
            self.assertNotIn('.debug_info', sections)
        names = subprocess.run(['nm', '-C', path], capture_output=True, text=True, check=True).stdout
        self.assertIn(' T main', names)
        self.assertIn('gpt', names)

    def test_it_knows_nothing_of_the_tree_or_the_build_that_it_is_from(self):
        for result in self.start('--quick').values():
            for folder in (place.ROOT, built()):
                self.assertNotIn(f'{folder}/', result['command'] + result['errors'])

    def test_programs_learn_from_what_is_in_the_pack(self):
        results = self.start('workloads', '--quick', '--only', 'resnet,mlp')
        for result in results.values():
            self.assertIn(f'--data {self.pack}/tests/workloads/data/digits.bin', result['command'])

    def test_a_second_start_runs_nothing_and_one_without_a_result_runs_that_alone(self):
        first = self.start('--quick')
        for part in SIMULATED:
            self.assertGreater(sum(key[0] == part and result['status'] == 'ok' for key, result in first.items()), 3, part)
        self.assertNotIn('failed', [result['status'] for result in first.values()])
        self.assertEqual(self.start('--quick'), first)
        path, = (self.pack / pack.RESULTS).glob('*/results.json')
        for part, missing in (('probe', 'hash'), ('workloads', 'mlp static at 60 %'), ('stress', 'seed 2, --threads 1 --streams 3')):
            data = json.loads(path.read_text())
            data['parts'][part] = [result for result in data['parts'][part] if result['name'] != missing]
            path.write_text(json.dumps(data))
            again = self.start('--quick')
            self.assertEqual(set(again), set(first))
            self.assertEqual([key for key in again if again[key]['seconds'] != first[key]['seconds']], [(part, missing)])
            first = again

    def test_one_that_is_killed_goes_on_with_all_that_it_had(self):
        with subprocess.Popen(self.command(*FEW), cwd=self.pack.parent, env={}, stdout=subprocess.PIPE, text=True,
                              start_new_session=True) as process:
            told = 0
            for line in process.stdout:
                told += line.startswith('  ok')
                if told == 2:
                    os.killpg(process.pid, signal.SIGKILL)
        self.assertEqual(process.returncode, -signal.SIGKILL)
        before = self.results()
        self.assertGreaterEqual(len(before), 2)
        after = self.start(*FEW)
        self.assertGreater(len(after), len(before))
        self.assertEqual({key: after[key] for key in before}, before)
        self.assertEqual({result['status'] for result in after.values()}, {'ok'})

    def test_what_has_no_time_is_run_by_later_starts(self):
        starts, limit_s = 0, workloads.LEAST_S + 0.2
        while 'skipped' in [result['status'] for result in self.start('workloads', '--quick', '--limit', str(limit_s)).values()]:
            starts, limit_s = starts + 1, limit_s + 0.5     # a busy machine needs more
            self.assertLess(starts, 40)
        self.assertGreater(starts, 0)
        self.assertEqual([result['status'] for result in self.results().values()],
                         ['ok'] * (len(build.PROGRAMS) * (1 + len(workloads.QUICK_BUDGETS))))

    def test_out_gets_a_copy_of_the_results_and_the_page(self):
        out = self.folder / 'out'
        self.start(*FEW, '--out', out)
        kept, = (self.pack / pack.RESULTS).iterdir()
        self.assertEqual({path.name: path.read_bytes() for path in out.iterdir()},
                         {path.name: path.read_bytes() for path in kept.iterdir()})
        self.assertTrue(list(out.glob('*-simulated-h200.md')))
        self.assertIn(json.loads((self.pack / place.PACK).read_text())['commit'], (out / 'results.json').read_text())

    def test_with_a_driver_of_another_architecture_that_is_said_before_anything_is_run(self):
        told = subprocess.run([sys.executable, self.pack / 'tests/gpu/run', 'probe', 'workloads', 'stress'], cwd=self.pack.parent,
                              env={'LD_LIBRARY_PATH': str(self.simulation / 'tests/simgpu'), 'SIMGPU_PROFILE': 'a100-40g'},
                              capture_output=True, text=True, check=False)
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
        self.assertIn('for compute capability 9.0, and the device has 8.0: what is compiled is skipped', told.stdout)
        self.assertEqual({result['status'] for result in self.results().values()}, {'skipped'})


if __name__ == '__main__':
    if why_not():
        print(f'1..0 # SKIP {why_not()}')
        sys.exit(0)
    sys.exit(run_all(sys.modules['__main__']))
