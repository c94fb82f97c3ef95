#!/usr/bin/env python3
"""Tests of what the GPU harness keeps from one start to the next, so that no run is made twice and none is left out."""
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import device, keep, main, results, scripts  # noqa: E402
from harness.bench import Bench  # noqa: E402
from harness.parts import batch, compiled, peers, plain_jax, probe, pytorch, sanitize, stress, workloads  # noqa: E402
from test_harness import ANSWER, TRAINING, Case, Counted, ScriptCase, run_all  # noqa: E402

ABOUT = {'date': '2026-12-01', 'commit': '0123456789ab'}
DEVICE = {'name': 'Fake 1', 'driver': '1.2', 'memory_bytes': 1 << 30}


class Starts(ScriptCase):
    """Every start has a book of its own, and all of them one folder."""

    def start(self, left_s=60, about=None, fake=None, **more):
        book = results.Book(self.folder / 'out', self.said.append)
        book.about, book.device = dict(about or ABOUT), dict(fake or DEVICE)
        keep.take_up(book, self.folder / 'state')
        self.bench = Bench(book, self.folder / 'gpu', {}, time.monotonic() + left_s, part='test', python=self.bench.python)
        for name, value in more.items():
            setattr(self.bench, name, value)
        book.open_part('test')
        return book

    def kept(self):
        """The one folder of results that there is."""
        found, = (self.folder / 'state').glob('*/results.json')
        return found

    def names(self):
        return [result['name'] for result in self.results()]

    def remove(self, name):
        data = json.loads(self.kept().read_text())
        data['parts']['test'] = [result for result in data['parts']['test'] if result['name'] != name]
        self.kept().write_text(json.dumps(data))

    def runs(self, run, **more):
        """How many runs of the Python another start of that part takes."""
        before = len(self.asked())
        self.start(**more)
        run(self.bench)
        return len(self.asked()) - before


def case(*budgets):
    return lambda bench: scripts.run_case(bench, 'fake', ['train.py'], budgets)


