/* late.cu - kinds of layers whose kernels change something for the first time when the data say so.
 *
 * What a launch writes only then is declared as read: until then a copy of it beside the launch does no harm, and the device
 * cannot know better. That the bytes are right from then on is for the program to see. */
#include "layer.h"

/* A name in C says nothing of what the kernel may write. */
#ifdef HARM_UNTOLD
#define NAMED extern "C"
#else
#define NAMED
#endif

/* --- y = f(x), and x, too, once it is late --- */

NAMED __global__ void change_input_kernel(uint32_t *x, uint32_t *y, size_t n, const uint32_t *clock)
{
    const bool is_late = IS_LATE(clock);
    SPAN (i, n) {
        y[i] = MIXED(x[i], 21u);
        if (is_late && i % 8 == 0)
            x[i] ^= 0x10000u;
    }
}
SIMGPU_FOOTPRINT(change_input_kernel, (uint32_t * x, uint32_t *y, size_t n, const uint32_t *clock), EACH *n, R(x, n),
                 W(y, n), R(clock, 2))

/* --- the same for what is given beside, by whole or in one word --- */

NAMED __global__ void change_side_kernel(const uint32_t *x, uint32_t *y, size_t n, uint32_t *side, size_t sides,
                                         const uint32_t *clock)
{
    const bool is_late = IS_LATE(clock);
    SPAN (i, n) {
        y[i] = MIXED(x[i], 22u);
        if (is_late && i < sides)
            side[i] = x[i] + clock[0];
    }
}
SIMGPU_FOOTPRINT(change_side_kernel,
                 (const uint32_t *x, uint32_t *y, size_t n, uint32_t *side, size_t sides, const uint32_t *clock), EACH *n,
                 R(x, n), W(y, n), R(side, sides < n ? sides : n), R(clock, 2))

/* --- the same, and what is given beside grows by it --- */

NAMED __global__ void add_to_side_kernel(const uint32_t *x, uint32_t *y, size_t n, uint32_t *side, size_t sides,
                                         const uint32_t *clock)
{
    const bool is_late = IS_LATE(clock);
    SPAN (i, n) {
        y[i] = MIXED(x[i], 23u);
        if (is_late && i < sides)
            side[i] += x[i] | 1;
    }
}
SIMGPU_FOOTPRINT(add_to_side_kernel,
                 (const uint32_t *x, uint32_t *y, size_t n, uint32_t *side, size_t sides, const uint32_t *clock), EACH *n,
                 R(x, n), W(y, n), R(side, sides < n ? sides : n), R(clock, 2))

/* --- multiplies by 1 until it is late --- */

NAMED __global__ void clip_kernel(uint32_t *x, size_t n, const uint32_t *clock)
{
    const uint32_t factor = IS_LATE(clock) ? 3 : 1;
    SPAN (i, n)
        x[i] *= factor;
}
SIMGPU_FOOTPRINT(clip_kernel, (uint32_t * x, size_t n, const uint32_t *clock), EACH *n, RW(x, n), R(clock, 2))

/* --- looks at a tensor, and changes it once it is late: all of it or one word --- */

NAMED __global__ void look_kernel(uint32_t *a, size_t n, uint32_t *seen, const uint32_t *clock, size_t changes)
{
    const bool is_late = IS_LATE(clock);
    SPAN (i, n) {
        atomicAdd(seen, a[i]);
        if (is_late && i < changes)
            a[i] += clock[0];
    }
}
SIMGPU_FOOTPRINT(look_kernel, (uint32_t * a, size_t n, uint32_t *seen, const uint32_t *clock, size_t changes), EACH *n,
                 R(a, n), RW(seen, 1), R(clock, 2))

/* --- the same, such that doing it twice changes nothing --- */

