#!/usr/bin/env python3
"""What `meson install` puts somewhere works from there: the command finds its library, pkg-config names it.

usage: install.py SOURCE_FOLDER"""
import ctypes
import ctypes.util
import json
import os
import re
import shutil
import subprocess
import tempfile

from harness import BUILD, DEVICE, PRELOAD, SMALL_DEVICE, TINY, WORKLOADS, Skipped, environment, finish, require, sentence


def installed(folder):
    """Paths of the installed files by name; of two files with one name, the one that can be executed."""
    done = subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", folder], capture_output=True, text=True,
                          check=False)
    require(done.returncode == 0, done.stdout, done.stderr)
    paths = [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names]
    return {os.path.basename(path): path for path in sorted(paths, key=lambda path: os.access(path, os.X_OK))}


def output(command, **settings):
    done = subprocess.run(command, env=environment(settings), capture_output=True, text=True, check=False, timeout=120)
    require(done.returncode == 0, command, done.stdout, done.stderr)
    return done.stdout


def path_of(name):
    """The file that the loader takes for a library's name."""
    ctypes.CDLL(name)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next(line.split(None, 5)[5].strip() for line in maps if line.rstrip().endswith("/" + name) or os.path.basename(line.strip()).startswith(name))


@sentence("an installed spillway runs a program from where it was put")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-install-") as folder:
        files = installed(folder)
        program = [os.path.join(WORKLOADS, "mlp"), *TINY["mlp"]]
        plain = output(program, LD_LIBRARY_PATH=DEVICE, **SMALL_DEVICE)
        within = output([files["spillway"], "run", "--budget", "90%", "--", *program], LD_LIBRARY_PATH=DEVICE, **SMALL_DEVICE)
        require(re.findall("[0-9a-f]{8,}", plain) == re.findall("[0-9a-f]{8,}", within), plain, within)


def names_in_cache(folder, *folders):
    """What the loader would find by name, were these folders those that ldconfig reads."""
    conf, cache = os.path.join(folder, "ld.so.conf"), os.path.join(folder, "ld.so.cache")
    with open(conf, "w", encoding="utf-8") as file:
        file.writelines(where + "\n" for where in folders)
    output(["ldconfig", "-X", "-C", cache, "-f", conf], PATH=os.environ["PATH"] + ":/sbin:/usr/sbin")
    return output(["ldconfig", "-p", "-C", cache], PATH=os.environ["PATH"] + ":/sbin:/usr/sbin")


@sentence("ldconfig does not take it for the machine's driver: neither in what the loader then finds nor in links that it makes")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-install-") as folder:
        library = installed(folder)["libspillway.so"]
        read = [os.path.dirname(os.path.dirname(library)), os.path.join(folder, "usr/local/lib"), os.path.join(folder, "usr/lib")]
        os.makedirs(read[1], exist_ok=True)
        os.makedirs(read[2], exist_ok=True)
        for where in read:
            output(["ldconfig", "-n", where], PATH=os.environ["PATH"] + ":/sbin:/usr/sbin")
        links = [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names if name.startswith("libcuda.so.")]
        require(not links, f"ldconfig made {links}")
        found = names_in_cache(folder, *read)
        require("libcuda" not in found and "libspillway" not in found, found)
        require("libcuda.so.1" in names_in_cache(folder, os.path.dirname(library)), "the test finds nothing even where it lies")


SHOWN = """import os
print(os.environ["LD_PRELOAD"])
print(*{line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if "/libspillway" in line}, sep="\\n")"""

# The file that has the cuInit which a program finds in what it opened.
OPENED = """import ctypes
at = ctypes.cast(ctypes.CDLL("libcuda.so").cuInit, ctypes.c_void_p).value
for line in open("/proc/self/maps"):
    first, last = (int(word, 16) for word in line.split()[0].split("-"))
    if first <= at < last:
        print(line.split(None, 5)[5].strip())"""


@sentence("a program that opens libcuda.so without the 1 gets us from where it was installed, once")
def _():
    for prefix in "spillway-install-", "spillway install ":
        with tempfile.TemporaryDirectory(prefix=prefix) as folder:
            files = installed(folder)
            said = output([files["spillway"], "run", "--", "python3", "-c", OPENED], LD_LIBRARY_PATH=DEVICE, **SMALL_DEVICE)
            require(os.path.realpath(said.strip()) == os.path.realpath(files["libspillway.so"]), said)
            said = output([files["spillway"], "run", "--", "python3", "-c", "import ctypes; ctypes.CDLL('libcuda.so')\n" + SHOWN], LD_LIBRARY_PATH=DEVICE)
            require(said.splitlines()[1:] == [files["libspillway.so"]], said)


