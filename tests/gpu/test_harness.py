#!/usr/bin/env python3
"""Tests of the GPU harness itself. They need no GPU and no nvcc: the programs they run are made of a few lines of shell."""
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import build, child, device, main, place, results, scripts, training  # noqa: E402
from harness.bench import Bench  # noqa: E402
from harness.parts import PARTS, probe, pytorch, stress, workloads  # noqa: E402

ANSWER = '{"probe": "fake", "question": 6, "answered": %s, "answer": "it is so", "figures": {"a/b_us": 1.5}}'
TRAINING = '''echo "step 1 loss 2.5 0x40200000"
echo "step 2 loss {loss} {bits}"
echo "parameters 0xabc"
echo "step_ms 2.0"
echo "peak_bytes 1000"
'''


class Case(unittest.TestCase):
    """A folder of its own, and a bench whose programs are scripts in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.addCleanup(place.use_build, place.build_folder())
        place.use_build(self.folder / 'build')
        self.said = []
        self.book = results.Book(self.folder / 'out', self.said.append)
        self.bench = Bench(self.book, self.folder / 'gpu', {}, time.monotonic() + 60, part='test')

    def script(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('#!/bin/sh\n' + text)
        path.chmod(0o755)
        return path

    def results(self):
        data = json.loads((self.folder / 'out/results.json').read_text())
        return data['parts']['test']

    def run_probe(self, text, **more):
        self.script('gpu/probes/fake', text)
        probe.run_one(self.bench, probe.Probe('fake', 5, **more))
        return self.results()[-1]


class Children(Case):
    def test_a_program_that_hangs_is_ended_with_its_children_at_the_limit(self):
        outcome = child.run(['sh', '-c', 'sleep 60 & wait'], 0.3)
        self.assertTrue(outcome.timed_out)
        self.assertFalse(outcome.ok)
        self.assertLess(outcome.seconds, 5)

    def test_a_program_that_is_not_there_is_an_outcome_not_an_exception(self):
        self.assertEqual(child.run([self.folder / 'nothing'], 1).status, 127)

    def test_the_python_that_runs_the_harness_is_found_without_a_path_too(self):
        program = f'import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from harness import child; print(child.PYTHON)'
        told = subprocess.run(['python3', '-B', '-c', program], executable=sys.executable, env={}, capture_output=True, text=True, check=True)
        self.assertTrue(os.access(told.stdout.strip(), os.X_OK), told.stdout)

    def test_a_crash_is_named_by_its_signal(self):
        self.assertIn('SIGSEGV', child.run(['sh', '-c', 'kill -SEGV $$'], 5).why())


class Probes(Case):
    def test_an_answer_becomes_a_result_with_its_figures(self):
        result = self.run_probe(f"echo noise; echo '{ANSWER % 'true'}'")
        self.assertEqual((result['status'], result['summary'], result['question']), ('ok', 'it is so', 6))
        self.assertEqual(result['figures'], {'a/b_us': 1.5})

    def test_a_question_that_cannot_be_answered_here_is_skipped_with_the_reason(self):
        self.assertEqual(self.run_probe(f"echo '{ANSWER % 'false'}'")['status'], 'skipped')

    def test_a_probe_that_crashes_has_failed_whatever_it_said_before(self):
        result = self.run_probe(f"echo '{ANSWER % 'true'}'; kill -ABRT $$")
        self.assertEqual(result['status'], 'failed')
        self.assertIn('SIGABRT', result['summary'])

    def test_a_probe_that_says_nothing_or_nonsense_has_failed(self):
        self.assertEqual(self.run_probe('exit 0')['status'], 'failed')
        self.assertEqual(self.run_probe("echo '{\"probe\": 1}'")['status'], 'failed')
        self.assertEqual(self.run_probe("echo '{not json'")['status'], 'failed')

    def test_a_probe_that_hangs_fails_and_the_next_one_runs(self):
        with mock.patch.object(probe, 'PROBES', (probe.Probe('slow', 0.2), probe.Probe('fake', 5))):
            self.script('gpu/probes/slow', 'sleep 60')
            self.script('gpu/probes/fake', f"echo '{ANSWER % 'true'}'")
            probe.run(self.bench)
        self.assertEqual([result['status'] for result in self.results()], ['failed', 'ok'])

    def test_only_the_probes_that_are_asked_for_are_run(self):
        with mock.patch.object(probe, 'PROBES', (probe.Probe('other', 5), probe.Probe('fake', 5))):
            self.script('gpu/probes/fake', f"echo '{ANSWER % 'true'}'")
            self.bench.only = ('fake',)
            probe.run(self.bench)
        self.assertEqual([result['name'] for result in self.results()], ['fake'])

    def test_a_probe_that_did_not_build_fails_with_the_compilers_last_line(self):
        self.bench.failures['probes/absent'] = 'first\nerror: second'
        probe.run_one(self.bench, probe.Probe('absent', 5))
        self.assertIn('error: second', self.results()[-1]['summary'])

    def test_a_probe_that_needs_spillway_is_skipped_where_it_is_not_built(self):
        self.assertEqual(self.run_probe('exit 1', preload='spillway')['status'], 'skipped')

    def test_the_programs_under_test_see_no_preload_and_no_settings_of_the_caller(self):
        with mock.patch.dict(os.environ, {'LD_PRELOAD': 'x.so', 'SPILLWAY_MODE': 'off', 'SIMGPU_MEMORY': '1'}):
            env = self.bench.environment(SPILLWAY_LOG='info')
        self.assertNotIn('LD_PRELOAD', env)
        self.assertEqual({name: env[name] for name in env if name.startswith(('SPILLWAY_', 'SIMGPU_'))},
                         {'SPILLWAY_LOG': 'info'})

    def test_an_answer_can_be_a_spys_report_beside_what_the_program_prints(self):
        more = {'preload': 'spy-x', 'program': 'workloads/shared/fake', 'reports': True}
        self.script('gpu/workloads/shared/fake', f"echo 'step 1'; echo '{ANSWER % 'true'}' >\"$SPY_REPORT\"")
        result = self.run_probe('', **more)
        self.assertEqual((result['status'], result['summary']), ('ok', 'it is so'))
        self.script('gpu/workloads/shared/fake', f"echo '{ANSWER % 'true'}'")
        self.assertEqual(self.run_probe('', **more)['status'], 'failed')

    def test_every_probe_that_is_listed_has_a_source(self):
        sources = {path.stem for path in place.PROBES.iterdir()} | set(build.WORKLOADS)
        for one in (*probe.PROBES, probe.DEVICE):
            self.assertIn(Path(one.target).name, sources)
            if one.preload not in ('', 'spillway'):
                self.assertIn(one.preload, sources)

    def test_every_source_is_a_listed_probe_or_a_listed_spy_or_the_sampler(self):
        listed = {build.SAMPLER} | {Path(one.target).name for one in (*probe.PROBES, probe.DEVICE)} | {one.preload for one in probe.PROBES}
        for path in [*place.PROBES.glob('*.c'), *place.PROBES.glob('*.cu')]:
            self.assertIn(path.stem, listed)


class Workloads(Case):
    def setUp(self):
        super().setUp()
        patch = mock.patch.object(workloads, 'PROGRAMS', ('gpt',))
        patch.start()
        self.addCleanup(patch.stop)
        for variant in ('static', 'shared'):
            self.script(f'gpu/workloads/{variant}/gpt', TRAINING.format(loss='2.25', bits='0x40100000'))
        self.script('build/shim/libspillway.so', '')
        self.script('build/tools/spillway', 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"')

    def statuses(self):
        workloads.run(self.bench)
        return [result['status'] for result in self.results()]

    def test_the_same_bits_at_every_budget_are_well(self):
        self.assertEqual(self.statuses(), ['ok'] * (2 + len(workloads.BUDGETS)))

    def test_a_loss_that_differs_in_its_last_bit_fails(self):
        self.script('build/tools/spillway', TRAINING.format(loss='2.25', bits='0x40100001'))
        self.assertEqual(self.statuses(), ['ok', 'ok'] + ['failed'] * len(workloads.BUDGETS))
        self.assertIn('0x40100001 instead of 0x40100000', self.results()[-1]['summary'])

    def test_other_parameters_at_the_end_fail(self):
        other = TRAINING.format(loss='2.25', bits='0x40100000').replace('0xabc', '0xabd')
        self.script('build/tools/spillway', other)
        self.assertIn('failed', self.statuses())

    def test_a_program_that_is_not_the_same_with_the_shared_runtime_fails(self):
        self.script('gpu/workloads/shared/gpt', TRAINING.format(loss='2.5', bits='0x40200000'))
        self.assertEqual(self.statuses()[:2], ['ok', 'failed'])

    def test_a_refusal_is_a_failure_that_quotes_the_message(self):
        self.script('build/tools/spillway', 'echo "spillway: the smallest budget that would do is 900" >&2; exit 1')
        self.assertEqual(self.statuses()[-1], 'failed')
        self.assertIn('smallest budget', self.results()[-1]['summary'])

    def test_without_spillway_the_plain_runs_are_made_and_the_rest_is_skipped(self):
        place.tool().unlink()
        self.assertEqual(self.statuses(), ['ok', 'ok', 'skipped'])

    def test_more_mapped_than_the_budget_fails_by_the_simulated_devices_own_count(self):
        self.bench.simulated = True
        counting = TRAINING.format(loss='2.25', bits='0x40100000') + 'echo "{\\"peak_mapped_bytes\\": 900}" >"$SIMGPU_STATS"'
        self.script('build/tests/workloads/gpt', counting)
        self.assertEqual(self.statuses(), ['ok', 'ok', 'failed', 'failed', 'failed', 'failed'])
        self.assertIn('more than the budget', self.results()[-1]['summary'])

    def test_output_without_a_checksum_is_no_training_run(self):
        with self.assertRaises(ValueError):
            training.parse('step 1 loss 2.5 0x40200000\npeak_bytes 1000\n')


class Counted:
    """Stands in for NVML: each run in turn is said to have had so much."""
    answers = []
    rise_bytes = None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.rise_bytes = self.answers.pop(0) if self.answers else None


class ScriptCase(Case):
    """A Python that prints a training run, and a spillway that lets it."""
    BITS = '0x1.2p+1'

    def setUp(self):
        super().setUp()
        patch = mock.patch.object(scripts, 'Watch', Counted)
        patch.start()
        self.addCleanup(patch.stop)
        Counted.answers = []
        self.bench.python = self.script('python', self.training())
        self.script('build/shim/libspillway.so', '')
        self.spillway('exec "$@"')

    def training(self, bits=BITS, step_ms=2.0, peak=1000):
        return (f'echo "$@" >>{self.folder}/asked\n' + TRAINING.format(loss='2.25', bits=bits)
                .replace('step_ms 2.0', f'step_ms {step_ms}').replace('peak_bytes 1000', f'peak_bytes {peak}'))

    def spillway(self, text):
        self.script('build/tools/spillway', 'budget=$3; while [ "$1" != -- ]; do shift; done; shift\n' + text)

    def statuses(self):
        return [result['status'] for result in self.results()]

    def asked(self):
        """The arguments of each call of the Python."""
        path = self.folder / 'asked'
        return path.read_text().splitlines() if path.exists() else []


class Scripts(ScriptCase):
    def statuses_of(self, *budgets):
        scripts.run_case(self.bench, 'fake', ['train.py'], budgets)
        return self.statuses()

    def test_the_same_bits_are_well_and_the_time_is_held_against_its_goal(self):
        self.spillway(self.training(step_ms=2.2))
        self.assertEqual(self.statuses_of(100, 60, 40), ['ok'] * 4)
        told = [result['summary'] for result in self.results()[1:]]
        self.assertIn('1.100 times', told[0])
        self.assertIn('goal 1.01 missed', told[0])
        self.assertIn('goal 1.15 met', told[1])
        self.assertNotIn('goal', told[2])

    def test_the_budget_is_a_share_of_what_the_plain_run_had(self):
        self.spillway(f'echo "$budget" >>{self.folder}/budgets; exec "$@"')
        self.statuses_of(80, 40)
        self.assertEqual((self.folder / 'budgets').read_text().split(), ['800', '400'])

    TURNS = ('echo "$$ begins" >>{0}/order; : >$TURN.ready; n=0; while [ ! -e $TURN.go ] && [ $n -lt 500 ]; do sleep 0.01; n=$((n+1)); done\n'
             'echo "$$ has its turn" >>{0}/order; sleep 0.2; echo "$$ ends" >>{0}/order\n')

    def test_the_next_run_begins_while_another_has_the_device_and_waits_for_its_turn(self):
        self.bench.python = self.script('python', self.TURNS.format(self.folder) + self.training())
        self.assertEqual(self.statuses_of(80, 60, 40), ['ok'] * 4)
        said = [line.split(maxsplit=1)[1] for line in (self.folder / 'order').read_text().splitlines()]
        one, ahead = ['begins', 'has its turn', 'ends'], ['has its turn', 'ends']
        self.assertEqual([what for what in said if what != 'begins'], ahead * 4)    # one at a time
        self.assertEqual(said[:3], one)                                             # the plain run, whose peak is wanted first
        self.assertEqual(said[3:5], ['begins'] * 2)
        self.assertEqual(said.count('begins'), 4)

    def test_what_was_begun_ahead_and_has_no_time_left_is_ended(self):
        self.bench.python = self.script('python', self.TURNS.format(self.folder) + self.training())
        order = self.folder / 'order'
        order.touch()
        with mock.patch.object(Bench, 'left_s', lambda bench: 60 if order.read_text().count('begins') < 3 else 2):
            self.statuses_of(80, 60, 40)
        self.assertIsNone(self.bench.ahead)
        self.assertIn('skipped', self.statuses())
        said = order.read_text()
        self.assertGreater(said.count('begins'), said.count('ends'))

    def test_bits_that_differ_fail(self):
        self.spillway(self.training(bits='0x1.2000002p+1'))
        self.assertEqual(self.statuses_of(80), ['ok', 'failed'])
        self.assertIn('0x1.2000002p+1 instead of 0x1.2p+1', self.results()[-1]['summary'])

    def test_bits_that_differ_without_spillway_too_say_nothing_about_it(self):
        self.bench.python = self.script('python', self.training(bits='0x1.$$p+1'))
        self.assertEqual(self.statuses_of(80), ['ok', 'skipped'])
        self.assertIn('not the same twice', self.results()[-1]['summary'])

    def test_a_run_that_breaks_fails_even_where_no_two_plain_runs_are_alike(self):
        self.bench.python = self.script('python', self.training(bits='0x1.$$p+1'))
        self.spillway('echo "oh" >&2; exit 1')
        self.assertEqual(self.statuses_of(80), ['ok', 'failed'])

    def test_more_on_the_device_than_the_budget_fails_and_the_context_does_not_count(self):
        self.bench.python = self.script('python', self.training(peak=1 << 30))
        Counted.answers = [(1 << 30) + (500 << 20), (512 << 20) + (500 << 20), (900 << 20) + (500 << 20)]
        self.assertEqual(self.statuses_of(50, 50), ['ok', 'ok', 'failed'])
        self.assertEqual(self.results()[1]['figures']['mapped_bytes'], 512 << 20)
        self.assertIn('more than the budget', self.results()[-1]['summary'])

    def test_what_spillway_loads_a_second_time_does_not_count_and_no_more_than_that(self):
        self.bench.python = self.script('python', self.training(peak=1 << 30))
        self.spillway('folder=$(dirname "$SPILLWAY_SUMMARY"); echo "{\\"replayed\\": {\\"twin_image_bytes\\": 104857600}}" '
                      '>$folder/$$.json; echo cut short >$folder/0.json; exec "$@"')
        beside = (500 << 20) + training.NVML_SLACK_BYTES + (100 << 20)
        Counted.answers = [(1 << 30) + (500 << 20), (512 << 20) + beside, (512 << 20) + beside + 1]
        self.assertEqual(self.statuses_of(50, 50), ['ok', 'ok', 'failed'])
        self.assertEqual(self.results()[1]['figures']['twin_bytes'], 100 << 20)

    def test_what_an_allocator_keeps_beyond_its_tensors_is_no_context(self):
        reserved = self.training(peak=1 << 30) + f'echo "reserved_bytes {2 << 30}"\n'
        self.bench.python = self.script('python', reserved)
        Counted.answers = [(2 << 30) + (500 << 20), (900 << 20) + (500 << 20)]
        self.assertEqual(self.statuses_of(50), ['ok', 'failed'])

    def test_what_tensors_had_of_the_peak_is_told(self):
        self.bench.python = self.script('python', self.training() + 'echo "allocated_bytes 800"\n')
        self.statuses_of(50)
        figures = self.results()[0]['figures']
        self.assertEqual((figures['allocated_bytes'], figures['peak_bytes']), (800, 1000))
        self.assertEqual(self.results()[1]['figures']['budget_bytes'], 500)

    def test_a_module_that_is_missing_is_skipped_by_name_and_nothing_more_is_tried(self):
        self.bench.python = self.script('python', 'echo "No module named \'transformers\'" >&2; exit 77')
        self.assertEqual(self.statuses_of(80, 60), ['skipped'])
        self.assertIn("No module named 'transformers'", self.results()[0]['summary'])

    def test_a_plain_run_that_breaks_has_failed_and_nothing_more_is_tried(self):
        self.bench.python = self.script('python', 'exit 1')
        self.assertEqual(self.statuses_of(80, 60), ['failed'])

    def test_losses_that_are_no_numbers_are_no_training(self):
        self.bench.python = self.script('python', self.training(bits='nan'))
        self.assertEqual(self.statuses_of(80), ['failed'])

    def test_without_time_nothing_is_begun(self):
        self.bench.deadline = time.monotonic() + scripts.LEAST_S - 1
        self.assertEqual(self.statuses_of(80), ['skipped'])
        self.assertEqual(self.asked(), [])

    def test_a_script_finds_no_libraries_of_the_build_but_spillways_own(self):
        with mock.patch.dict(os.environ, {'LD_LIBRARY_PATH': '/theirs', 'SPILLWAY_MODE': 'off'}):
            env = self.bench.script_environment()
        self.assertEqual(env['LD_LIBRARY_PATH'], f'/theirs:{self.folder}/gpu/lib/spillway')
        self.assertNotIn('SPILLWAY_MODE', env)

    def test_a_dry_run_is_tiny_on_the_cpu_and_without_spillway(self):
        self.spillway('exit 1')
        scripts.try_tiny(self.bench, 'fake', ['train.py'])
        self.assertEqual(self.statuses(), ['ok'])
        self.assertIn('--device cpu --tiny', self.asked()[0])


class Runs(Case):
    def call(self, *arguments, why=''):
        output = io.StringIO()
        with mock.patch.object(device, 'missing', lambda: why), contextlib.redirect_stdout(output):
            status = main.main([*arguments, '--out', str(self.folder / 'out'), '--build', str(self.folder / 'build')])
        return status, output.getvalue()

    def test_without_a_gpu_it_says_what_it_skips_and_exits_0(self):
        status, output = self.call(why='no driver')
        self.assertEqual(status, 0)
        for name in PARTS:
            self.assertRegex(output, f'skipped {name}: .*no driver')

    def test_a_part_that_breaks_is_a_failure_and_the_next_part_runs(self):
        def broken(bench):
            raise KeyError('oh')

        after = mock.Mock(side_effect=lambda bench: bench.skip('after', 'ran'))
        with mock.patch.object(probe, 'run', broken), mock.patch.object(workloads, 'run', after), \
                mock.patch.object(main, 'ensure_built', lambda options: {}), \
                mock.patch.object(probe, 'describe', lambda bench: ({'name': 'Fake 1'}, 'a fake')):
            status, output = self.call('probe', 'workloads')
        self.assertEqual(status, 1)
        self.assertIn('the harness broke down', output)
        self.assertIn('after: ran', output)
        self.assertTrue(list((self.folder / 'out').glob('*-fake-1.md')))

    def test_what_matters_less_of_a_part_comes_when_all_parts_had_their_turn(self):
        ran = []
        with mock.patch.object(pytorch, 'run', lambda bench: ran.append('torch')), \
                mock.patch.object(pytorch, 'rest', lambda bench: ran.append(f'the rest of {bench.part}')), \
                mock.patch.object(stress, 'run', lambda bench: ran.append('stress')), \
                mock.patch.object(main, 'ensure_built', lambda options: {}), \
                mock.patch.object(probe, 'describe', lambda bench: ({'name': 'Fake 1'}, 'a fake')):
            self.call('torch', 'stress')
        self.assertEqual(ran, ['torch', 'stress', 'the rest of torch'])

    def test_the_parts_come_in_the_order_of_what_matters_most(self):
        self.assertEqual(list(PARTS), ['probe', 'workloads', 'torch', 'peers', 'batch', 'compile', 'jax', 'stress', 'sanitize', 'host'])

    def test_a_dry_run_needs_no_gpu_and_no_spillway_and_says_what_it_leaves_out(self):
        python = self.script('python', TRAINING.format(loss='2.25', bits='0x1.2p+1'))
        status, output = self.call('--dry', '--python', str(python), 'torch', 'probe', why='no driver')
        self.assertEqual(status, 0)
        self.assertIn('ok      gpt2-bf16', output)
        self.assertIn('skipped probe', output)

    def test_a_dry_run_fails_where_a_script_is_broken(self):
        python = self.script('python', 'echo "SyntaxError: oh" >&2; exit 1')
        status, output = self.call('--dry', '--python', str(python), 'torch')
        self.assertEqual(status, 1)
        self.assertIn('SyntaxError: oh', output)

    def test_no_part_may_take_a_third_of_what_a_machine_is_lent_for(self):
        for name, part in PARTS.items():
            self.assertLess(part.LIMIT_S, 180, name)
        self.assertLess(main.LIMIT_S, 540)

    def test_an_unknown_part_or_architecture_is_wrong_usage(self):
        for words, named in ((['nonsense'], 'nonsense'), (['--arch', '9.0,ninety'], 'ninety')):
            said = io.StringIO()
            with self.assertRaises(SystemExit) as stop, contextlib.redirect_stderr(said):
                main.main(words)
            self.assertEqual(stop.exception.code, 2)
            self.assertIn(named, said.getvalue())


class Builds(Case):
    def test_a_program_is_fresh_until_what_it_is_made_of_changes(self):
        source = self.folder / 'a.c'
        source.write_text('one')
        target = build.Target('probes/a', [source], [], ['cc', str(source)]).seal(self.folder, '/cuda')
        self.assertFalse(build.is_fresh(self.folder, target))
        self.script('probes/a', '')
        (self.folder / 'manifest.json').write_text(json.dumps({'probes/a': target.digest}))
        self.assertTrue(build.is_fresh(self.folder, target))
        source.write_text('two')
        self.assertFalse(build.is_fresh(self.folder, target.seal(self.folder, '/cuda')))

    def test_a_build_made_in_another_folder_with_another_toolkit_is_fresh_too(self):
        digests = set()
        for folder, cuda in ((self.folder / 'x', '/usr/local/cuda'), (self.folder / 'y', '/opt/cuda-13')):
            folder.mkdir()
            (folder / 'a.c').write_text('one')
            command = [f'{cuda}/bin/nvcc', str(folder / 'a.c')]
            digests.add(build.Target('probes/a', [folder / 'a.c'], [], command).seal(folder, cuda).digest)
        self.assertEqual(len(digests), 1)

    def test_a_program_whose_object_did_not_compile_is_not_linked(self):
        def target(name, command, objects=()):
            return build.Target(name, [], [], ['sh', '-c', command, 'compiler'], list(objects)).seal(self.folder, '/cuda')

        good, bad = target('good.o', 'touch "$2"'), target('bad.o', 'echo "error: oh" >&2; exit 1')
        programs = [target('whole', 'touch "$2"', [good]), target('broken', 'touch "$2"', [good, bad])]
        with mock.patch.object(build, 'targets', lambda *unused: programs), \
                mock.patch.object(build, 'toolkit', lambda: Path('/cuda')), \
                mock.patch.object(build, 'gather_libraries'):
            failures = build.build(self.folder, say=self.said.append)
        self.assertEqual(set(failures), {'bad.o', 'broken'})
        self.assertIn('error: oh', failures['broken'])
        self.assertTrue(build.is_fresh(self.folder, programs[0]))
        self.assertFalse((self.folder / 'broken').exists())

    def test_a_compute_capability_is_given_with_or_without_its_point(self):
        self.assertEqual([build.architecture(name) for name in ('90', '9.0', ' 10.0', '100', '9.0a', '120f')],
                         ['90', '90', '100', '100', '90a', '120f'])
        for wrong in ('', 'sm_90', '9', '9.0.0', '90b'):
            with self.assertRaises(ValueError, msg=wrong):
                build.architecture(wrong)

    def test_machine_code_runs_on_its_architecture_and_later_ones_of_the_same_number(self):
        for name, capability, runs in (('90', (9, 0), True), ('80', (8, 6), True), ('86', (8, 0), False),
                                       ('90', (10, 0), False), ('100', (10, 3), True), ('100a', (10, 3), False)):
            self.assertEqual(build.runs_on(name, capability), runs, (name, capability))

    def test_what_is_for_one_architecture_holds_no_other_ones_code(self):
        commands = [' '.join(each.command) for target in build.targets(Path('/cuda'), ('90',), ptx=False)
                    for each in [*target.objects, target]]
        made = [command for command in commands if 'gencode' in command]
        self.assertTrue(made)
        for command in made:
            self.assertEqual(command.count('-gencode'), 1)
            self.assertIn('-gencode=arch=compute_90,code=sm_90', command)

    def test_what_spillway_covers_is_read_from_its_table(self):
        covered = build.covered_calls()
        self.assertIn(('cuMemAlloc_v2', 'cuMemAlloc'), covered)
        self.assertGreater(len(covered), 100)


class Tap(unittest.TextTestResult):
    """Prints each test as a line of the Test Anything Protocol, on standard output."""

    def stopTest(self, test):
        super().stopTest(test)
        broken = next((text for what, text in self.failures + self.errors if what is test), '')
        print(f'{"not ok" if broken else "ok"} {self.testsRun} - {test.id().split(".", 1)[1]}', flush=True)
        for line in broken.splitlines():
            print(f'# {line}')

    def addError(self, test, err):
        super().addError(test, err)
        if not isinstance(test, unittest.TestCase):     # what comes before the tests of a class
            print('\n'.join(f'# {line}' for line in self.errors[-1][1].splitlines()) + f'\nBail out! {test.id()}', flush=True)


def run_all(module):
    """Every test of a module; returns the exit status."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    print(f'1..{suite.countTestCases()}')
    outcome = unittest.TextTestRunner(stream=io.StringIO(), resultclass=Tap).run(suite)
    return 0 if outcome.wasSuccessful() else 1


if __name__ == '__main__':
    sys.exit(run_all(sys.modules['__main__']))
