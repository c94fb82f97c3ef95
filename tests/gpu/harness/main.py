"""main - the command line of tests/gpu/run: builds, looks for a GPU, runs the parts, says what came out."""
import argparse
import os
import signal
import sys
import time
import traceback
from pathlib import Path

from . import build, child, device, keep, pack, place
from .bench import Bench
from .parts import PARTS, probe
from .results import FAILED, OK, SKIPPED, Book, Result

LIMIT_S = 520   # for everything: machines with a GPU are lent for ten minutes at a time


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog='tests/gpu/run', formatter_class=argparse.RawDescriptionHelpFormatter,
        description='Builds and runs what needs a GPU. Without one it says what it skips and exits 0.',
        epilog='parts:\n' + '\n'.join(f'  {name:10} {part.ABOUT}' for name, part in PARTS.items())
               + '\n\nOUT=FOLDER is where results go, as --out. Exit status: 0 all well or skipped, 1 something failed, '
                 '2 wrong usage.')
    parser.add_argument('parts', nargs='*', metavar='part', help='what to run; everything when none is named')
    parser.add_argument('--build-only', action='store_true', help='compile, run nothing; for a machine with a GPU elsewhere')
    parser.add_argument('--pack', action='store_true',
                        help='stage what runs elsewhere in one folder, for one architecture: see README.md')
    parser.add_argument('--build', metavar='FOLDER', default=place.ROOT / 'build',
                        help='the meson build folder with spillway in it (default: build)')
    parser.add_argument('--into', metavar='FOLDER', help='where the programs are built (default: build/gpu), or the pack (default: build/pack-90)')
    parser.add_argument('--out', metavar='FOLDER', default=os.environ.get('OUT'),
                        help='where results go (default: OUT, else build/gpu-results; from a pack, OUT gets a copy)')
    parser.add_argument('--state', metavar='FOLDER', default=place.ROOT / pack.RESULTS if pack.about() else None,
                        help='keep results here and go on where an earlier start with it ended, of the same commit on the same '
                             'device (default: none; from a pack, its folder results)')
    parser.add_argument('--again', action='store_true',
                        help='run the named parts anew, all when none is named; with --only, results whose names begin so')
    parser.add_argument('--arch', metavar='LIST',
                        help='compute capabilities to make machine code for, as 90 or 9.0 '
                             f'(default: {",".join(build.ARCHITECTURES)}; of a pack {pack.ARCHITECTURE})')
    parser.add_argument('--limit', metavar='SECONDS', type=float, default=LIMIT_S, help='for everything (default: %(default)s)')
    parser.add_argument('--jobs', metavar='N', type=int, help='compilers at a time')
    parser.add_argument('--only', metavar='LIST', default='', help='of a part only these probes or programs')
    parser.add_argument('--quick', action='store_true', help='fewer budgets')
    parser.add_argument('--simulated', action='store_true', help='a dry run on the simulated device, for the parts that can')
    parser.add_argument('--simulation', metavar='FOLDER',
                        help='the meson build folder that has the simulated device and its programs (default: that of --build)')
    parser.add_argument('--dry', action='store_true',
                        help='only try the training scripts, tiny and on the CPU: no spillway, no GPU')
    parser.add_argument('--python', metavar='PROGRAM', default=child.PYTHON,
                        help='runs the training scripts: one that has PyTorch, JAX (default: the one that runs this)')
    options = parser.parse_args(arguments)
    unknown = [name for name in options.parts if name not in PARTS]
    if unknown:
        parser.error(f'no such part: {", ".join(unknown)}; there are: {", ".join(PARTS)}')
    options.parts = options.parts or list(PARTS)
    place.use_build(options.build)
    place.use_simulation(options.simulation)
    settle_architectures(parser, options)
    options.into = Path(options.into or place.build_folder() / (f'pack-{options.arch[0]}' if options.pack else 'gpu')).resolve()
    if not options.out and not pack.about():
        options.out = place.build_folder() / 'gpu-results'
    options.out = Path(options.out).resolve() if options.out else None
    options.state = Path(options.state).resolve() if options.state else None
    options.only = tuple(filter(None, options.only.split(',')))
    return options


def settle_architectures(parser, options):
    names = options.arch or (pack.ARCHITECTURE if options.pack else ','.join(build.ARCHITECTURES))
    try:
        options.arch = tuple(build.architecture(name) for name in names.split(','))
    except ValueError as error:
        parser.error(f'--arch: {error}')
    if options.pack and len(options.arch) > 1:
        parser.error('--arch: a pack is for one compute capability; make one for each')


def say(text):
    print(text, flush=True)


def main(arguments):
    started = time.monotonic()
    try:
        options = parse(arguments)
        packed = pack.about()
        if packed:
            pack.check(packed)
        if options.pack:
            pack.make(options.into, options.arch[0], about_this_tree()['commit'], say, options.jobs)
            return 0
    except pack.Refused as why:
        say(f'refused: {why}')
        return 1
    if options.build_only and packed:
        say('refused: nothing is compiled in a pack')
        return 1
    if options.build_only:
        return build_only(options)
    return run_all(options, packed, started)


def run_all(options, packed, started):
    signal.signal(signal.SIGTERM, lambda *unused: sys.exit(128 + signal.SIGTERM))     # what runs ends with the harness
    book = Book(options.out, say)
    book.about.update(about_this_tree())
    if options.dry:
        return run_dry(options, Bench(book, options.into, {}, started + options.limit))
    if options.simulated:
        return run_simulated(options, book, started)
    why = device.missing()
    if why:
        return skip_all(options, book, why)
    bench = Bench(book, options.into, ensure_built(options), started + options.limit)
    book.device, sentence = probe.describe(bench)
    say(f'device: {sentence}')
    bench.unfit = pack.unfit(packed, device.capability())
    if bench.unfit:
        say(f'{bench.unfit}: what is compiled is skipped, scripts are run')
    take_up(options, book)
    return run_parts(options, bench)


