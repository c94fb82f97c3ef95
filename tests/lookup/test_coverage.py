#!/usr/bin/env python3
"""The table of driver calls against what NVIDIA says there is: the toolkit's headers and stub, and docs/driver-facts.md."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import lookup  # noqa: E402
from lookup import COVERED, INTRODUCED, NAMES  # noqa: E402

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


def passed():
    """{name: reason} of passed.list."""
    reasons, reason = {}, None
    for line in (lookup.SOURCE / "tests/lookup/passed.list").read_text().split("\n"):
        if line.startswith(": "):
            reason = line[2:]
        elif not line.startswith("#"):
            for name in line.split():
                assert name not in reasons, f"{name} is passed for two reasons"
                reasons[name] = reason
    return reasons


SUSPECT = re.compile(r"\bvoid \*(?!\*)|CUstream \w")  # of parameters: any address, and a stream to submit to
TELLING = re.compile("Launch|Capture|Free|Destroy|Release|Reset|Unload|Unmap|Detach|Unregister|Trim|Close|Discard|Unbind")


class Header:
    """What cuda.h declares: calls and their parameters, and which structures hold addresses."""

    def __init__(self):
        command = [*(os.environ.get("CC") or "cc").split(), "-E", "-P", "-D__CUDA_API_VERSION_INTERNAL", "-x", "c", HEADERS / "cuda.h"]
        self.text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        self.calls = {name: " ".join(parameters.split())
                      for name, parameters in re.findall(r"\bCUresult\s+(cu[A-Z]\w*)\s*\(([^;]*)\)\s*;", self.text)}
        self.addresses = self.address_types()

    def structures(self):
        for start in re.finditer(r"typedef (?:struct|union) \w*\s*\{", self.text):
            depth, end = 1, start.end()
            while depth:
                depth += {"{": 1, "}": -1}.get(self.text[end], 0)
                end += 1
            yield re.match(r"\s*(\w+)", self.text[end:])[1], set(re.findall(r"\w+", self.text[start.end():end]))

    def address_types(self):
        """Types that are an address, or hold one at any depth."""
        made_of = dict(self.structures())
        made_of |= {new: {old} for old, new in re.findall(r"typedef (\w+) (\w+);", self.text)}
        found, before = {"CUdeviceptr_v1", "CUdeviceptr_v2", "CUdeviceptr", "kernelParams"}, None
        while found != before:
            before = set(found)
            found |= {name for name, parts in made_of.items() if parts & found}
        return found

    def matters(self, name):
        """The call names memory, submits something, ends something, captures or launches."""
        parameters = self.calls[name]
        return bool(set(re.findall(r"\w+", parameters)) & self.addresses or SUSPECT.search(parameters) or TELLING.search(name))


class Versions(lookup.Case):
    """The fakes' ages are right."""

    def typedefs(self):
        """{(name, ending): versions of its forms, the oldest first}, as the toolkit's headers for look-ups have them."""
        paths = [HEADERS / f"cuda{part}Typedefs.h" for part in ("", "Profiler", "GL", "EGL", "VDPAU")]
        if not all(path.exists() for path in paths):
            self.skipTest("the toolkit's cudaTypedefs.h, and those of the graphics interfaces, are not on this machine")
        versions = {}
        for path in paths:
            for name, version, ending in re.findall(r"PFN_(cu\w+?)_v(\d+)(_pt[sd][sz])?\)", path.read_text()):
                versions.setdefault((name, ending), set()).add(int(version))
        versions.pop(("cuWGLGetDevice", ""), None)  # of Windows
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
    """Nothing that matters goes by without somebody having decided so."""

    ACTED_ON = {symbol for kind, symbol, _ in lookup.CALLS if kind != "PASS"}

    def header(self):
        if not (HEADERS / "cuda.h").exists():
            self.skipTest("the toolkit's cuda.h is not on this machine")
        return Header()

    def test_each_call_that_matters_is_acted_on_or_passed_for_a_reason(self):
        """What is newer than the header has to be in one of the two in any case."""
        header, reasons = self.header(), passed()
        matter = {name for name in NAMES if name not in header.calls or header.matters(name)}
        self.assertGreater(len(matter), 300)
        self.assertEqual(sorted(matter - self.ACTED_ON - set(reasons)), [], "nobody has decided what happens to these")

    def test_the_list_of_calls_that_are_passed_is_true(self):
        reasons = passed()
        self.assertNotIn(None, reasons.values())
        self.assertEqual(sorted(set(reasons) & self.ACTED_ON), [], "said to be passed, and acted on")
        self.assertEqual(sorted(set(reasons) - set(NAMES)), [], "said to be passed, and no call of the driver")

    def test_every_call_of_the_header_is_exported(self):
        self.assertEqual(sorted(set(self.header().calls) - set(NAMES)), [])

    def test_every_call_of_the_toolkits_stub_is_exported(self):
        places = [HEADERS.parent / folder / "stubs/libcuda.so" for folder in ("lib64", "lib")]
        stub = next((place for place in places if place.exists()), None)
        if not stub or not shutil.which("nm"):
            self.skipTest("the toolkit's stub of the driver is not on this machine")
        said = subprocess.run(["nm", "-D", "--defined-only", stub], check=True, capture_output=True, text=True).stdout
        stubs = {line.split()[2] for line in said.split("\n") if line and line.split()[2].startswith("cu")}
        self.assertGreater(len(stubs), 500)
        self.assertEqual(sorted(stubs - set(NAMES)), [])

    def test_what_the_page_of_driver_facts_names_is_in_the_table(self):
        """With every form of it that there is, whether the headers have it or not."""
        named = {name for line in section("1.6") for name in re.findall(r"`(cu[A-Z]\w+)`", line)}
        self.assertGreater(len(named), 60)
        forms = {symbol for symbol in NAMES for name in named if form(symbol)[0] == form(name)[0]}
        self.assertEqual(sorted(n for n in named if n not in {form(s)[0] for s in NAMES} and n not in NAMES), [])
        self.assertEqual(sorted(forms - COVERED), [])

    def test_each_call_with_a_form_for_per_thread_streams_has_it_in_the_table(self):
        lacking = [s for s in NAMES if s.endswith(("_ptsz", "_ptds")) and s[:-5] in COVERED and s not in COVERED]
        self.assertEqual(lacking, [])

    def test_the_forms_of_a_call_are_seen_alike(self):
        """A program may find any of them by dlsym. Those with addresses or sizes of 32 bits have nothing of ours to name."""
        kinds = {}
        for kind, symbol, asked, parameters in lookup.TABLE:
            if not re.search(r"_v1\b|unsigned int \*(free|bytes)", parameters):
                kinds.setdefault(asked, {}).setdefault(kind, []).append(symbol)
        self.assertEqual({asked: forms for asked, forms in kinds.items() if len(forms) > 1}, {})


