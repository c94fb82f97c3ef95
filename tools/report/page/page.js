/* page.js - puts the page together and lets it be pointed at, tapped, dragged and driven by keys. */

const FIRST_ROWS = 20, MORE_ROWS = 200, START_OF_BUDGET = 0.8, SETTLE_MS = 60, STEPS = 1000;

class Page {
    constructor(report, view) {
        this.view = view;
        this.report = report;
        this.link = linkBandwidth(view);
        this.timeline = new Timeline(view);
        this.scatter = new Scatter(view);
        this.curve = curveOf(report);
        byId("curve-box").hidden = !this.curve;
        if (this.curve)
            showCurve(this.curve);
        this.pinned = false;
        this.fixWords();
        this.makeLegend();
        this.makeAxis();
        this.makeBudget();
        byId("lanes-plot").style.height = `${this.timeline.lanesHeight}px`;
        this.listen();
        this.point(-1, -1);
    }

    fixWords() {
        const {view, report} = this, devices = report.devices.length > 1 ? " All devices together." : "";
        setText("timeline-note", `What the memory is for is guessed from lives and uses.${devices} Point at the picture or tap it; click to keep, then the wheel zooms, dragging pans.`);
        showCopies(view);
        showSites(view);
        const all = showLargest(view, FIRST_ROWS);
        if (all > FIRST_ROWS) {
            const more = make("button", null, `Show ${Math.min(all, MORE_ROWS)} of ${countText(all)}`);
            more.addEventListener("click", () => {
                showLargest(view, MORE_ROWS);
                more.remove();
            });
            byId("largest").parentNode.after(more);
        }
    }

    makeLegend() {
        const {view, timeline} = this;
        for (let c = 0; c < view.categories.length; c++) {
            const bytes = this.categoryAtPeak(c), count = view.category.reduce((n, k, t) => n + (k === c && view.onDevice[t] ? 1 : 0), 0);
            if (!count)
                continue;
            const button = make("button", {"aria-pressed": "true"}, swatch(view.categories[c]), view.categories[c], make("span", {class: "soft"}, bytesText(bytes)));
            button.title = `${countText(count)} tensors, ${bytesText(bytes)} of them at the peak`;
            button.addEventListener("click", () => {
                const on = button.getAttribute("aria-pressed") !== "true";
                button.setAttribute("aria-pressed", String(on));
                timeline.setVisible(c, on);
                this.redraw();
            });
            byId("legend").append(button);
        }
    }

    categoryAtPeak(c) {
        const {view} = this;
        let bytes = 0;
        for (let t = 0; t < view.tensors; t++)
            if (view.category[t] === c && view.onDevice[t] && view.begin[t] <= view.peakAt && view.end[t] >= view.peakAt)
                bytes += view.bytes[t];
        return bytes;
    }

    makeAxis() {
        const buttons = ["time", "operations"].map(axis => {
            const text = axis === "operations" ? "by operation" : this.view.timed ? "by device time" : "by host time";
            const button = make("button", {"aria-pressed": String(this.timeline.axis === axis)}, text);
            button.addEventListener("click", () => {
                buttons.forEach(b => b.setAttribute("aria-pressed", String(b === button)));
                this.timeline.setAxis(axis);
                this.redraw();
            });
            return button;
        });
        byId("axis").append(buttons[0], " ", buttons[1]);
    }

    /* ---- budget ---- */

    makeBudget() {
        const set = this.report.devices.reduce((sum, d) => sum + d.budget_bytes, 0), top = this.timeline.top, slider = byId("budget"), link = byId("bandwidth");
        this.least = smallestBudget(this.view);
        this.budget = set ? Math.min(set, top) : START_OF_BUDGET * this.view.peak;
        this.budgetIsSet = set > 0 && set <= top;
        slider.value = String(Math.round(this.budget / top * STEPS));
        link.value = this.link.gbs.toFixed(1);
        slider.addEventListener("input", () => {
            this.budget = Number(slider.value) / STEPS * top;
            this.budgetIsSet = false;
            this.moveBudget();
        });
        link.addEventListener("input", () => {
            if (Number(link.value) > 0)
                this.link = {gbs: Number(link.value), measured: false, given: true};
            this.swap = null;
            this.scatter.draw(this.timeline.visible, this.link.gbs);
            this.moveBudget();
        });
        this.moveBudget();
    }

