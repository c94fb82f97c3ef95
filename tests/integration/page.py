"""page.py - the page that `spillway report --html` writes, opened in a real browser: it shows, answers the pointer, the keys
and the slider, asks nobody for anything, and lets no name from a trace get out of its place.

argv[1]: the program that writes made-up traces (page/write-trace.c). Screenshots are kept in PAGE_SCREENSHOTS when it is set."""
import functools
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

from browser import Absent, Browser
from harness import DEVICE, SMALL_DEVICE, SPILLWAY, Skipped, WORKLOADS, environment, finish, require, sentence

WRITE_TRACE = sys.argv[1]
WIDTHS = (1400, 400)
PAINT_MS = 2000  # what people should see; a machine that does much else at once is given more
PATIENCE_MS = 5 * PAINT_MS

folder = tempfile.TemporaryDirectory(prefix="spillway-page-")
browsers = []


def browser():
    if not browsers:
        try:
            browsers.append(Browser())
        except Absent as why:
            browsers.append(why)
    if isinstance(browsers[0], Absent):
        raise Skipped(str(browsers[0]))
    return browsers[0]


def run(*command, env=None):
    done = subprocess.run(command, env=environment({"LD_LIBRARY_PATH": DEVICE, **SMALL_DEVICE, **(env or {})}), capture_output=True,
                          timeout=120, check=False, stdin=subprocess.DEVNULL)
    require(done.returncode == 0, f"{command}: status {done.returncode}", done.stderr.decode(errors="replace")[-1000:])
    return done.stdout.decode(errors="replace")


def place(name):
    return os.path.join(folder.name, name)


@functools.cache
def reported(trace):
    """The page of a trace, and the figures on it as text."""
    page = trace.removesuffix(".trace") + ".html"
    return page, run(SPILLWAY, "report", trace, "--html", page, "--json")


def page_and_report(trace):
    page, text = reported(trace)
    return page, json.loads(text)


def made_up(kind):
    """A made-up trace, its page, and its figures."""
    trace = place(kind + ".trace")
    if not os.path.exists(trace):
        run(WRITE_TRACE, trace, kind)
    return page_and_report(trace)


def workload():
    trace = place("gpt.trace")
    if not os.path.exists(trace):
        run(SPILLWAY, "trace", "--output", trace, "--", os.path.join(WORKLOADS, "gpt"))
    return page_and_report(trace)


def shown(page, width=1400, dark=False, slower=1):
    """The page in a browser, which opens it on a processor that is so many times slower."""
    b = browser()
    b.size(width, 900, dark)
    b.slow(slower)
    b.open(page)
    b.rest(0.2)
    b.slow(1)
    return b


def no_complaint(b):
    complaints = b.complaints()
    require(not complaints, "the browser complains:", *complaints)


def painted(b, canvas):
    """How many colours a canvas shows."""
    return b.evaluate(f"(c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size)"
                      f"(document.getElementById('{canvas}'))")


@sentence("a traced workload is shown at 1400 and 400 pixels, light and dark, without complaint and without sideways scrolling")
def _():
    page, _ = workload()
    for width in WIDTHS:
        for dark in (False, True):
            b = shown(page, width, dark)
            no_complaint(b)
            wide = b.evaluate("document.documentElement.scrollWidth")
            require(wide <= width, f"the page is {wide} pixels wide at {width}")
            for canvas in ("stack", "lanes", "scatter"):
                require(painted(b, canvas) > 3, f"{canvas} shows nothing at {width}")
            if os.environ.get("PAGE_SCREENSHOTS"):
                b.screenshot(os.path.join(os.environ["PAGE_SCREENSHOTS"], f"page-{width}-{'dark' if dark else 'light'}.png"))


@sentence("the head says device, peak, what is measured, what is simulated and what is a guess")
def _():
    page, report = workload()
    b = shown(page)
    head = b.text("badges") + b.text("figures")
    for words in (report["devices"][0]["name"], "simulated device", "guesses", f"{report['shapes'][0]['operations']} operations each"):
        require(words in head, f"the head does not say {words}:", head)
    require("timed" in head, head)
    peak = b.evaluate("page.view.peak")
    require(peak == max(report["iteration"]["ops"]["live_bytes"]), f"the page's peak is {peak}", report["iteration"]["peak_bytes"])