NAMED __global__ void flip_kernel(uint32_t *a, size_t n, uint32_t *seen, const uint32_t *clock, size_t changes)
{
    const bool is_late = IS_LATE(clock);
    SPAN (i, n) {
        atomicAdd(seen, a[i]);
        if (is_late && i < changes)
            a[i] = ~a[i];
    }
}
SIMGPU_FOOTPRINT(flip_kernel, (uint32_t * a, size_t n, uint32_t *seen, const uint32_t *clock, size_t changes), EACH *n,
                 R(a, n), RW(seen, 1), R(clock, 2))

/* --- y = f(a), and a is flipped behind it once it is late --- */

NAMED __global__ void flip_behind_kernel(uint32_t *a, uint32_t *y, size_t n, const uint32_t *clock, size_t changes)
{
    const bool is_late = IS_LATE(clock);
    SPAN (i, n) {
        y[i] = MIXED(a[i], 24u);
        if (is_late && i < changes)
            a[i] = ~a[i];
    }
}
SIMGPU_FOOTPRINT(flip_behind_kernel, (uint32_t * a, uint32_t *y, size_t n, const uint32_t *clock, size_t changes), EACH *n,
                 R(a, n), W(y, n), R(clock, 2))

class changes_input : public layer
{
  public:
    changes_input(training &, size_t count) : count(count)
    {
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y = make(count);
        plain(x, x, from);
        t.keep(from);
        LAUNCH(change_input_kernel, count, from.data(), y.data(), count, t.clock.data());
        t.keep(y);
        return y;
    }

  private:
    const size_t count;
};

class changes_side : public layer
{
  public:
    enum variants { PERSISTENT, SMALL, KEPT };
    changes_side(training &t, size_t count, int variant) : count(count), variant(variant)
    {
        if (variant != KEPT)
            persistent = t.persistent(variant == SMALL ? 512 : count, 31);
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y = make(count), side = persistent;
        plain(x, x, from);
        t.keep(from);
        if (variant == KEPT) {
            side = plain(from, x);
            t.keep(side);
        }
        words y2 = plain(from, side);
        t.keep(y2);
        LAUNCH(change_side_kernel, count, from.data(), y.data(), count, side.data(), side.count(), t.clock.data());
        t.keep(y);
        return plain(y, y2);
    }

  private:
    const size_t count;
    const int variant;
    words persistent;
};

class adds_to_side : public layer
{
  public:
    enum variants { LARGE, SMALL, ONE_WORD, ONE_WORD_OF_LARGE };
    adds_to_side(training &t, size_t count, int variant)
        : count(count), sides(variant == LARGE   ? count
                              : variant == SMALL ? 512
                                                 : 1),
          side(t.persistent(variant == ONE_WORD_OF_LARGE ? count : sides, 34))
    {
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y = make(count);
        plain(x, x, from);
        t.keep(from);
        LAUNCH(add_to_side_kernel, count, from.data(), y.data(), count, side.data(), sides, t.clock.data());
        t.keep(y);
        return y;
    }

  private:
    const size_t count, sides;
    const words side;
};

class clips : public layer
{
  public:
    enum variants { KEPT, BETWEEN };
    clips(training &, size_t count, int variant) : count(count), variant(variant)
    {
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y;
        plain(x, x, from);
        t.keep(from);
        if (variant == BETWEEN) { /* what y is made of is clipped when y was made, and before it is used again */
            y = plain(from, x);
            t.keep(y);
            clipped = from;
        } else {
            LAUNCH(clip_kernel, count, from.data(), count, t.clock.data());
            y = plain(from, x);
            t.keep(y);
        }
        return y;
    }
    void between(training &t) override
    {
        if (variant == BETWEEN)
            LAUNCH(clip_kernel, count, clipped.data(), count, t.clock.data());
        clipped = words();
    }

  private:
    const size_t count;
    const int variant;
    words clipped;
};