    get linkWords() {
        return `${rateText(this.link.gbs)}, ${this.link.given ? "as given" : this.link.measured ? "measured in this iteration" : "assumed: no copy to or from the host was large enough to measure"}`;
    }

    /* The line moves at once; the tables follow when the slider rests. */
    moveBudget() {
        this.timeline.budget = this.budget;
        setText("budget-value", `${bytesText(this.budget)}, ${percent(this.budget, this.view.peak)} of the peak${this.budgetIsSet ? ", as the run had it" : ""}`);
        byId("budget").setAttribute("aria-valuetext", bytesText(this.budget));
        setText("bandwidth-note", this.link.given ? "as given" : this.link.measured ? "measured in this iteration" : "assumed (PCIe 4.0 x16): no copy here was large enough to measure");
        if (this.timeline.image) {
            this.timeline.drawOver();
            this.drawCurve();
        }
        clearTimeout(this.settling);
        this.settling = setTimeout(() => this.settleBudget(), this.timeline.image ? SETTLE_MS : 0);
    }

    /* The slider is for all devices together, the curve for one. */
    get isOneDevice() {
        return this.report.devices.length === 1;
    }

    drawCurve() {
        if (this.curve)
            this.curve.draw(this.isOneDevice ? this.budget : null);
    }

    settleBudget() {
        const {view} = this;
        this.swap = this.swap || swappable(view, this.link.gbs);
        const fit = fitBudget(view, this.budget, this.swap), {all, swappable: part} = this.scatter.sums(this.link.gbs);
        /* The curve is for the link as it was found; another one has the rule of thumb. */
        const planned = this.curve && !this.link.given && this.isOneDevice ? this.curve.words(this.budget) : null;
        showBudgetWords(view, this.budget, fit, this.least, this.link.gbs, planned);
        showVerdicts(view, fit, byId("residents-box").open ? MORE_ROWS : 0);
        showPhases(view, this.budget);
        setText("scatter-note", `Under the line a tensor could leave and be back in its longest idle time, at ${this.linkWords}: ${bytesText(part)} of ${bytesText(all)}.` +
                (view.timed ? "" : " Idle times are of the host's calls, which run ahead of the device."));
    }

    /* ---- pointing ---- */

    point(tensor, operation) {
        this.timeline.selected = this.scatter.selected = tensor;
        this.timeline.selectedOp = operation;
        const detail = byId("detail");
        if (tensor >= 0)
            detail.replaceChildren(...describeTensor(this.view, tensor));
        else if (operation >= 0)
            detail.replaceChildren(...describeOperation(this.view, operation));
        else
            detail.replaceChildren(make("p", {class: "soft"}, "Point at the picture, or tap it, to see a tensor: its size and life, who makes and who uses it, how long it lies idle, and where it was allocated."));
        if (this.timeline.image)
            this.timeline.drawOver();
        if (this.scatter.drawn)
            this.scatter.drawOver();
    }

    tip(text, x, y) {
        const tip = byId("tip");
        tip.style.display = text ? "block" : "none";
        if (!text)
            return;
        tip.textContent = text;
        const left = x + 16 + tip.offsetWidth > window.innerWidth ? x - tip.offsetWidth - 12 : x + 16;
        tip.style.left = `${Math.max(4, left)}px`;
        tip.style.top = `${Math.max(4, Math.min(y + 14, window.innerHeight - tip.offsetHeight - 4))}px`;
    }

    pointAtStack(x, y, clientX, clientY) {
        const {timeline, view} = this, tensor = timeline.tensorAt(x, y), op = timeline.operationShownAt(x);
        timeline.cursor = {x, y};
        if (!this.pinned)
            this.point(tensor, tensor < 0 ? op : -1);
        else
            timeline.drawOver();
        this.tip(`${tensor >= 0 ? `${bytesText(view.bytes[tensor])} ${view.categories[view.category[tensor]]}\n` : ""}${bytesText(view.live[op])} live at ${operationText(view, op)}`, clientX, clientY);
    }

