"""diff.py WRITE_TRACE - what `spillway diff` tells of two runs is the difference of what `spillway report` tells of each.

WRITE_TRACE is the program that writes made-up traces (page/write-trace.c)."""
import json
import os
import re
import subprocess
import sys
import tempfile

from harness import DEVICE, SMALL_DEVICE, SPILLWAY, environment, finish, program, require, sentence

WRITE_TRACE = os.path.abspath(sys.argv[1])
FOLDER = tempfile.TemporaryDirectory(prefix="spillway-diff-")
STEPS = ["--size", "tiny", "--steps", "7"]
# Each run is made once, when it is first asked for.
RUNS = {"gpt": ["gpt", *STEPS], "accumulating": ["gpt", *STEPS, "--accumulate", "4"],
        "twice": ["gpt", *STEPS, "--batch", "8"], "four": ["gpt", *STEPS, "--batch", "4"], "mlp": ["mlp", *STEPS]}
SIMGPU = {**SMALL_DEVICE, "LD_LIBRARY_PATH": DEVICE}


def spillway(*arguments, status=0, env=None, **options):
    done = subprocess.run([SPILLWAY, *arguments], env=environment({**SIMGPU, **(env or {})}), timeout=120, check=False, text=True,
                          **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})
    require(done.returncode == status, f"spillway {' '.join(arguments)}: exit status {done.returncode}", done.stderr)
    return done


def place(name):
    return os.path.join(FOLDER.name, name + ".trace")


def trace(name, env=None):
    if not os.path.exists(place(name)):
        spillway("trace", "--output", place(name), "--", *program(RUNS[name.split("@")[0]]), env=env)
    return place(name)


def made_up(kind):
    if not os.path.exists(place(kind)):
        subprocess.run([WRITE_TRACE, place(kind), kind], check=True, timeout=60)
    return place(kind)


def report(path):
    return json.loads(spillway("report", "--json", "--time-limit=0", path).stdout)


def diff(*arguments):
    return json.loads(spillway("diff", "--json", *arguments).stdout)


def text(*arguments):
    said = spillway("diff", *arguments).stdout
    for line in said.splitlines():
        require(len(line) <= 100, f"{len(line)} columns", line)
        require(line == line.rstrip(), "ends in blanks", line)
    return said


def figure(compared, name):
    found = [f for f in compared["figures"] if f["name"] == name]
    require(len(found) == 1, f"{len(found)} figures are called {name}", compared["figures"])
    return found[0]


def is_pair(pair, before, after):
    require((pair["before"], pair["after"], pair["change"]) == (before, after, after - before), pair, before, after)
    if before:
        require(abs(pair["relative"] - (after - before) / before) < 1e-6, pair)


def sums(rows, key):
    return tuple(sum(row[key][side] for row in rows) for side in ("before", "after", "change"))


def agrees_with_reports(before, after):
    """Every sum of the comparison is what the reports of both tell."""
    compared, x, y = diff(before, after), report(before)["iteration"], report(after)["iteration"]
    for name, key in (("operations of an iteration", "operations"), ("peak of an iteration", "peak_bytes"),
                      ("lives on between iterations", "persistent_bytes"), ("step on the device", "time_ns"),
                      ("compute of a step", "compute_ns")):
        is_pair(figure(compared, name), x[key], y[key])
    peaks = (x["peak_bytes"], y["peak_bytes"], y["peak_bytes"] - x["peak_bytes"])
    require(sums(compared["categories"], "bytes_at_peak") == peaks, "categories", peaks, compared["categories"])
    require(sums(compared["sites"], "bytes_at_peak") == peaks, "sites", peaks, sums(compared["sites"], "bytes_at_peak"))
    durations = [sum(i["ops"]["duration_ns"]) for i in (x, y)]
    require(sums(compared["operations"], "time_ns")[:2] == tuple(durations), durations, sums(compared["operations"], "time_ns"))
    require(sums(compared["operations"], "count")[:2] == (x["operations"], y["operations"]), "operations")
    for side, kind in (("copied to the device", 2), ("copied to the host", 3)):
        is_pair(figure(compared, side), *(sum(b for b, k in zip(i["ops"]["bytes"], i["ops"]["kind"]) if k == kind) for i in (x, y)))
    for c in compared["categories"]:
        known = [next(k["bytes_at_peak"] for k in i["categories"] if k["name"] == c["name"]) for i in (x, y)]
        is_pair(c["bytes_at_peak"], *known)
    for op in compared["operations"]:
        is_pair(op["count"], *(sum(i["names"][n] == op["name"] for n in i["ops"]["name"]) for i in (x, y)))
    return compared


