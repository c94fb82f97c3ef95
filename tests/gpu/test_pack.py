#!/usr/bin/env python3
"""Tests of packs that need no nvcc: what they hold, what they are refused for, and how one is told from the tree."""
import ast
import contextlib
import io
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import build, device, main, pack, place  # noqa: E402
from harness.parts import PARTS, probe  # noqa: E402
from test_harness import TRAINING, Case, run_all  # noqa: E402

PROGRAMS = ('probes/device', 'probes/spy-x.so', 'workloads/static/gpt', 'workloads/shared/gpt', 'stress/random')
BINARY = '/bin/true'        # any program does
COMMIT = '0123456789ab'


class PackCase(Case):
    """A build folder as nvcc and meson leave it, of programs that are none."""

    def setUp(self):
        super().setUp()
        self.target = self.folder / 'pack'
        self.failures = {}
        for name in ('shim/libspillway.so', 'tools/spillway'):
            self.binary(self.folder / 'build' / name)
        for owner, name, value in ((build, 'build', self.compiled), (build, 'toolkit', lambda: Path('/cuda')),
                                   (build, 'targets', lambda *unused, **more: [build.Target(name, [], [], []) for name in PROGRAMS])):
            patch = mock.patch.object(owner, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def binary(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(BINARY, path)

    def compiled(self, folder, architectures, *unused, ptx=True):
        self.assertEqual((architectures, ptx), (('90',), False))
        for name in (*PROGRAMS, 'workloads/objects/gpt.o', 'lib/libcudart.so.13', 'lib/spillway/libdw.so.1', 'data/GPL-3'):
            self.binary(folder / name)
        return self.failures

    def make(self):
        pack.make(self.target, '90', COMMIT, self.said.append)

    def files(self):
        return {str(path.relative_to(self.target)) for path in self.target.rglob('*') if path.is_file()}


class Made(PackCase):
    def test_it_holds_what_runs_and_nothing_else(self):
        self.make()
        expected = {place.PACK, 'build/shim/libspillway.so', 'build/tools/spillway', 'build/gpu/lib/libcudart.so.13',
                    'build/gpu/lib/spillway/libdw.so.1', 'build/gpu/data/GPL-3', 'tests/gpu/run', 'tests/workloads/data/digits.bin',
                    'tests/workloads/data/README.md', *(f'build/gpu/{name}' for name in PROGRAMS)}
        self.assertEqual({name for name in self.files() if not name.startswith(('tests/gpu/harness', 'tests/gpu/programs'))}, expected)
        for folder in ('harness', 'harness/parts', 'programs'):
            self.assertEqual({path.name for path in (self.target / 'tests/gpu' / folder).iterdir() if path.is_file()},
                             {path.name for path in (place.ROOT / 'tests/gpu' / folder).glob('*.py')})

    def test_it_says_of_which_commit_and_for_what_it_is_how_large_and_what_to_type(self):
        self.make()
        told = ' '.join(self.said)
        for word in (COMMIT, 'compute capability 9.0', 'MiB', 'build/gpu/workloads', 'python3 pack/tests/gpu/run'):
            self.assertIn(word, told)
        self.assertIn(pack.mebibytes(pack.size(self.target)), told)

    def test_one_that_is_larger_than_it_should_be_says_so(self):
        with mock.patch.object(pack, 'MOST_BYTES', 1000):
            self.make()
        self.assertIn('more than', ' '.join(self.said))

    def test_a_later_one_takes_its_place_and_has_the_results_of_its_starts(self):
        self.make()
        (self.target / 'results/x').mkdir(parents=True)
        (self.target / 'results/x/results.json').write_text('{}')
        (self.target / 'build/gpu/probes/gone').write_text('')
        self.make()
        self.assertIn('results/x/results.json', self.files())
        self.assertNotIn('build/gpu/probes/gone', self.files())
        self.assertEqual([path.name for path in self.folder.glob('pack*')], ['pack'])

    def test_one_that_was_killed_between_its_last_two_steps_loses_no_results(self):
        self.make()
        (self.target / 'results').mkdir()
        (self.target / 'results/kept').write_text('')
        self.target.rename(self.target.with_name('pack.old'))
        self.make()
        self.assertIn('results/kept', self.files())

    def test_the_scripts_in_it_are_read_by_python_3_9(self):
        self.make()
        scripts = [path for path in self.target.rglob('*') if path.suffix == '.py' or path.name == 'run']
        self.assertGreater(len(scripts), 20)
        for path in scripts:
            ast.parse(path.read_text(), str(path), feature_version=(3, 9))


class Refusals(PackCase):
    def refused(self, *words):
        """With all of these words, and with nothing left behind."""
        before = self.files() if self.target.exists() else None
        with self.assertRaises(pack.Refused) as why:
            self.make()
        for word in words:
            self.assertIn(word, str(why.exception))
        self.assertEqual([path.name for path in self.folder.glob('pack*')], ['pack'] if before else [])
        self.assertEqual(self.files() if before else None, before)

    def test_without_nvcc(self):
        with mock.patch.object(build, 'toolkit', lambda: None):
            self.refused('nvcc', 'CUDA_HOME')

    def test_without_the_library_or_the_command(self):
        for path in (place.shim(), place.tool()):
            path.rename(path.with_suffix('.away'))
            self.refused(str(path), './dev build')
            path.with_suffix('.away').rename(path)

    def test_a_library_that_is_older_than_its_sources(self):
        (place.build_folder() / 'build.ninja').write_text('')
        ninja = self.script('bin/ninja', 'case "$*" in *libspillway*) echo "[1/3] cc";; *) echo "ninja: no work to do.";; esac')
        with mock.patch.dict(os.environ, {'PATH': f'{ninja.parent}:{os.environ["PATH"]}'}):
            self.refused('libspillway.so', 'older than its sources')
            self.script('bin/ninja', 'echo "ninja: no work to do."')
            self.make()

    def test_without_strip(self):
        with mock.patch.dict(os.environ, {'PATH': str(self.folder)}):
            self.refused('strip', 'binutils')

    def test_without_the_text_that_programs_learn_from(self):
        with mock.patch.object(place, 'TEXT', self.folder / 'no-text'):
            self.refused('no-text')

    def test_a_program_that_does_not_compile(self):
        self.failures = {'probes/device': 'first\ndevice.c:3: error: oh'}
        self.refused('probes/device', 'error: oh')

    def test_a_program_that_cannot_be_stripped_leaves_no_half_pack(self):
        place.shim().write_text('no ELF file')
        self.refused('libspillway.so', 'could not be stripped')

    def test_a_toolkit_without_its_shared_runtime(self):
        def compiled(folder, *unused, **more):
            self.compiled(folder, *unused, **more)
            shutil.rmtree(folder / 'lib')
            (folder / 'lib').mkdir()
            return {}
        with mock.patch.object(build, 'build', compiled):
            self.refused('libcudart.so')

    def test_a_folder_that_is_no_pack_stays_as_it_is(self):
        self.target.mkdir()
        (self.target / 'letters').write_text('dear')
        self.refused(str(self.target), 'other things')

    def test_an_older_pack_stays_when_a_new_one_is_refused(self):
        self.make()
        self.failures = {'probes/device': 'oh'}
        self.refused('probes/device')

    def test_a_pack_of_a_pack_or_a_build_in_one(self):
        self.make()
        for words in (('--pack',), ('--build-only',)):
            told = subprocess.run([sys.executable, self.target / 'tests/gpu/run', *words], capture_output=True, text=True, check=False)
            self.assertEqual((told.returncode, told.stdout.startswith('refused: ')), (1, True), told)

    def test_two_architectures(self):
        said = io.StringIO()
        with self.assertRaises(SystemExit) as stop, contextlib.redirect_stderr(said):
            main.main(['--pack', '--arch', '90,100'])
        self.assertEqual(stop.exception.code, 2)
        self.assertIn('one compute capability', said.getvalue())

    def test_the_command_says_why_and_fails(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), mock.patch.object(build, 'toolkit', lambda: None):
            status = main.main(['--pack', '--into', str(self.target), '--build', str(place.build_folder())])
        self.assertEqual((status, self.target.exists()), (1, False))
        self.assertIn('refused: nvcc', said.getvalue())


class Used(PackCase):
    """Starts from a pack, with a device that isn't there."""

    def setUp(self):
        super().setUp()
        self.make()
        patch = mock.patch.object(place, 'ROOT', self.target)
        patch.start()
        self.addCleanup(patch.stop)

    def call(self, *words, capability=(9, 0)):
        """(exit status, what it said, which parts ran)"""
        ran, said = [], io.StringIO()
        with contextlib.ExitStack() as patches:
            for owner, name, value in ((device, 'missing', lambda: ''), (device, 'capability', lambda: capability),
                                       (probe, 'describe', lambda bench: ({'name': 'Fake 1'}, 'a fake')),
                                       *((part, 'run', lambda bench: ran.append(bench.part)) for part in PARTS.values())):
                patches.enter_context(mock.patch.object(owner, name, value))
            patches.enter_context(contextlib.redirect_stdout(said))
            status = main.main([*words, 'probe', 'workloads', 'torch', 'jax', 'stress', 'sanitize'])
        return status, said.getvalue(), ran

    def data(self):
        found, = (self.target / 'results').glob('*/results.json')
        return json.loads(found.read_text())

    def test_nothing_is_compiled_and_nothing_is_asked_of_sources(self):
        def never(*unused, **more):
            raise AssertionError('asked')
        with mock.patch.object(build, 'build', never), mock.patch.object(build, 'stale', never):
            status, _, ran = self.call()
        self.assertEqual((status, ran), (0, ['probe', 'workloads', 'torch', 'jax', 'stress', 'sanitize']))

    def test_its_results_lie_in_it_and_tell_its_commit_and_architecture(self):
        self.call()
        about = self.data()['about']
        self.assertEqual(about['commit'], COMMIT)
        self.assertIn('9.0', about['packed'])

    def test_of_a_tree_that_was_changed_the_content_counts(self):
        self.assertNotIn('content', main.about_this_tree())
        path = self.target / place.PACK
        path.write_text(path.read_text().replace(COMMIT, f'{COMMIT}-dirty'))
        self.assertEqual(main.about_this_tree()['content'], pack.about()['content'])
        self.call()
        self.assertEqual(self.data()['about']['commit'], f'{COMMIT}-dirty')

    def test_a_device_of_another_architecture_is_told_first_and_what_is_compiled_is_skipped(self):
        status, said, ran = self.call(capability=(8, 0))
        self.assertEqual((status, ran), (0, ['torch', 'jax']))
        self.assertLess(said.index('the device has 8.0'), said.index('probe:'))
        why = {part: results[0]['summary'] for part, results in self.data()['parts'].items() if results}
        for part in ('probe', 'workloads', 'stress', 'sanitize'):
            self.assertIn('this pack is for compute capability 9.0, and the device has 8.0', why[part])

    def test_a_device_that_does_not_tell_its_architecture_is_tried(self):
        self.assertEqual(len(self.call(capability=None)[2]), 6)

    def test_one_that_did_not_arrive_whole_is_refused_by_the_name_of_the_file(self):
        lost, damaged = self.target / 'build/gpu/stress/random', self.target / 'build/shim/libspillway.so'
        lost.unlink()
        damaged.write_bytes(b'short')
        status, said, ran = self.call()
        self.assertEqual((status, ran), (1, []))
        self.assertRegex(said, 'refused: this pack is not whole: build/.* is missing or damaged, and so are 1 more')

    def test_one_whose_own_file_is_unreadable_is_refused(self):
        (self.target / place.PACK).write_text('{"commit"')
        status, said, ran = self.call()
        self.assertEqual((status, ran), (1, []))
        self.assertIn('pack.json cannot be read', said)

    def test_programs_that_copying_made_plain_files_are_programs_again(self):
        for path in self.target.rglob('*'):
            path.chmod(0o755 if path.is_dir() else 0o644)
        self.call()
        for name in ('build/tools/spillway', *(f'build/gpu/{name}' for name in PROGRAMS)):
            self.assertTrue((self.target / name).stat().st_mode & stat.S_IXUSR, name)

    def test_scripts_can_be_tried_from_a_copy_without_a_device(self):
        copy = self.folder / 'elsewhere/copy'
        shutil.copytree(self.target, copy)
        self.target.rename(self.folder / 'away')
        python = self.script('python', TRAINING.format(loss='2.25', bits='0x1.2p+1'))
        told = subprocess.run([sys.executable, copy / 'tests/gpu/run', '--dry', '--python', python], cwd=copy.parent, env={},
                              capture_output=True, text=True, check=False)
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
        self.assertIn('ok      bert-base-tf32', told.stdout)
        self.assertTrue((copy / 'results/without-a-device/results.json').exists())


if __name__ == '__main__':
    sys.exit(run_all(sys.modules['__main__']))