@sentence("pointing at the picture shows the tensor there, a click or a tap keeps it, Escape lets it go")
def _():
    page, report = workload()
    for width in WIDTHS:
        b = shown(page, width)
        b.point("stack-plot", 0.4, 0.6)
        t = b.evaluate("page.timeline.selected")
        require(t >= 0, "no tensor is selected at", width)
        detail, size = b.text("detail"), report["iteration"]["tensors"]["bytes"][t]
        require(f"{size:,} bytes" in detail and "made by" in detail and "longest idle" in detail, "the tensor is not described:", detail)
        (b.click if width > 600 else b.tap)("stack-plot", 0.4, 0.6)
        b.point("stack-plot", 0.4, 0.97)
        require(b.evaluate("page.timeline.selected") == t, "a click or a tap does not keep the tensor")
        b.key("Escape", 27)
        b.point("stack-plot", 0.4, 0.98)
        require(b.evaluate("page.timeline.selected") != t, "Escape does not let the tensor go")
        no_complaint(b)


@sentence("the tensor shown is the one whose bytes lie at that height, at every zoom")
def _():
    page, report = workload()
    b = shown(page)
    tensors = report["iteration"]["tensors"]
    for zoom in (1, 0.1):
        b.evaluate(f"page.timeline.zoom({zoom}, 0.35), page.timeline.draw()")
        wrong = b.evaluate("""(() => { let wrong = 0; const v = page.view, l = page.timeline;
            for (let x = 0.01; x < 1; x += 0.07) for (let y = 0.01; y < 1; y += 0.03) {
                const t = l.tensorAt(x, y), op = l.operationShownAt(x), height = (Math.floor(y * l.image.rows) + 0.5) * l.top / l.image.rows;
                if (t < 0) { if (height < v.live[op]) wrong++; continue; }
                let below = 0; for (const o of l.stack.order) { if (o === t) break; if (v.begin[o] <= op && v.end[o] >= op) below += v.bytes[o]; }
                if (v.begin[t] > op || v.end[t] < op || below > height || below + v.bytes[t] <= height) wrong++;
            } return wrong; })()""")
        require(wrong == 0, f"{wrong} places show another tensor than lies there, zoomed by {zoom}")
    require(len(tensors["bytes"]) == b.evaluate("page.view.tensors"), "tensors are missing")


@sentence("a category is switched off and on, the axis changes, buttons, wheel and keys zoom and pan")
def _():
    page, _ = workload()
    b = shown(page)
    full = b.evaluate("page.timeline.live[page.view.peakAt]")
    b.evaluate("document.querySelector('#legend button').click()")
    b.rest(0.1)
    require(b.evaluate("page.timeline.live[page.view.peakAt]") < full, "switching a category off changes nothing")
    b.evaluate("document.querySelector('#legend button').click(); document.querySelectorAll('#axis button')[1].click()")
    b.rest(0.1)
    require(b.evaluate("page.timeline.full") == b.evaluate("page.view.count"), "the axis is not of operations")
    span = "page.timeline.to - page.timeline.from"
    for act in (lambda: b.click("zoom-in"), lambda: (b.click("stack-plot", 0.5, 0.7), b.key("+", 187))):
        before = b.evaluate(span)
        act()
        b.rest(0.1)
        require(b.evaluate(span) < before, "zooming shows no less")
    before = b.evaluate(span)
    x, y = b.point("stack-plot", 0.5, 0.5)
    b.mouse("mouseWheel", x, y, deltaX=0, deltaY=250)
    b.rest(0.2)
    require(b.evaluate(span) > before, "the wheel does not zoom out")
    start = b.evaluate("page.timeline.from")
    b.click("pan-right")
    b.rest(0.1)
    require(b.evaluate("page.timeline.from") > start, "panning does not move")
    op = b.evaluate("page.timeline.operationShownAt(page.timeline.cursor ? page.timeline.cursor.x : 0.5)")
    b.evaluate("document.getElementById('stack-plot').focus()")
    b.key("ArrowRight", 39)
    require(b.evaluate("page.timeline.operationShownAt(page.timeline.cursor.x)") != op, "an arrow key does not move on")
    no_complaint(b)


