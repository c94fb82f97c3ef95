#!/usr/bin/env python3
"""Tests of the GPU harness's parts whose programs are scripts, or run beside what else there is. They need no GPU."""
import subprocess
import sys
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import place, samples  # noqa: E402
from harness.parts import batch, compiled, host, peers, plain_jax, pytorch, sanitize, stress  # noqa: E402
from test_harness import TRAINING, Case, Counted, ScriptCase, run_all  # noqa: E402


class Torch(ScriptCase):
    def test_each_well_known_model_comes_before_any_other_and_before_another_precision_of_it(self):
        self.assertEqual([model for model, _ in pytorch.BASE], ['gpt2', 'resnet50', 'bert-base'])
        self.assertEqual({precision for _, precision in pytorch.BASE}, {'fp32', 'tf32', 'bf16'})
        self.assertEqual({*pytorch.BASE, *pytorch.OTHERS}, {(model, precision) for model in pytorch.BATCH
                                                           for precision in ('fp32', 'tf32', 'bf16')})

    def test_all_cases_are_run_plain_and_at_every_budget(self):
        pytorch.run(self.bench)
        self.assertEqual(self.statuses(), ['ok'] * (3 * 5))
        pytorch.rest(self.bench)
        self.assertEqual(self.statuses(), ['ok'] * (12 * 5))
        self.assertEqual(sum('--model gpt2 --precision bf16' in asked for asked in self.asked()), 5)

    def test_only_the_model_that_is_asked_for(self):
        self.bench.only, self.bench.quick = ('gpt2',), True
        pytorch.run(self.bench)
        self.assertEqual([result['name'] for result in self.results()], ['gpt2-bf16', 'gpt2-bf16 at 100 %', 'gpt2-bf16 at 60 %'])

    def test_without_spillway_the_plain_runs_are_made(self):
        place.tool().unlink()
        self.bench.quick = True
        pytorch.run(self.bench)
        self.assertEqual(self.statuses(), ['skipped', 'ok', 'ok', 'ok'])


class Batch(ScriptCase):
    """A model whose memory is so many MiB for each sample, without spillway and with it."""

    def setUp(self):
        super().setUp()
        self.fits(plain=60, under=170)

    def fits(self, plain, under, otherwise='torch.OutOfMemoryError: CUDA out of memory.'):
        choose = f'echo $5 >>{self.folder}/batches; size=$5; case "$*" in *limit-bytes*) most={plain};; *) most=${{MOST:-100000}};; esac\n'
        self.bench.python = self.script('python', f'{choose}[ $size -le $most ] || {{ echo "{otherwise}" >&2; exit 1; }}\n'
                                        + self.training())
        self.spillway(f'MOST={under} exec "$@"')

    def run_part(self):
        batch.run(self.bench)
        return self.results()

    def test_the_largest_batch_is_found_to_a_tenth_and_compared(self):
        plain, under = self.run_part()
        self.assertEqual((plain['status'], under['status']), ('ok', 'ok'))
        for result, most in ((plain, 60), (under, 170)):
            self.assertLessEqual(result['figures']['batch'], most)
            self.assertLess(result['figures']['batch'], result['figures']['too_large'])
            self.assertGreater(result['figures']['batch'], most * 0.9)
        self.assertIn('goal 2.5 met', under['summary'])
        self.assertIn('same bits', under['summary'])

    def test_a_goal_that_is_missed_is_told_and_no_failure(self):
        self.fits(plain=60, under=90)
        under = self.run_part()[1]
        self.assertEqual((under['status'], under['figures']['goal_met']), ('ok', False))
        self.assertIn('goal 2.5 missed', under['summary'])

    def test_a_first_guess_that_is_far_too_large_does_no_harm(self):
        self.fits(plain=3, under=7)
        self.assertEqual([result['figures']['batch'] for result in self.run_part()], [3, 7])

    def test_the_number_of_runs_is_bounded(self):
        with mock.patch.object(batch, 'TRIES', 2):
            self.run_part()
        self.assertEqual(len((self.folder / 'batches').read_text().split()), 2 + 2 + 1)    # the last with memory enough

    def test_a_run_that_breaks_otherwise_is_a_failure(self):
        self.fits(plain=60, under=70, otherwise='Segmentation fault')
        self.assertEqual([result['status'] for result in self.run_part()], ['failed'])
        self.assertIn('Segmentation fault', self.results()[-1]['summary'])

    def test_more_on_the_device_than_the_budget_is_a_failure(self):
        Counted.answers = [1000] * 5 + [7 << 30] * 9
        with mock.patch.object(batch, 'TRIES', 4):
            self.assertIn('failed', [result['status'] for result in self.run_part()])
        self.assertIn('more than the budget', self.results()[-1]['summary'])

    def test_other_bits_than_with_memory_enough_are_a_failure(self):
        self.spillway(self.training(bits='0x1.3p+1'))
        with mock.patch.object(batch, 'TRIES', 3):
            plain, under = self.run_part()
        self.assertEqual((plain['status'], under['status']), ('ok', 'failed'))
        self.assertIn('0x1.3p+1 instead of 0x1.2p+1', under['summary'])

    def test_a_module_that_is_missing_is_skipped(self):
        self.bench.python = self.script('python', 'exit 77')
        self.assertEqual([result['status'] for result in self.run_part()], ['skipped'])

    def test_without_spillway_only_the_plain_search_is_made(self):
        place.tool().unlink()
        self.assertEqual([result['status'] for result in self.run_part()], ['ok', 'skipped'])


