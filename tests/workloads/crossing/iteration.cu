/* iteration.cu - draws an iteration: operations on random streams, and the waits between them by vector clocks (Mattern,
 * "Virtual Time and Global States of Distributed Systems", 1989). */
#include "iteration.h"
#include <algorithm>

namespace
{

enum { INPUTS = 8, CHANGING = 2, KINDS = 9 /* of layers */, WIDE_KINDS = KINDS + 10, PINNED = 2 };

struct random_numbers {
    uint32_t state;

    uint32_t below(uint32_t limit)
    {
        state = state * 1664525u + 1013904223u;
        return (uint32_t)((uint64_t)(state >> 8) * limit >> 24);
    }
    bool one_in(uint32_t n)
    {
        return below(n) == 0;
    }
};

/* How far each stream had come. */
struct moment {
    int of[LANES] = {};

    void take(const moment &other)
    {
        for (int i = 0; i < LANES; i++)
            of[i] = std::max(of[i], other.of[i]);
    }
};

/* The `number`-th operation of a stream. */
struct point {
    int stream, number;
};

struct half {
    std::vector<point> writes, reads; /* the last write, and the reads since */
};

struct touch {
    int tensor, part;
    bool writes;
};

class drawing
{
  public:
    drawing(const struct iteration_options &options, size_t words)
        : o(options), size(words), random{options.seed * 7919u + 5u}
    {
        favourite = random.below(kinds());
    }
    struct iteration draw();

  private:
    const struct iteration_options o;
    const size_t size;
    struct random_numbers random;
    struct iteration made;
    moment now[LANES], host;
    std::vector<moment> at_event;
    std::vector<half> halves; /* two of each tensor */
    struct kept {
        int tensor, part;
    };
    std::vector<kept> all_kept; /* for the backward part */
    std::vector<int> inputs;    /* persistent tensors; the first CHANGING of them change */
    std::vector<int> pinned;    /* tensors of the host */
    int indices = -1, counter = -1, graphed = -1;
    uint32_t favourite; /* the kind of every second layer */

