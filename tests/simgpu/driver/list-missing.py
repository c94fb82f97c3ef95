#!/usr/bin/env python3
"""list-missing.py HEADER TYPEDEFS ENTRIES OUT - exports every call that cuda.h declares and the device doesn't carry out.

Each of them answers CUDA_ERROR_NOT_SUPPORTED and names itself once. They are listed with the version they came with, where
cudaTypedefs.h tells it, so that cuGetProcAddress() finds them too."""
import os
import re
import subprocess
import sys

header, typedefs, entries, out = sys.argv[1:5]
compiler = os.environ.get("CC", "cc").split()
text = subprocess.run(compiler + ["-E", "-P", "-D__CUDA_API_VERSION_INTERNAL", "-x", "c", header],
                      check=True, capture_output=True, text=True).stdout
declared = set(re.findall(r"\bCUresult\s+(cu[A-Z]\w*)\s*\(", text))
implemented = set()
for kind, symbol, thread in re.findall(r"X\((\w+),[\s\\]*(\w+),[\s\\]*\"\w+\",[\s\\]*\d+,[\s\\]*(\w+)\)", open(entries).read()):
    implemented.add(symbol)
    if thread != "NONE":
        implemented.add(symbol + "_" + thread.lower())

versions = {}
if os.path.exists(typedefs):
    for name, version in re.findall(r"PFN_(cu\w+?)_v(\d+)\)", open(typedefs).read()):
        versions.setdefault(name, set()).add(int(version))


def first_version(symbol):
    """The versions of a name, in order, belong to its plain symbol, _v2, _v3..."""
    plain = re.sub(r"(_v\d+)?(_pt[sd][sz])?$", "", symbol)
    number = re.search(r"_v(\d+)", symbol)
    known = sorted(versions.get(plain, {2000}))
    return plain, known[min(int(number.group(1)) if number else 1, len(known)) - 1]


missing = sorted(declared - implemented)
with open(out, "w") as f:
    f.write("/* Made by list-missing.py. */\n#include \"missing.h\"\n\n")
    for symbol in missing:
        f.write(f"SIMGPU_MISSING({symbol})\n")
    f.write("\nconst struct missing missing[] = {\n")
    for symbol in missing:
        if not re.search(r"_pt[sd][sz]$", symbol):
            plain, version = first_version(symbol)
            f.write(f"    {{\"{plain}\", (void *){symbol}, {version}}},\n")
    f.write("    {0, 0, 0},\n};\n")