class Cases(Starts):
    def test_a_second_start_runs_nothing_and_has_all_results(self):
        self.assertEqual(self.runs(case(80, 40)), 3)
        first = self.results()
        self.assertEqual(self.runs(case(80, 40)), 0)
        self.assertEqual(self.results(), first)
        self.assertEqual(json.loads(self.kept().read_text())['parts']['test'], first)

    def test_a_failed_result_is_not_tried_again_either(self):
        self.spillway('exit 1')
        self.runs(case(80))
        self.assertEqual((self.runs(case(80)), self.statuses()), (0, ['ok', 'failed']))
        self.bench.python = self.script('python', f'echo "$@" >>{self.folder}/asked; exit 1')
        self.runs(lambda bench: scripts.run_case(bench, 'other', ['train.py'], (80,)))
        self.assertEqual(self.runs(lambda bench: scripts.run_case(bench, 'other', ['train.py'], (80,))), 0)

    def test_a_result_that_is_taken_out_is_run_again_and_no_other_not_even_the_plain_one(self):
        self.runs(case(80, 60, 40))
        self.remove('fake at 60 %')
        self.spillway(f'echo "$budget" >>{self.folder}/budgets; exec "$@"')
        self.assertEqual(self.runs(case(80, 60, 40)), 1)
        self.assertEqual((self.folder / 'budgets').read_text().split(), ['600'])
        self.assertEqual(self.statuses(), ['ok'] * 4)

    def test_a_plain_result_that_is_taken_out_is_run_again(self):
        self.runs(case(80))
        self.remove('fake')
        self.assertEqual((self.runs(case(80)), sorted(self.names())), (1, ['fake', 'fake at 80 %']))

    def test_what_had_no_time_is_run_by_the_next_start_and_compared_with_the_plain_run_of_the_first(self):
        Counted.answers = [(1 << 30) + 1000, 900 + (200 << 20)]
        self.runs(case())
        self.runs(case(80), left_s=scripts.LEAST_S - 1)
        self.assertEqual(self.statuses(), ['ok', 'skipped'])
        self.assertEqual((self.runs(case(80)), self.names()), (1, ['fake', 'fake at 80 %']))
        self.assertEqual(self.results()[1]['figures']['mapped_bytes'], 0)   # the context of the first start is known

    def test_a_run_that_is_ended_because_the_time_of_its_part_is_gets_another_start(self):
        self.runs(case())
        self.spillway('sleep 30')
        with mock.patch.object(scripts, 'LEAST_S', 0):
            self.runs(case(80), left_s=1)
        self.assertEqual(self.statuses(), ['ok', 'skipped'])
        self.assertIn(results.NO_TIME, self.results()[-1]['summary'])
        self.spillway('exec "$@"')
        self.assertEqual((self.runs(case(80)), self.statuses()), (1, ['ok', 'ok']))

    def test_a_run_that_has_all_its_time_and_is_too_slow_has_failed(self):
        self.spillway('sleep 30')
        self.start()
        scripts.run_case(self.bench, 'fake', ['train.py'], (80,), limit_s=0.5)
        self.assertEqual(self.statuses(), ['ok', 'failed'])

    def test_a_module_that_was_missing_is_looked_for_again(self):
        good = self.bench.python
        self.bench.python = self.script('other', 'exit 77')
        self.runs(case(80))
        self.assertEqual(self.statuses(), ['skipped'])
        self.bench.python = good
        self.assertEqual((self.runs(case(80)), self.statuses()), (2, ['ok', 'ok']))

    def test_another_pytorch_than_the_first_starts_is_not_taken_for_wrong_bits(self):
        self.runs(case())
        self.bench.python = self.script('python', self.training(bits='0x1.4p+1'))
        self.assertEqual((self.runs(case(80)), self.statuses()), (2, ['ok', 'ok']))
        self.spillway(self.training(bits='0x1.8p+1'))
        self.runs(case(80, 40))
        self.assertEqual(self.statuses()[2], 'failed')

    def test_results_of_another_commit_or_device_stay_and_are_not_taken(self):
        self.runs(case(80))
        for about, fake in (({**ABOUT, 'commit': 'ba9876543210'}, None), (None, {**DEVICE, 'name': 'Fake 2'}),
                            (None, {**DEVICE, 'driver': '1.3'}), ({**ABOUT, 'content': 'abc'}, None)):
            self.assertEqual(self.runs(case(80), about=about, fake=fake), 2, (about, fake))
        self.assertEqual(len(list((self.folder / 'state').glob('*/results.json'))), 5)
        self.assertEqual(self.runs(case(80)), 0)

    def test_what_came_back_in_out_can_be_gone_on_with(self):
        self.runs(case(80))
        (self.folder / 'state').rename(self.folder / 'lost')
        (self.folder / 'out').rename(self.folder / 'state')
        self.assertEqual((self.runs(case(80, 40)), self.names()), (1, ['fake', 'fake at 80 %', 'fake at 40 %']))

    def test_the_page_keeps_the_day_of_the_first_start(self):
        self.runs(case())
        self.runs(case(80), about={**ABOUT, 'date': '2026-12-02'})
        self.assertEqual([path.name for path in (self.folder / 'out').glob('*.md')], ['2026-12-01-fake-1.md'])

    def test_without_what_was_kept_of_plain_runs_they_are_made_again(self):
        self.runs(case(80))
        (self.kept().parent / keep.FILE).unlink()
        self.assertEqual((self.runs(case(80, 40)), self.names()), (2, ['fake at 80 %', 'fake', 'fake at 40 %']))

    def test_what_cannot_be_read_is_put_aside_with_a_word(self):
        self.runs(case(80))
        self.kept().write_text('{"parts": ')
        self.assertEqual(self.runs(case(80)), 2)
        self.assertIn('cannot be read', ' '.join(self.said))
        self.assertTrue((self.kept().parent / 'results.json.unreadable').exists())
        (self.kept().parent / keep.FILE).write_text('[1]')
        self.assertEqual(self.runs(case(80, 40)), 2)

    def test_of_what_is_forgotten_all_is_run_again_and_nothing_else(self):
        self.runs(case(80, 40))
        before = len(self.asked())
        book = self.start()
        book.forget('test', ('fake at 4',))
        case(80, 40)(self.bench)
        self.assertEqual(len(self.asked()) - before, 1)
        book = self.start()
        book.forget('other')
        case(80, 40)(self.bench)
        self.assertEqual(len(self.asked()) - before, 1)
        book = self.start()
        book.forget('test')
        case(80, 40)(self.bench)
        self.assertEqual(len(self.asked()) - before, 4)