@sentence("the slider changes what would have to leave, and the numbers are those of the trace")
def _():
    page, report = workload()
    b, live = shown(page), report["iteration"]["ops"]["live_bytes"]
    words = {}
    for step in (800, 500, 999):
        b.evaluate(f"(s => {{ s.value = '{step}'; s.dispatchEvent(new Event('input')); }})(document.getElementById('budget'))")
        b.rest(0.3)
        budget = b.evaluate("page.budget")
        words[step] = b.text("budget-words")
        over = b.evaluate("(o => [o.most, o.operations])(overBudget(page.view, page.budget))")
        require(over == [max(0, max(live) - budget), sum(n > budget for n in live)], "wrong figures", over)
        if over[1]:
            require(f"{over[1]} of {len(live)} operations" in words[step], words[step])
    b.evaluate("""(l => { l.value = '0.1'; l.dispatchEvent(new Event('input')); })(document.getElementById('bandwidth'));
        (s => { s.value = '500'; s.dispatchEvent(new Event('input')); })(document.getElementById('budget'))""")
    b.rest(0.3)
    require("would wait" in b.text("budget-words") or "too slow" in b.text("budget-words"), "a slow link hides as much:", b.text("budget-words"))
    for out, expected in ((0.5, "long enough:"), (2, "too slow")):
        said = b.evaluate(f"linkWords(page.view, {{outBytes: {out} * page.view.time * 25, inBytes: 0}}, 25).textContent")
        require(expected in said, f"copies of {out} iterations:", said)
    require("as given" in b.text("bandwidth-note"), b.text("bandwidth-note"))
    require(words[800] != words[500] and "Everything fits" in words[999], "the words stay the same:", *words.values())


@sentence("the curve of the planner is drawn and told, and the words at a budget are those of the point within it")
def _():
    page, report = workload()
    for width in WIDTHS:
        b, plan = shown(page, width), report["plan"]
        require(len(plan["points"]) >= 5 and painted(b, "curve") > 3, "no curve is drawn")
        rows = b.evaluate("[...document.querySelectorAll('#curve-table tbody tr')].map(r => r.cells[3].textContent)")
        ratios = [f"{point['time_ns'] / plan['compute_ns']:.3f} ×" for point in plan["points"]]
        require(rows == ratios, "other points than the report's", rows, ratios)
        for share in (0.95, 0.55, 0.31):
            b.evaluate(f"(s => {{ s.value = Math.round({share} * page.view.peak / page.timeline.top * 1000); s.dispatchEvent(new Event('input')); }})(document.getElementById('budget'))")
            b.rest(0.3)
            budget, point = b.evaluate("page.budget"), next(ratio for ratio, p in zip(ratios, plan["points"]) if p["budget_bytes"] <= b.evaluate("page.budget"))
            require(b.text("plan-ratio") == point, f"at {budget} the page says", b.text("budget-words"), point)
        b.evaluate("(s => { s.value = '1'; s.dispatchEvent(new Event('input')); })(document.getElementById('budget'))")
        b.rest(0.3)
        words = b.text("budget-words")
        require("No plan keeps within" in words and "smallest feasible budget" in words, words)
        require(b.evaluate("(e => e.scrollHeight - e.clientHeight)(document.getElementById('budget-words'))") <= 0, "the words do not fit their place at", width)
        no_complaint(b)


@sentence("where there is no curve the page does without")
def _():
    page, report = made_up("many")
    require(report["plan"] is None, "there is a plan")
    require(shown(page).evaluate("document.getElementById('curve-box').hidden"), "an empty curve is shown")