BUSY = """
#include <time.h>
static volatile unsigned long counted;
static __attribute__((noinline)) void count_up(void) { for (int i = 0; i < 100000; i++) counted++; }
static __attribute__((noinline)) void sleep_a_while(void) { nanosleep(&(struct timespec){.tv_nsec = 300000000}, 0); }
void work(void) { for (int i = 0; i < 4000; i++) count_up(); sleep_a_while(); }    /* some tenths of a second */
"""


AGAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int count, char **words)   /* runs for 4 ms and some microseconds, then executes itself, as often as it is told */
{
    const int left = atoi(words[1]);
    char told[16];
    const clock_t begin = clock();
    while (clock() - begin < (4000 + left % 100 * 5) * (CLOCKS_PER_SEC / 1000000))
        ;
    snprintf(told, sizeof(told), "%d", left - 1);
    return left && execl(words[0], words[0], told, (char *)0) ? 1 : 0;
}
"""


class Host(ScriptCase):
    """The sampler over a program whose time goes to one function of a library, and what is told of it."""

    def setUp(self):
        super().setUp()
        (self.folder / 'busy.c').write_text(BUSY)
        (self.folder / 'main.c').write_text('void work(void); int main(void) { work(); return 0; }')
        self.library, self.sampler = self.folder / 'build/shim/libspillway.so', self.folder / 'gpu/probes/sampler.so'
        self.sampler.parent.mkdir(parents=True, exist_ok=True)
        self.library.unlink()
        for words in (('-shared', '-fPIC', 'busy.c', '-o', self.library), ('main.c', self.library, '-o', 'main'),
                      ('-shared', '-fPIC', place.PROBES / 'sampler.c', '-o', self.sampler, '-ldl', '-pthread')):
            subprocess.run(['gcc', '-D_GNU_SOURCE', '-O1', '-g', *words], cwd=self.folder, check=True)

    def sampled(self):
        subprocess.run([self.folder / 'main'], env={'LD_PRELOAD': str(self.sampler), 'SAMPLES': str(self.folder / 'samples')}, check=True)
        return samples.Samples((self.folder / 'samples').read_text(), self.library)

    def test_the_time_of_a_function_is_told_and_what_waits_does_not_count(self):
        told = self.sampled().shares(0)
        self.assertGreater(told['samples'], 10)
        self.assertGreater(told['under_spillway_percent'], 90)
        self.assertGreater(told['within/work_percent'], 90)
        self.assertGreater(told['within/count_up_percent'], 90)
        self.assertNotIn('within/sleep_a_while_percent', told)

    def test_a_program_that_executes_another_does_not_die_of_a_sample(self):
        (self.folder / 'again.c').write_text(AGAIN)
        subprocess.run(['gcc', '-O1', 'again.c', '-o', 'again'], cwd=self.folder, check=True)
        subprocess.run([self.folder / 'again', '500'], env={'LD_PRELOAD': str(self.sampler), 'SAMPLES': str(self.folder / 'samples')}, check=True)

    def test_only_what_came_after_a_time_counts(self):
        found = self.sampled()
        self.assertGreater(found.middle_ms(), 20)
        self.assertLess(found.shares(found.middle_ms())['samples'], found.shares(0)['samples'])
        self.assertEqual(found.shares(10 ** 6), {'samples': 0, 'under_spillway_percent': 0.0})

    def test_runs_within_both_budgets_are_sampled(self):
        self.spillway(f'[ -z "$SAMPLES" ] || {self.folder}/main; unset LD_PRELOAD; exec "$@"')
        host.run(self.bench)
        self.assertEqual(self.statuses(), ['ok'] * 3)
        self.assertGreater(self.results()[1]['figures']['within/work_percent'], 90)

    def test_a_sampler_that_writes_nothing_is_a_failure(self):
        host.run(self.bench)
        self.assertEqual(self.statuses(), ['ok', 'failed', 'failed'])

    def test_without_the_sampler_it_says_so(self):
        self.sampler.unlink()
        host.run(self.bench)
        self.assertEqual(self.statuses(), ['skipped'])


class Peers(ScriptCase):
    """A Python in which each peer halves the peak and doubles the time."""

    def setUp(self):
        super().setUp()
        self.bench.only = ('gpt2',)
        self.peer(self.training(step_ms=4.0, peak=500))
        self.spillway(f'echo "$budget" >>{self.folder}/budgets\n' + self.training(step_ms=2.5))

    def peer(self, text):
        self.bench.python = self.script('python', f'case "$*" in *--saving*)\n{text};; *)\n{self.training()};; esac')

    def run_part(self):
        peers.run(self.bench)
        return self.results()

    def test_each_peer_is_told_as_times_of_spillways_step_at_its_peak(self):
        plain, *others = self.run_part()
        self.assertEqual([plain['status']] + [other['status'] for other in others], ['ok'] * (1 + len(peers.PEERS)))
        self.assertEqual((self.folder / 'budgets').read_text().split(), ['500'] * len(peers.PEERS))
        self.assertEqual(others[0]['figures']['peer_times_ours'], 1.6)
        self.assertIn('1.60 times as long', others[0]['summary'])

    def test_a_peer_that_does_not_run_is_skipped_with_its_reason(self):
        self.peer('echo "no compiler" >&2; exit 1')
        self.assertEqual([result['status'] for result in self.run_part()], ['ok'] + ['skipped'] * len(peers.PEERS))
        self.assertIn('no compiler', self.results()[-1]['summary'])

    def test_a_peer_that_saves_nothing_says_nothing_about_spillway(self):
        self.peer(self.training(peak=1000))
        self.assertEqual([result['status'] for result in self.run_part()], ['ok'] + ['skipped'] * len(peers.PEERS))
        self.assertFalse((self.folder / 'budgets').exists())

    def test_other_bits_than_the_plain_runs_under_spillway_fail(self):
        self.spillway(self.training(bits='0x1.3p+1'))
        self.assertEqual([result['status'] for result in self.run_part()], ['ok'] + ['failed'] * len(peers.PEERS))

    def test_a_run_under_spillway_that_breaks_fails_beside_each_peer(self):
        self.spillway('echo "the smallest budget that would do is 900" >&2; exit 1')
        self.assertEqual([result['status'] for result in self.run_part()], ['ok'] + ['failed'] * len(peers.PEERS))
        self.assertIn('smallest budget', self.results()[-1]['summary'])

    def test_a_peer_may_have_other_bits(self):
        self.peer(self.training(bits='0x1.3p+1', peak=500))
        self.assertEqual([result['status'] for result in self.run_part()], ['ok'] * (1 + len(peers.PEERS)))


class Jax(ScriptCase):
    def test_a_plain_run_and_one_at_every_budget(self):
        plain_jax.run(self.bench)
        self.assertEqual(self.statuses(), ['ok'] * (1 + len(plain_jax.BUDGETS)))
        self.assertTrue(all('train_jax.py' in asked for asked in self.asked()))


class Compile(ScriptCase):
    def test_both_modes_are_run_plain_and_at_every_budget(self):
        compiled.run(self.bench)
        self.assertEqual(self.statuses(), ['ok'] * (2 * (1 + len(compiled.BUDGETS)) + 1))
        for mode in compiled.MODES:
            self.assertEqual(sum(f'--compile {mode}' in asked for asked in self.asked()), 1 + len(compiled.BUDGETS) + (mode == compiled.GRAPHS))

    def test_a_mode_that_the_drivers_allocator_does_not_have_is_expected_and_not_tried_within_budgets(self):
        refuses = 'case "$PYTORCH_ALLOC_CONF $*" in backend*reduce-overhead*) echo "it does not yet support that" >&2; exit 1;; esac\n'
        self.bench.python = self.script('python', refuses + self.training())
        compiled.run(self.bench)
        self.assertEqual(self.statuses(), ['ok'] * (1 + len(compiled.BUDGETS) + 2))
        told = self.results()[-1]
        self.assertTrue(told['figures']['expected_failure'])
        self.assertIn('it does not yet support that', told['summary'])

    def test_a_failure_under_spillway_alone_is_not_expected(self):
        self.spillway('case "$*" in *reduce-overhead*) exit 1;; esac; exec "$@"')
        compiled.run(self.bench)
        self.assertEqual(self.statuses().count('failed'), len(compiled.BUDGETS))

    def test_all_runs_share_what_was_compiled_and_nothing_of_it_stays(self):
        self.bench.python = self.script('python', f'echo "$TORCHINDUCTOR_CACHE_DIR" >>{self.folder}/caches\n' + self.training())
        compiled.run(self.bench)
        folders = set((self.folder / 'caches').read_text().split())
        self.assertEqual(len(folders), 1)
        self.assertFalse(Path(folders.pop()).exists())

    def test_a_mode_that_does_not_run_plain_leaves_the_other_alone(self):
        self.bench.python = self.script('python', 'case "$*" in *--compile\\ default*) exit 1;; esac\n' + self.training())
        compiled.run(self.bench)
        self.assertEqual(self.statuses(), ['failed'] + ['ok'] * (2 + len(compiled.BUDGETS)))


class Stress(Case):
    """A random program that is right, and a spillway that says what was mapped."""

    def setUp(self):
        super().setUp()
        patch = mock.patch.object(stress, 'Watch', Counted)
        patch.start()
        self.addCleanup(patch.stop)
        Counted.answers = []
        self.bench.quick = True
        self.program('echo "thread 0 sum 0abc"')
        self.script('build/shim/libspillway.so', '')
        self.spillway('exec "$@"')

    def program(self, text):
        self.script('gpu/stress/random', text + '\n')

    def spillway(self, text):
        self.script('build/tools/spillway',
                    'summary=$3; [ "$4" != --budget ] || budget=$5; while [ "$1" != -- ]; do shift; done; shift\n'
                    'echo \'{"devices": [{"physical_bytes_peak": 1000}]}\' >$summary\n' + text)

    def statuses(self):
        stress.run(self.bench)
        return [result['status'] for result in self.results()]

    def test_every_byte_right_within_half_of_the_memory_is_well(self):
        self.assertEqual(self.statuses(), ['ok'] * stress.QUICK_SEEDS)
        self.assertEqual(self.results()[0]['figures']['budget_bytes'], 500)

    def test_a_wrong_byte_fails_in_a_budget_only_too(self):
        self.spillway('[ -z "$budget" ] || { echo "random: thread 0, word 7: 1, expected 2" >&2; exit 1; }; exec "$@"')
        self.assertEqual(self.statuses(), ['failed'] * stress.QUICK_SEEDS)
        self.assertIn('expected 2', self.results()[0]['summary'])

    def test_other_bytes_that_the_program_believes_fail(self):
        self.spillway('[ -z "$budget" ] && exec "$@"; echo "thread 0 sum 0abd"')
        self.assertEqual(self.statuses(), ['failed'] * stress.QUICK_SEEDS)

    def test_a_budget_that_one_operation_does_not_fit_into_grows(self):
        self.spillway('[ "${budget:-900}" -ge 700 ] || { echo "spillway: out of device memory" >&2; exit 3; }; exec "$@"')
        self.assertEqual(self.statuses(), ['ok'] * stress.QUICK_SEEDS)
        self.assertEqual(self.results()[0]['figures']['budget_bytes'], 781)

    def test_it_does_not_grow_for_ever(self):
        self.spillway('[ -z "$budget" ] && exec "$@"; echo "spillway: out of device memory" >&2; exit 3')
        self.assertEqual(self.statuses(), ['failed'] * stress.QUICK_SEEDS)

    def test_more_on_the_device_than_the_budget_fails(self):
        self.spillway('exec "$@"')
        Counted.answers = [0, 1000 + (300 << 20), 500 + (300 << 20), 0, 1000 + (300 << 20), 500 + (450 << 20)]
        self.assertEqual(self.statuses()[:2], ['ok', 'failed'])
        self.assertIn('more than the budget', self.results()[1]['summary'])

    def test_without_spillway_or_the_program_it_says_so(self):
        place.tool().unlink()
        self.assertEqual(self.statuses(), ['skipped'])
        (self.folder / 'gpu/stress/random').unlink()
        self.assertEqual(self.statuses(), ['skipped', 'failed'])


class Sanitize(Case):
    """A compute-sanitizer that runs what it is given, and a spillway that lets it."""

    def setUp(self):
        super().setUp()
        for name, value in (('PROGRAMS', ('mlp',)), ('sanitizer', lambda: self.folder / 'sanitizer'), ('Watch', Counted)):
            patch = mock.patch.object(sanitize, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        Counted.answers = []
        self.sanitizer('exec "$@"')
        self.script('gpu/workloads/static/mlp', TRAINING.format(loss='2.25', bits='0x40100000'))
        self.script('build/shim/libspillway.so', '')
        self.spillway('exec "$@"')

    def sanitizer(self, text):
        self.script('sanitizer', 'while [ "${1#--}" != "$1" ]; do shift 2; done\n' + text)

    def spillway(self, text):
        self.script('build/tools/spillway', 'while [ "$1" != -- ]; do shift; done; shift\n' + text)

    def result(self):
        sanitize.run(self.bench)
        return self.results()[-1]

    def test_the_same_bits_and_nothing_found_are_well(self):
        result = self.result()
        self.assertEqual((result['status'], result['figures']['budget_bytes']), ('ok', 600))

    def test_an_access_that_is_found_fails_and_is_quoted(self):
        self.spillway('echo "========= Invalid __global__ read of size 4"; echo "========= ERROR SUMMARY: 3 errors"; exit 86')
        result = self.result()
        self.assertEqual((result['status'], result['figures']['errors']), ('failed', 3))
        self.assertIn('Invalid __global__ read', result['summary'])

    def test_other_bits_fail(self):
        self.spillway(TRAINING.format(loss='2.25', bits='0x40100001'))
        self.assertEqual(self.result()['status'], 'failed')

    def test_a_run_that_breaks_fails(self):
        self.spillway('kill -SEGV $$')
        self.assertEqual(self.result()['status'], 'failed')

    def test_a_run_that_is_too_slow_for_the_limit_says_nothing(self):
        self.spillway('sleep 60')
        with mock.patch.object(sanitize, 'RUN_LIMIT_S', 0.5):
            self.assertEqual(self.result()['status'], 'skipped')

    def test_a_plain_run_that_it_does_not_get_along_with_says_nothing_about_spillway(self):
        self.sanitizer('echo "device not supported" >&2; exit 1')
        result = self.result()
        self.assertEqual(result['status'], 'skipped')
        self.assertIn('device not supported', result['summary'])

    def test_without_it_that_is_said(self):
        with mock.patch.object(sanitize, 'sanitizer', lambda: None):
            self.assertEqual(self.result()['status'], 'skipped')
        self.assertIn('compute-sanitizer', self.results()[0]['summary'])


if __name__ == '__main__':
    sys.exit(run_all(sys.modules['__main__']))
