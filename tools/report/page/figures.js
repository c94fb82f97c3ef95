/* figures.js - what the page computes from the report: lives, uses, totals, and what would have to leave at a budget.
 *
 * Numbers in, numbers out: nothing here touches the page, so it runs anywhere. Bytes and nanoseconds throughout; operations
 * are indexes into the iteration, a tensor's life is [alloc_before, free_after], both ends included. */

const COPY_TO_DEVICE = 2, COPY_TO_HOST = 3, WRITES = 2;
const MOVABLE = ["plain", "async"], ON_DEVICE = [...MOVABLE, "managed", "vmm"];
const ASSUMED_GBS = 25; /* PCIe 4.0 x16 in practice */
const MEASURABLE_BYTES = 1 << 20; /* a smaller copy measures its start, not the link */

/* The iteration with typed columns, and for each tensor its uses in order. */
function readIteration(report) {
    const it = report.iteration;
    if (!it)
        return null;
    const count = it.ops.kind.length, tensors = it.tensors.bytes.length;
    const view = {
        count, tensors, timed: it.timed, time: it.time_ns, names: it.names, shortNames: it.short_names, phases: it.phases.filter(p => p.end > p.first),
        categories: it.categories.map(c => c.name), kind: it.tensors.kind, sites: report.sites,
        name: Int32Array.from(it.ops.name), opKind: Int32Array.from(it.ops.kind), stream: Int32Array.from(it.ops.stream),
        start: Float64Array.from(it.ops.start_ns), duration: Float64Array.from(it.ops.duration_ns),
        opBytes: Float64Array.from(it.ops.bytes), firstTouch: Int32Array.from(it.ops.first_touch),
        touches: Int32Array.from(it.ops.touches), touched: Int32Array.from(it.touches.tensor),
        access: Int32Array.from(it.touches.access),
        bytes: Float64Array.from(it.tensors.bytes), category: Int32Array.from(it.tensors.category),
        begin: Int32Array.from(it.tensors.alloc_before), end: Int32Array.from(it.tensors.free_after),
        persistent: Int32Array.from(it.tensors.persistent), idle: Float64Array.from(it.tensors.idle_ns),
        site: it.tensors.site, ordinal: it.tensors.ordinal, device: it.tensors.device, allocation: it.tensors.allocation,
        idleFrom: it.tensors.idle_from, idleTo: it.tensors.idle_to,
    };
    view.onDevice = Uint8Array.from(view.kind, k => ON_DEVICE.includes(k) ? 1 : 0);
    view.movable = Uint8Array.from(view.kind, k => MOVABLE.includes(k) ? 1 : 0);
    indexUses(view);
    view.live = liveBytes(view, () => true);
    view.peakAt = 0;
    for (let i = 0; i < count; i++)
        if (view.live[i] > view.live[view.peakAt])
            view.peakAt = i;
    view.peak = view.live[view.peakAt];
    return view;
}

/* uses[firstUse[t] .. firstUse[t + 1]) are the operations that touch tensor t. */
function indexUses(view) {
    const at = view.firstUse = new Int32Array(view.tensors + 1);
    for (const t of view.touched)
        at[t + 1]++;
    for (let t = 0; t < view.tensors; t++)
        at[t + 1] += at[t];
    const next = at.slice();
    view.uses = new Int32Array(view.touched.length);
    view.useAccess = new Uint8Array(view.touched.length);
    for (let i = 0; i < view.count; i++)
        for (let k = view.firstTouch[i]; k < view.firstTouch[i] + view.touches[i]; k++) {
            const place = next[view.touched[k]]++;
            view.uses[place] = i;
            view.useAccess[place] = view.access[k];
        }
}

function usesOf(view, t) {
    return view.uses.subarray(view.firstUse[t], view.firstUse[t + 1]);
}

/* The first operation that writes it, -1 when none does. */
function makerOf(view, t) {
    for (let k = view.firstUse[t]; k < view.firstUse[t + 1]; k++)
        if (view.useAccess[k] & WRITES)
            return view.uses[k];
    return -1;
}