@sentence("a trace against itself differs in nothing, in one line")
def _():
    for path in (trace("gpt"), made_up("offload")):
        require(text(path, path) == "no difference\n", text(path, path))
        compared = diff(path, path)
        require(compared["difference"] == "none" and compared["notes"] == [], compared["difference"], compared["notes"])
        for row in compared["sites"] + compared["categories"]:
            require(row["bytes_at_peak"]["change"] == 0, row)


@sentence("the same program again differs in times alone, and every site is found again by its frames")
def _():
    compared = diff(trace("gpt"), trace("gpt@again"))
    require(compared["difference"] == "times", compared["difference"])
    require(text(trace("gpt"), trace("gpt@again")).startswith("no difference but in times\n"), "not said")
    require({site["matched"] for site in compared["sites"]} == {"frames"}, [(s["matched"], s["name"]) for s in compared["sites"]])


@sentence("twice the batch differs by exactly what both reports tell, and no place came or went")
def _():
    compared = agrees_with_reports(trace("four"), trace("twice"))
    require(figure(compared, "peak of an iteration")["change"] > 0, figure(compared, "peak of an iteration"))
    is_same = figure(compared, "lives on between iterations")
    require(is_same["change"] == 0, "parameters have grown with the batch", is_same)
    for row in compared["sites"]:
        require(row["tensors"]["before"] and row["tensors"]["after"], "only in one", row["name"])
    require(compared["difference"] == "more", compared["difference"])


@sentence("accumulating 4 batches differs by exactly what both reports tell, four times the kernels among it")
def _():
    compared = agrees_with_reports(trace("gpt"), trace("accumulating"))
    multiplied = next(op for op in compared["operations"] if op["name"] == "multiply_kernel")
    require(multiplied["count"]["after"] == 4 * multiplied["count"]["before"], multiplied)


@sentence("the places where a program allocates are told apart from the first steps on, however many share one function")
def _():
    compared = diff(trace("gpt"), trace("accumulating"))
    forward = [site for site in compared["sites"] if any(frame.startswith("gpt::loss") for frame in site["stack"])]
    require(len(forward) >= 5, f"only {len(forward)} places", forward)
    for site in forward:
        require(site["tensors"]["after"] == 4 * site["tensors"]["before"], site["name"], site["tensors"])


@sentence("the other way round every change has the other sign")
def _():
    there, back = diff(trace("gpt"), trace("accumulating")), diff(trace("accumulating"), trace("gpt"))
    for kind, key in (("sites", "bytes_at_peak"), ("categories", "bytes_at_peak"), ("operations", "time_ns")):
        require(sorted((r["name"], r[key]["change"]) for r in there[kind]) == sorted((r["name"], -r[key]["change"]) for r in back[kind]),
                kind)


@sentence("the site that changed most is first, and its frames are in the program that was changed")
def _():
    compared = diff(trace("four"), trace("twice"))
    for kind, key in (("sites", "bytes_at_peak"), ("categories", "bytes_at_peak"), ("operations", "time_ns")):
        changes = [abs(row[key]["change"]) for row in compared[kind]]
        require(changes == sorted(changes, reverse=True) and changes[0] > 0, kind, changes)
    first, lines = compared["sites"][0], text(trace("four"), trace("twice")).splitlines()
    row = lines[next(i for i, line in enumerate(lines) if line.endswith("site, bytes")) + 1]
    require(f"{first['bytes_at_peak']['change']:+,}" in row and first["name"][:20] in row, row, first)
    require(any("gpt" in frame for frame in first["stack"]), first["stack"])


