"""build - compiles the probes and the training programs, here or for another machine, and knows whether a build is fresh.

A build folder holds
    probes/NAME                   one program per tests/gpu/probes/NAME.c or NAME.cu; spy-NAME.so from spy-NAME.c
    workloads/objects/NAME.o      needed only to link what follows
    workloads/static/NAME         the training programs with the CUDA runtime inside, as cuBLAS and others carry it
    workloads/shared/NAME         the same with libcudart.so, as PyTorch uses it
    stress/random                 the random programs of tests/stress
    lib/                          libraries that the programs need and that another machine may lack
    lib/spillway/                 likewise what spillway itself needs: apart, since a script must find no other CUDA runtime
    data/                         the text that the training programs read, likewise
    manifest.json                 for each of these the digest of what it was made of
"""
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from . import child, place

# Machine code for these; PTX of the oldest for every other device that CUDA 13 knows.
ARCHITECTURES = ('80', '86', '90', '100')
PTX = '75'

C_FLAGS = ('-std=gnu17', '-D_GNU_SOURCE', '-O2', '-g', '-Wall', '-Wextra', '-Werror')
CUDA_FLAGS = ('-std=c++17', '-O2', '-lineinfo', '-Xcompiler', '-Wall,-Wextra')
WORKLOADS = ('gpt', 'resnet', 'lstm', 'mlp')
PROGRAMS = (*WORKLOADS, 'replay')   # a program of several files has a folder of its name
COMPILE_LIMIT_S = 300
OWN_LIBRARIES = 'lib/spillway'
STRESS = 'tests/stress/random'      # in a meson build folder: the same program for the simulated device

# What single probes are linked with beyond the driver.
SHARED_RUNTIME = {'escapes'}

SAMPLER = 'sampler'     # a library, preloaded beside spillway

# What single probes take from spillway itself.
OURS = {'hash': [place.ROOT / 'shim' / name for name in ('base/hash.c', 'base/hash.h', 'operation/hash.ptx')]}


@dataclass
class Target:
    name: str               # path in the build folder
    sources: list           # what is compiled
    inputs: list            # what else its digest covers
    command: list           # without the output; "@into@" in it is the build folder
    objects: list = field(default_factory=list)     # targets that must be there before
    digest: str = ''

    def seal(self, root, cuda):
        """The digest of the command and of every byte that goes in; where the folders lie doesn't count."""
        words = [word.replace(str(root), '@root@').replace(str(cuda), '@cuda@') for word in self.command]
        state = hashlib.sha256(json.dumps(words).encode())
        for path in self.sources + self.inputs:
            state.update(path.name.encode() + b'\0' + path.read_bytes())
        self.digest = state.hexdigest()
        return self


def toolkit():
    """The CUDA toolkit's folder, the one whose nvcc would be used; None without one."""
    for name in ('CUDA_HOME', 'CUDA_PATH'):
        if os.environ.get(name) and (Path(os.environ[name]) / 'bin/nvcc').exists():
            return Path(os.environ[name])
    nvcc = shutil.which('nvcc')
    if nvcc:
        return Path(nvcc).resolve().parent.parent
    return Path('/usr/local/cuda') if Path('/usr/local/cuda/bin/nvcc').exists() else None


def architecture(name):
    """A compute capability as nvcc names it: "9.0" and "90" are 90, "10.0a" is 100a; ValueError for what is none."""
    found = re.fullmatch(r'(\d{1,2})\.?(\d)([af]?)', name.strip())
    if not found:
        raise ValueError(f'{name!r} is no compute capability such as 90 or 9.0')
    return ''.join(found.groups())


def runs_on(name, capability):
    """Whether machine code for that architecture runs on a device of that (major, minor): within a major number, code
    for a lower minor one does, and what ends with a only on its own."""
    digits = name.rstrip('af')
    major, minor = int(digits[:-1]), int(digits[-1])
    return capability == (major, minor) if name.endswith('a') else capability[0] == major and capability[1] >= minor


def _flags(architectures, ptx):
    flags = [f'-gencode=arch=compute_{name},code=sm_{name}' for name in architectures]
    return flags + ([f'-gencode=arch=compute_{PTX},code=compute_{PTX}'] if ptx else [])