/* Bytes on the device at each operation, of the tensors that `counts` accepts. */
function liveBytes(view, counts) {
    const live = new Float64Array(view.count + 1);
    for (let t = 0; t < view.tensors; t++)
        if (view.onDevice[t] && counts(t)) {
            live[view.begin[t]] += view.bytes[t];
            live[view.end[t] + 1] -= view.bytes[t];
        }
    for (let i = 1; i < view.count; i++)
        live[i] += live[i - 1];
    live[view.count] = 0;
    return live;
}

/* Where each operation begins on the axis, and the axis's end: rising, also where streams overlap. */
function axisEdges(view, axis) {
    const edges = new Float64Array(view.count + 1);
    for (let i = 0; i < view.count; i++)
        edges[i] = axis === "operations" ? i : Math.max(view.start[i], i ? edges[i - 1] : 0);
    edges[view.count] = axis === "operations" ? view.count : Math.max(view.time, edges[view.count - 1], 1);
    return edges;
}

/* The last operation that begins at or before x. */
function operationAt(edges, x) {
    let low = 0, high = edges.length - 2;
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (edges[middle] <= x)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* ---- the link ---- */

/* Bytes per nanosecond, that is GB/s, of the large copies to and from the host, or an assumption. */
function linkBandwidth(view) {
    let bytes = 0, ns = 0;
    for (let i = 0; view.timed && i < view.count; i++)
        if (isHostCopy(view, i) && view.opBytes[i] >= MEASURABLE_BYTES && view.duration[i] > 0) {
            bytes += view.opBytes[i];
            ns += view.duration[i];
        }
    return ns ? {gbs: bytes / ns, measured: true} : {gbs: ASSUMED_GBS, measured: false};
}

function isHostCopy(view, i) {
    return view.opKind[i] === COPY_TO_DEVICE || view.opKind[i] === COPY_TO_HOST;
}

/* Total length of a union of intervals, and its pieces. */
function union(intervals) {
    const pieces = [];
    intervals.sort((a, b) => a[0] - b[0]);
    for (const [from, to] of intervals) {
        const last = pieces[pieces.length - 1];
        if (last && from <= last[1])
            last[1] = Math.max(last[1], to);
        else
            pieces.push([from, to]);
    }
    return {pieces, length: pieces.reduce((sum, [from, to]) => sum + to - from, 0)};
}

function intersection(a, b) {
    let length = 0;
    for (let i = 0, k = 0; i < a.length && k < b.length;) {
        length += Math.max(0, Math.min(a[i][1], b[k][1]) - Math.max(a[i][0], b[k][0]));
        if (a[i][1] < b[k][1])
            i++;
        else
            k++;
    }
    return length;
}

/* Copies to and from the host, memory and link use of operations [first, end). Times only where the trace has them. */
function copiesOf(view, first, end) {
    const sum = () => ({count: 0, bytes: 0, ns: 0});
    const result = {toDevice: sum(), toHost: sum(), from: Infinity, to: 0, meanBytes: 0, peakBytes: 0};
    const copies = [], compute = [];
    for (let i = first; i < end; i++) {
        const stretch = [view.start[i], view.start[i] + view.duration[i]];
        result.meanBytes += view.live[i] / (end - first);
        result.peakBytes = Math.max(result.peakBytes, view.live[i]);
        result.from = Math.min(result.from, stretch[0]);
        result.to = Math.max(result.to, stretch[1]);
        (isHostCopy(view, i) ? copies : compute).push(stretch);
        if (!isHostCopy(view, i))
            continue;
        const direction = view.opKind[i] === COPY_TO_DEVICE ? result.toDevice : result.toHost;
        direction.count++;
        direction.bytes += view.opBytes[i];
        direction.ns += view.duration[i];
    }
    const busy = union(copies), computing = union(compute);
    result.span = Math.max(0, result.to - result.from);
    result.busy = busy.length;
    result.overlapped = intersection(busy.pieces, computing.pieces);
    return result;
}

/* ---- what would have to leave ---- */

function endOf(view, i) {
    return view.start[i] + (view.timed ? view.duration[i] : 0);
}

/* The stretches in which tensor t is alive and nobody uses it, as {from, to, ns, copies}: operations from..to inclusive; from
 * behind to: over the boundary. copies: 2 out and back, 1 when it is freed without another use. */
function gapsOf(view, t) {
    const uses = usesOf(view, t), gaps = [], last = uses[uses.length - 1];
    for (let k = 1; k < uses.length; k++)
        if (uses[k] > uses[k - 1] + 1)
            gaps.push({t, from: uses[k - 1] + 1, to: uses[k] - 1, ns: view.start[uses[k]] - endOf(view, uses[k - 1]), copies: 2});
    if (uses.length === 0)
        gaps.push({t, from: view.begin[t], to: view.end[t], ns: Infinity, copies: 1});
    else if (view.persistent[t] && !(uses[0] === 0 && last === view.count - 1))
        gaps.push({t, from: (last + 1) % view.count, to: (uses[0] + view.count - 1) % view.count,
                   ns: view.time - endOf(view, last) + view.start[uses[0]], copies: 2});
    else if (!view.persistent[t] && view.end[t] > last)
        gaps.push({t, from: last + 1, to: view.end[t], ns: view.start[view.end[t]] - endOf(view, last), copies: 1});
    return gaps;
}

/* A row of numbers with "add to a range" and "largest of a range", each in O(log n). */
class RangeMax {
    constructor(values) {
        for (this.size = 1; this.size < values.length;)
            this.size *= 2;
        this.top = new Float64Array(2 * this.size).fill(-Infinity);
        this.added = new Float64Array(2 * this.size);
        this.top.set(values, this.size);
        for (let i = this.size - 1; i > 0; i--)
            this.top[i] = Math.max(this.top[2 * i], this.top[2 * i + 1]);
    }
    add(from, to, value, node = 1, low = 0, high = this.size - 1) {
        if (from > high || to < low)
            return;
        if (from <= low && high <= to) {
            this.top[node] += value;
            this.added[node] += value;
            return;
        }
        const middle = (low + high) >> 1;
        this.add(from, to, value, 2 * node, low, middle);
        this.add(from, to, value, 2 * node + 1, middle + 1, high);
        this.top[node] = Math.max(this.top[2 * node], this.top[2 * node + 1]) + this.added[node];
    }
    max(from, to, node = 1, low = 0, high = this.size - 1) {
        if (from > high || to < low)
            return -Infinity;
        if (from <= low && high <= to)
            return this.top[node];
        const middle = (low + high) >> 1;
        return Math.max(this.max(from, to, 2 * node, low, middle), this.max(from, to, 2 * node + 1, middle + 1, high)) + this.added[node];
    }
}

/* Both halves of a stretch that goes over the boundary. */
function rangesOf(view, gap) {
    return gap.from <= gap.to ? [[gap.from, gap.to]] : [[0, gap.to], [gap.from, view.count - 1]];
}

/* The stretches of operations that need more than the budget, the bytes above it, and where most. */
function overBudget(view, budget) {
    const stretches = [];
    let most = 0, at = -1, operations = 0;
    for (let i = 0; i < view.count; i++) {
        const over = view.live[i] - budget;
        if (over <= 0)
            continue;
        operations++;
        const last = stretches[stretches.length - 1];
        if (last && last.to === i - 1) {
            last.to = i;
            last.bytes = Math.max(last.bytes, over);
        } else {
            stretches.push({from: i, to: i, bytes: over});
        }
        if (over > most) {
            most = over;
            at = i;
        }
    }
    return {stretches, most, at, operations};
}

/* All stretches of tensors that the copies fit into, made once for a bandwidth. */
function swappable(view, gbs) {
    const fitting = [], tooShort = [];
    for (let t = 0; t < view.tensors; t++)
        if (view.movable[t] && view.bytes[t] > 0)
            for (const gap of gapsOf(view, t))
                (gap.ns >= gap.copies * view.bytes[t] / gbs ? fitting : tooShort).push(gap);
    return {fitting, tooShort};
}

const VERDICTS = ["leaves", "could leave", "in use", "short", "busy", "unmovable", "elsewhere"];

/* A rule of thumb, not the planner: takes the stretches that relieve most until nothing is above the budget. verdict[t] is an
 * index into VERDICTS; left: bytes still above the line when all is taken. */
function fitBudget(view, budget, swap) {
    const over = overBudget(view, budget), verdict = new Uint8Array(view.tensors);
    const before = new Int32Array(view.count + 1); /* operations above the line before i */
    for (let i = 0; i < view.count; i++)
        before[i + 1] = before[i] + (view.live[i] > budget ? 1 : 0);
    const covers = gap => rangesOf(view, gap).reduce((n, [from, to]) => n + before[to + 1] - before[from], 0);
    for (let t = 0; t < view.tensors; t++)
        verdict[t] = !view.onDevice[t] || before[view.end[t] + 1] === before[view.begin[t]] ? 6 : view.movable[t] ? 4 : 5;
    for (const gap of swap.tooShort)
        if (verdict[gap.t] === 4 && covers(gap))
            verdict[gap.t] = 3;
    for (let k = view.firstTouch[view.peakAt]; k < view.firstTouch[view.peakAt] + view.touches[view.peakAt]; k++)
        if (verdict[view.touched[k]] === 3 || verdict[view.touched[k]] === 4)
            verdict[view.touched[k]] = 2;
    const choice = [];
    for (const gap of swap.fitting) {
        const relieved = covers(gap) * view.bytes[gap.t];
        if (relieved > 0)
            choice.push([relieved, gap]);
    }
    choice.sort((a, b) => b[0] - a[0]);
    const row = new RangeMax(view.live.subarray(0, view.count)), taken = [];
    let outBytes = 0, inBytes = 0;
    for (const [, gap] of choice) {
        const ranges = rangesOf(view, gap), t = gap.t;
        if (!ranges.some(([from, to]) => row.max(from, to) > budget)) {
            verdict[t] = verdict[t] === 0 ? 0 : 1;
            continue;
        }
        for (const [from, to] of ranges)
            row.add(from, to, -view.bytes[t]);
        taken.push(gap);
        verdict[t] = 0;
        outBytes += view.bytes[t];
        inBytes += gap.copies === 2 ? view.bytes[t] : 0;
    }
    return {over, verdict, taken, outBytes, inBytes, left: Math.max(0, row.max(0, view.count - 1) - budget)};
}

/* No budget below this can work: what one operation uses at once, with what cannot move. */
function smallestBudget(view) {
    const fixed = liveBytes(view, t => !view.movable[t]);
    let most = 0;
    for (let i = 0; i < view.count; i++) {
        let used = fixed[i];
        for (let k = view.firstTouch[i]; k < view.firstTouch[i] + view.touches[i]; k++)
            used += view.movable[view.touched[k]] ? view.bytes[view.touched[k]] : 0;
        most = Math.max(most, used);
    }
    return most;
}

/* ---- words ---- */

function bytesText(bytes) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let u = 0;
    for (; bytes >= 1024 && u < 4; u++)
        bytes /= 1024;
    return `${u ? bytes.toFixed(bytes < 100 ? 1 : 0) : Math.round(bytes)} ${units[u]}`;
}

function timeText(ns) {
    if (!isFinite(ns))
        return "always";
    const units = ["ns", "µs", "ms", "s"];
    let u = 0;
    for (; ns >= 1000 && u < 3; u++)
        ns /= 1000;
    return `${u ? ns.toFixed(ns < 100 ? 2 : 0) : Math.round(ns)} ${units[u]}`;
}

/* Bytes per nanosecond are GB/s. */
function rateText(rate) {
    return `${rate.toFixed(rate < 10 ? 2 : 1)} GB/s`;
}

function countText(n) {
    return n.toLocaleString("en-US");
}
