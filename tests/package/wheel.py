#!/usr/bin/env python3
"""The wheel: what is in it, and that it works wherever pip puts it, in a bare Debian root without compiler, CUDA or network."""
import base64
import hashlib
import os
import re
import statistics
import sys
import tempfile
import time
import zipfile

from harness import PRELOAD, finish, require, sentence
from packaged import Root, command, demo, package

MIB = 1 << 20
ARCH = os.uname().machine


def the_wheel():
    return package("dist", f"manylinux_2_28_{ARCH}.whl", "wheel")


def unpacked(folder):
    with zipfile.ZipFile(the_wheel()) as wheel:
        wheel.extractall(folder)
        return {name.rsplit(".data/", 1)[-1]: os.path.join(folder, name) for name in wheel.namelist()}


def dynamic(path):
    """What a file needs, and the newest version of the C library's symbols that it asks for."""
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", command("readelf", "-dW", path)))
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", command("readelf", "-VW", path))
    return needed, max((int(major), int(minor)) for major, minor in versions) if versions else (0, 0)


def exported(path):
    return set(re.findall(r" T (\w+)", command("nm", "-D", "--defined-only", path)))


@sentence("it is small, has no links, and its list of files is true")
def _():
    path = the_wheel()
    require(os.path.getsize(path) <= 5 * MIB, os.path.getsize(path))
    with zipfile.ZipFile(path) as wheel:
        record = next(name for name in wheel.namelist() if name.endswith("/RECORD"))
        lines = dict(line.rsplit(",", 2)[:2] for line in wheel.read(record).decode().splitlines())
        require(set(lines) == set(wheel.namelist()), set(lines) ^ set(wheel.namelist()))
        for info in wheel.infolist():
            require((info.external_attr >> 16) & 0o170000 == 0o100000, f"{info.filename} is no plain file")
            digest = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(info)).digest()).rstrip(b"=").decode()
            require(info.filename == record or lines[info.filename] == f"sha256={digest}", info.filename)


@sentence("it needs the C library of 2.28 at most, and nothing of CUDA, Python or a framework")
def _():
    with tempfile.TemporaryDirectory() as folder:
        files = unpacked(folder)
        of_c = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
        own = {os.path.basename(name) for name in files}
        elf = [path for path in files.values() if os.path.isfile(path) and open(path, "rb").read(4) == b"\x7fELF"]
        require(len(elf) == 6, elf)
        for path in elf:
            needed, newest = dynamic(path)
            require(needed <= of_c | own, path, needed)
            require(newest <= (2, 28), path, newest)
        require(dynamic(files["data/libexec/spillway/libspillway.so"])[0] <= of_c, "the library needs more than the C library")


@sentence("its library exports the same as the one that is tested, and nothing else")
def _():
    with tempfile.TemporaryDirectory() as folder:
        got, expected = exported(unpacked(folder)["data/libexec/spillway/libspillway.so"]), exported(PRELOAD)
        require(got == expected and "cuInit" in got and "spillway_set_budget_v1" in got, got ^ expected)


@sentence("the licences of what is inside come along, and where the source of the LGPL parts is")
def _():
    with tempfile.TemporaryDirectory() as folder:
        names = " ".join(unpacked(folder))
        for wanted in ("LICENSE", "LGPL-3.txt", "GPL-3.txt", "elfutils.txt", "elfutils-source.txt", "libunwind.txt", "jansson.txt", "ncurses.txt", "libzstd.txt", "zlib.txt"):
            require(f"/{wanted}" in names, f"{wanted} is missing", names)


@sentence("pip installs it into an environment of a bare root, where everything works; it leaves nothing when it goes")
def _():
    with Root() as root:
        wheel = root.put(the_wheel())
        root.succeeds("python3 -m venv /opt/v")
        before = root.files()
        root.succeeds(f"/opt/v/bin/pip install --no-index {wheel}")
        said = root.succeeds("/opt/v/bin/spillway doctor")
        require("PROBLEM" not in said and "/opt/v/libexec/spillway/libspillway.so" in said, said)
        require(re.search(r"call stacks +\S*libunwind.so.8", said) and re.search(r"names of functions +read with libdw", said), said)
        root.succeeds("/opt/v/bin/spillway run -- python3 -c pass")
        require(root.succeeds("/opt/v/bin/python -m spillway --version").startswith("spillway "), "python -m")
        require("linking" not in root.succeeds("LD_PRELOAD=$(/opt/v/bin/python -c 'import spillway; print(spillway.library())') /bin/true"), "LD_PRELOAD")
        demo(root, "/opt/v/bin/spillway")
        trace = root.succeeds("LD_LIBRARY_PATH=/root /opt/v/bin/spillway trace --output t -- /root/gpt --size small --steps 12 && /opt/v/bin/spillway report t")
        require("peak" in trace and "libunwind" not in trace, trace)
        root.succeeds("/opt/v/bin/pip uninstall -y spillway-cuda")
        require(root.files() == before, root.files() ^ before)


WAYS = {"--target /opt/t": ("/opt/t/bin/spillway", "PYTHONPATH=/opt/t"), # Debian's pip adds local/ to a prefix.
        "--prefix /opt/p": ("/opt/p/local/bin/spillway", "PYTHONPATH=$(echo /opt/p/local/lib/python3*/*-packages)"),
        "--user": ("/root/.local/bin/spillway", "")}


@sentence("it works where --target, --prefix and --user put it, of Debian's own pip as well")
def _():
    with Root() as root:
        wheel = root.put(the_wheel())
        for way, (spillway, environment) in WAYS.items():
            root.succeeds(f"python3 -m pip install --break-system-packages --no-index {way} {wheel}")
            require("PROBLEM" not in root.succeeds(f"{spillway} doctor"), way)
            said = root.succeeds(f"{environment} python3 -c 'import spillway; print(spillway.library())'")
            require(os.path.dirname(os.path.dirname(spillway)) in said, way, said)
            root.succeeds(f"{environment} python3 -m spillway run -- {spillway} --version")


@sentence("the command starts within 10 ms")
def _():
    with tempfile.TemporaryDirectory() as folder:
        command(sys.executable, "-m", "venv", folder, timeout=200)
        command(os.path.join(folder, "bin/pip"), "install", "--no-index", the_wheel())
        times = []
        for _ in range(21):
            started = time.monotonic()
            command(os.path.join(folder, "bin/spillway"), "--version")
            times.append(time.monotonic() - started)
        require(min(times) <= 0.010, "fastest", min(times), "usual", statistics.median(times))


finish()