def _probe_targets(cuda, arch_flags):
    headers = sorted(place.PROBES.glob('*.h')) + sorted(place.PROBES.glob('*.cuh'))
    driver = ['-L' + str(cuda / 'lib64/stubs'), '-L' + str(cuda / 'lib/stubs'), '-lcuda']
    for source in sorted(place.PROBES.glob('*.c')):
        command = ['gcc', *C_FLAGS, '-isystem', str(cuda / 'include'), '-I', '@into@/generated', str(source)]
        if source.name.startswith('spy-'):
            # A spy is preloaded under the driver's own name, as spillway is, so it must not ask for that name itself.
            yield Target(f'probes/{source.stem}.so', [source], headers + [place.CALLS],
                         [*command, '-shared', '-fPIC', '-Wl,-soname,libcuda.so.1', '-ldl', '-pthread'])
        elif source.stem == SAMPLER:
            yield Target(f'probes/{source.stem}.so', [source], [], [*command, '-shared', '-fPIC', '-ldl', '-pthread'])
        else:
            runtime = ['-L' + str(cuda / 'lib64'), '-L' + str(cuda / 'lib'), '-lcudart', '-Wl,-rpath,$ORIGIN/../lib']
            yield Target(f'probes/{source.stem}', [source], headers + [place.CALLS, *OURS.get(source.stem, ())],
                         [*command, '-Wl,-z,lazy', *driver, *(runtime if source.stem in SHARED_RUNTIME else ()),
                          '-ldl', '-pthread'])
    for source in sorted(place.PROBES.glob('*.cu')):
        yield Target(f'probes/{source.stem}', [source], headers,
                     [str(cuda / 'bin/nvcc'), *CUDA_FLAGS, *arch_flags, str(source), *driver, '-ldl'])


def _workload_targets(cuda, arch_flags):
    """Each source is compiled once; each program is linked from its own and the common ones, twice."""
    headers = sorted(path for path in place.WORKLOADS.rglob('*') if path.suffix in ('.h', '.cuh'))
    own = {name: sorted([*place.WORKLOADS.glob(f'{name}.cu'), *place.WORKLOADS.glob(f'{name}/*.cu')]) for name in PROGRAMS}
    common = [source for source in sorted(place.WORKLOADS.glob('*.cu')) if source.stem not in PROGRAMS]
    nvcc = str(cuda / 'bin/nvcc')
    objects = {source: Target(f'workloads/objects/{source.stem}.o', [source], headers,
                              [nvcc, *CUDA_FLAGS, *arch_flags, f'-I{place.WORKLOADS}', '-c', str(source)])
               for source in [*common, *(source for sources in own.values() for source in sources)]}
    for name, sources in own.items():
        if not sources:
            continue
        parts = [objects[source] for source in [*sources, *common]]
        link = [nvcc, *(f'@into@/{part.name}' for part in parts)]
        compiled = [source for part in parts for source in part.sources]
        for variant, flags in (('static', ['-cudart', 'static']),
                               ('shared', ['-cudart', 'shared', '-Xlinker', '-rpath=$ORIGIN/../../lib'])):
            yield Target(f'workloads/{variant}/{name}', compiled, headers, [*link, *flags], parts)


def _stress_target(cuda, arch_flags):
    source = place.STRESS / 'random.cu'
    return Target('stress/random', [source], [],
                  [str(cuda / 'bin/nvcc'), *CUDA_FLAGS, *arch_flags, '-Xcompiler', '-pthread', str(source)])


def targets(cuda, architectures=ARCHITECTURES, ptx=True):
    """All programs; without a toolkit (None) they can't be built, but are known fresh or stale all the same."""
    cuda = cuda or Path('@cuda@')
    flags = _flags(architectures, ptx)
    found = [*_probe_targets(cuda, flags), *_workload_targets(cuda, flags), _stress_target(cuda, flags)]
    for target in found:
        for each in [*target.objects, target]:
            each.seal(place.ROOT, cuda)
    return found


def covered_calls():
    """What spillway covers: (symbol, asked name) pairs of shim/driver/calls.h."""
    text = place.CALLS.read_text() if place.CALLS.exists() else ''
    return re.findall(r'^\s*X\(\w+, (\w+), "(\w+)"', text, re.MULTILINE)


def driver_symbols(cuda):
    """Every function that the toolkit's stub of the driver exports."""
    for folder in ('lib64/stubs', 'lib/stubs'):
        stub = cuda / folder / 'libcuda.so'
        if stub.exists():
            listing = subprocess.run(['nm', '-D', '--defined-only', str(stub)], capture_output=True, text=True, check=True)
            return sorted(set(re.findall(r' T (cu\w+)$', listing.stdout, re.MULTILINE)))
    return []