    pointAtLanes(x, pixels, width, clientX, clientY) {
        const {timeline, view} = this, op = timeline.operationIn(x, pixels, width);
        timeline.cursor = {x, y: 0};
        if (!this.pinned)
            this.point(-1, op);
        else
            timeline.drawOver();
        const rate = op >= 0 && timeline.rate(op) && isHostCopy(view, op) ? `, ${rateText(timeline.rate(op))}` : "";
        this.tip(op < 0 ? "" : `${operationText(view, op)}\n${view.timed ? timeText(view.duration[op]) : "not timed"}${view.opBytes[op] ? `, ${bytesText(view.opBytes[op])}` : ""}${rate}`, clientX, clientY);
    }

    pointAtScatter(event) {
        const box = byId("scatter-plot").getBoundingClientRect(), {view} = this;
        const t = this.scatter.tensorAt(event.clientX - box.left, event.clientY - box.top, box.width, box.height, this.timeline.visible);
        if (!this.pinned || event.type === "click")
            this.point(t, -1);
        this.tip(t < 0 ? "" : `${bytesText(view.bytes[t])} ${view.categories[view.category[t]]}, idle for ${timeText(view.idle[t])}\n${siteText(view, view.site[t])}`, event.clientX, event.clientY);
    }

    leave() {
        this.timeline.cursor = null;
        this.tip("");
        if (!this.pinned)
            this.point(-1, -1);
        else
            this.timeline.drawOver();
    }

    listen() {
        this.listenToPlot(byId("stack-plot"), (x, y, box, e) => this.pointAtStack(x, 1 - y, e.clientX, e.clientY));
        this.listenToPlot(byId("lanes-plot"), (x, y, box, e) => this.pointAtLanes(x, y * box.height, box.width, e.clientX, e.clientY));
        byId("stack-plot").addEventListener("keydown", e => this.key(e));
        const scatter = byId("scatter-plot");
        scatter.addEventListener("pointermove", e => this.pointAtScatter(e));
        scatter.addEventListener("click", e => {
            this.pinned = false;
            this.pointAtScatter(e);
            this.pinned = this.scatter.selected >= 0;
        });
        scatter.addEventListener("pointerleave", () => this.leave());
        const zooms = {"zoom-in": () => this.timeline.zoom(0.5), "zoom-out": () => this.timeline.zoom(2), "pan-left": () => this.timeline.pan(-0.4),
                       "pan-right": () => this.timeline.pan(0.4), "zoom-all": () => this.timeline.show(0, this.timeline.full)};
        for (const [id, act] of Object.entries(zooms))
            byId(id).addEventListener("click", () => {
                act();
                this.redraw();
            });
        byId("residents-box").addEventListener("toggle", () => this.settleBudget());
        new ResizeObserver(() => this.redraw()).observe(byId("stack-plot"));
        window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    }

