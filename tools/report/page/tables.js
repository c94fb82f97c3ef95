/* tables.js - what the page says in words and tables. All text goes through text nodes: names come from a foreign process. */

const PHASE_NOTE = "Where one phase ends and the next begins is a guess from lives and uses.";

/* A new element; attributes by name, children as elements or text. */
function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {}))
        if (name === "style")
            Object.assign(element.style, value);
        else
            element.setAttribute(name, value);
    element.append(...children.filter(c => c !== null && c !== undefined).map(c => c instanceof Node ? c : String(c)));
    return element;
}

function byId(id) {
    return document.getElementById(id);
}

function setText(id, text) {
    byId(id).textContent = text;
}

/* Columns: heading, "number" for figures, "wide" for long text; a cell is text or an element. */
function fillTable(id, columns, rows) {
    const head = make("tr", null, ...columns.map(([title, kind]) => make("th", {class: kind || "", scope: "col"}, title)));
    const body = rows.map(cells => make("tr", null, ...cells.map((cell, i) => make("td", {class: columns[i][1] || ""}, cell))));
    byId(id).replaceChildren(make("thead", null, head), make("tbody", null, ...body));
}

function swatch(name) {
    return make("i", {class: "swatch", style: {background: `var(--${name})`}});
}

function categoryCell(view, t) {
    const name = view.categories[view.category[t]];
    return make("span", null, swatch(name), " ", name);
}

function operationText(view, i) {
    return `${countText(i)} ${view.shortNames[view.name[i]]}`;
}

function siteText(view, site) {
    const known = site === null ? null : view.sites[site];
    return known ? known.name : "place unknown";
}

function siteElement(view, site) {
    const known = site === null ? null : view.sites[site];
    if (!known || known.stack.length === 0)
        return make("span", {class: "soft"}, "place unknown");
    return make("details", null, make("summary", {class: "mono"}, known.name),
                make("ol", {class: "frames mono"}, ...known.stack.map(frame => make("li", null, frame))));
}

function percent(part, whole) {
    return whole > 0 ? `${(100 * part / whole).toFixed(part / whole < 0.0995 ? 1 : 0)} %` : "–";
}

/* ---- head, totals, no iteration ---- */

function showHead(report, view) {
    const {run, devices} = report, simulated = devices.some(d => /simulated/i.test(d.name));
    const budget = devices.reduce((sum, d) => sum + d.budget_bytes, 0);
    const command = run.command || report.trace;
    setText("title", command);
    document.title = `${command} – spillway report`;
    const badges = [];
    if (view)
        badges.push([view.timed ? (simulated ? "timed on the simulated device" : "device times measured") : "not timed: times are of the host's calls", view.timed]);
    if (simulated)
        badges.push(["simulated device", false]);
    if (view)
        badges.push(["categories and phases: guesses", false]);
    if (!run.ended)
        badges.push(["did not end by itself, or the trace was cut off", false]);
    if (run.lost_records)
        badges.push([`${countText(run.lost_records)} records lost`, false]);
    byId("badges").replaceChildren(...badges.map(([text, strong]) => make("span", {class: strong ? "badge strong" : "badge"}, text)));
    const shape = view && report.shapes[report.iteration.shape];
    const figures = [
        [devices.map(d => d.name || "unknown").join(", ") || "no device", devices.map(d => `${bytesText(d.total_bytes)} in all`).join(", ")],
        view ? [bytesText(view.peak), `peak of the iteration, at operation ${countText(view.peakAt)}`]
             : [bytesText(devices.reduce((sum, d) => sum + d.peak_bytes, 0)), "peak of the run"],
        view ? [bytesText(report.iteration.persistent_bytes), "live on from iteration to iteration"] : null,
        [budget ? bytesText(budget) : "none", "budget of the run"],
        shape ? [countText(shape.iterations), `iterations found, ${countText(shape.operations)} operations each`] : ["none", "iterations found"],
        view ? [timeText(view.time), view.timed ? "one iteration, on the device" : "one iteration, between calls of the host"]
             : [timeText(run.duration_ns), "the run, host time"],
    ];
    byId("figures").replaceChildren(...figures.filter(f => f).map(([value, words]) => make("div", null, make("b", null, value), make("span", null, words))));
}

