/* timeline.js - the picture of live memory and the lanes of operations under it, on one axis that zooms and pans. */

const CATEGORY_ORDER = [0, 2, 1, 4, 5, 3, 6]; /* place in the stack, from the bottom: by index of category */
const LANE = 18, LANE_GAP = 4, COPY_LANE = 26, LANE_LABEL = 14, AXIS = 22, HEADROOM = 1.08, SMALLEST_STEP = 1e-4;

/* Size of a canvas in device pixels; resized only when it has changed, since that clears it. */
function fitCanvas(canvas) {
    const ratio = Math.min(window.devicePixelRatio || 1, 2), box = canvas.parentNode;
    const width = Math.max(1, Math.round(box.clientWidth * ratio)), height = Math.max(1, Math.round(box.clientHeight * ratio));
    if (canvas.width !== width || canvas.height !== height) {
        canvas.width = width;
        canvas.height = height;
    }
    return {width, height, ratio};
}

function cleared(canvas) {
    const size = fitCanvas(canvas), context = canvas.getContext("2d");
    context.clearRect(0, 0, size.width, size.height);
    return {...size, context};
}

function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

function shade(hex, factor) {
    const parts = [1, 3, 5].map(at => Math.max(0, Math.min(255, Math.round(parseInt(hex.slice(at, at + 2), 16) * factor))));
    return (255 << 24 | parts[2] << 16 | parts[1] << 8 | parts[0]) >>> 0;
}

