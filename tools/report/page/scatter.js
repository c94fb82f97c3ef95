/* scatter.js - each tensor by its size and its longest idle time, with the line below which it cannot leave and be back. */

const MARGIN = {left: 54, right: 10, top: 12, bottom: 24};

class Scatter {
    constructor(view) {
        this.view = view;
        this.points = [];
        for (let t = 0; t < view.tensors; t++)
            if (view.onDevice[t] && view.bytes[t] > 0 && view.idle[t] > 0)
                this.points.push(t);
        const over = (list, f) => list.reduce((m, t) => [Math.min(m[0], f(t)), Math.max(m[1], f(t))], [Infinity, -Infinity]);
        const around = ([low, high]) => this.points.length ? [Math.log10(low) - 0.2, Math.log10(high) + 0.2] : [0, 1];
        this.bytesRange = around(over(this.points, t => view.bytes[t]));
        this.idleRange = around(over(this.points, t => view.idle[t]));
        this.selected = -1;
    }

    place(t, width, height) {
        return [this.x(this.view.idle[t], width), this.y(this.view.bytes[t], height)];
    }

    x(ns, width) {
        const [low, high] = this.idleRange;
        return MARGIN.left + (Math.log10(ns) - low) / (high - low) * (width - MARGIN.left - MARGIN.right);
    }

    y(bytes, height) {
        const [low, high] = this.bytesRange;
        return height - MARGIN.bottom - (Math.log10(bytes) - low) / (high - low) * (height - MARGIN.top - MARGIN.bottom);
    }

    /* Bytes of the tensors, and of those that could leave and be back in their longest idle time. */
    sums(gbs) {
        let all = 0, swappable = 0;
        for (const t of this.points) {
            all += this.view.bytes[t];
            if (this.view.movable[t] && 2 * this.view.bytes[t] / gbs <= this.view.idle[t])
                swappable += this.view.bytes[t];
        }
        return {all, swappable};
    }

    draw(visible, gbs) {
        const {width, height, ratio, context} = cleared(document.getElementById("scatter"));
        const w = width / ratio, h = height / ratio;
        context.scale(ratio, ratio);
        context.font = "11px system-ui, sans-serif";
        this.drawGrid(context, w, h);
        const colours = this.view.categories.map(colour), few = this.points.length < 2000;
        context.globalAlpha = few ? 0.75 : 0.4;
        for (const t of this.points) {
            if (!visible[this.view.category[t]])
                continue;
            const [x, y] = this.place(t, w, h);
            context.fillStyle = colours[this.view.category[t]];
            context.beginPath();
            if (few)
                context.arc(x, y, 4, 0, 2 * Math.PI);
            else
                context.rect(x - 1, y - 1, 2.5, 2.5);
            context.fill();
        }
        context.globalAlpha = 1;
        this.drawLine(context, w, h, gbs);
        context.setTransform(1, 0, 0, 1, 0, 0);
        this.drawOver();
    }

    drawGrid(context, w, h) {
        context.lineWidth = 1;
        for (const [value, text] of this.decades(this.idleRange, 10, timeText)) {
            const x = this.x(value, w);
            context.fillStyle = colour("line");
            context.fillRect(x, MARGIN.top, 1, h - MARGIN.top - MARGIN.bottom);
            context.fillStyle = colour("soft");
            if (x + context.measureText(text).width / 2 < w)
                context.fillText(text, x - context.measureText(text).width / 2, h - 8);
        }
        for (const [value, text] of this.decades(this.bytesRange, 4, bytesText)) {
            const y = this.y(value, h);
            context.fillStyle = colour("line");
            context.fillRect(MARGIN.left, y, w - MARGIN.left - MARGIN.right, 1);
            context.fillStyle = colour("soft");
            context.fillText(text, MARGIN.left - 6 - context.measureText(text).width, y + 4);
        }
    }

    /* Powers of the base in the range, thinned out to at most eight. */
    decades([low, high], base, words) {
        const per = Math.log10(base), first = Math.ceil(low / per), last = Math.floor(high / per), step = Math.max(1, Math.ceil((last - first + 1) / 8));
        const list = [];
        for (let k = first; k <= last; k += step) {
            const value = Math.pow(base, k);
            list.push([value, words(value).replace(/\.0+ /, " ")]);
        }
        return list;
    }

    drawLine(context, w, h, gbs) {
        const [low, high] = this.idleRange;
        context.save();
        context.beginPath();
        context.rect(MARGIN.left, MARGIN.top, w - MARGIN.left - MARGIN.right, h - MARGIN.top - MARGIN.bottom);
        context.clip();
        context.strokeStyle = colour("alarm");
        context.lineWidth = 1.5;
        context.beginPath();
        for (const k of [low, high]) {
            const ns = Math.pow(10, k);
            context.lineTo(this.x(ns, w), this.y(Math.max(1e-9, ns * gbs / 2), h));
        }
        context.stroke();
        context.restore();
    }

    drawOver() {
        const {width, height, ratio, context} = cleared(document.getElementById("scatter-over"));
        if (this.selected < 0 || !(this.view.idle[this.selected] > 0) || !(this.view.bytes[this.selected] > 0))
            return;
        const [x, y] = this.place(this.selected, width / ratio, height / ratio);
        context.strokeStyle = colour("ink");
        context.lineWidth = 2 * ratio;
        context.beginPath();
        context.arc(x * ratio, y * ratio, 7 * ratio, 0, 2 * Math.PI);
        context.stroke();
    }

    /* The visible tensor nearest to a point of the plot, -1 when none is near. */
    tensorAt(x, y, w, h, visible) {
        let best = -1, nearest = 18 * 18;
        for (const t of this.points) {
            if (!visible[this.view.category[t]])
                continue;
            const [px, py] = this.place(t, w, h), away = (px - x) * (px - x) + (py - y) * (py - y);
            if (away < nearest) {
                nearest = away;
                best = t;
            }
        }
        return best;
    }
}
