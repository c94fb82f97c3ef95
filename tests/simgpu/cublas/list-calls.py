#!/usr/bin/env python3
"""list-calls.py HEADER PREFIX OUT [NAME...] - a definition that refuses for each call that HEADER declares, that answers a
cublasStatus_t and whose name begins with PREFIX; and for each NAME, which no header declares."""
import os
import re
import subprocess
import sys

header, prefix, out, *more = sys.argv[1:]
compiler = os.environ.get("CC", "cc").split()
text = subprocess.run(compiler + ["-E", "-P", "-I", os.path.dirname(header), "-x", "c++", header],
                      check=True, capture_output=True, text=True).stdout
calls = sorted(set(re.findall(rf"\bcublasStatus_t\s+({prefix}\w+)\s*\([^;{{]*\)\s*;", text)) | set(more))
with open(out, "w") as f:
    f.write("/* Made by list-calls.py. */\n#include \"refused.h\"\n\n")
    for symbol in calls:
        f.write(f"BLAS_REFUSED({symbol})\n")
