/* cut.c - the cut bound: what is absent during one operation was copied out before it and comes back in after it, or is
 * replayed.
 *
 * Of the V excess bytes let y be swapped and V - y replayed. With D, H, R the least time that copying out, copying in and
 * replaying so many bytes can take, taking items fractionally and the cheapest per byte first,
 *
 *     time(y) = max(head, made + D(y)) + op + max(tail + R(V - y), read + H(y))
 *
 * Proof. A copy in takes its bytes when it starts, and a copy out gives them back when it has ended. So at the operation's
 * start V bytes or more are absent that have left completely, and just before its end V or more that are not on their way.
 * What is absent at the start and copied in later was copied out before the start, which began when the first of it was
 * made: made + D(y), and all operations before have run. What is absent at the end and copied in later takes H(y) or more of
 * its lane after it, and behind the end of the last copy its reader and all operations after that have still to run: read +
 * H(y). What is not copied is replayed, after the operation as that holds the compute lane: tail + R(V - y). If the two sets
 * have different y, replays make up for the smaller one, and time() of that is a bound.
 * A persistent tensor may have begun on the host. Then it goes out after it has been written for the last time instead of
 * before the operation; or, if it is absent after its last use, it came in before its first instead of after the operation.
 * Either way the lane moves no item that is absent from the operation on until the first such write has ended (no_out), or
 * from the last such first use until the operation has ended (no_in), and those durations come on top of what the lane has
 * to do in the whole iteration: max(time(y), no_out + D_all(y), no_in + H_all(y)).
 *
 * Copies in both directions at once may be slower. Of copies that took O us out and I us in if alone, either lane needs
 * O + k I or more, and I + k O, k being the hindrance: at speed d < 1 while both run, and alone for a and b us, O = a + d c
 * and I = b + d c in a + b + c us, which is O + k I with k = (1 - d) / d, or more with k = 1 where that is less. What the
 * sets above move besides, on the other side of the operation, hinders what counts there. So before the operation pass D(y)
 * + k times what comes in, and after it H(y) + k times what goes out, but that no item moved before `made` or in the last
 * `read`:
 *
 *     D'(y) + op + H'(y) + (1 - k) (made + read)
 *
 * with D' and H' as D and H, where an item costs besides k times what it moves on the other side. The same holds of the
 * three lanes over the whole iteration.
 *
 * D, H and R are convex, so time(y) is, and so are the others. The least value over y of the largest is the bound. */
#include "bounds/cut.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A curve is a list of points, the cheapest per byte first; then each holds the sums up to and with itself. */
struct spw_cut_point {
    double bytes, us, us_per_byte;
};

enum { OUT_BEFORE, IN_AFTER, OUT, IN, OUT_BESIDE, IN_BESIDE, REPLAY, CURVES };

struct curve {
    const struct spw_cut_point *points;
    size_t count;
};

int spw_cut_space_init(struct spw_cut_space *space, size_t room)
{
    *space = (struct spw_cut_space){.points = calloc(CURVES * room + 1, sizeof *space->points), .room = room};
    return space->points ? 0 : -ENOMEM;
}

void spw_cut_space_finish(struct spw_cut_space *space)
{
    free(space->points);
    *space = (struct spw_cut_space){0};
}

static double cost(const struct spw_cut *cut, const struct spw_cut_item *item, int which)
{
    const double costs[CURVES] = {item->out_before_us,
                                  item->in_after_us,
                                  item->out_us,
                                  item->in_us,
                                  item->out_before_us + cut->hindrance * (item->out_us - item->out_before_us),
                                  item->in_after_us + cut->hindrance * (item->in_us - item->in_after_us),
                                  item->replay_us};
    return which != REPLAY && !item->copied ? INFINITY : costs[which];
}

static int by_price(const void *a, const void *b)
{
    const struct spw_cut_point *p = a, *q = b;
    return (p->us_per_byte > q->us_per_byte) - (p->us_per_byte < q->us_per_byte);
}

/* What is likely to be cheaper for each byte than the next class. */
static int class_of(const struct spw_cut_item *item, int which, double us)
{
    const bool is_beside =
        (which == OUT_BESIDE && item->out_before_us == 0) || (which == IN_BESIDE && item->in_after_us == 0);
    return us == 0 ? 0 : is_beside ? 1 : 2;
}

