"""pack - stages in one folder what runs on a machine with a GPU and nothing else, and knows such a folder.

A pack is laid out as the tree is, so that all is found where it always is:
    pack.json                       of which commit it is, for which architecture, and the digest of each file
    tests/gpu/run, harness, programs    this harness and the training scripts
    tests/workloads/data            the images that the programs learn from
    build/shim, build/tools         spillway
    build/gpu                       the programs, for that one architecture, and the libraries and text that they need
    results                         what its starts leave
Programs are stripped of what debuggers read; the names of functions stay, which call stacks are told with."""
import hashlib
import json
import os
import shutil
import time
from pathlib import Path

from . import build, child, place

ARCHITECTURE = '90'         # H100, H200
MOST_BYTES = 30 << 20       # what may be taken along to a bare machine is little, and others want some of it
RESULTS = 'results'
SCRIPTS = ('run', 'harness/*.py', 'harness/parts/*.py', 'programs/*.py')
LIBRARIES = ('lib', 'data')
# The names within the static CUDA runtime are digests that tell nobody anything.
STRIP = ('--strip-debug', '--wildcard', '--strip-symbol=libcudart_static_*')
NO_WORK = 'no work to do'


class Refused(Exception):
    """Why there is no pack."""


def about():
    """What the pack that this harness lies in says of itself; None where it lies in the tree."""
    path = place.ROOT / place.PACK
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Refused(f'{path} cannot be read: {error}') from error


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check(told):
    """Raises Refused when a file did not arrive as it was packed; makes programs executable where copying lost that."""
    root = place.ROOT
    wrong = [name for name, known in told['files'].items() if not (root / name).is_file() or digest(root / name) != known]
    if wrong:
        raise Refused(f'this pack is not whole: {wrong[0]} is missing or damaged'
                      + (f', and so are {len(wrong) - 1} more' if wrong[1:] else '') + '; copy it again')
    for name in told['programs']:
        if not os.access(root / name, os.X_OK):
            (root / name).chmod(0o755)


def unfit(told, capability):
    """Why what is compiled in a pack can't run on a device of that (major, minor); '' when it can or that isn't known."""
    if not told or not capability or build.runs_on(told['architecture'], capability):
        return ''
    return f'this pack is for compute capability {spoken(told["architecture"])}, and the device has {capability[0]}.{capability[1]}'


def spoken(architecture):
    """90 as 9.0."""
    digits = architecture.rstrip('af')
    return f'{digits[:-1]}.{digits[-1]}{architecture[len(digits):]}'


# --------------------------------------------------------------------------------------------------------- making one
def make(target, architecture, commit, say=print, jobs=None):
    """Makes the pack, or raises Refused and leaves what was there. Results that lie in an older one are taken along."""
    stage, old = (target.with_name(target.name + end) for end in ('.new', '.old'))
    if old.exists() and not target.exists():
        old.rename(target)      # an earlier call was killed between its last two steps
    look_for_all(target)
    programs = place.build_folder() / f'gpu-{architecture}'
    say(f'compiling for compute capability {spoken(architecture)} into {programs}')
    failures = build.build(programs, (architecture,), say, jobs, ptx=False)
    for name, why in failures.items():
        raise Refused(f'{name} does not compile: {why.splitlines()[-1] if why else "it says nothing"}')
    names = [one.name for one in build.targets(build.toolkit(), (architecture,), ptx=False)]
    for left in (stage, old):
        shutil.rmtree(left, ignore_errors=True)
    try:
        files = fill(stage, programs, names)
        write_about(stage, architecture, commit, files)
        if (target / RESULTS).is_dir():
            shutil.copytree(target / RESULTS, stage / RESULTS)
        if target.exists():
            target.rename(old)
        stage.rename(target)
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
    tell(target, architecture, commit, say)