class Parts(Starts):
    """Every part takes up what is there."""

    def again(self, run, first, missing, alone=1):
        """So many runs the first time, none the second, and `alone` when one result is taken out."""
        self.assertEqual(self.runs(run), first)
        names = self.names()
        self.assertEqual(self.runs(run), 0)
        self.assertEqual(self.names(), names)
        self.remove(missing)
        self.assertEqual(self.runs(run), alone)
        self.assertEqual(sorted(self.names()), sorted(names))

    def test_torch(self):
        self.again(pytorch.run, 3 * 5, 'resnet50-fp32 at 60 %')
        self.again(pytorch.rest, 9 * 5, 'bert-base-fp32')

    def test_jax(self):
        self.again(plain_jax.run, 4, 'transformer at 60 %')

    def test_compile(self):
        self.again(compiled.run, 9, 'reduce-overhead at 80 %')

    def test_compile_where_graphs_cannot_be_had(self):
        refuses = 'case "$PYTORCH_ALLOC_CONF $*" in backend*reduce-overhead*) exit 1;; esac\n'
        self.bench.python = self.script('python', self.training().splitlines()[0] + '\n' + refuses + self.training().split('\n', 1)[1])
        self.again(compiled.run, 6, 'default at 80 %')

    def test_peers(self):
        said = self.training().split('\n', 1)[0]
        self.bench.python = self.script('python', f'case "$*" in *--saving*)\n{self.training(step_ms=4.0, peak=500)};; '
                                                  f'*)\n{self.training()};; esac')
        self.assertIn('asked', said)
        self.again(peers.run, 2 * (1 + 2 * len(peers.PEERS)), 'gpt2 torch.utils.checkpoint', alone=2)

    def test_a_peer_that_ran_does_not_run_again_for_spillways_sake(self):
        self.bench.python = self.script('python', f'case "$*" in *--saving*)\n{self.training(step_ms=4.0, peak=500)};; '
                                                  f'*)\n{self.training()};; esac')
        self.spillway('sleep 30')
        with mock.patch.object(scripts, 'LEAST_S', 0), mock.patch.object(peers, 'PEERS', {'cpu': 'save_on_cpu'}):
            self.runs(peers.run, left_s=2, only=('gpt2',))
            self.assertEqual(self.statuses(), ['ok', 'skipped'])
            self.spillway('exec "$@"')
            self.assertEqual((self.runs(peers.run, only=('gpt2',)), self.statuses()), (1, ['ok', 'ok']))


class Batches(Starts):
    def setUp(self):
        super().setUp()
        choose = (f'echo $5 >>{self.folder}/asked; size=$5; case "$*" in *limit-bytes*) most=60;; *) most=${{MOST:-100000}};; esac\n'
                  '[ -z "$SLOW" ] || sleep 30\n')
        self.bench.python = self.script('python', f'{choose}[ $size -le $most ] || {{ echo "out of memory" >&2; exit 1; }}\n'
                                        + TRAINING.format(loss='2.25', bits=self.BITS))
        self.spillway('MOST=170 exec "$@"')

    def test_a_search_that_is_at_its_end_is_not_made_again(self):
        self.assertGreater(self.runs(batch.run), 6)
        names = self.names()
        self.assertEqual(self.runs(batch.run), 0)
        self.remove('resnet50 under spillway')
        self.assertGreater(self.runs(batch.run), 2)
        self.assertEqual((self.names(), self.statuses()), (names, ['ok', 'ok']))

    def test_a_search_that_time_ended_goes_on_where_it_was_and_ends_as_without_a_break(self):
        self.runs(batch.run)
        whole = {result['name']: result['figures']['batch'] for result in self.results()}
        total = len(self.asked())
        (self.folder / 'state').rename(self.folder / 'lost')
        (self.folder / 'out').rename(self.folder / 'before')
        tries, made = scripts.measure, []

        def until_cut(bench, *arguments, **how):
            made.append(arguments)
            if len(made) % 4 == 0:      # every fourth run is ended by its part's time
                bench.deadline = time.monotonic() + 0.3
                return tries(bench, *arguments, **how, SLOW=1)
            return tries(bench, *arguments, **how)

        with mock.patch.object(scripts, 'measure', until_cut):
            for _ in range(9):
                self.runs(batch.run)
        self.assertEqual({result['name']: result['figures']['batch'] for result in self.results()}, whole)
        self.assertEqual(self.statuses(), ['ok', 'ok'])
        cut = len(made) // 4
        self.assertGreater(cut, 1)
        self.assertEqual(len(self.asked()) - total, total + cut)

    def test_what_is_not_at_its_end_says_so(self):
        self.start(left_s=scripts.LEAST_S + 30)
        tries = scripts.measure

        def once(bench, *arguments, **how):
            bench.deadline = time.monotonic() + 5
            return tries(bench, *arguments, **how)

        with mock.patch.object(scripts, 'measure', once):
            batch.run(self.bench)
        self.assertTrue(self.results()[0]['figures']['unfinished'])
        self.assertIn('no time was left to go on', self.results()[0]['summary'])

    def test_a_failure_under_spillway_leaves_the_plain_result(self):
        self.spillway('echo "Segmentation fault" >&2; exit 1')
        self.runs(batch.run)
        self.assertEqual((self.names(), self.statuses()), (['resnet50', 'resnet50 under spillway'], ['ok', 'failed']))
        self.assertEqual(self.runs(batch.run), 0)


