/* stack.js - which tensor is at which point of the picture of live memory, at any zoom, with any number of tensors.
 *
 * A pixel shows the tensor that covers its middle. Tensors are stacked by category, what lives on below what comes and goes;
 * a Fenwick tree over that order finds the tensor at a height in log(tensors) steps, so a picture costs about its pixels. */

const NOBODY = -1, EDGE = 1 << 30, EDGE_FROM_PIXELS = 3;

class Stack {
    constructor(view) {
        this.view = view;
        this.order = [];
        for (let t = 0; t < view.tensors; t++)
            if (view.onDevice[t])
                this.order.push(t);
        const {category, persistent, begin} = view, place = CATEGORY_ORDER;
        this.order.sort((a, b) => place[category[a]] - place[category[b]] || persistent[b] - persistent[a] || begin[a] - begin[b] || a - b);
        this.rank = new Int32Array(view.tensors).fill(-1);
        this.order.forEach((t, rank) => this.rank[t] = rank);
        for (this.size = 1; this.size <= this.order.length;)
            this.size *= 2;
        this.byBegin = Int32Array.from(this.order).sort((a, b) => begin[a] - begin[b]);
        this.byEnd = Int32Array.from(this.order).sort((a, b) => view.end[a] - view.end[b]);
    }

    add(tree, t, bytes) {
        for (let i = this.rank[t] + 1; i < this.size; i += i & -i)
            tree[i] += bytes;
    }

    /* The tree of what is alive at operation i. */
    treeAt(i, visible) {
        const {view} = this, tree = new Float64Array(this.size);
        for (const t of this.order)
            if (view.begin[t] <= i && view.end[t] >= i && visible[view.category[t]])
                tree[this.rank[t] + 1] = view.bytes[t];
        for (let k = 1; k < this.size; k++) {
            const parent = k + (k & -k);
            if (parent < this.size)
                tree[parent] += tree[k];
        }
        return tree;
    }

    /* Fills `ids`, a column of pixels from the bottom up. */
    fillColumn(ids, tree, total, bytesPerPixel) {
        const rows = ids.length;
        ids.fill(NOBODY);
        for (let y = 0; y < rows;) {
            const height = (y + 0.5) * bytesPerPixel;
            if (height >= total)
                return;
            let place = 0, below = 0;
            for (let step = this.size >> 1; step; step >>= 1)
                if (place + step < this.size && below + tree[place + step] <= height) {
                    place += step;
                    below += tree[place];
                }
            if (place >= this.order.length)
                return;
            const t = this.order[place];
            const end = Math.min(rows, Math.max(y + 1, Math.ceil((below + this.view.bytes[t]) / bytesPerPixel - 0.5)));
            ids.fill(t, y, end);
            if (end - y >= EDGE_FROM_PIXELS)
                ids[end - 1] |= EDGE;
            y = end;
        }
    }

    /* {ids, op, totals}: for columns x of `width` over [from, to] of the axis the tensors (column by column, bottom up), the
     * operation shown, which is the one of the column with most memory, and its bytes. */
    picture(edges, live, from, to, width, rows, bytesPerPixel, visible) {
        const {view} = this, ids = new Int32Array(width * rows), op = new Int32Array(width), totals = new Float64Array(width);
        const scale = (to - from) / width;
        let shown = -1, tree = null, begun = 0, ended = 0;
        for (let x = 0; x < width; x++) {
            const first = operationAt(edges, from + x * scale);
            let best = first;
            for (let i = first + 1; i < view.count && edges[i] < from + (x + 1) * scale; i++)
                if (live[i] > live[best])
                    best = i;
            op[x] = best;
            totals[x] = live[best];
            if (best === shown) {
                ids.copyWithin(x * rows, (x - 1) * rows, x * rows);
                continue;
            }
            if (!tree || best < shown) {
                tree = this.treeAt(best, visible);
                for (begun = 0; begun < this.byBegin.length && view.begin[this.byBegin[begun]] <= best;)
                    begun++;
                for (ended = 0; ended < this.byEnd.length && view.end[this.byEnd[ended]] < best;)
                    ended++;
            } else {
                for (; begun < this.byBegin.length && view.begin[this.byBegin[begun]] <= best; begun++)
                    if (visible[view.category[this.byBegin[begun]]])
                        this.add(tree, this.byBegin[begun], view.bytes[this.byBegin[begun]]);
                for (; ended < this.byEnd.length && view.end[this.byEnd[ended]] < best; ended++)
                    if (visible[view.category[this.byEnd[ended]]])
                        this.add(tree, this.byEnd[ended], -view.bytes[this.byEnd[ended]]);
            }
            shown = best;
            this.fillColumn(ids.subarray(x * rows, (x + 1) * rows), tree, live[best], bytesPerPixel);
        }
        return {ids, op, totals, width, rows};
    }
}

/* Paints a picture into a canvas of its size. palette: for each category the colours of two neighbours and of an edge. */
function paintPicture(canvas, view, picture, palette) {
    const {ids, width, rows} = picture, context = canvas.getContext("2d"), image = context.createImageData(width, rows);
    const pixels = new Uint32Array(image.data.buffer);
    for (let x = 0; x < width; x++)
        for (let y = 0; y < rows; y++) {
            const id = ids[x * rows + y];
            if (id === NOBODY)
                continue;
            const t = id & ~EDGE, colours = palette[view.category[t]];
            pixels[(rows - 1 - y) * width + x] = id & EDGE ? colours[2] : colours[t & 1];
        }
    context.putImageData(image, 0, 0);
}