def write_generated(cuda, folder):
    """What probes compile in: lists, as X-macros, and the hash's kernel."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([child.PYTHON, str(place.ROOT / 'shim/operation/make-string'), str(place.ROOT / 'shim/operation/hash.ptx'),
                    str(folder / 'hash-ptx.h'), 'spw_hash_ptx'], check=True)
    lines = ['/* Made by tests/gpu/harness/build.py. */', '#define DRIVER_SYMBOLS(X) \\']
    lines += [f'    X({name}) \\' for name in driver_symbols(cuda)]
    lines += ['', '#define COVERED_CALLS(X) \\']
    lines += [f'    X({symbol}, "{asked}") \\' for symbol, asked in covered_calls()]
    text = '\n'.join(lines) + '\n\n'     # an empty line ends the last macro
    path = folder / 'driver-symbols.h'
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def load_manifest(folder):
    try:
        return json.loads((folder / 'manifest.json').read_text())
    except (OSError, ValueError):
        return {}


def is_fresh(folder, target):
    return (folder / target.name).exists() and load_manifest(folder).get(target.name) == target.digest


def stale(folder, architectures=ARCHITECTURES, only=None):
    """The names of what would have to be compiled, of those in `only` when it is given."""
    return [target.name for target in targets(toolkit(), architectures)
            if (only is None or target.name in only) and not is_fresh(folder, target)]


def _compile(target, folder):
    output = folder / target.name
    output.parent.mkdir(parents=True, exist_ok=True)
    fresh = output.with_name(output.name + '.new')
    command = [word.replace('@into@', str(folder)) for word in target.command]
    outcome = child.run([*command, '-o', fresh], COMPILE_LIMIT_S)
    if outcome.ok:
        fresh.replace(output)
    return outcome


def build(folder, architectures=ARCHITECTURES, say=print, jobs=None, only=None, ptx=True):
    """Compiles what is not fresh, of those in `only` when it is given; `ptx`: for later devices too. Returns
    {target: what went wrong}; raises RuntimeError without a toolkit."""
    cuda = toolkit()
    if not cuda:
        raise RuntimeError('nvcc was not found: looked at CUDA_HOME, CUDA_PATH, PATH and /usr/local/cuda')
    write_generated(cuda, folder / 'generated')
    programs = targets(cuda, architectures, ptx)
    old = [target for target in programs if (only is None or target.name in only) and not is_fresh(folder, target)]
    objects = {part.name: part for target in old for part in target.objects}
    failures = {}
    for stage in ([part for part in objects.values() if not is_fresh(folder, part)], old):
        failures.update(_compile_all(stage, folder, failures, say, jobs))
    gather_libraries(cuda, folder / 'lib')
    gather_data(folder / 'data')
    return failures


def _compile_all(wanted, folder, failures, say, jobs):
    """One stage, several at a time; what needs an object that failed is not tried. Returns {target: what went wrong}."""
    manifest = load_manifest(folder)
    found = {target.name: f'{part.name} was not built: {failures[part.name]}'
             for target in wanted for part in target.objects if part.name in failures}
    with concurrent.futures.ThreadPoolExecutor(jobs or min(8, os.cpu_count() or 1)) as pool:
        running = {pool.submit(_compile, target, folder): target for target in wanted if target.name not in found}
        for done in concurrent.futures.as_completed(running):
            target, outcome = running[done], done.result()
            if outcome.ok:
                manifest[target.name] = target.digest
            else:
                found[target.name] = (outcome.errors or outcome.output or outcome.why()).strip()
            say(f'  {"built" if outcome.ok else "FAILED"}  {target.name}  ({outcome.seconds:.1f} s)')
    folder.mkdir(parents=True, exist_ok=True)
    (folder / 'manifest.json').write_text(json.dumps(manifest, indent=1, sort_keys=True) + '\n')
    return found


def gather_libraries(cuda, folder):
    """Copies what another machine may lack: the shared CUDA runtime, and what spillway's own files are linked with."""
    folder.mkdir(parents=True, exist_ok=True)
    for runtime in [*sorted((cuda / 'lib64').glob('libcudart.so.*')), *sorted((cuda / 'lib').glob('libcudart.so.*'))]:
        name = re.match(r'libcudart\.so\.\d+', runtime.name).group(0)
        _copy(runtime.resolve(), folder / name)
        break
    own = folder / 'spillway'
    own.mkdir(exist_ok=True)
    for program in (place.shim(), place.tool()):
        if program.exists():
            for name, path in linked_libraries(program):
                _copy(path, own / name)


def gather_data(folder):
    """Copies the text that the training programs read, which other systems may have left out."""
    folder.mkdir(parents=True, exist_ok=True)
    if place.TEXT.exists():
        _copy(place.TEXT, folder / place.TEXT.name)


def _copy(source, target):
    if not target.exists() or target.read_bytes() != source.read_bytes():
        shutil.copyfile(source, target)


# The C library's own: always there, and never to be mixed with another machine's.
_SYSTEM = re.compile(r'^(ld-linux|linux-vdso|lib(c|m|dl|rt|pthread|util|resolv|gcc_s|stdc\+\+|cuda)\.so)')


def linked_libraries(program):
    """(name, path) of the shared libraries it is linked with, the system's own left out."""
    try:
        listing = subprocess.run(['ldd', str(program)], capture_output=True, text=True, check=False).stdout
    except OSError:
        return []
    found = re.findall(r'^\s*(\S+) => (/\S+)', listing, re.MULTILINE)
    return [(name, Path(path)) for name, path in found if not _SYSTEM.match(name)]