def build_only(options):
    try:
        failures = build.build(options.into, options.arch, say, options.jobs)
    except RuntimeError as error:
        say(f'skipped: nothing was built: {error}')
        return 0
    for name, message in failures.items():
        say(f'\n{name}:\n{message}')
    say(f'built into {options.into}' + (f', {len(failures)} failed' if failures else ''))
    return 1 if failures else 0


def ensure_built(options, only=None):
    """Compiles what is missing or stale; returns {target: why it can't be had}. In a pack all is as it was packed."""
    if pack.about():
        return {}
    old = build.stale(options.into, options.arch, only)
    if not old:
        say(f'using the build in {options.into}')
        return {}
    if not build.toolkit():
        return {name: 'missing or stale, and there is no nvcc here to build it' for name in old}
    say(f'building into {options.into}')
    return build.build(options.into, options.arch, say, options.jobs, only)


def settle_folder(options, book):
    """Where no device is known whose results could be kept."""
    if not book.folders:
        book.write_into(options.state / 'without-a-device')


def take_up(options, book):
    """Goes on with what earlier starts left, where results are kept."""
    if not options.state:
        return
    named = book.about['commit'] != 'unknown' and not book.about['commit'].endswith('-dirty')
    if not named and not pack.about():
        say('nothing is kept for later: the tree is none of a commit, so that two starts may be of different ones')
        return
    keep.take_up(book, options.state)
    if options.again:
        for name in options.parts:
            book.forget(name, options.only)
    if book.earlier:
        say(f'going on with {len(book.earlier)} results in {book.folders[0]}')


def skip_all(options, book, why):
    say(f'no GPU here: {why}')
    settle_folder(options, book)
    for name in options.parts:
        book.open_part(name)
        book.add(name, Result(name, SKIPPED, f'{PARTS[name].ABOUT}; no GPU: {why}'))
    return finish(book)


def run_simulated(options, book, started):
    if not (place.simulated_device() / 'libcuda.so.1').exists():
        say(f'skipped: there is no simulated device in {place.simulated_device()}')
        return 0
    book.about['simulated'] = True
    book.device = {'name': 'simulated ' + os.environ.get('SIMGPU_PROFILE', 'h200')}
    if 'probe' in options.parts and not build.toolkit() and not pack.about():
        say('skipped probe: no CUDA toolkit to build the probes with')
        options.parts = [name for name in options.parts if name != 'probe']
    take_up(options, book)
    failures = ensure_built(options, probe.needed_for_simulation()) if 'probe' in options.parts else {}
    return run_parts(options, Bench(book, options.into, failures, started + options.limit, simulated=True))


def run_dry(options, bench):
    """Each script of each part once, so that what is wrong with one is seen where there is no GPU."""
    settle_folder(options, bench.book)
    bench.book.device, bench.python = {'name': 'no device, a dry run'}, options.python
    for name in options.parts:
        bench.part = name
        bench.book.open_part(name)
        if hasattr(PARTS[name], 'dry'):
            PARTS[name].dry(bench)
        else:
            bench.skip(name, f'{PARTS[name].ABOUT}; no script that a CPU can run')
    return finish(bench.book)


def run_parts(options, bench):
    """Each part, then what matters less of those that have such; each within its limit and within what is left."""
    bench.quick, bench.only, bench.python = options.quick, options.only, options.python
    last = bench.deadline
    for name in options.parts:
        bench.part = name
        bench.book.open_part(name)
        if bench.simulated and not PARTS[name].SIMULATED:
            bench.skip(name, f'{PARTS[name].ABOUT}; not on the simulated device')
        elif bench.unfit and getattr(PARTS[name], 'COMPILED', False):
            bench.skip(name, bench.unfit)
        else:
            run_within_limit(bench, PARTS[name].run, PARTS[name].LIMIT_S, last)
    for name in options.parts:
        if hasattr(PARTS[name], 'rest') and not bench.simulated:
            bench.part = name
            bench.book.open_part(name, ', the rest')
            run_within_limit(bench, PARTS[name].rest, PARTS[name].LIMIT_S, last)
    return finish(bench.book)


def run_within_limit(bench, run, limit_s, last):
    """One that breaks doesn't stop the others."""
    bench.cut = False
    bench.deadline = min(last, time.monotonic() + limit_s)
    try:
        run(bench)
    except Exception:  # pylint: disable=broad-except  # a fault of this harness: told, and the next part runs
        bench.fail(bench.part, 'the harness broke down in this part', errors=traceback.format_exc())
        say(traceback.format_exc())


def finish(book):
    book.write()
    say(f'{book.count(OK)} ok, {book.count(FAILED)} failed, {book.count(SKIPPED)} skipped; '
        + ' and '.join(f'{folder}/results.json' for folder in book.folders) + f', {book.page_name()}')
    return 1 if book.count(FAILED) else 0


def about_this_tree():
    """The commit that is measured, and whether it was changed since; of a pack also what it is."""
    packed = pack.about()
    if packed:
        changed = {'content': packed['content']} if packed['commit'].endswith('-dirty') else {}
        return {'commit': packed['commit'], 'packed': f'{packed["made"]} for compute capability {pack.spoken(packed["architecture"])}',
                **changed}
    outcome = child.run(['git', '-C', place.ROOT, 'describe', '--always', '--dirty', '--abbrev=12'], 10)
    return {'commit': outcome.output.strip() if outcome.ok else 'unknown'}