/* Most curves have one price in each class: they need no sorting. Prices that differ by rounding count as the same. */
static struct curve make_curve(const struct spw_cut *cut, int which, struct spw_cut_point *points)
{
    size_t count = 0;
    bool sorted = true;
    for (int kind = 0; kind < 3; kind++)
        for (size_t i = 0; i < cut->count; i++) {
            const double us = cost(cut, &cut->items[i], which), bytes = cut->items[i].bytes;
            if (isinf(us) || class_of(&cut->items[i], which, us) != kind)
                continue;
            points[count] = (struct spw_cut_point){bytes, us, us / bytes};
            sorted = sorted && (count == 0 || points[count - 1].us_per_byte <= points[count].us_per_byte * (1 + 1e-13));
            count++;
        }
    if (!sorted)
        qsort(points, count, sizeof *points, by_price);
    for (size_t i = 1; i < count; i++) {
        points[i].bytes += points[i - 1].bytes;
        points[i].us += points[i - 1].us;
    }
    return (struct curve){points, count};
}

/* The least time for `bytes`, which is at most what the curve has. */
static double curve_at(const struct curve *curve, double bytes)
{
    size_t low = 0, high = curve->count; /* the first point that reaches so far */
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (curve->points[middle].bytes < bytes)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == curve->count)
        return low ? curve->points[low - 1].us : 0;
    const double bytes_before = low ? curve->points[low - 1].bytes : 0, us_before = low ? curve->points[low - 1].us : 0;
    return us_before + (bytes - bytes_before) * curve->points[low].us_per_byte;
}

static double curve_end(const struct curve *curve)
{
    return curve->count ? curve->points[curve->count - 1].bytes : 0;
}

static struct spw_cut_sides sides_at(const struct spw_cut *cut, const struct curve *curves, double swapped, double replay_us)
{
    return (struct spw_cut_sides){
        .before_us = fmax(cut->head_us, cut->made_us + curve_at(&curves[OUT_BEFORE], swapped)),
        .after_us = fmax(cut->tail_us + replay_us, cut->read_us + curve_at(&curves[IN_AFTER], swapped)),
        .before_beside_us = (1 - cut->hindrance) * cut->made_us + curve_at(&curves[OUT_BESIDE], swapped),
        .after_beside_us = (1 - cut->hindrance) * cut->read_us + curve_at(&curves[IN_BESIDE], swapped),
    };
}

static double time_at(const struct spw_cut *cut, const struct curve *curves, double swapped)
{
    const double replay_us = curve_at(&curves[REPLAY], cut->excess_bytes - swapped);
    const struct spw_cut_sides sides = sides_at(cut, curves, swapped, replay_us);
    const double out = curve_at(&curves[OUT], swapped), in = curve_at(&curves[IN], swapped);
    const double out_lane_us = cut->no_out_us + out + cut->hindrance * fmax(0, in - cut->no_out_us);
    const double in_lane_us = cut->no_in_us + in + cut->hindrance * fmax(0, out - cut->no_in_us);
    const double sum = fmax(sides.before_us + sides.after_us, sides.before_beside_us + sides.after_beside_us);
    return fmax(sum + cut->op_us, fmax(out_lane_us, in_lane_us));
}

double spw_cut_time(const struct spw_cut *cut, const struct spw_cut_space *space, struct spw_cut_sides *ret_sides)
{
    double absent_bytes = 0;
    for (size_t i = 0; i < cut->count; i++)
        absent_bytes += cut->items[i].copied || !isinf(cut->items[i].replay_us) ? cut->items[i].bytes : 0;
    if (absent_bytes < cut->excess_bytes)
        return INFINITY;
    struct curve curves[CURVES];
    for (int i = 0; i < CURVES; i++)
        if (cut->hindrance == 0 && (i == OUT_BESIDE || i == IN_BESIDE))
            curves[i] = curves[i == OUT_BESIDE ? OUT_BEFORE : IN_AFTER];
        else
            curves[i] = make_curve(cut, i, space->points + (size_t)i * space->room);
    double low = fmax(0, cut->excess_bytes - curve_end(&curves[REPLAY]));
    double high = fmin(cut->excess_bytes, curve_end(&curves[OUT]));
    if (low > high)
        low = high;
    if (ret_sides) /* all but what replays take is least where no more is swapped than has to be */
        *ret_sides = sides_at(cut, curves, low, 0);
    for (int i = 0; i < 100 && high - low > 1e-12 * cut->excess_bytes; i++) {
        const double third = (high - low) / 3;
        if (time_at(cut, curves, low + third) <= time_at(cut, curves, high - third))
            high -= third;
        else
            low += third;
    }
    /* What is found lies above the least value by as much as time(y) changes within what is left: next to nothing. The ends
     * are looked at too, where the least value often is: replaying the first part of a small item can be dear. */
    const double inside = time_at(cut, curves, (low + high) / 2);
    return fmin(inside, fmin(time_at(cut, curves, low), time_at(cut, curves, high))) * (1 - 1e-9);
}