/* Round values between low and high, about `wanted` of them. */
function ticks(low, high, wanted, base = 10) {
    const rough = (high - low) / Math.max(1, wanted), power = Math.pow(base, Math.floor(Math.log(rough) / Math.log(base)));
    const factors = base === 10 ? [1, 2, 5, 10] : [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
    const step = power * factors.find(f => f * power >= rough);
    const list = [];
    for (let v = Math.ceil(low / step) * step; v <= high && list.length < 50; v += step)
        list.push(v);
    return list;
}

class Timeline {
    constructor(view, notify) {
        this.view = view;
        this.notify = notify;
        this.stack = new Stack(view);
        this.visible = view.categories.map(() => true);
        this.live = view.live;
        this.selected = -1;
        this.cursor = null; /* {x, y}: 0..1 from the left and from the bottom */
        this.budget = view.peak;
        this.lanes = this.makeLanes();
        this.setAxis(view.timed ? "time" : "operations");
    }

    setAxis(axis) {
        const centre = this.edges ? (this.from + this.to) / 2 : 0, at = this.edges ? operationAt(this.edges, centre) : 0;
        const all = !this.edges || (this.from === 0 && this.to === this.edges[this.view.count]);
        const part = this.edges ? (this.to - this.from) / this.edges[this.view.count] : 1;
        this.axis = axis;
        this.edges = axisEdges(this.view, axis);
        this.full = this.edges[this.view.count];
        if (all)
            this.show(0, this.full);
        else
            this.show(this.edges[at] - part * this.full / 2, this.edges[at] + part * this.full / 2);
    }

    show(from, to) {
        const span = Math.min(this.full, Math.max(to - from, this.full * SMALLEST_STEP, this.axis === "operations" ? Math.min(8, this.full) : 0));
        this.from = Math.max(0, Math.min(from, this.full - span));
        this.to = this.from + span;
        this.stale = true;
    }

    zoom(factor, at = 0.5) {
        const span = (this.to - this.from) * factor, centre = this.from + (this.to - this.from) * at;
        this.show(centre - span * at, centre + span * (1 - at));
    }

    pan(part) {
        const by = (this.to - this.from) * part;
        this.show(this.from + by, this.to + by);
    }

    setVisible(category, visible) {
        this.visible[category] = visible;
        this.live = liveBytes(this.view, t => this.visible[this.view.category[t]]);
        this.stale = true;
    }

    /* One lane for each stream that does more than copies with the host, and one for each direction of those. */
    makeLanes() {
        const {view} = this, lanes = new Map();
        for (let i = 0; i < view.count; i++) {
            const copy = isHostCopy(view, i), key = copy ? "k" + view.opKind[i] : "s" + view.stream[i];
            if (!lanes.has(key))
                lanes.set(key, {ops: [], copy, kind: copy ? view.opKind[i] : 0, stream: view.stream[i], most: 0,
                                label: !copy ? `stream ${view.stream[i]}` : view.opKind[i] === COPY_TO_DEVICE ? "to the device" : "to the host"});
            lanes.get(key).ops.push(i);
        }
        const list = [...lanes.values()].sort((a, b) => a.copy - b.copy || (a.copy ? a.kind - b.kind : a.stream - b.stream));
        let y = LANE_GAP;
        for (const lane of list) {
            lane.ops.sort((a, b) => view.start[a] - view.start[b] || a - b);
            lane.labelled = lane.copy || list.filter(l => !l.copy).length > 1;
            lane.top = y + (lane.labelled ? LANE_LABEL : 0);
            lane.height = lane.copy ? COPY_LANE : LANE;
            y = lane.top + lane.height + LANE_GAP;
            if (lane.copy)
                for (const i of lane.ops)
                    lane.most = Math.max(lane.most, this.rate(i));
        }
        this.lanesHeight = y + AXIS;
        return list;
    }

    rate(i) {
        return this.view.duration[i] > 0 ? this.view.opBytes[i] / this.view.duration[i] : 0;
    }

    /* Where operation i stands on the axis. */
    extent(i) {
        const {view} = this;
        if (this.axis === "operations")
            return [i, i + 1];
        return [view.start[i], view.timed ? view.start[i] + view.duration[i] : this.edges[i + 1]];
    }

    get top() {
        return this.view.peak * HEADROOM || 1;
    }

    /* ---- drawing ---- */

    draw() {
        const began = performance.now(), canvas = document.getElementById("stack"), {width, height} = fitCanvas(canvas);
        this.palette = this.view.categories.map(name => {
            const hex = colour(name);
            return [shade(hex, 1), shade(hex, 1.07), shade(hex, 0.72)];
        });
        this.image = this.stack.picture(this.edges, this.live, this.from, this.to, width, height, this.top / height, this.visible);
        paintPicture(canvas, this.view, this.image, this.palette);
        this.drawLanes();
        this.drawOver();
        this.stale = false;
        this.drawMs = performance.now() - began;
    }

    toPixel(value, width) {
        return (value - this.from) / (this.to - this.from) * width;
    }

    drawLanes() {
        const {width, ratio, context} = cleared(document.getElementById("lanes"));
        for (const lane of this.lanes) {
            const colours = lane.copy ? [colour(lane.kind === COPY_TO_DEVICE ? "in" : "out")] : [colour("op-a"), colour("op-b")];
            let painted = -1;
            for (let k = this.firstIn(lane); k < lane.ops.length; k++) {
                const i = lane.ops[k], [from, to] = this.extent(i);
                if (from > this.to)
                    break;
                const left = this.toPixel(from, width), right = Math.max(left + 1, this.toPixel(to, width));
                if (right <= painted + 0.5)
                    continue;
                painted = right;
                const part = lane.copy && lane.most > 0 ? Math.max(0.12, this.rate(i) / lane.most) : lane.copy ? 0.6 : 1;
                const tall = lane.height * part * ratio, room = right - left > 3 ? 1 : 0;
                context.fillStyle = colours[this.view.name[i] % colours.length];
                context.fillRect(left, (lane.top + lane.height) * ratio - tall, right - left - room, tall);
                if (!lane.copy && right - left > 60 * ratio)
                    this.label(context, this.view.shortNames[this.view.name[i]], left + 4 * ratio, lane.top * ratio, right - left - 8 * ratio, ratio);
            }
        }
        this.drawAxis(context, width, ratio);
    }

    label(context, text, x, y, room, ratio) {
        context.save();
        context.beginPath();
        context.rect(x, y, room, LANE * ratio);
        context.clip();
        context.font = `${11 * ratio}px system-ui, sans-serif`;
        context.fillStyle = colour("card");
        context.fillText(text, x, y + 13 * ratio);
        context.restore();
    }

    /* Index of the lane's first operation that may reach into what is shown. Long operations begin earlier: some are looked
     * at in vain, none is missed, since within one lane operations follow each other. */
    firstIn(lane) {
        let low = 0, high = lane.ops.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (this.extent(lane.ops[middle])[1] < this.from)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    drawAxis(context, width, ratio) {
        const y = (this.lanesHeight - AXIS) * ratio;
        context.font = `${11 * ratio}px system-ui, sans-serif`;
        context.fillStyle = colour("soft");
        for (const value of ticks(this.from, this.to, width / ratio / 110)) {
            const x = this.toPixel(value, width), text = this.axis === "operations" ? countText(Math.round(value)) : timeText(value);
            context.fillRect(x, y, ratio, 4 * ratio);
            if (x + context.measureText(text).width + 6 * ratio < width)
                context.fillText(text, x + 3 * ratio, y + 14 * ratio);
        }
    }

    /* Everything that changes without a new picture: budget, phases, what is selected, where the pointer is. */
    drawOver() {
        const {width, height, ratio, context} = cleared(document.getElementById("stack-over"));
        const line = height - this.budget / this.top * height, {image} = this;
        context.globalAlpha = 0.3;
        context.fillStyle = colour("alarm");
        for (let x = 0; x < image.width; x++) {
            const roof = height - image.totals[x] / this.top * height;
            if (roof < line)
                context.fillRect(x, roof, 1, line - roof);
        }
        context.globalAlpha = 1;
        this.markSelected(context, height);
        this.drawPhases(context, width, height, ratio);
        this.drawScale(context, width, height, ratio);
        context.fillStyle = colour("alarm");
        context.fillRect(0, Math.round(line), width, Math.max(1, ratio));
        this.words(context, `budget ${bytesText(this.budget)}`, width - 6 * ratio, line - 5 * ratio > 14 * ratio ? line - 5 * ratio : line + 14 * ratio, ratio, "right", "alarm");
        this.drawCursor(context, width, height, ratio);
        this.markUses();
    }

    words(context, text, x, y, ratio, align, name) {
        context.font = `600 ${11 * ratio}px system-ui, sans-serif`;
        context.textAlign = align;
        context.lineWidth = 3 * ratio;
        context.lineJoin = "round";
        context.strokeStyle = colour("plot");
        context.strokeText(text, x, y);
        context.fillStyle = colour(name);
        context.fillText(text, x, y);
        context.textAlign = "left";
    }

    markSelected(context, height) {
        const {ids, width, rows} = this.image;
        if (this.selected < 0)
            return;
        context.fillStyle = colour("ink");
        for (let x = 0; x < width; x++)
            for (let y = 0; y < rows;) {
                const from = y;
                while (y < rows && ids[x * rows + y] !== NOBODY && (ids[x * rows + y] & ~EDGE) === this.selected)
                    y++;
                if (y > from)
                    context.fillRect(x, height - y, 1, y - from);
                else
                    y++;
            }
    }

    drawPhases(context, width, height, ratio) {
        for (const phase of this.view.phases) {
            const left = this.toPixel(this.edges[phase.first], width), right = this.toPixel(this.edges[phase.end], width);
            if (right < 0 || left > width)
                continue;
            context.fillStyle = colour("soft");
            context.globalAlpha = 0.45;
            if (left > 0)
                context.fillRect(left, 0, ratio, height);
            context.globalAlpha = 1;
            if (Math.min(right, width) - Math.max(left, 0) > 66 * ratio)
                this.words(context, phase.name, Math.max(left, 0) + 6 * ratio, 13 * ratio, ratio, "left", "soft");
        }
    }

    drawScale(context, width, height, ratio) {
        for (const value of ticks(0, this.top, 4, 1024)) {
            const y = height - value / this.top * height;
            if (value === 0 || y < 26 * ratio)
                continue;
            context.fillStyle = colour("soft");
            context.globalAlpha = 0.25;
            context.fillRect(0, y, width, 1);
            context.globalAlpha = 1;
            this.words(context, bytesText(value), 6 * ratio, y - 4 * ratio, ratio, "left", "soft");
        }
    }

    drawCursor(context, width, height, ratio) {
        if (!this.cursor)
            return;
        context.fillStyle = colour("ink");
        context.globalAlpha = 0.55;
        context.fillRect(Math.round(this.cursor.x * width), 0, ratio, height);
        context.globalAlpha = 1;
    }

    /* The operations that touch the selected tensor, in their lanes. */
    markUses() {
        const {width, ratio, context} = cleared(document.getElementById("lanes-over"));
        context.globalAlpha = 1;
        const marked = this.selected >= 0 ? usesOf(this.view, this.selected) : this.selectedOp >= 0 ? [this.selectedOp] : [];
        context.fillStyle = colour("accent");
        for (const i of marked)
            for (const lane of this.lanes) {
                const copy = isHostCopy(this.view, i);
                if (lane.copy ? !copy || lane.kind !== this.view.opKind[i] : copy || lane.stream !== this.view.stream[i])
                    continue;
                const [from, to] = this.extent(i), left = this.toPixel(from, width), right = this.toPixel(to, width);
                context.fillRect(left, (lane.top - 1) * ratio, Math.max(2 * ratio, right - left), 2 * ratio);
                context.fillRect(left, (lane.top + lane.height - 1) * ratio, Math.max(2 * ratio, right - left), 2 * ratio);
            }
        for (const lane of this.lanes)
            if (lane.labelled)
                this.words(context, lane.label + (lane.most ? `, up to ${rateText(lane.most)}` : ""), 2 * ratio, (lane.top - 3) * ratio, ratio, "left", "soft");
        if (this.cursor) {
            context.globalAlpha = 0.55;
            context.fillStyle = colour("ink");
            context.fillRect(Math.round(this.cursor.x * width), 0, ratio, (this.lanesHeight - AXIS) * ratio);
        }
    }

    /* ---- what is where ---- */

    tensorAt(x, y) {
        const {ids, width, rows} = this.image, column = Math.min(width - 1, Math.max(0, Math.floor(x * width)));
        const row = Math.min(rows - 1, Math.max(0, Math.floor(y * rows))), id = ids[column * rows + row];
        return id === NOBODY ? -1 : id & ~EDGE;
    }

    operationShownAt(x) {
        return this.image.op[Math.min(this.image.width - 1, Math.max(0, Math.floor(x * this.image.width)))];
    }

    /* The operation of the lane at `pixels` from the top under x, -1 when there is none. */
    operationIn(x, pixels, width) {
        const lane = this.lanes.find(l => pixels >= l.top && pixels <= l.top + l.height);
        if (!lane)
            return -1;
        const value = this.from + x * (this.to - this.from), slack = (this.to - this.from) / width * 2;
        let best = -1, nearest = slack;
        for (let k = Math.max(0, this.firstIn(lane) - 1); k < lane.ops.length; k++) {
            const [from, to] = this.extent(lane.ops[k]);
            if (from > value + slack)
                break;
            const away = value < from ? from - value : value > to ? value - to : 0;
            if (away < nearest || (away === 0 && nearest === 0)) {
                nearest = away;
                best = lane.ops[k];
            }
        }
        return best;
    }
}
