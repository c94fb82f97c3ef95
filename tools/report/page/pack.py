#!/usr/bin/env python3
"""Puts the page's parts into one C header: what stands before the report and what stands behind it.

    pack.py HEADER page.html page.css SCRIPT...

The scripts become one. Style and script are named by their hashes in the page's content security policy, so that nothing
else runs in it whatever the report holds."""
import base64
import hashlib
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def digest(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def array(name, text):
    data = text.encode()
    rows = [", ".join(str(byte) for byte in data[at:at + 24]) for at in range(0, len(data), 24)]
    return f"static const unsigned char {name}[] = {{\n" + ",\n".join(rows) + "\n};\n"


def main(header, page, style, *scripts):
    style = read(style)
    script = '"use strict";\n' + "\n".join(read(path) for path in scripts)
    for part, end in ((style, "</style"), (script, "</script"), (script, "<!--")):
        if end in part:
            sys.exit(f"pack.py: a part of the page holds {end}")
    before, after = read(page).split("@REPORT@")
    parts = {"@STYLE-HASH@": digest(style), "@SCRIPT-HASH@": digest(script), "@STYLE@": style, "@SCRIPT@": script}
    for mark, text in parts.items():
        before, after = before.replace(mark, text), after.replace(mark, text)
    with open(header, "w", encoding="utf-8") as file:
        file.write("/* Made by pack.py: the page around a report. */\n" + array("page_before", before) + array("page_after", after))


main(*sys.argv[1:])
