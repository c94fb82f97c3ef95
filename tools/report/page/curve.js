/* curve.js - what a smaller budget would cost: the planner's budget-to-slowdown curve, and the bound below it. */

const CURVE_MARGIN = {left: 54, right: 14, top: 14, bottom: 24}, CURVE_TICKS = [1, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000];

class Curve {
    /* `plan` as in the report; its points come from the peak down. */
    constructor(plan) {
        this.plan = plan;
        this.points = plan.points.map(p => ({...p, ratio: p.time_ns / plan.compute_ns, bound: p.lower_bound_ns / plan.compute_ns}));
        this.most = Math.max(1.1, ...this.points.map(p => p.ratio)) * 1.05;
    }

    /* The point that a budget can count on: the one with most memory within it; null when there is no plan within it. */
    at(budget) {
        return this.points.find(p => p.budget_bytes <= budget) || null;
    }

    x(bytes, w) {
        return CURVE_MARGIN.left + Math.min(1, bytes / this.plan.peak_bytes) * (w - CURVE_MARGIN.left - CURVE_MARGIN.right);
    }

    /* Ratios on a logarithmic scale, from 1 at the bottom. */
    y(ratio, h) {
        return h - CURVE_MARGIN.bottom - Math.log(ratio) / Math.log(this.most) * (h - CURVE_MARGIN.top - CURVE_MARGIN.bottom);
    }

    /* `budget` is marked; null: none is. */
    draw(budget) {
        const {width, height, ratio, context} = cleared(document.getElementById("curve")), w = width / ratio, h = height / ratio;
        context.scale(ratio, ratio);
        context.font = "11px system-ui, sans-serif";
        this.drawGrid(context, w, h);
        this.drawLine(context, w, h, p => p.bound, colour("soft"), [3, 3]);
        this.drawLine(context, w, h, p => p.ratio, colour("accent"), []);
        context.fillStyle = colour("accent");
        for (const p of this.points) {
            context.beginPath();
            context.arc(this.x(p.budget_bytes, w), this.y(p.ratio, h), 3, 0, 2 * Math.PI);
            context.fill();
        }
        context.fillStyle = colour("alarm");
        if (budget !== null)
            context.fillRect(this.x(budget, w), CURVE_MARGIN.top, 1.5, h - CURVE_MARGIN.top - CURVE_MARGIN.bottom);
        context.setTransform(1, 0, 0, 1, 0, 0);
    }

    drawGrid(context, w, h) {
        const least = this.points[this.points.length - 1].budget_bytes, bottom = h - CURVE_MARGIN.bottom;
        context.fillStyle = colour("line");
        context.fillRect(CURVE_MARGIN.left, CURVE_MARGIN.top, this.x(least, w) - CURVE_MARGIN.left, bottom - CURVE_MARGIN.top);
        let above = Infinity;
        for (const tick of CURVE_TICKS.filter(t => t <= this.most)) {
            const y = this.y(tick, h), text = `${tick} ×`;
            if (above - y < 14)
                continue;
            above = y;
            context.fillStyle = colour("line");
            context.fillRect(CURVE_MARGIN.left, y, w - CURVE_MARGIN.left - CURVE_MARGIN.right, 1);
            context.fillStyle = colour("soft");
            context.fillText(text, CURVE_MARGIN.left - 6 - context.measureText(text).width, y + 4);
        }
        for (const share of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
            const text = bytesText(share * this.plan.peak_bytes), x = this.x(share * this.plan.peak_bytes, w), wide = context.measureText(text).width;
            if (w < 600 && (share === 0.2 || share === 0.4 || share === 0.8))
                continue;
            context.fillText(text, Math.min(x - wide / 2, w - wide - 2), h - 8);
        }
    }

    drawLine(context, w, h, value, stroke, dashes) {
        context.strokeStyle = stroke;
        context.lineWidth = 1.5;
        context.setLineDash(dashes);
        context.beginPath();
        for (const p of this.points)
            context.lineTo(this.x(p.budget_bytes, w), this.y(value(p), h));
        context.stroke();
        context.setLineDash([]);
    }

    /* In words, for a budget. */
    words(budget) {
        const point = this.at(budget), {plan} = this, least = this.points[this.points.length - 1].budget_bytes;
        const smallest = `The smallest feasible budget is ${bytesText(least)}, ${percent(least, plan.peak_bytes)} of the peak.`;
        if (!point)
            return [make("p", {class: "alarm"}, `No plan keeps within ${bytesText(budget)}. ${smallest}`)];
        const what = make("p", null, `Planned within ${bytesText(point.budget_bytes)}: `, make("b", {id: "plan-ratio"}, `${point.ratio.toFixed(3)} ×`),
                          ` the time with unlimited memory, and nothing can do with less than ${point.bound.toFixed(3)} ×. `, this.meansText(point));
        return [what, make("p", {class: "note"}, `${smallest} Predicted by planner ${plan.planner}, the one of a run; `, make("code", null, "spillway plan"), " searches longer.")];
    }

    meansText(point) {
        const spent = [];
        if (point.replayed_ns)
            spent.push(`${timeText(point.replayed_ns)} on recomputing`);
        if (point.stall_ns)
            spent.push(`${timeText(point.stall_ns)} on waiting`);
        const copied = point.d2h_bytes || point.h2d_bytes ? `${bytesText(point.d2h_bytes)} are copied out and ${bytesText(point.h2d_bytes)} back` : "";
        const parts = [copied, spent.length ? `${spent.join(" and ")} are spent` : ""].filter(part => part);
        return parts.length ? `In each iteration ${parts.join("; ")}.` : "Nothing has to move.";
    }
}

/* The curve of a report; null where it has none. Where there are several devices it is of one, and the page of all. */
function curveOf(report) {
    return report.plan && report.plan.points.length ? new Curve(report.plan) : null;
}

function showCurve(curve) {
    const {plan} = curve;
    setText("curve-note", `Time of an iteration, as a multiple of that with unlimited memory, against the budget; dashed: no schedule is faster; grey: no plan.${plan.device ? ` Device ${plan.device} alone.` : ""}`);
    fillTable("curve-table", [["Budget", "number"], ["of the peak", "number"], ["time", "number"], ["", "number"], ["bound", "number"], ["copied out", "number"], ["back", "number"], ["recomputed", "number"], ["waiting", "number"]],
              curve.points.map(p => [bytesText(p.budget_bytes), percent(p.budget_bytes, plan.peak_bytes), timeText(p.time_ns), `${p.ratio.toFixed(3)} ×`, `${p.bound.toFixed(3)} ×`,
                                     bytesText(p.d2h_bytes), bytesText(p.h2d_bytes), timeText(p.replayed_ns), timeText(p.stall_ns)]));
}