@sentence("pointing at a lane shows the operation there, with its time and rate")
def _():
    page, report = made_up("offload")
    b, ops = shown(page), report["iteration"]["ops"]
    lane = b.evaluate("(l => [(l.top + l.height / 2) / page.timeline.lanesHeight, l.ops[5]])(page.timeline.lanes.find(l => l.copy))")
    op = lane[1]
    b.point("lanes-plot", (ops["start_ns"][op] + ops["duration_ns"][op] / 2) / report["iteration"]["time_ns"], lane[0])
    for place in ("detail", "tip"):
        require("GB/s" in b.text(place) and str(op) in b.text(place) and report["iteration"]["names"][ops["name"][op]] in b.text(place), b.text(place))
    no_complaint(b)


@sentence("what is said to leave at a budget is idle for so long, and the memory that remains is what the page says")
def _():
    for page, parts in ((workload()[0], (0.9, 0.7, 0.4, 0.1)), (made_up("offload")[0], (0.9, 0.4))):
        b = shown(page)
        for part in parts:
            said, remains, wrong, out = b.evaluate(f"""(() => {{ const v = page.view, gbs = page.link.gbs, budget = {part} * v.peak;
                const fit = fitBudget(v, budget, swappable(v, gbs)), live = v.live.slice(0, v.count), wrong = [];
                for (const gap of fit.taken) for (let i = gap.from, n = 0; n < v.count; n++, i = (i + 1) % v.count) {{
                    live[i] -= v.bytes[gap.t];
                    if (usesOf(v, gap.t).includes(i) || v.begin[gap.t] > i || v.end[gap.t] < i || gap.ns < gap.copies * v.bytes[gap.t] / gbs)
                        wrong.push([gap, i]);
                    if (i === gap.to) break;
                }}
                return [budget + fit.left, Math.max(...live), wrong.slice(0, 3), fit.taken.reduce((n, g) => n + v.bytes[g.t], 0) - fit.outBytes]; }})()""")
            require(not wrong and out == 0, "not idle there, or not of that size:", *wrong, out)
            require(remains <= said and (remains == said or remains <= part * b.evaluate("page.view.peak")), f"at {part}: {remains} remain, the page says {said}")


@sentence("the largest of a range is right whatever was added to ranges before")
def _():
    b = shown(workload()[0])
    wrong = b.evaluate("""(() => { const row = [...Array(77).keys()].map(i => i * 37 % 101), tree = new RangeMax(row); let seed = 1, wrong = 0;
        const random = n => (seed = seed * 48271 % 2147483647) % n;
        for (let k = 0; k < 3000; k++) {
            const from = random(77), to = from + random(77 - from), by = random(200) - 100;
            if (k % 2) { tree.add(from, to, by); for (let i = from; i <= to; i++) row[i] += by; }
            else if (tree.max(from, to) !== Math.max(...row.slice(from, to + 1))) wrong++;
        } return wrong; })()""")
    require(wrong == 0, f"{wrong} of 1500 answers are wrong")


@sentence("nothing on the page jumps while it opens, is pointed at, and the slider moves")
def _():
    page, _ = workload()
    for width, slower in itertools.product(WIDTHS, (1, 20)):
        b = shown(page, width, slower=slower)
        b.evaluate("window.shifts = [], new PerformanceObserver(list => window.shifts.push(...list.getEntries().map(e => e.value)))"
                   ".observe({type: 'layout-shift', buffered: true})")
        for right in (0.1, 0.4, 0.8):
            b.point("stack-plot", right, 0.7)
            b.rest(0.05)
        b.box("budget")
        b.rest(0.1)
        for step in (900, 300, 999):
            b.evaluate(f"(s => {{ s.value = '{step}'; s.dispatchEvent(new Event('input')); }})(document.getElementById('budget'))")
            b.rest(0.15)
        shifts = b.evaluate("window.shifts")
        require(sum(shifts) < 0.05, f"at {width}, on a processor {slower} times slower, the page jumps:", shifts)