    uint32_t kinds() const
    {
        return o.is_wide ? WIDE_KINDS : KINDS;
    }
    int any_stream()
    {
        const bool may_be_legacy = !o.crosses_threads && random.one_in(12);
        return may_be_legacy ? (int)LEGACY : (int)random.below((uint32_t)o.streams);
    }
    int add_tensor(size_t words, bool persistent);
    int any_input()
    {
        return inputs[random.below((uint32_t)inputs.size())];
    }
    int any_that_changes()
    {
        return inputs[random.below(CHANGING)];
    }
    void order_before(int stream, const point &p);
    void order_before_touch(int stream, const touch &t);
    void submit(struct action a, const std::vector<touch> &touches);
    void note(const point &here, const std::vector<touch> &touches);
    void take_or_give(struct action a);
    int allocate(int stream);
    void release(int tensor);
    kept forward(const kept &x);
    void make_halves(int y, const kept &x);
    void make_in_turns(int y, const kept &x);
    void late_side(int y, int stream, const kept &x);
    void through_host(int y, const kept &x, bool is_changed);
    void by_rows(int y, const kept &x);
    void wide(uint32_t kind, int y, int stream, const kept &x);
    void backward(int gradient);
    void end();
};

int drawing::add_tensor(size_t words, bool persistent)
{
    made.words.push_back(words);
    made.persistent.push_back(persistent);
    made.pinned.push_back(false);
    halves.resize(2 * made.words.size());
    return (int)made.words.size() - 1;
}

/* The stream comes after the operation: it does already, or one of the ways to order two streams is taken. */
void drawing::order_before(int stream, const point &p)
{
    moment &here = now[stream];
    here.take(host);
    if (here.of[p.stream] >= p.number)
        return;
    if (!o.crosses_threads && random.one_in(10)) {
        made.actions.push_back({HOST_STREAM, p.stream});
        host.take(now[p.stream]);
        here.take(host);
        return;
    }
    const int event = made.events++;
    at_event.push_back(now[p.stream]);
    made.actions.push_back({.kind = RECORD, .stream = p.stream, .event = event});
    if (!o.crosses_threads && random.one_in(10)) {
        const bool asks = o.is_wide && random.one_in(2);
        made.actions.push_back({.kind = asks ? HOST_QUERY : HOST_EVENT, .stream = p.stream, .event = event});
        host.take(at_event[event]);
        here.take(host);
        return;
    }
    made.actions.push_back({.kind = WAIT, .stream = stream, .event = event});
    here.take(at_event[event]);
}

void drawing::order_before_touch(int stream, const touch &t)
{
    for (int h = 0; h < 2; h++) {
        if (!(t.part >> h & 1))
            continue;
        const half &of = halves[2 * t.tensor + h];
        for (const point &p : of.writes)
            order_before(stream, p);
        for (size_t i = 0; t.writes && i < of.reads.size(); i++)
            order_before(stream, of.reads[i]);
    }
}

void drawing::submit(struct action a, const std::vector<touch> &touches)
{
    const int s = a.stream;
    for (int i = 0; i < o.streams; i++) { /* what the legacy stream orders by itself */
        if (s == LEGACY && made.blocking[i])
            now[s].take(now[i]);
        if (s == i && made.blocking[i])
            now[s].take(now[LEGACY]);
    }
    for (const touch &t : touches) {
        order_before_touch(s, t);
        a.part_of_a = t.tensor == a.a && !t.writes ? t.part : a.part_of_a;
    }
    note({s, ++now[s].of[s]}, touches);
    made.actions.push_back(a);
}

void drawing::note(const point &here, const std::vector<touch> &touches)
{
    for (const touch &t : touches)
        for (int h = 0; h < 2; h++) {
            half &of = halves[2 * t.tensor + h];
            if (!(t.part >> h & 1))
                continue;
            if (t.writes) {
                of.writes = {here};
                of.reads.clear();
            } else
                of.reads.push_back(here);
        }
}

/* The host's own free waits for all that uses the memory. */
void drawing::take_or_give(struct action a)
{
    if (o.in_stream_order)
        submit(a, {{a.out, BOTH, true}});
    else
        made.actions.push_back(a);
}

int drawing::allocate(int stream)
{
    static const size_t sizes[] = {4, 4, 4, 2, 3, 1};
    const int tensor = add_tensor(size * sizes[random.below(6)] / 4, false);
    take_or_give({.kind = ALLOCATE, .stream = stream, .out = tensor});
    return tensor;
}

void drawing::release(int tensor)
{
    take_or_give({.kind = FREE, .stream = (int)random.below((uint32_t)o.streams), .out = tensor});
}

/* Each half by a stream of its own, which nothing orders. */
void drawing::make_halves(int y, const kept &x)
{
    for (int part = LOW; part <= HIGH; part++) {
        const int w = any_input();
        submit({MAKE, any_stream(), x.tensor, w, y, part}, {{x.tensor, x.part, false}, {w, BOTH, false}, {y, part, true}});
    }
}

/* One after the other, in place. */
void drawing::make_in_turns(int y, const kept &x)
{
    const int w = any_input();
    submit({MAKE, any_stream(), x.tensor, w, y, BOTH}, {{x.tensor, x.part, false}, {w, BOTH, false}, {y, BOTH, true}});
    for (uint32_t turns = 1 + random.below(3); turns > 0; turns--) {
        const int v = any_input(), part = 1 + (int)random.below(3);
        submit({FOLD, any_stream(), v, -1, y, part}, {{v, BOTH, false}, {y, part, true}});
    }
}

void drawing::late_side(int y, int stream, const kept &x)
{
    const int w = any_that_changes();
    submit({LATE_SIDE, stream, x.tensor, w, y}, {{x.tensor, x.part, false}, {w, BOTH, true}, {y, BOTH, true}});
}

/* Out and in again, by streams of their own, with a function of the host in between or without. */
void drawing::through_host(int y, const kept &x, bool is_changed)
{
    const int h = pinned[random.below(PINNED)], part = 1 + (int)random.below(3);
    submit({TO_HOST, any_stream(), x.tensor, -1, h}, {{x.tensor, x.part, false}, {h, BOTH, true}});
    if (is_changed)
        submit({.kind = ON_HOST, .stream = any_stream(), .out = h}, {{h, BOTH, true}});
    submit({FROM_HOST, any_stream(), h, -1, y, part}, {{h, BOTH, false}, {y, part, true}});
    if (part == BOTH)
        return;
    submit({.kind = ZERO, .stream = any_stream(), .out = y, .part = BOTH - part},
           {{y, BOTH - part, true}}); /* x may be short */
    submit({COPY_WITHIN, any_stream(), x.tensor, -1, y, BOTH - part}, {{x.tensor, x.part, false}, {y, BOTH - part, true}});
}

/* The rows between are what they were. */
void drawing::by_rows(int y, const kept &x)
{
    const int w = any_input();
    submit({MAKE, any_stream(), x.tensor, w, y}, {{x.tensor, x.part, false}, {w, BOTH, false}, {y, BOTH, true}});
    submit({.kind = ZERO_ROWS, .stream = any_stream(), .out = y}, {{y, BOTH, true}});
    submit({COPY_ROWS, any_stream(), w, -1, y}, {{w, BOTH, false}, {y, BOTH, true}});
}

void drawing::wide(uint32_t kind, int y, int stream, const kept &x)
{
    const int w = any_input(), v = any_that_changes();
    switch (kind) {
    case 0:
    case 1:
        through_host(y, x, kind == 1);
        return;
    case 2:
        by_rows(y, x);
        return;
    case 3: /* from and to the same tensor's memory, by turns */
        submit({COPY_WITHIN, any_stream(), w, -1, y}, {{w, BOTH, false}, {y, BOTH, true}});
        submit({FOLD, any_stream(), x.tensor, -1, y}, {{x.tensor, x.part, false}, {y, BOTH, true}});
        submit({COPY_WITHIN, any_stream(), y, -1, v}, {{y, BOTH, false}, {v, BOTH, true}});
        return;
    case 4:
    case 5: { /* a temporary tensor, freed at once */
        const int t = allocate(stream == LEGACY ? 0 : stream);
        submit({MAKE, any_stream(), x.tensor, w, t}, {{x.tensor, x.part, false}, {w, BOTH, false}, {t, BOTH, true}});
        submit({MAKE, any_stream(), t, w, y}, {{t, BOTH, false}, {w, BOTH, false}, {y, BOTH, true}});
        release(t);
        return;
    }
    case 6:
    case 7: { /* the addresses are in a tensor of their own, or lie where others do */
        const int t = kind == 6 ? allocate(stream == LEGACY ? 0 : stream) : made.tables;
        submit({MAKE, any_stream(), x.tensor, w, y}, {{x.tensor, x.part, false}, {w, BOTH, false}, {y, BOTH, true}});
        submit({.kind = TABLE, .stream = any_stream(), .a = t, .b = v, .out = y},
               {{t, BOTH, true}, {v, BOTH, false}, {y, BOTH, true}});
        if (kind == 6)
            release(t);
        return;
    }
    default: /* what the graph makes is read, and what it reads changes */
        submit({GRAPH, (int)random.below((uint32_t)o.streams), v, -1, graphed}, {{v, BOTH, false}, {graphed, BOTH, true}});
        submit({MAKE, any_stream(), x.tensor, graphed, y},
               {{x.tensor, x.part, false}, {graphed, BOTH, false}, {y, BOTH, true}});
        return;
    }
}

drawing::kept drawing::forward(const kept &x)
{
    const int s = any_stream(), w = any_input(), y = allocate(s == LEGACY ? 0 : s);
    kept result = {y, BOTH};
    const uint32_t kind = random.one_in(2) ? favourite : random.below(kinds());
    if (kind >= KINDS) {
        wide(kind - KINDS, y, s, x);
        return result;
    }
    switch (kind) {
    case 0:
        make_halves(y, x);
        break;
    case 1:
        make_in_turns(y, x);
        break;
    case 2:
        submit({.kind = ZERO, .stream = any_stream(), .out = y}, {{y, BOTH, true}});
        submit({SCATTER, any_stream(), x.tensor, indices, y},
               {{x.tensor, x.part, false}, {indices, BOTH, false}, {y, BOTH, true}});
        break;
    case 3:
        result.part = 1 + (int)random.below(2); /* the other half is never written */
        submit({MAKE, s, x.tensor, w, y, result.part},
               {{x.tensor, x.part, false}, {w, BOTH, false}, {y, result.part, true}});
        break;
    case 4:
        late_side(y, s, x);
        break;
    case 5:
        submit({MAKE, s, x.tensor, w, y}, {{x.tensor, x.part, false}, {w, BOTH, false}, {y, BOTH, true}});
        submit({COUNT, any_stream(), y, -1, counter}, {{y, BOTH, false}, {counter, BOTH, true}});
        break;
    case 6:
        submit({.kind = UPLOAD, .stream = any_stream(), .out = y, .part = HIGH}, {{y, HIGH, true}});
        submit({MAKE, any_stream(), x.tensor, w, y, LOW}, {{x.tensor, x.part, false}, {w, BOTH, false}, {y, LOW, true}});
        break;
    default:
        submit({MAKE, s, x.tensor, w, y}, {{x.tensor, x.part, false}, {w, BOTH, false}, {y, BOTH, true}});
        break;
    }
    return result;
}

/* From the last that was kept to the first. */
void drawing::backward(int gradient)
{
    for (; !all_kept.empty(); all_kept.pop_back()) {
        const kept k = all_kept.back();
        const int s = any_stream(), next = allocate(s == LEGACY ? 0 : s);
        submit({MAKE, s, k.tensor, gradient, next},
               {{k.tensor, k.part, false}, {gradient, BOTH, false}, {next, BOTH, true}});
        release(gradient);
        release(k.tensor);
        gradient = next;
        if (random.one_in(3)) {
            const int w = any_that_changes();
            submit({FOLD, any_stream(), gradient, -1, w}, {{gradient, BOTH, false}, {w, BOTH, true}});
        }
    }
    submit({FOLD, any_stream(), gradient, -1, made.result}, {{gradient, BOTH, false}, {made.result, BOTH, true}});
    release(gradient);
}

/* Stream 0 comes after all others, so that who waits for it has waited for the step. */
void drawing::end()
{
    for (int s = 1; s < o.streams; s++)
        order_before(0, {s, now[s].of[s]});
    if (now[LEGACY].of[LEGACY])
        order_before(0, {LEGACY, now[LEGACY].of[LEGACY]});
    for (int tensor : {made.result, counter})
        order_before_touch(0, {tensor, BOTH, true});
}

struct iteration drawing::draw()
{
    for (int s = 0; s < o.streams; s++)
        made.blocking.push_back(!o.crosses_threads && random.one_in(2));
    for (int i = 0; i < INPUTS; i++)
        inputs.push_back(add_tensor(size, true));
    made.result = add_tensor(size, true);
    indices = add_tensor(size, true);
    counter = add_tensor(1, true);
    if (o.is_wide) {
        graphed = add_tensor(size, true);
        made.tables = add_tensor(64, true);
        for (int i = 0; i < PINNED; i++) {
            pinned.push_back(add_tensor(size, true));
            made.pinned.back() = true;
        }
    }
    kept x = {made.result, BOTH};
    for (int i = 0; i < o.operations / 2; i++) {
        x = forward(all_kept.empty() || !random.one_in(4) ? x : all_kept[random.below((uint32_t)all_kept.size())]);
        all_kept.push_back(x);
    }
    const int s = (int)random.below((uint32_t)o.streams), w = any_input(), gradient = allocate(s);
    submit({MAKE, s, made.result, w, gradient}, {{made.result, BOTH, false}, {w, BOTH, false}, {gradient, BOTH, true}});
    backward(gradient);
    end();
    return made;
}

} // namespace

struct iteration draw_iteration(const struct iteration_options &o, size_t words)
{
    return drawing(o, words).draw();
}