@sentence("a libunwind that lies beside the library walks stacks where the machine has none")
def _():
    found = ctypes.util.find_library("unwind")
    if not found:
        raise Skipped("libunwind is not installed")
    with tempfile.TemporaryDirectory(prefix="spillway-install-") as folder:
        files = installed(folder)
        lacking = {"LD_PRELOAD": os.path.join(BUILD, "tests", "integration", "liblacking.so"), "LACKS": "libunwind"}
        doctor = [files["spillway"], "doctor", "--json"]
        said = json.loads(subprocess.run(doctor, env=environment(lacking), capture_output=True, check=False, timeout=60).stdout)
        require(said["tracing"]["libunwind"] is None, "the test finds nothing even where there is none", said["tracing"])
        beside = os.path.join(os.path.dirname(files["libspillway.so"]), "libunwind.so.8")
        shutil.copy(path_of(found), beside)
        said = json.loads(subprocess.run(doctor, env=environment(lacking), capture_output=True, check=False, timeout=60).stdout)
        require(said["tracing"]["libunwind"] == beside, said["tracing"])
        trace, program = os.path.join(folder, "mlp.trace"), [os.path.join(WORKLOADS, "mlp"), "--size", "small", "--steps", "12"]
        output([files["spillway"], "trace", "--output", trace, "--", *program], LD_LIBRARY_PATH=DEVICE, **SMALL_DEVICE, **lacking)
        told = json.loads(output([files["spillway"], "report", "--json", trace]))["sites"]
        require(any(site and any("mlp" in frame for frame in site["stack"]) for site in told), "no stack is told", told)


@sentence("no symbolic link is installed: wheels have none")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-install-") as folder:
        links = [path for path in installed(folder).values() if os.path.islink(path)]
        require(not links, links)


@sentence("an installed spillway runs a program from a folder with spaces in its name, and doctor finds nothing wrong there")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway install ") as folder:
        files = installed(folder)
        program = [os.path.join(WORKLOADS, "mlp"), *TINY["mlp"]]
        summary = os.path.join(folder, "the summary")
        output([files["spillway"], "run", "--budget", "90%", "--summary", summary, "--", *program], LD_LIBRARY_PATH=DEVICE, **SMALL_DEVICE)
        require(os.path.exists(summary), "the library was not there")
        doctor = output([files["spillway"], "doctor"], LD_LIBRARY_PATH=DEVICE, **SMALL_DEVICE)
        require("PROBLEM" not in doctor and re.search("devices +1\n", doctor), doctor)


@sentence("of two installations the one whose command was given last keeps the budget, alone and without a word of the other")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-one-") as one, tempfile.TemporaryDirectory(prefix="spillway two ") as two:
        outer, inner = installed(one), installed(two)
        for first, last in (outer, inner), (inner, outer), (outer, outer), (inner, inner):
            runs = [first["spillway"], "run", "--budget", "80%", "--", last["spillway"], "run", "--budget", "90%", "--"]
            done = subprocess.run([*runs, os.path.join(WORKLOADS, "mlp"), *TINY["mlp"]], capture_output=True, text=True, check=False, timeout=120,
                                  env=environment({"LD_LIBRARY_PATH": DEVICE, **SMALL_DEVICE}))
            require(done.returncode == 0 and done.stderr.count("spillway:") == 1 and "of the budget of" in done.stderr, runs, done.stderr)
            loaded = output([*runs, "python3", "-S", "-c", SHOWN], LD_LIBRARY_PATH=DEVICE, **SMALL_DEVICE).splitlines()[1:]
            require(loaded == [last["libspillway.so"]], runs, loaded)


@sentence("what else is preloaded stays, in its order; spillway's library comes first, and once")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-install-") as folder:
        files = installed(folder)
        ours, others = files["libspillway.so"], ["libm.so.6", "libdl.so.2"]
        for before in (f"libm.so.6 {ours}:libdl.so.2", f"{PRELOAD} libm.so.6  libdl.so.2:", f":{ours}:{PRELOAD}:libm.so.6:libdl.so.2"):
            preloaded = output([files["spillway"], "run", "--", "python3", "-S", "-c", SHOWN], LD_PRELOAD=before).splitlines()[0]
            require(re.split("[: ]", preloaded) == [ours, *others], before, preloaded)


@sentence("pkg-config names the library to preload, and it is there")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-install-") as folder:
        files = installed(folder)
        path = output(["pkg-config", "--variable=preload", "spillway"], PKG_CONFIG_PATH=os.path.dirname(files["spillway.pc"])).strip()
        require(os.path.exists(folder + path), f"{path} is not installed", files)


@sentence("man pages and completions are installed where man and the shells look for them")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-install-") as folder:
        files = installed(folder)
        for name, where in {"spillway.1": "man/man1", "spillway-run.1": "man/man1", "spillway-doctor.1": "man/man1",
                            "_spillway": "zsh/site-functions", "spillway.fish": "fish/vendor_completions.d"}.items():
            require(os.path.dirname(files.get(name, "")).endswith("/share/" + where), name, files.get(name))
        completion = os.path.join(os.path.dirname(files["spillway.1"]), "../../bash-completion/completions/spillway")
        require(os.path.exists(completion), "the completion of bash is not there", files)


@sentence("nothing is installed that only tests need")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-install-") as folder:
        strays = [name for name in installed(folder) if re.match(r"libcuda\.so\.1|libcudart|gpt|resnet|lstm|mlp|test-", name)]
        require(not strays, f"installed, but only tests need them: {strays}")


finish()