    /* Moving points, a click keeps, dragging pans, two fingers zoom; the wheel zooms once the plot has been clicked, so that a
     * page that is scrolled past is not held up. */
    listenToPlot(plot, pointAt) {
        const fingers = new Map();
        let dragged = 0;
        const at = e => {
            const box = plot.getBoundingClientRect();
            pointAt((e.clientX - box.left) / box.width, (e.clientY - box.top) / box.height, box, e);
        };
        plot.addEventListener("pointerdown", e => {
            fingers.set(e.pointerId, e);
            dragged = 0;
            plot.setPointerCapture(e.pointerId);
        });
        plot.addEventListener("pointermove", e => {
            const before = fingers.get(e.pointerId), width = plot.clientWidth;
            if (!before)
                return at(e);
            const others = [...fingers.values()].filter(f => f.pointerId !== e.pointerId);
            dragged += Math.abs(e.clientX - before.clientX);
            if (others.length) {
                const was = Math.abs(before.clientX - others[0].clientX), is = Math.abs(e.clientX - others[0].clientX);
                if (was > 10 && is > 10)
                    this.timeline.zoom(was / is, ((e.clientX + others[0].clientX) / 2 - plot.getBoundingClientRect().left) / width);
            } else if (dragged > 4) {
                this.timeline.pan((before.clientX - e.clientX) / width);
            }
            fingers.set(e.pointerId, e);
            this.redraw();
        });
        const up = e => {
            const tapped = fingers.delete(e.pointerId) && dragged <= 4 && e.type === "pointerup";
            if (!tapped)
                return;
            this.pinned = false;
            at(e);
            this.pinned = this.timeline.selected >= 0 || this.timeline.selectedOp >= 0;
            byId("stack-plot").focus({preventScroll: true});
        };
        plot.addEventListener("pointerup", up);
        plot.addEventListener("pointercancel", up);
        plot.addEventListener("pointerleave", () => this.leave());
        plot.addEventListener("wheel", e => {
            const wanted = e.ctrlKey || e.metaKey || e.shiftKey || document.activeElement === byId("stack-plot");
            if (Math.abs(e.deltaX) > Math.abs(e.deltaY))
                this.timeline.pan(e.deltaX / plot.clientWidth);
            else if (wanted)
                this.timeline.zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 250))), (e.clientX - plot.getBoundingClientRect().left) / plot.clientWidth);
            else
                return;
            e.preventDefault();
            this.redraw();
        }, {passive: false});
    }

    key(e) {
        const {timeline} = this, cursor = timeline.cursor || {x: 0.5, y: 0.05}, width = byId("stack-plot").clientWidth, {rows} = timeline.image;
        const acts = {
            "+": () => timeline.zoom(0.5, cursor.x), "=": () => timeline.zoom(0.5, cursor.x), "-": () => timeline.zoom(2, cursor.x), "0": () => timeline.show(0, timeline.full),
            ArrowLeft: () => this.step(cursor, -1, width), ArrowRight: () => this.step(cursor, 1, width),
            ArrowUp: () => this.climb(cursor, 1 / rows), ArrowDown: () => this.climb(cursor, -1 / rows),
            Enter: () => this.pinned = !this.pinned && (timeline.selected >= 0 || timeline.selectedOp >= 0), Escape: () => this.pinned = false,
        };
        if (!acts[e.key] || e.altKey || e.ctrlKey || e.metaKey)
            return;
        e.preventDefault();
        acts[e.key]();
        if (timeline.stale)
            this.redraw();
        timeline.cursor = cursor;
        if (!this.pinned) {
            const tensor = timeline.tensorAt(cursor.x, cursor.y);
            this.point(tensor, tensor < 0 ? timeline.operationShownAt(cursor.x) : -1);
        }
    }

    /* To the next column that shows another operation; pans when it is not on the plot. */
    step(cursor, way, width) {
        const {timeline} = this, op = timeline.operationShownAt(cursor.x);
        for (let x = cursor.x + way / width; x >= 0 && x < 1; x += way / width)
            if (timeline.operationShownAt(x) !== op) {
                cursor.x = x;
                return;
            }
        timeline.pan(way * 0.4);
        cursor.x = Math.min(1, Math.max(0, cursor.x - way * 0.4));
    }

    /* To the next tensor above or below. */
    climb(cursor, by) {
        const {timeline} = this, tensor = timeline.tensorAt(cursor.x, cursor.y);
        for (let y = cursor.y + by; y > 0 && y < 1; y += by)
            if (timeline.tensorAt(cursor.x, y) !== tensor) {
                cursor.y = y + 1.5 * by;
                return;
            }
    }

    /* All redrawing of one frame at once. */
    redraw() {
        this.timeline.stale = true;
        if (this.waiting)
            return;
        this.waiting = true;
        requestAnimationFrame(() => {
            this.waiting = false;
            this.draw();
        });
    }

    draw() {
        this.timeline.draw();
        this.scatter.draw(this.timeline.visible, this.link.gbs);
        this.scatter.drawn = true;
        this.drawCurve();
    }
}

function open() {
    const report = JSON.parse(byId("report").textContent), view = readIteration(report);
    showHead(report, view);
    showTotals(report);
    byId("none").hidden = view !== null;
    byId("main").hidden = view === null;
    byId("totals").hidden = false; // until here, so that nothing is seen to move down
    if (!view)
        return null;
    const page = new Page(report, view);
    page.draw();
    return page;
}

const opened = performance.now(), page = open();
/* How long until the first picture stood, for whoever wants to know. */
document.documentElement.dataset.drawnMs = String(Math.round(performance.now()));
document.documentElement.dataset.foundMs = String(Math.round(opened));
