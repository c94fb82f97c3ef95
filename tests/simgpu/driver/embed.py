#!/usr/bin/env python3
"""embed.py FILE OUT NAME - FILE as a C string."""
import sys

source, out, name = sys.argv[1:4]
with open(out, "w") as f:
    f.write(f"static const char {name}[] =\n")
    for line in open(source):
        f.write('    "' + line.rstrip("\n").replace("\\", "\\\\").replace('"', '\\"') + '\\n"\n')
    f.write("    ;\n")
