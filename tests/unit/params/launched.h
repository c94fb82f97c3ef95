/* launched.h - what the tests of scanning share: arenas and launches. */
#ifndef SPILLWAY_TESTS_LAUNCHED_H
#define SPILLWAY_TESTS_LAUNCHED_H
#include "scan.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tensormap.h"

#define LOW  UINT64_C(0x700000000000)
#define HIGH UINT64_C(0x700100000000)

/* A layout made by hand, as layout.c would make it. */
struct made {
    struct spw_layout layout;
    struct spw_param params[256];
    uint16_t words[256], spans[256];
    _Atomic uint8_t places[UINT16_MAX + 1]; /* more than layout.c has room for: as far as places go */
};

static inline void make(struct made *m, const struct spw_param *params, unsigned count)
{
    memset(m, 0, sizeof *m);
    m->layout.known = true;
    m->layout.param_count = (uint16_t)count;
    m->layout.params = m->params;
    m->layout.words = m->words;
    m->layout.spans = m->spans;
    m->layout.places = m->places;
    for (unsigned i = 0; i < count; i++) {
        m->params[i] = params[i];
        if (params[i].size_bytes == 8)
            m->words[m->layout.word_count++] = (uint16_t)i;
        if (params[i].size_bytes > 8) {
            m->spans[m->layout.span_count++] = (uint16_t)i;
            m->layout.loose |= (params[i].size_bytes | params[i].offset_bytes) % 8 != 0;
        }
    }
}

static inline int scan(const struct made *m, void **params, void **extra, CUdeviceptr *hits, unsigned room)
{
    return spw_scan_launch(&m->layout, params, extra, LOW, HIGH, hits, room, NULL);
}

static inline bool holds(const CUdeviceptr *hits, int n, CUdeviceptr address)
{
    for (int i = 0; i < n; i++)
        if (hits[i] == address)
            return true;
    return false;
}

/* ---- places that are not trusted ---- */

/* What a launch is told of its hits, and what lies behind that: nothing of either is left from before. */
static struct {
    struct spw_scan_doubted doubted;
    uint16_t behind[16];
} told;

/* Scans, with every hit's place at first at `place`, which it must not stay. */
static inline int scan_telling(const struct made *m, void **params, CUdeviceptr *hits, unsigned room, uint16_t place)
{
    memset(told.doubted.bits, 0xff, sizeof told.doubted.bits);
    for (unsigned i = 0; i < SPW_SCAN_DOUBTED_HITS; i++)
        told.doubted.places[i] = place;
    for (unsigned i = 0; i < 16; i++)
        told.behind[i] = place;
    told.doubted.layout = &m->layout;
    told.doubted.first = 0;
    told.doubted.end = SPW_SCAN_DOUBTED_HITS;
    spw_scan_doubted_init(&told.doubted);
    return spw_scan_launch(&m->layout, params, NULL, LOW, HIGH, hits, room, &told.doubted);
}

static inline bool is_doubted_place(const struct made *m, unsigned word)
{
    return m->places[word] & SPW_PLACE_DOUBTED;
}

static inline unsigned doubted_places(const struct made *m)
{
    unsigned count = 0;
    for (unsigned word = 0; word <= UINT16_MAX; word++)
        count += is_doubted_place(m, word);
    return count;
}
#endif