function showTotals(report) {
    const {run} = report;
    fillTable("kinds", [["Operations of the run"], ["count", "number"], ["bytes", "number"]],
              Object.entries(run.by_kind).filter(([, k]) => k.count).map(([name, k]) => [name.replace(/_/g, " ").replace("h2d", "to the device").replace("d2h", "to the host").replace("d2d", "on the device").replace("h2h", "on the host"),
                                                                   countText(k.count), k.bytes ? bytesText(k.bytes) : "–"]));
    fillTable("devices", [["Device", "wide"], ["peak", "number"], ["before operation", "number"], ["still allocated at the end", "number"], ["budget", "number"]],
              report.devices.map(d => [`${d.ordinal}: ${d.name || "unknown"}`, bytesText(d.peak_bytes), countText(d.peak_operation), bytesText(d.live_bytes_at_end),
                                       d.budget_bytes ? bytesText(d.budget_bytes) : "none"]));
    if (report.shapes.length)
        fillTable("shapes", [["Iterations"], ["operations each", "number"], ["time of one (host, median)", "number"], ["first at operation", "number"]],
                  report.shapes.map((s, i) => [countText(s.iterations) + (report.iteration && i === report.iteration.shape ? ", shown above" : ""), countText(s.operations), timeText(s.time_ns), countText(s.first_operation)]));
    if (report.not_replayed.length)
        fillTable("refused", [["Not computed again", "wide"], ["why"], ["operations", "number"], ["bytes that cannot be dropped for it", "number"]],
                  report.not_replayed.map(r => [r.kernel, r.text, countText(r.operations), bytesText(r.bytes)]));
    setText("footer", `${report.trace} · process ${run.pid} on ${run.host || "?"}, rank ${run.rank}, mode ${run.mode || "?"}, spillway ${run.version || "?"} · ` +
            `lasted ${timeText(run.duration_ns)} · ${countText(run.operations)} operations, ${countText(run.allocations)} allocations, ${countText(run.waits)} waits of the host (${timeText(run.waited_ns)})`);
}

/* ---- the iteration ---- */

function showPhases(view, budget) {
    const [least, words] = budget < view.peak ? [budget, "the budget on the slider"] : [view.peak, "the peak"];
    setText("phases-note", `${PHASE_NOTE} Room: how far the phase's own peak stays under ${words}.`);
    fillTable("phases", [["Phase"], ["operations", "number"], ["time", "number"], ["peak", "number"], ["mean", "number"], ["room", "number"]],
              view.phases.map(p => {
                  const c = copiesOf(view, p.first, p.end), room = least - c.peakBytes;
                  return [p.name, `${countText(p.first)}–${countText(p.end - 1)}`, view.timed ? timeText(p.duration_ns) : "not timed", bytesText(c.peakBytes), bytesText(c.meanBytes),
                          room >= 0 ? bytesText(room) : make("span", {class: "alarm"}, `${bytesText(-room)} over`)];
              }));
}

function showCopies(view) {
    const parts = [...view.phases, {name: "iteration", first: 0, end: view.count}];
    setText("copies-note", view.timed ? "Link use: share of the phase in which a copy to or from the host runs; beside compute: share of the copying that runs while something computes."
                                      : "The operations were not timed: bytes only.");
    const direction = d => d.count ? `${bytesText(d.bytes)} in ${countText(d.count)}` : "–";
    const time = d => d.ns ? `${timeText(d.ns)}, ${rateText(d.bytes / d.ns)}` : "–";
    const columns = [["Phase"], ["to the device", "number"], ["", "number"], ["to the host", "number"], ["", "number"], ["memory, mean", "number"], ["link use", "number"], ["beside compute", "number"]];
    const shown = view.timed ? columns : columns.filter((c, i) => ![2, 4, 6, 7].includes(i));
    fillTable("copies", shown, parts.map(p => {
        const c = copiesOf(view, p.first, p.end);
        const cells = [p.name, direction(c.toDevice), time(c.toDevice), direction(c.toHost), time(c.toHost), bytesText(c.meanBytes), percent(c.busy, c.span), percent(c.overlapped, c.busy)];
        return view.timed ? cells : cells.filter((_, i) => ![2, 4, 6, 7].includes(i));
    }));
}

function showLargest(view, many) {
    const list = [];
    for (let t = 0; t < view.tensors; t++)
        if (view.onDevice[t])
            list.push(t);
    list.sort((a, b) => view.bytes[b] - view.bytes[a] || a - b);
    fillTable("largest", [["Size", "number"], ["what (a guess)"], ["life, operations"], ["uses", "number"], ["longest idle", "number"], ["made by", "wide"], ["allocated in", "wide"]],
              list.slice(0, many).map(t => [bytesText(view.bytes[t]), categoryCell(view, t), view.persistent[t] ? "lives on" : `${countText(view.begin[t])}–${countText(view.end[t])}`,
                                            countText(usesOf(view, t).length), timeText(view.idle[t]), makerOf(view, t) < 0 ? "–" : operationText(view, makerOf(view, t)), siteElement(view, view.site[t])]));
    return list.length;
}