@sentence("a kernel that only one run has is named with its time")
def _():
    said, compared = text("--top", "99", trace("mlp"), trace("gpt")), diff(trace("mlp"), trace("gpt"))
    for op in compared["operations"]:
        for side, other in (("before", "after"), ("after", "before")):
            part = re.search(rf"^only {side}: operations.*\n((?:  .*\n)*)", said, re.MULTILINE)
            named = bool(part and re.search(rf" {re.escape(op['name'])}$", part.group(1), re.MULTILINE))
            require(named == (op["count"][other] == 0), f"{op['name']}: named {named} as only {side}", op, said)
    require(any(op["name"] == "causal_softmax_kernel" and op["count"]["before"] == 0 for op in compared["operations"]), "gpt's")


@sentence("a place that only one run has is named with its bytes")
def _():
    compared, said = diff(trace("gpt"), trace("mlp")), text("--top", "99", trace("gpt"), trace("mlp"))
    only = [site for site in compared["sites"] if site["tensors"]["after"] == 0]
    require(only and all(site["matched"] == "none" for site in only), only)
    part = re.search(r"^only before: bytes.*\n((?:  .*\n)*)", said, re.MULTILINE).group(1)
    require(len(part.splitlines()) == len(only), len(only), part)
    for site in only:
        require(f" {site['bytes']['before']:,} " in part, site, part)


def number(word):
    return 0 if word == "=" else round(float(word.replace(",", "")) * 1000)


def table(said, heading):
    """Rows of numbers, by 1/1000, and the name."""
    lines = said.splitlines()
    start = next(i for i, line in enumerate(lines) if heading in line) + 1
    end = next((i for i in range(start, len(lines)) if not lines[i]), len(lines))
    rows = []
    for line in lines[start:end]:
        words = line.split()
        count = next(i for i, word in enumerate(words) if not re.fullmatch(r"[-+]?[0-9,]+(\.[0-9]{3})?|=", word))
        rows.append(([number(word) for word in words[:count]], line))
    return rows


@sentence("the columns of the text add up to their last line, which JSON adds up to, too, whatever is summed")
def _():
    pairs = ((trace("gpt"), trace("accumulating")), (trace("mlp"), trace("gpt")), (made_up("offload"), trace("gpt")))
    for before, after in pairs:
        compared = diff(before, after)
        sites, ops = sums(compared["sites"], "bytes_at_peak"), sums(compared["operations"], "count")
        times = sums(compared["operations"], "time_ns")
        for top in ("0", "1", "10", "1000"):
            said = text("--top", top, before, after)
            for heading, last in (("  category, bytes", [1000 * n for n in sites]), ("  site, bytes", [1000 * n for n in sites]),
                                  ("  name: how many", [1000 * n for n in ops] + list(times))):
                rows = table(said, heading)
                require(rows[-1][1].endswith("  [all]") and rows[-1][0] == last, heading, rows[-1], last)
                require([sum(column) for column in zip(*(row for row, _ in rows[:-1]))] == last, heading, top, said)
                require("category" in heading or len(rows) <= int(top) + 2, f"{len(rows)} rows", said)


@sentence("text and JSON agree in every figure and row")
def _():
    before, after = trace("gpt"), trace("accumulating")
    said, compared = text("--top", "1000", before, after), diff(before, after)
    for f in compared["figures"]:
        words = [f"{f[side]:,}" if f["unit"] != "ns" else f"{f[side] / 1000:,.3f}" for side in ("before", "after")]
        unit = {"count": "", "bytes": ", bytes", "ns": ", us"}[f["unit"]]
        require(re.search(rf"^ *{re.escape(words[0])} +{re.escape(words[1])} .*  {re.escape(f['name'] + unit)}$", said, re.MULTILINE), f, said)
    changed = [s for s in compared["sites"] if s["bytes_at_peak"]["change"] or s["tensors_at_peak"]["change"]]
    rows = table(said, "  site, bytes")[:len(changed)]
    require([row for row, _ in rows] == [[1000 * s["bytes_at_peak"][k] for k in ("before", "after", "change")] for s in changed], rows)
    for (_, line), site in zip(rows, changed):
        require(site["name"][:20] in line, site["name"], line)