class Programs(Starts):
    """The parts whose programs are compiled: each run of one is noted."""

    def noting(self, name, text):
        self.script(name, f'echo {name} >>{self.folder}/asked\n{text}')

    def test_probes(self):
        self.noting('gpu/probes/fake', f"echo '{ANSWER % 'true'}'")
        self.noting('gpu/probes/none', f"echo '{ANSWER % 'false'}'")
        with mock.patch.object(probe, 'PROBES', (probe.Probe('fake', 5), probe.Probe('none', 5))):
            self.assertEqual(self.runs(probe.run), 2)
            self.assertEqual((self.runs(probe.run), self.statuses()), (0, ['ok', 'skipped']))
            self.remove('fake')
            self.assertEqual(self.runs(probe.run), 1)

    def test_workloads(self):
        for variant in ('static', 'shared'):
            self.noting(f'gpu/workloads/{variant}/mlp', TRAINING.format(loss='2.25', bits='0x40100000'))
        with mock.patch.object(workloads, 'PROGRAMS', ('mlp',)):
            self.assertEqual(self.runs(workloads.run), 2 + len(workloads.BUDGETS))
            self.assertEqual(self.runs(workloads.run), 0)
            for name in ('mlp static at 40 %', 'mlp shared'):
                self.remove(name)
                self.assertEqual(self.runs(workloads.run), 1, name)
            self.assertEqual(self.statuses(), ['ok'] * (2 + len(workloads.BUDGETS)))

    def test_stress(self):
        self.noting('gpu/stress/random', 'echo "thread 0 sum 0abc"')
        self.script('build/tools/spillway', 'echo \'{"devices": [{"physical_bytes_peak": 1000}]}\' >$3; '
                    'while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
        with mock.patch.object(stress, 'Watch', Counted):
            self.runs(stress.run, quick=True, left_s=0)
            self.assertEqual(self.statuses(), ['skipped'])
            self.assertEqual(self.runs(stress.run, quick=True), 3 * stress.QUICK_SEEDS)
            self.assertEqual(self.runs(stress.run, quick=True), 0)
            self.runs(stress.run, quick=True, left_s=0)
            self.assertEqual(self.statuses(), ['ok'] * stress.QUICK_SEEDS)
            self.assertEqual(self.runs(stress.run), 3 * (stress.SEEDS - stress.QUICK_SEEDS))

    def test_sanitize(self):
        self.noting('gpu/workloads/static/mlp', TRAINING.format(loss='2.25', bits='0x40100000'))
        self.script('sanitizer', 'while [ "${1#--}" != "$1" ]; do shift 2; done; exec "$@"')
        with mock.patch.object(sanitize, 'PROGRAMS', ('mlp',)), mock.patch.object(sanitize, 'Watch', Counted), \
                mock.patch.object(sanitize, 'sanitizer', lambda: self.folder / 'sanitizer'):
            self.assertEqual(self.runs(sanitize.run), 2)
            self.assertEqual(self.runs(sanitize.run), 0)


class Commands(Case):
    def call(self, *arguments, commit='0123456789ab'):
        output = io.StringIO()
        ran = []

        def part(bench):
            if not bench.earlier('one'):
                ran.append('one')
                bench.add(results.Result('one', results.OK, 'ran', command='one'))

        with mock.patch.object(device, 'missing', lambda: ''), contextlib.redirect_stdout(output), \
                mock.patch.object(probe, 'run', part), mock.patch.object(main, 'ensure_built', lambda options: {}), \
                mock.patch.object(main, 'about_this_tree', lambda: {'commit': commit}), \
                mock.patch.object(probe, 'describe', lambda bench: (DEVICE, 'a fake')):
            main.main([*arguments, 'probe', '--out', str(self.folder / 'out'), '--build', str(self.folder / 'build')])
        return len(ran), output.getvalue()

    def test_results_are_kept_where_that_is_asked_for_and_run_again_where_that_is(self):
        state = ('--state', str(self.folder / 'state'))
        self.assertEqual([self.call(*words)[0] for words in ((), (), state, state, (*state, '--again'), state)], [1, 1, 1, 0, 1, 0])

    def test_again_with_names_is_for_these_alone(self):
        state = ('--state', str(self.folder / 'state'))
        self.call(*state)
        self.assertEqual(self.call(*state, '--again', '--only', 'other')[0], 0)
        self.assertEqual(self.call(*state, '--again', '--only', 'one')[0], 1)

    def test_a_tree_that_is_none_of_a_commit_keeps_nothing_and_says_so(self):
        state = ('--state', str(self.folder / 'state'))
        for commit in ('0123456789ab-dirty', 'unknown'):
            self.assertEqual([self.call(*state, commit=commit)[0] for _ in range(2)], [1, 1])
            self.assertIn('nothing is kept', self.call(*state, commit=commit)[1])

    def test_a_folder_that_can_be_copied_back_is_left_in_out_after_every_result(self):
        self.call('--state', str(self.folder / 'state'))
        self.assertEqual({path.name for path in (self.folder / 'out').iterdir()},
                         {'results.json', keep.FILE, results.time.strftime('%Y-%m-%d-fake-1.md', results.time.gmtime())})


class Kills(Case):
    """A start that is killed at any moment leaves what a later one can go on with."""
    PART = '''
import sys, time
sys.path[:0] = [{here!r}]
from pathlib import Path
from harness import keep, results
from harness.bench import Bench
folder = Path({folder!r})
book = results.Book(folder / "out", lambda text: None)
book.about.update(commit="0123456789ab")
book.device = {{"name": "Fake 1"}}
keep.take_up(book, folder / "state")
print(len(book.earlier), flush=True)
bench = Bench(book, folder, {{}}, time.monotonic() + 60, part="test")
book.open_part("test")
for number in range(400):
    if not bench.earlier(str(number)):
        bench.add(results.Result(str(number), "ok", "x" * 500, command="x"))
print("end", flush=True)
'''

    def start(self, kill_after_s=None):
        """(how many results it found, whether it came to its end)"""
        program = self.PART.format(here=str(Path(__file__).resolve().parent), folder=str(self.folder))
        with subprocess.Popen([sys.executable, '-c', program], stdout=subprocess.PIPE, text=True) as process:
            found = int(process.stdout.readline())
            if kill_after_s is not None:
                time.sleep(kill_after_s)
                os.kill(process.pid, signal.SIGKILL)
            return found, 'end' in process.stdout.read()

    def test_what_runs_ends_with_a_harness_that_is_told_to_end(self):
        noted = self.folder / 'process'
        slow = self.script('slow', f'echo $$ >{noted}.new; mv {noted}.new {noted}; sleep 60 & wait')
        with subprocess.Popen([sys.executable, Path(__file__).with_name('run'), '--dry', 'jax', '--python', slow, '--out',
                               self.folder / 'out'], stdout=subprocess.DEVNULL) as process:
            while not noted.exists():
                time.sleep(0.01)
            process.terminate()
            self.assertEqual(process.wait(), 128 + signal.SIGTERM)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(noted.read_text()), 0)

    def test_whoever_is_killed_leaves_results_and_the_next_start_goes_on_behind_them(self):
        before = 0
        for _ in range(6):
            found, _ = self.start(0.05)
            self.assertGreaterEqual(found, before)
            before = found
        self.assertGreater(before, 0)
        _, ended = self.start()
        self.assertTrue(ended)
        names = [result['name'] for result in self.results()]
        self.assertEqual(names, [str(number) for number in range(400)])
        self.assertFalse(list((self.folder / 'state').rglob('*.unreadable')))


if __name__ == '__main__':
    sys.exit(run_all(sys.modules['__main__']))
