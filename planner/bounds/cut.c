/* cut.c - the cut bound: bytes that are absent during one operation were copied out before it and are copied in after it,
 * or are replayed.
 *
 * Of the V excess bytes let y be swapped and V - y replayed. Let D, H and R be the least times that it takes to copy out,
 * copy in and replay a given number of bytes, where items count fractionally and the cheapest per byte come first. Then
 *
 *     time(y) = max(head, made + D(y)) + op + max(tail + R(V - y), read + H(y))
 *
 * Proof. A copy in takes its bytes when it starts, and a copy out gives them back when it has ended. So when the operation
 * starts, at least V bytes are absent completely, and just before it ends, at least V bytes are absent and not on their way
 * in. Bytes that are absent at the start and copied in later were copied out before the start, and no such copy began
 * before the first of the items was made. That takes made + D(y), and all operations before have to run as well. Copying in
 * the bytes that are absent at the end takes at least H(y) of its lane after the operation. After the end of the last of
 * these copies, its reader and all operations after that reader have still to run: read + H(y). The other bytes are
 * replayed after the operation, since the operation occupies the compute lane: tail + R(V - y). If the two sets have
 * different y, replays make up for the smaller one, and time() of the smaller y is a bound. A persistent tensor may have
 * started on the host. Then either it is copied out after its last write instead of before the operation, or, if it is
 * absent after its last use, it was copied in before its first use instead of after the operation. So the copy-out lane
 * moves no item from the operation on until the first such last write has ended (no_out), and the copy-in lane moves none
 * from the last such first use until the operation has ended (no_in). Those durations add to what the lane has to do in the
 * whole iteration: max(time(y), no_out + D_all(y), no_in + H_all(y)).
 *
 * Copies in both directions at once may be slower. Let copies take O us out and I us in when they run alone, and let k be
 * the hindrance. Then the lanes need at least O + k I and I + k O. At speed d < 1, let both lanes run for c us, and one
 * alone for a and b us: O = a + d c and I = b + d c in a + b + c us, which is O + k I with k = (1 - d) / d, or more with k
 * = 1 if that is less. The copies that the items need on the other side of the operation thus slow down the copies counted
 * above. So the time before the operation is at least D(y) + k times the copies in there, and the time after it at least
 * H(y) + k times the copies out there, except that no item moves before `made` or in the last `read`:
 *
 *     D'(y) + op + H'(y) + (1 - k) (made + read)
 *
 * D' and H' are D and H with k times the item's copies on the other side added to its cost. The same holds of the three
 * lanes over the whole iteration.
 *
 * D, H and R are convex, so time(y) and the other terms are too. The bound is the minimum over y of the largest term. */
#include "bounds/cut.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* One point of a curve. A curve is a list of points, the cheapest per byte first; once complete, each point holds the
 * sums up to and including itself. */
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

/* The price class of the item: items of a lower class are likely to cost less per byte. */
static int class_of(const struct spw_cut_item *item, int which, double us)
{
    const bool is_beside =
        (which == OUT_BESIDE && item->out_before_us == 0) || (which == IN_BESIDE && item->in_after_us == 0);
    return us == 0 ? 0 : is_beside ? 1 : 2;
}

/* Most curves have a single price within each class and need no sorting. Prices that differ only by rounding count as
 * equal. */
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

/* The least time for `bytes`, which may not exceed the end of the curve. */
static double curve_at(const struct curve *curve, double bytes)
{
    size_t low = 0, high = curve->count; /* the first point at or above `bytes` */
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
    if (ret_sides) /* without the replays, the times are least where as little as possible is swapped */
        *ret_sides = sides_at(cut, curves, low, 0);
    for (int i = 0; i < 100 && high - low > 1e-12 * cut->excess_bytes; i++) {
        const double third = (high - low) / 3;
        if (time_at(cut, curves, low + third) <= time_at(cut, curves, high - third))
            high -= third;
        else
            low += third;
    }
    /* The value found is above the minimum by no more than time(y) changes within the remaining interval, which is
     * negligible. The ends are evaluated too, since the minimum often lies there: replaying the first part of a small
     * item can be expensive. */
    const double inside = time_at(cut, curves, (low + high) / 2);
    return fmin(inside, fmin(time_at(cut, curves, low), time_at(cut, curves, high))) * (1 - 1e-9);
}