@sentence("without an iteration, or on another device, that is said, and what is known is compared")
def _():
    said, compared = text(trace("gpt"), made_up("once")), diff(trace("gpt"), made_up("once"))
    require("no iteration was found in the run after" in said, said)
    x, y = report(trace("gpt"))["run"], report(made_up("once"))["run"]
    is_pair(figure(compared, "operations of the run"), x["operations"], y["operations"])
    is_pair(figure(compared, "kernels of the run"), x["by_kind"]["launch"]["count"], y["by_kind"]["launch"]["count"])
    require(sums(compared["operations"], "count")[:2] == (x["by_kind"]["launch"]["count"], y["by_kind"]["launch"]["count"]), "by name")
    require(compared["sites"] == [] and compared["categories"] == [], "a peak of no iteration")
    other = trace("gpt@4090", env={"SIMGPU_PROFILE": "rtx4090"})
    said = text(trace("gpt"), other)
    require("note: different devices (NVIDIA H200 (simulated), " in said and "4090" in said, said)
    require(diff(trace("gpt"), other)["difference"] == "more", "the same")


@sentence("operations without times are counted, and the times that are missing are null")
def _():
    before, after = trace("gpt"), trace("gpt@untimed", env={"SPILLWAY_TIMED": "0"})
    compared = diff(before, after)
    require("the operations of the run after were not timed" in text(before, after), text(before, after))
    step = figure(compared, "step on the device")
    require(step["before"] and step["after"] is None and step["change"] is None, step)
    for op in compared["operations"]:
        require(op["time_ns"]["change"] is None and (op["count"]["change"] == 0 or "copy" in op["name"]), op)


@sentence("docs/report-format.md names exactly the keys that --json prints")
def _():
    docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "report-format.md")
    with open(docs, encoding="utf-8") as file:
        told = {match.group(1) for match in re.finditer(r"^\| `([^`]+)` \|", file.read().split("\n# ")[1], re.MULTILINE)}
    printed = set()

    def walk(value, path):
        if isinstance(value, dict) and set(value) >= {"before", "after", "change", "relative"} and path != "figures[]":
            return
        for key, inner in value.items():
            if path != "figures[]" or key in ("name", "unit"):
                printed.add(f"{path}.{key}".lstrip("."))
            for one in inner if isinstance(inner, list) else [inner]:
                if isinstance(one, dict) and (path or key != "after"):
                    walk(one, f"{path}.{key}".lstrip(".") + ("[]" if isinstance(inner, list) else ""))

    walk(diff(trace("gpt"), trace("accumulating")), "")
    require(told == printed, f"only in the document: {sorted(told - printed)}", f"only printed: {sorted(printed - told)}")


@sentence("a damaged trace is refused with its name and offset, and compared as far as it goes when asked for")
def _():
    with open(trace("gpt"), "rb") as file:
        data = file.read()
    with open(place("cut"), "wb") as file:
        file.write(data[:len(data) * 2 // 3])
    for pair in ((place("cut"), trace("gpt")), (trace("gpt"), place("cut"))):
        done = spillway("diff", *pair, status=2)
        require(done.stdout == "" and re.fullmatch(rf"spillway: {re.escape(place('cut'))}: offset \d+: .*--partial.*\n", done.stderr),
                done.stdout, done.stderr)
        done = spillway("diff", "--partial", *pair, status=2)
        require("did not end, or the trace was cut off" in done.stdout, done.stdout)
    for wrong in (("none", "No such file"), (".", "")):
        done = spillway("diff", trace("gpt"), os.path.join(FOLDER.name, wrong[0]), status=2)
        require(wrong[1] in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)


@sentence("wrong arguments are refused with what is accepted")
def _():
    for arguments, said in ((["diff"], "which two traces"), (["diff", "a"], "which two traces"), (["diff", "a", "b", "c"], "two traces"),
                            (["diff", "--top=-1", "a", "b"], "--top=-1 is refused; accepted"), (["diff", "--top=x", "a", "b"], "--top=x")):
        require(said in spillway(*arguments, status=2).stderr, arguments)


@sentence("a result that cannot be written is an error")
def _():
    for options in ([], ["--json"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = spillway("diff", *options, trace("gpt"), trace("accumulating"), status=1, stdout=full)
        require("standard output: No space left on device" in done.stderr, done.stderr)


@sentence("names from a foreign process move no cursor and break no line, and 100 000 tensors are compared in seconds")
def _():
    said = text("--top", "50", made_up("hostile"), made_up("many"))
    require("<script>" in said and not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", said), said)
    require(diff(made_up("hostile"), made_up("many"))["after"]["iteration"], "no iteration")


try:
    finish()
finally:
    FOLDER.cleanup()