class Streams(lookup.Case):
    """In forms for per-thread streams, stream 0 is the thread's own; in the others it is the one of all. Mixed up, work is mostly
    ordered all the same, so that no program shows it."""

    def test_copies_and_sets_are_booked_on_the_stream_that_their_form_means(self):
        own, wrong = {"_ptsz": "per_thread(t)", "_ptds": "OWN", "": None}, []
        lines = re.findall(r"^ *COPY(?:_MANY)?\(([\w#]+), (.*)$", (lookup.SOURCE / "shim/driver/copies.h").read_text(), re.M)
        for symbol, rest in lines:
            expected = own[form(symbol.replace("##", ""))[1]]
            if expected not in rest if expected else "per_thread" in rest or "OWN" in rest:
                wrong.append(symbol)
        self.assertGreater(len(lines), 50)
        self.assertEqual(wrong, [])

    def test_other_hooks_too(self):
        """What begins a capture marks all streams, whichever of them it is about."""
        wrong, seen = [], 0
        for path in sorted((lookup.SOURCE / "shim/hooks").glob("hooks_*.c")):
            for symbol, body in re.findall(r"^CUresult spw_on_(\w+)\([^{]*\)\n\{(.*?)^\}", path.read_text(), re.M | re.S):
                seen += bool(form(symbol)[1])
                if not symbol.startswith("cuStreamBegin"):
                    wrong += [symbol] if bool(form(symbol)[1]) != bool(re.search("per_thread|PER_THREAD", body)) else []
                called = set(re.findall(r"(?<!\")\b(cu[A-Z]\w+)", body)) & COVERED
                wrong += [f"{symbol} passes {name}" for name in called if form(name)[0] == form(symbol)[0] and name != symbol]
        self.assertGreater(seen, 10)
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    lookup.main()
