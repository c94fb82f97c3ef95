#!/usr/bin/env python3
"""The table of driver calls against what NVIDIA says there is: the toolkit's headers and stub, and docs/driver-facts.md."""
import os
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import lookup  # noqa: E402
from lookup import INTRODUCED, NAMES  # noqa: E402

HEADERS = Path(os.environ.get("LOOKUP_HEADERS", "nowhere"))


def form(symbol):
    """The name without its endings, and the endings for per-thread streams alone."""
    return re.sub(r"(_v\d+)?(_pt[sd][sz])?$", "", symbol), (re.search(r"_pt[sd][sz]$", symbol) or [""])[0]


def section(number):
    """The lines of a section of the driver facts."""
    page = (lookup.SOURCE / "docs/driver-facts.md").read_text()
    return re.split(r"\n##+ ", page.split(f"\n### {number} ", 1)[1], 1)[0].split("\n")


def facts_by_version():
    """{name: version} of the table in section 1.6."""
    rows = [re.match(r"\| (\d+\.\d+) \|(.*)", line) for line in section("1.6")]
    return {name: lookup.version_of(row[1]) for row in rows if row for name in re.findall(r"`(cu\w+)`", row[2])}


class Versions(lookup.Case):
    """The fakes' ages are right."""

    def typedefs(self):
        """{(name, ending): versions of its forms, the oldest first}, as the toolkit's header for look-ups has them."""
        path = HEADERS / "cudaTypedefs.h"
        if not path.exists():
            self.skipTest("the toolkit's cudaTypedefs.h is not on this machine")
        versions = {}
        for name, version, ending in re.findall(r"PFN_(cu\w+?)_v(\d+)(_pt[sd][sz])?\)", path.read_text()):
            versions.setdefault((name, ending), set()).add(int(version))
        return {key: sorted(known) for key, known in versions.items()}

    def test_each_name_came_with_the_version_that_the_header_says(self):
        """The versions of a name, in order, belong to its plain form, _v2, _v3 and so on."""
        typedefs, wrong, seen = self.typedefs(), [], 0
        newest = max(max(known) for known in typedefs.values())
        for (name, ending), known in typedefs.items():
            symbols = [s for s in (name + v + ending for v in ("", "_v2", "_v3", "_v4")) if s in INTRODUCED]
            symbols = [s for s in symbols if INTRODUCED[s] <= newest]
            if len(symbols) != len(known):
                wrong.append(f"{name}{ending}: versions {known}, and {symbols} in introduced.list and forward.list")
            for symbol, version in zip(symbols, known):
                seen += 1
                if version > lookup.version_of(lookup.AGES[0]) or INTRODUCED[symbol]:
                    wrong += [] if INTRODUCED[symbol] == version else [f"{symbol}: {version}, not {INTRODUCED[symbol]}"]
        self.assertEqual(wrong, [])
        self.assertGreater(seen, 500)

    def test_what_the_header_lacks_is_newer(self):
        typedefs = self.typedefs()
        newest = max(max(known) for known in typedefs.values())
        self.assertEqual([s for s in INTRODUCED if 0 < INTRODUCED[s] <= newest and form(s) not in typedefs], [])

    def test_the_page_of_driver_facts_says_the_same(self):
        """The table of section 1.6: versions and names in full. What is older than all ages is in no list."""
        told = facts_by_version()
        self.assertGreater(len(told), 40)
        wrong = {name: version for name, version in told.items() if INTRODUCED.get(name, -1) != version}
        self.assertEqual({name: v for name, v in wrong.items() if v > lookup.version_of("11.2") or name not in NAMES}, {})


class Table(lookup.Case):
    def test_the_forms_of_a_call_are_seen_alike(self):
        """A program may find any of them by dlsym. Those with addresses or sizes of 32 bits have nothing of ours to name."""
        kinds = {}
        for kind, symbol, asked, parameters in lookup.TABLE:
            if not re.search(r"_v1\b|unsigned int \*(free|bytes)", parameters):
                kinds.setdefault(asked, {}).setdefault(kind, []).append(symbol)
        self.assertEqual({asked: forms for asked, forms in kinds.items() if len(forms) > 1}, {})


if __name__ == "__main__":
    lookup.main()