/* y is made of a tensor that something looks at between the two parts, and changes once it is late. */
class changed_between : public layer
{
  public:
    enum variants { LARGE, SMALL, ONE_WORD };
    changed_between(training &t, size_t count, int variant)
        : count(count), variant(variant), a(t.persistent(variant == SMALL ? 1024 : count, 32)), seen(t.persistent(1, 33))
    {
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y;
        plain(x, x, from);
        y = plain(from, a);
        t.keep(from);
        t.keep(y);
        return y;
    }
    void between(training &t) override
    {
        const size_t changes = variant == ONE_WORD ? 1 : a.count();
        LAUNCH(look_kernel, a.count(), a.data(), a.count(), seen.data(), t.clock.data(), changes);
    }

  private:
    const size_t count;
    const int variant;
    const words a, seen;
};

/* y is made of a tensor that is another one for that moment, later; or it is what makes y that changes it, and what comes
 * next changes it back. */
class flips : public layer
{
  public:
    enum variants { AROUND, ONE_WORD, TWICE, BACK };
    flips(training &t, size_t count, int variant)
        : count(count), variant(variant), a(t.persistent(count, 35)), seen(t.persistent(1, 36))
    {
    }
    words forward(training &t, const words &x) override
    {
        const size_t changes = variant == ONE_WORD ? 1 : count;
        words from = make(count), y = make(count), y2;
        plain(x, x, from);
        t.keep(from);
        if (variant == AROUND || variant == ONE_WORD) {
            flip(t, changes);
            y = plain(from, a);
            flip(t, changes);
        } else {
            LAUNCH(flip_behind_kernel, count, a.data(), y.data(), count, t.clock.data(), changes);
            t.keep(y);
            if (variant == TWICE) {
                y2 = make(count);
                LAUNCH(flip_behind_kernel, count, a.data(), y2.data(), count, t.clock.data(), changes);
            } else {
                flip(t, changes);
                y2 = a;
            }
            y = plain(y, plain(from, y2));
        }
        t.keep(y);
        return y;
    }

  private:
    void flip(training &t, size_t changes)
    {
        LAUNCH(flip_kernel, count, a.data(), count, seen.data(), t.clock.data(), changes);
    }

    const size_t count;
    const int variant;
    const words a, seen;
};

const std::vector<struct kind> late_kinds = {
    {"late-input", create<changes_input>, "y is made of x; later x is changed as well"},
    {"late-side", create_variant<changes_side, changes_side::PERSISTENT>, "the same of a large tensor beside"},
    {"late-side-small", create_variant<changes_side, changes_side::SMALL>, "the same of a small one"},
    {"late-side-kept", create_variant<changes_side, changes_side::KEPT>, "the same of one that was made in this step"},
    {"late-sum", create_variant<adds_to_side, adds_to_side::LARGE>,
     "y is made of x; later it is added to a large tensor as well"},
    {"late-sum-small", create_variant<adds_to_side, adds_to_side::SMALL>, "the same of a small one"},
    {"late-count", create_variant<adds_to_side, adds_to_side::ONE_WORD>, "the same of one word"},
    {"late-sum-word", create_variant<adds_to_side, adds_to_side::ONE_WORD_OF_LARGE>, "the same of one word of a large one"},
    {"late-clip", create_variant<clips, clips::KEPT>, "in place by 1, later by 3"},
    {"late-clip-between", create_variant<clips, clips::BETWEEN>, "the same once something was made of it"},
    {"late-between", create_variant<changed_between, changed_between::LARGE>,
     "what y was made of is changed between the two parts, later"},
    {"late-between-small", create_variant<changed_between, changed_between::SMALL>, "the same of a small tensor"},
    {"late-between-word", create_variant<changed_between, changed_between::ONE_WORD>, "the same of one word of a large one"},
    {"late-flip", create_variant<flips, flips::AROUND>, "what y is made of is another one for that moment, later"},
    {"late-flip-word", create_variant<flips, flips::ONE_WORD>, "the same of one word"},
    {"late-flip-twice", create_variant<flips, flips::TWICE>,
     "what makes y changes what it reads, and the next one changes it back"},
    {"late-flip-back", create_variant<flips, flips::BACK>, "the same, and something else changes it back"},
};
