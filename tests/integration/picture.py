#!/usr/bin/env python3
"""picture.py - the picture of the README: one iteration of the example as `spillway report --html` draws it, with a budget of 60 % of
the peak.

usage: picture.py check FILE       the picture in FILE is the one that is drawn now, but for letters, whose fonts differ from machine to machine
       picture.py make FILE        draws it into FILE; `./dev picture` calls it"""
import base64
import os
import subprocess
import sys
import tempfile

from browser import Absent, Browser
from harness import DEVICE, SMALL_DEVICE, SPILLWAY, WORKLOADS, Skipped, environment, finish, require, sentence

WHAT, FILE = sys.argv.pop(1), sys.argv.pop(1)
WIDTH, SHARE = 860, 0.6
CELLS = (43, 20)  # in which pictures are compared: letters are small within one
MOST_APART = 0.06  # of the range of a colour, on average over a cell
# What is left of the page: the heading, the legend without its switches, the stack and the lanes under it.
TRIM = """(() => {
    const kept = new Set(["timeline-title", "legend", "stack-plot", "lanes-plot"]);
    for (const child of document.getElementById("timeline").children)
        child.hidden = !kept.has(child.id), child.style.display = child.hidden ? "none" : "";
    const slider = document.getElementById("budget");
    slider.value = String(Math.round(%f * page.view.peak / page.timeline.top * 1000));
    slider.dispatchEvent(new Event("input"));
    window.dispatchEvent(new Event("resize"));
})()""" % SHARE
# Mean colours of the cells of a picture, from 0 to 1.
MEANS = """(async () => {
    const image = new Image();
    image.src = "data:image/png;base64,%s";
    await image.decode();
    const canvas = document.createElement("canvas"), [columns, rows] = %s, all = [image.width, image.height];
    [canvas.width, canvas.height] = all;
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const means = [];
    for (let y = 0; y < rows; y++)
        for (let x = 0; x < columns; x++) {
            const left = Math.floor(x * all[0] / columns), top = Math.floor(y * all[1] / rows);
            const width = Math.floor((x + 1) * all[0] / columns) - left, height = Math.floor((y + 1) * all[1] / rows) - top;
            const data = context.getImageData(left, top, width, height).data, sum = [0, 0, 0];
            for (let i = 0; i < data.length; i++)
                if (i %% 4 < 3)
                    sum[i %% 4] += data[i];
            means.push(sum.map(s => s / (255 * width * height)));
        }
    return {size: all, means};
})()"""


def drawn(browser, folder):
    """The picture as PNG."""
    trace, page = os.path.join(folder, "gpt.trace"), os.path.join(folder, "gpt.html")
    for command in ([SPILLWAY, "trace", "--output", trace, "--", os.path.join(WORKLOADS, "gpt")], [SPILLWAY, "report", trace, "--html", page]):
        done = subprocess.run(command, env=environment({"LD_LIBRARY_PATH": DEVICE, **SMALL_DEVICE}), capture_output=True, text=True, timeout=120,
                              check=False, stdin=subprocess.DEVNULL)
        require(done.returncode == 0, command, done.returncode, done.stderr)
    browser.size(WIDTH, 900)
    browser.open(page)
    browser.evaluate(TRIM)
    browser.rest(0.5)
    require(not browser.complaints(), browser.complaints())
    x, y, width, height = browser.evaluate("(b => [b.x + scrollX, b.y + scrollY, b.width, b.height])(document.getElementById('timeline').getBoundingClientRect())")
    clip = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
    return base64.b64decode(browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"])


def means(browser, folder, png):
    page = os.path.join(folder, "empty.html")  # the report's own page lets no picture in
    with open(page, "w", encoding="utf-8") as file:
        file.write("<!doctype html><title>empty</title>")
    browser.open(page)
    return browser.evaluate(MEANS % (base64.b64encode(png).decode(), list(CELLS)))


def make():
    try:
        with Browser() as browser, tempfile.TemporaryDirectory(prefix="spillway-picture-") as folder:
            png = drawn(browser, folder)
    except Absent as why:
        sys.exit(f"picture: {why}")
    os.makedirs(os.path.dirname(os.path.abspath(FILE)), exist_ok=True)
    with open(FILE, "wb") as file:
        file.write(png)
    print(f"{FILE}: {len(png)} bytes")


@sentence("the README's picture is what the report draws of its example")
def _():
    try:
        browser = Browser()
    except Absent as why:
        raise Skipped(str(why)) from why
    with browser, tempfile.TemporaryDirectory(prefix="spillway-picture-") as folder, open(FILE, "rb") as file:
        now, kept = means(browser, folder, drawn(browser, folder)), means(browser, folder, file.read())
    require(all(abs(a - b) <= 4 for a, b in zip(now["size"], kept["size"])), "another size; ./dev picture makes it anew:", now["size"], kept["size"])
    apart = [max(abs(a - b) for a, b in zip(*pair)) for pair in zip(now["means"], kept["means"])]
    print(f"# cells differ by up to {max(apart):.3f}")
    require(max(apart) <= MOST_APART, f"looks different; ./dev picture makes it anew: {sum(a > MOST_APART for a in apart)} of {len(apart)} cells, up to {max(apart):.3f}")
    require(len({tuple(round(c, 1) for c in mean) for mean in kept["means"]}) > 8, "the picture is empty")


if WHAT == "make":
    make()
else:
    finish()