def look_for_all(target):
    """Raises Refused, naming what is missing, before anything is compiled."""
    if about():
        raise Refused('this is a pack itself; packs are made in the tree')
    if not build.toolkit():
        raise Refused('nvcc was not found: looked at CUDA_HOME, CUDA_PATH, PATH and /usr/local/cuda')
    for path in (place.shim(), place.tool()):
        if not path.exists():
            raise Refused(f'{path} is not there; ./dev build makes it, --build names another folder')
    if not shutil.which('strip'):
        raise Refused('strip was not found on PATH; it is in the package binutils')
    if not place.TEXT.exists():
        raise Refused(f'{place.TEXT} is not there, the text that gpt and lstm learn from')
    if target.exists() and any(target.iterdir()) and not (target / place.PACK).exists():
        raise Refused(f'{target} has other things in it; --into names another folder')
    old = stale()
    if old:
        raise Refused(f'{old} is older than its sources or their build files; ./dev build makes it anew')


def stale():
    """What of spillway the build folder would make anew; '' when nothing, or when ninja can't tell."""
    ninja = shutil.which('ninja')
    if not ninja or not (place.build_folder() / 'build.ninja').exists():
        return ''
    for path in (place.shim(), place.tool()):
        outcome = child.run([ninja, '-C', place.build_folder(), '-n', path.relative_to(place.build_folder())], 60)
        if outcome.ok and NO_WORK not in outcome.output:
            return path
    return ''


def fill(stage, programs, names):
    """Copies everything; returns the programs among it, as paths in the pack."""
    made = [programs / name for name in names]
    for path in [place.shim(), place.tool(), *made]:
        strip(path, stage / _packed(path, programs))
    for folder in LIBRARIES:
        shutil.copytree(programs / folder, stage / 'build/gpu' / folder)
    if not list((stage / 'build/gpu/lib').glob('libcudart.so.*')):
        raise Refused(f'libcudart.so is not in {build.toolkit()}, and half of the training programs are linked with it')
    for pattern in SCRIPTS:
        for path in sorted((place.ROOT / 'tests/gpu').glob(pattern)):
            _copy(path, stage / path.relative_to(place.ROOT))
    for path in (place.DIGITS, place.DIGITS.with_name('README.md')):    # whose licence wants to be told
        _copy(path, stage / path.relative_to(place.ROOT))
    return [str(_packed(path, programs)) for path in [place.tool(), *made]]


def _packed(path, programs):
    """Where a file of the build lies in a pack."""
    inside = path.is_relative_to(programs)
    return Path('build/gpu') / path.relative_to(programs) if inside else Path('build') / path.relative_to(place.build_folder())


def _copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def strip(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    outcome = child.run(['strip', *STRIP, source, '-o', target], 60)
    if not outcome.ok:
        raise Refused(f'{source} could not be stripped: {outcome.why()}')


def write_about(stage, architecture, commit, programs):
    files = {str(path.relative_to(stage)): digest(path) for path in sorted(stage.rglob('*')) if path.is_file()}
    content = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:12]
    told = {'commit': commit, 'architecture': architecture, 'made': time.strftime('%Y-%m-%d', time.gmtime()),
            'content': content, 'programs': programs, 'files': files}
    (stage / place.PACK).write_text(json.dumps(told, indent=1) + '\n')


def size(folder):
    """Bytes of everything but results."""
    return sum(path.stat().st_size for path in folder.rglob('*')
               if path.is_file() and RESULTS not in path.relative_to(folder).parts[:1])


def tell(target, architecture, commit, say):
    """How large it is, what is in it, and what to type where it was copied to."""
    say(f'{target}: {mebibytes(size(target))} for compute capability {spoken(architecture)}, commit {commit}')
    for name in ('build/shim', 'build/tools', 'build/gpu/probes', 'build/gpu/workloads', 'build/gpu/stress', 'build/gpu/lib',
                 'build/gpu/data', 'tests/gpu', 'tests/workloads'):
        files = [path for path in (target / name).rglob('*') if path.is_file()]
        say(f'  {name:20} {mebibytes(sum(path.stat().st_size for path in files)):>9} in {len(files)} files')
    if size(target) > MOST_BYTES:
        say(f'that is more than the {mebibytes(MOST_BYTES)} that it should have')
    say(f'copy that folder; then, there, as often as there is time:\n  python3 {target.name}/tests/gpu/run')


def mebibytes(count):
    return f'{count / (1 << 20):.1f} MiB'
