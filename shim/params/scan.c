/* scan.c - the parts of the parameter scan that an ordinary launch does not need. */
#include "scan.h"

#include "tensormap.h"

enum { NO_PLACE = 0xffff };
enum { PATIENCE = 4 };        /* in lengths of the longest iteration */
enum { MAX_EXTRA_PAIRS = 8 }; /* two are defined; an endless list is not followed further */

int spw_scan_bytes(const void *source, size_t bytes, unsigned step, CUdeviceptr low, CUdeviceptr high, CUdeviceptr *hits,
                   unsigned n, unsigned room)
{
    const char *at = source;
    CUdeviceptr word, extent = high - low;
    for (; bytes >= sizeof word; at += step, bytes = bytes > step ? bytes - step : 0) {
        memcpy(&word, at, sizeof word);
        if (__builtin_expect(word - low >= extent, 1))
            continue;
        if (n == room)
            return -E2BIG;
        hits[n++] = word;
    }
    return (int)n;
}

/* ---- places ---- */

/* Known iterations: the length of the longest, and how many of the latest operations in a row fit none. */
static struct {
    _Atomic bool settled;
    uint32_t longest;
    uint64_t astray;
} known;

static bool settled(void)
{
    return atomic_load_explicit(&known.settled, memory_order_relaxed);
}

void spw_scan_told(const struct spw_iteration_place *place)
{
    if (place->sure == SPW_ITERATION_NO)
        known.astray++;
    else
        known.astray = 0;
    if (place->sure == SPW_ITERATION_SURE && place->length > known.longest)
        known.longest = place->length;
    const bool is_settled = known.longest && known.astray <= PATIENCE * (uint64_t)known.longest;
    if (is_settled != settled())
        atomic_store_explicit(&known.settled, is_settled, memory_order_relaxed);
}

void spw_scan_reset(void)
{
    known.longest = 0;
    known.astray = 0;
    atomic_store(&known.settled, false);
}

/* Returns true if the word of the image has ever held such a value. */
static bool is(const struct spw_layout *layout, unsigned word, unsigned given)
{
    return layout->places && atomic_load_explicit(&layout->places[word], memory_order_relaxed) & given;
}

static void note(const struct spw_layout *layout, unsigned word, unsigned given)
{
    if (layout->places && !is(layout, word, given))
        atomic_fetch_or_explicit(&layout->places[word], (uint8_t)given, memory_order_relaxed);
}

static bool has_place(const struct spw_scan_doubted *doubted, unsigned hit)
{
    return doubted && doubted->layout && hit >= doubted->first && hit < doubted->end && doubted->places[hit] != NO_PLACE;
}

void spw_scan_doubt(const struct spw_scan_doubted *doubted, unsigned hit)
{
    if (has_place(doubted, hit))
        note(doubted->layout, doubted->places[hit], SPW_PLACE_DOUBTED);
}

bool spw_scan_comes_and_goes(const struct spw_scan_doubted *doubted, unsigned hit)
{
    return has_place(doubted, hit) && is(doubted->layout, doubted->places[hit], SPW_PLACE_EMPTY);
}

static bool is_any_doubted(const struct spw_scan_doubted *doubted)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < SPW_SCAN_DOUBTED_HITS / 64; i++)
        bits |= doubted->bits[i];
    return bits != 0;
}

unsigned spw_scan_part(struct spw_scan_doubted *doubted, CUdeviceptr *hits, unsigned n)
{
    CUdeviceptr behind[SPW_SCAN_DOUBTED_HITS];
    uint16_t places[SPW_SCAN_DOUBTED_HITS];
    unsigned count = 0;
    if (n > SPW_SCAN_DOUBTED_HITS || !is_any_doubted(doubted))
        return 0;
    unsigned sure = doubted->first;
    for (unsigned hit = sure; hit < n; hit++) {
        if (spw_scan_is_doubted(doubted, hit)) {
            behind[count] = hits[hit];
            places[count++] = doubted->places[hit];
            continue;
        }
        hits[sure] = hits[hit];
        doubted->places[sure++] = doubted->places[hit];
    }
    memcpy(hits + sure, behind, count * sizeof(*behind));
    memcpy(doubted->places + sure, places, count * sizeof(*places));
    memset(doubted->bits, 0, sizeof(doubted->bits));
    for (unsigned hit = sure; hit < n; hit++)
        doubted->bits[hit / 64] |= UINT64_C(1) << hit % 64;
    return count;
}

static void note_place(const struct spw_layout *layout, unsigned word, unsigned hit, struct spw_scan_doubted *doubted)
{
    doubted->places[hit] = (uint16_t)word;
    if (is(layout, word, SPW_PLACE_DOUBTED))
        doubted->bits[hit / 64] |= UINT64_C(1) << hit % 64;
}

/* Hits from `from` on have no place. */
static void note_no_places(struct spw_scan_doubted *doubted, unsigned from, unsigned end)
{
    for (unsigned hit = from; doubted && hit < end && hit < SPW_SCAN_DOUBTED_HITS; hit++)
        doubted->places[hit] = NO_PLACE;
}

