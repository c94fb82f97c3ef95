#!/usr/bin/env python3
"""Makes the wheel of what `meson install` has put into a folder.

usage: wheel.py ROOT LIBRARIES ARCH OUT     ROOT: DESTDIR with prefix /usr and libdir libexec · LIBRARIES: the prefix that
                                            packaging/libraries made · OUT: the folder that gets the wheel; its path is printed

The library lies in libexec below the environment, which pip keeps beside bin for every way of installing (it does not with lib).
The same files give the same wheel: times are those of SOURCE_DATE_EPOCH, else of 1980."""
import base64
import hashlib
import os
import pathlib
import re
import sys
import time
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
GLIBC = "2_28"
SUMMARY = "Runs an unmodified CUDA training program inside less GPU memory than it wants"


def version():
    return re.search(r"version: '([^']+)'", (SOURCE / "meson.build").read_text(encoding="utf-8")).group(1)


def metadata(licenses):
    head = ["Metadata-Version: 2.4", "Name: spillway-cuda", f"Version: {version()}", f"Summary: {SUMMARY}", "License-Expression: MIT",
            *(f"License-File: {name}" for name in licenses), "Requires-Python: >=3.8", "Classifier: Operating System :: POSIX :: Linux",
            "Classifier: Environment :: GPU :: NVIDIA CUDA", "Classifier: Programming Language :: C",
            "Description-Content-Type: text/markdown"]
    return "\n".join(head) + "\n\n" + (SOURCE / "packaging/python/README.md").read_text(encoding="utf-8")


class Wheel:
    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []
        epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
        self.time = max(time.gmtime(epoch)[:6], (1980, 1, 1, 0, 0, 0))

    def add(self, name, data, executable=False):
        info = zipfile.ZipInfo(name, self.time)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (0o100755 if executable else 0o100644) << 16
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def finish(self, info):
        lines = "\n".join([*self.record, f"{info}/RECORD,,"]) + "\n"
        self.record = []
        self.add(f"{info}/RECORD", lines.encode())
        self.zip.close()


def installed(root):
    """What goes into the environment: (place below .data, file). pkg-config's file is about a prefix that is not the wheel's."""
    for path in sorted(path for path in (root / "usr").rglob("*") if path.is_file()):
        if path.is_symlink():
            sys.exit(f"wheel.py: {path} is a symbolic link, and wheels have none")
        place = path.relative_to(root / "usr").as_posix()
        if place == "bin/spillway":
            yield "scripts/spillway", path
        elif not place.endswith(".pc"):
            yield f"data/{place}", path


def main():
    root, libraries, arch, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], pathlib.Path(sys.argv[4])
    base = f"spillway_cuda-{version()}"
    info, data = f"{base}.dist-info", f"{base}.data"
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{base}-py3-none-manylinux_{GLIBC}_{arch}.whl"
    wheel = Wheel(path)
    for file in sorted((SOURCE / "packaging/python/spillway").glob("*.py")):
        wheel.add(f"spillway/{file.name}", file.read_bytes().replace(b"@VERSION@", version().encode()))
    for place, file in installed(root):
        wheel.add(f"{data}/{place}", file.read_bytes(), executable=place.startswith("scripts/"))
    for file in sorted((libraries / "shared").glob("*.so.*")):
        wheel.add(f"{data}/data/libexec/spillway/{file.name}", file.read_bytes())
    licenses = {"LICENSE": SOURCE / "LICENSE", **{f"bundled/{file.name}": file for file in sorted((libraries / "licenses").iterdir())}}
    for name, file in licenses.items():
        wheel.add(f"{info}/licenses/{name}", file.read_bytes())
    wheel.add(f"{info}/METADATA", metadata(licenses).encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: spillway\nRoot-Is-Purelib: false\nTag: py3-none-manylinux_{GLIBC}_{arch}\n".encode())
    wheel.finish(info)
    print(path)


main()