function showSites(view) {
    const sums = new Map();
    for (let t = 0; t < view.tensors; t++) {
        if (!view.onDevice[t] || view.begin[t] > view.peakAt || view.end[t] < view.peakAt)
            continue;
        const sum = sums.get(view.site[t]) || {site: view.site[t], bytes: 0, tensors: 0};
        sum.bytes += view.bytes[t];
        sum.tensors++;
        sums.set(view.site[t], sum);
    }
    const rows = [...sums.values()].sort((a, b) => b.bytes - a.bytes).slice(0, 30);
    fillTable("sites", [["Bytes at the peak", "number"], ["share", "number"], ["tensors", "number"], ["allocated in", "wide"]],
              rows.map(s => [bytesText(s.bytes), percent(s.bytes, view.peak), countText(s.tensors), siteElement(view, s.site)]));
}

/* ---- the budget ---- */

const REASONS = [
    ["would leave", "idle long enough for the copies", "accent"],
    ["could leave too", "idle long enough, but there is room for it", "in"],
    ["stays", "in use at the peak", "alarm"],
    ["stays", "never idle long enough for the copies there", "out"],
    ["stays", "in use all the time it is above the line", "op-a"],
    ["stays", "of a kind that is never moved", "op-b"],
];

function stretchText(view, from, to) {
    return from === to ? operationText(view, from) : `${operationText(view, from)} to ${operationText(view, to)}`;
}

/* What the copies take of the link, which carries both directions at once and the run's own copies too. */
function linkWords(view, fit, gbs) {
    const own = copiesOf(view, 0, view.count), out = fit.outBytes / gbs, back = fit.inBytes / gbs;
    const late = Math.max(out + own.toHost.ns, back + own.toDevice.ns) > view.time;
    const words = `${bytesText(fit.outBytes)} out (${timeText(out)}) and ${bytesText(fit.inBytes)} back (${timeText(back)}) in each iteration of ${timeText(view.time)}` +
        (own.busy > 0.01 * own.span ? `, in which the run's own copies already take ${timeText(own.busy)}.` : ".");
    return make("p", late ? {class: "alarm"} : null, late ? "Each tensor is idle long enough, but the link is too slow for all of them: " : "Idle times are long enough: ", words);
}

/* `planned`: what the planner says of the budget; null: there is only the rule of thumb. */
function showBudgetWords(view, budget, fit, least, gbs, planned) {
    const {over} = fit, parts = [];
    if (over.operations === 0)
        parts.push(make("p", null, "Everything fits: nothing has to leave at any operation."));
    else
        parts.push(make("p", null, "Up to ", make("b", {id: "over-bytes"}, bytesText(over.most)), " would have to be elsewhere, most at operation ",
                        make("b", null, operationText(view, over.at)), "; ", make("b", null, countText(over.operations)), ` of ${countText(view.count)} operations are above the line: `,
                        over.stretches.slice().sort((a, b) => b.bytes - a.bytes).slice(0, 3).map(s => stretchText(view, s.from, s.to)).join("; "), over.stretches.length > 3 ? ` and ${over.stretches.length - 3} more stretches.` : "."));
    parts.push(...(planned || thumbWords(view, budget, fit, least, gbs)));
    byId("budget-words").replaceChildren(...parts);
}

function thumbWords(view, budget, fit, least, gbs) {
    const none = `No budget under ${bytesText(least)} can work: one operation uses that much at once.`, parts = [];
    if (fit.over.operations > 0)
        parts.push(fit.left > 0
            ? make("p", {class: "alarm"}, `Idle times hide the copies of all but ${bytesText(fit.left)}: at this budget the run would wait for copies${budget < least ? ", or not fit at all" : ""}.`)
            : linkWords(view, fit, gbs));
    parts.push(least > budget ? make("p", {class: "alarm"}, none) : make("p", {class: "note"}, `${none} All this is a rule of thumb from the trace, not a plan.`));
    return parts;
}