/* Scans one long parameter that consists of aligned words. */
static int scan_words(const struct spw_layout *layout, const struct spw_param *p, const char *source, CUdeviceptr low,
                      CUdeviceptr high, CUdeviceptr *hits, unsigned n, unsigned room, struct spw_scan_doubted *doubted)
{
    for (unsigned at = 0; at + 8 <= p->size_bytes; at += 8) {
        const unsigned word = (p->offset_bytes + at) / 8;
        CUdeviceptr address;
        memcpy(&address, source + at, sizeof address);
        if (__builtin_expect(address - low >= high - low, 1)) {
            if (address)
                note(layout, word, SPW_PLACE_DOUBTED);
            else if (doubted && !doubted->filled && !settled())
                note(layout, word, SPW_PLACE_EMPTY);
            continue;
        }
        if (n == room)
            return -E2BIG;
        if (doubted && n < SPW_SCAN_DOUBTED_HITS)
            note_place(layout, word, n, doubted);
        hits[n++] = address;
    }
    return (int)n;
}

/* Scans one long parameter. */
static int scan_span(const struct spw_layout *layout, const struct spw_param *p, const void *source, CUdeviceptr low,
                     CUdeviceptr high, CUdeviceptr *hits, unsigned n, unsigned room, struct spw_scan_doubted *doubted)
{
    const bool aligned = (p->offset_bytes | p->size_bytes) % 8 == 0;
    int r = aligned ? scan_words(layout, p, source, low, high, hits, n, room, doubted)
                    : spw_scan_bytes(source, p->size_bytes, 4, low, high, hits, n, room);
    if (r < 0)
        return r;
    const unsigned placed = aligned ? (unsigned)r : n;
    if (p->size_bytes >= SPW_TENSORMAP_BYTES && spw_tensormap_any())
        r = spw_tensormap_scan(source, p->size_bytes, 64, hits, (unsigned)r, room);
    if (r >= 0)
        note_no_places(doubted, placed, (unsigned)r);
    return r;
}

int spw_scan_spans(const struct spw_layout *layout, void *const *params, CUdeviceptr low, CUdeviceptr high,
                   CUdeviceptr *hits, unsigned n, unsigned room, struct spw_scan_doubted *doubted)
{
    if (doubted) {
        doubted->layout = layout;
        doubted->first = doubted->end = n;
    }
    for (unsigned i = 0; i < layout->span_count; i++) {
        const unsigned index = layout->spans[i];
        const int r = scan_span(layout, &layout->params[index], params[index], low, high, hits, n, room, doubted);
        if (r < 0)
            return r;
        n = (unsigned)r;
    }
    if (doubted)
        doubted->end = n < SPW_SCAN_DOUBTED_HITS ? n : SPW_SCAN_DOUBTED_HITS;
    return (int)n;
}

int spw_scan_buffer(void *const *extra, const void **ret_buffer, size_t *ret_bytes)
{
    const void *buffer = NULL;
    const size_t *bytes = NULL;
    for (int pair = 0; pair < MAX_EXTRA_PAIRS; pair++, extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_END) {
            if (!buffer || !bytes || *bytes > SPW_PARAMS_MAX_BYTES + 4)
                return -EINVAL;
            *ret_buffer = buffer;
            *ret_bytes = *bytes;
            return 0;
        }
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = extra[1];
        else
            return -EINVAL;
    }
    return -EINVAL;
}

/* Scans all words of the packed buffer, also between parameters, so no layout is needed. */
static int scan_extra(const struct spw_layout *layout, void *const *extra, CUdeviceptr low, CUdeviceptr high,
                      CUdeviceptr *hits, unsigned room)
{
    const void *buffer;
    size_t bytes;
    int r = spw_scan_buffer(extra, &buffer, &bytes);
    if (r < 0)
        return r;

    bool aligned = layout->known && !layout->loose;
    r = spw_scan_bytes(buffer, bytes, aligned ? 8 : 4, low, high, hits, 0, room);
    /* Where the compiler puts a tensor map in the buffer depends on the alignment of the whole image, which is not known
     * here. */
    if (r >= 0 && spw_tensormap_any())
        r = spw_tensormap_scan(buffer, bytes, 8, hits, (unsigned)r, room);
    return r;
}

int spw_scan_odd(const struct spw_layout *layout, void *const *params, void *const *extra, CUdeviceptr low, CUdeviceptr high,
                 CUdeviceptr *hits, unsigned room)
{
    if (extra && extra[0] != CU_LAUNCH_PARAM_END)
        return params ? -EINVAL : scan_extra(layout, extra, low, high, hits, room);
    if (!layout->known || (!params && layout->param_count))
        return -ENODATA;
    if (!layout->param_count)
        return 0;
    if (layout->word_count > room)
        return -E2BIG;
    return spw_scan_launch(layout, params, NULL, low, high, hits, room, NULL);
}