@sentence("copies on the link are measured, summed by phase, and shown with their rate")
def _():
    page, report = made_up("offload")
    b = shown(page)
    gbs = b.evaluate("page.link")
    require(gbs["measured"] and abs(gbs["gbs"] - 20) < 0.1, gbs)
    update = next(line for line in b.text("copies").splitlines() if line.startswith("update"))
    ops, phase = report["iteration"]["ops"], report["iteration"]["phases"][2]
    moved = sum(ops["bytes"][i] for i in range(phase["first"], phase["end"]) if ops["kind"][i] == 2)
    require(f"{moved >> 20} MiB" in update and "20.0 GB/s" in update, "the update's copies are not said:", update)
    require(float(re.search(r"([\d.]+) %", update).group(1)) > 90, update)


@sentence("a run without an iteration says so, shows its totals and what helps")
def _():
    page, report = made_up("once")
    require(report["iteration"] is None, "the made-up trace has an iteration")
    b = shown(page, 400)
    no_complaint(b)
    body = b.evaluate("document.body.innerText")
    for words in ("No iteration was found", "SPILLWAY_ITERATION_KERNEL", "130"):
        require(words in body, f"the page does not say {words}:", body)


@sentence("names that try to get out of the page stay text")
def _():
    page, report = made_up("hostile")
    require(report["iteration"] is not None, "the made-up trace has no iteration")
    name = report["run"]["command"]
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for end in ("</script", "<img", "<!--", "\u2028"):
        require(end not in text.split('id="report">')[1].split("</script>")[0], f"{end} stands in the data")
    b = shown(page)
    b.point("stack-plot", 0.4, 0.6)
    no_complaint(b)
    require(b.evaluate("window.broken") is None, "a name was run as a script")
    require(b.evaluate("document.images.length + document.scripts.length") == 2, "a name became an element")
    require(b.evaluate("document.getElementById('title').textContent") == name, "the name is not shown as it is")


@sentence("100 000 tensors are shown within two seconds, and a zoomed picture still names one")
def _():
    page, report = made_up("many")
    require(len(report["iteration"]["tensors"]["bytes"]) >= 100000, len(report["iteration"]["tensors"]["bytes"]))
    b = shown(page)
    no_complaint(b)
    drawn, found, again = b.evaluate("[+document.documentElement.dataset.drawnMs, +document.documentElement.dataset.foundMs, page.timeline.drawMs]")
    print(f"# first picture after {drawn} ms, {found} of them for reading the file; another picture {again:.0f} ms")
    require(drawn <= PATIENCE_MS, f"the first picture took {drawn} ms")
    b.evaluate("page.timeline.zoom(0.001, 0.3), page.timeline.draw()")
    b.point("stack-plot", 0.5, 0.8)
    require(b.evaluate("page.timeline.selected") >= 0, "no tensor is selected")


@sentence("docs/report-format.md names exactly the keys that --json prints")
def _():
    docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "report-format.md")
    with open(docs, encoding="utf-8") as file:
        told = {match.group(1) for match in re.finditer(r"^\| `([^`]+)` \|", file.read().split("\n# ")[0], re.MULTILINE)}
    printed = set()

    def walk(value, path):
        if isinstance(value, dict):
            for key, inner in value.items():
                if path != "run.by_kind":
                    printed.add(f"{path}.{key}".lstrip("."))
                walk(inner, f"{path}.{key}".lstrip(".") if path != "run.by_kind" else "run.by_kind.KIND")
        elif isinstance(value, list):
            for inner in value:
                if isinstance(inner, dict):
                    walk(inner, path + "[]")

    walk(workload()[1], "")
    walk(made_up("offload")[1], "")
    printed |= {f"run.by_kind.KIND.{key}" for key in ("count", "bytes")}
    require(told == printed, f"only in the document: {sorted(told - printed)}", f"only printed: {sorted(printed - told)}")


try:
    finish()
finally:
    if browsers and isinstance(browsers[0], Browser):
        browsers[0].close()
    folder.cleanup()