function showVerdicts(view, fit, many) {
    const sums = REASONS.map(() => ({bytes: 0, tensors: 0})), atPeak = [];
    for (let t = 0; t < view.tensors; t++)
        if (view.onDevice[t] && fit.verdict[t] < REASONS.length && view.begin[t] <= view.peakAt && view.end[t] >= view.peakAt) {
            sums[fit.verdict[t]].bytes += view.bytes[t];
            sums[fit.verdict[t]].tensors++;
            atPeak.push(t);
        }
    const shown = REASONS.map((r, i) => ({reason: r, ...sums[i]})); /* all of them, so that the page keeps its height */
    byId("verdict-share").replaceChildren(...shown.map(s => make("i", {title: `${s.reason[0]}: ${s.reason[1]}`, style: {width: `${100 * s.bytes / view.peak}%`, background: `var(--${s.reason[2]})`}})));
    fillTable("verdicts", [["At the peak"], ["because", "wide"], ["bytes", "number"], ["tensors", "number"]],
              shown.map(s => [make("span", null, swatch(s.reason[2]), " ", s.reason[0]), s.reason[1], s.tensors ? bytesText(s.bytes) : "–", s.tensors ? countText(s.tensors) : "–"]));
    atPeak.sort((a, b) => view.bytes[b] - view.bytes[a] || a - b);
    fillTable("residents", [["Size", "number"], ["what (a guess)"], ["verdict"], ["because", "wide"], ["longest idle", "number"], ["allocated in", "wide"]],
              atPeak.slice(0, many).map(t => [bytesText(view.bytes[t]), categoryCell(view, t), REASONS[fit.verdict[t]][0], REASONS[fit.verdict[t]][1], timeText(view.idle[t]), siteElement(view, view.site[t])]));
}

/* ---- what is pointed at ---- */

function rowsOf(pairs) {
    return make("dl", null, ...pairs.filter(p => p).flatMap(([name, value]) => [make("dt", null, name), make("dd", null, value)]));
}

function describeTensor(view, t) {
    const uses = usesOf(view, t), maker = makerOf(view, t), edges = axisEdges(view, "time");
    const life = view.persistent[t] ? "lives on from iteration to iteration"
        : `operations ${countText(view.begin[t])} to ${countText(view.end[t])}, ${timeText(edges[view.end[t] + 1] - edges[view.begin[t]])}${view.timed ? "" : " of host time"}`;
    const idle = view.idleFrom[t] === null ? "–" : `${timeText(view.idle[t])}, from ${operationText(view, view.idleFrom[t])} to ${operationText(view, view.idleTo[t])}`;
    return [make("h3", null, swatch(view.categories[view.category[t]]), ` ${bytesText(view.bytes[t])}, ${view.categories[view.category[t]]} (a guess)`),
            rowsOf([["size", `${countText(view.bytes[t])} bytes, ${view.kind[t]} memory of device ${view.device[t]}, allocation ${view.allocation[t]}`], ["life", life],
                    [view.persistent[t] ? "first written by" : "made by", maker < 0 ? "nothing in this iteration" : operationText(view, maker)],
                    ["used by", uses.length === 0 ? "nothing in this iteration" : [...uses.slice(0, 8)].map(i => operationText(view, i)).join(", ") + (uses.length > 8 ? ` and ${uses.length - 8} more` : "")],
                    ["longest idle", idle], ["allocated in", siteElement(view, view.site[t])]])];
}

function describeOperation(view, i) {
    const copy = view.opBytes[i] > 0, kinds = ["kernel", "graph", "copy to the device", "copy to the host", "copy on the device", "copy on the host", "set", "host function", "wait for or write a word"];
    let bytes = 0;
    for (let k = view.firstTouch[i]; k < view.firstTouch[i] + view.touches[i]; k++)
        bytes += view.bytes[view.touched[k]];
    return [make("h3", null, view.names[view.name[i]]),
            rowsOf([["operation", `${countText(i)} of ${countText(view.count)}, ${kinds[view.opKind[i]] || "?"}, stream ${view.stream[i]}`],
                    ["time", view.timed ? `${timeText(view.duration[i])}, from ${timeText(view.start[i])} on` : `called at ${timeText(view.start[i])}; not timed`],
                    copy ? ["moves", `${bytesText(view.opBytes[i])}${view.duration[i] > 0 ? `, ${rateText(view.opBytes[i] / view.duration[i])}` : ""}`] : null,
                    ["touches", `${view.touches[i]} tensors of ${bytesText(bytes)} in all`], ["live", `${bytesText(view.live[i])} while it runs`]])];
}
