/* graph-text.c - makes up iterations as JSON, and damages JSON token by token. */
#include "graph-text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "records.h"

static uint64_t below(uint64_t *seed, uint64_t limit)
{
    return random_number(seed) % limit;
}

/* ---- making ---- */

struct text {
    char *at;
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(t->at + t->length, GRAPH_TEXT_ROOM - t->length, format, list);
    va_end(list);
    if (n > 0 && t->length + (size_t)n < GRAPH_TEXT_ROOM)
        t->length += (size_t)n;
}

static void put_tensor(struct text *t, unsigned id, unsigned most_bytes, unsigned first, unsigned last, uint64_t *seed)
{
    put(t, "{\"id\": %u, \"bytes\": %u, \"alloc_before\": %u, \"free_after\": %u%s%s},\n", id,
        (unsigned)below(seed, most_bytes), first, last, id == 1000 ? ", \"initial\": true" : "",
        below(seed, 9) ? "" : ", \"evictable\": false");
}

/* Weights 1 and up, activations 1000 and up, of which the first is the input and the last the output, gradients 2000 and
 * up. */
static void put_tensors(struct text *t, unsigned layers, uint64_t *seed)
{
    put(t, "\"tensors\": [\n");
    for (unsigned i = 0; i <= layers; i++) {
        const unsigned backward = 2 * layers - 1 - i; /* of layer i */
        put_tensor(t, 1000 + i, 1 << 20, i ? i - 1 : 0, i < layers ? backward : layers, seed);
        if (i < layers)
            put_tensor(t, 2000 + i, 1 << 20, backward, i ? backward + 1 : backward, seed);
    }
    for (unsigned i = 0; i < layers; i++)
        put(t, "{\"id\": %u, \"name\": \"w%u\", \"bytes\": %u, \"persistent\": true}%s\n", 1 + i, i,
            (unsigned)below(seed, 200000), i + 1 < layers ? "," : "");
    put(t, "],\n");
}

/* One operation that makes `made` of what it reads, and updates the reads from `updated` on. */
static void put_op(struct text *t, const unsigned *reads, unsigned read_count, unsigned updated, unsigned made,
                   uint64_t *seed)
{
    put(t, "{\"name\": \"makes %u\", \"us\": %u.5, \"reads\": [", made, (unsigned)below(seed, 100));
    for (unsigned i = 0; i < read_count; i++)
        put(t, "%s%u", i ? ", " : "", reads[i]);
    put(t, "], \"writes\": [%u", made);
    for (unsigned i = updated; i < read_count; i++)
        put(t, ", %u", reads[i]);
    put(t, "], \"replayable\": %s}", below(seed, 9) ? "true" : "false");
}

/* Each layer forward, then each backward: it reads its input and the gradient behind it, and updates its weight. Of some
 * iterations only is known what is touched, as in traces: they update all that they read. */
static void put_ops(struct text *t, unsigned layers, uint64_t *seed)
{
    const unsigned all = below(seed, 3) ? 1 : 0;
    put(t, "\"ops\": [\n");
    for (unsigned i = 0; i < layers; i++) {
        const unsigned reads[] = {1000 + i, 1 + i};
        put_op(t, reads, 2, 2 * all, 1001 + i, seed);
        put(t, ",\n");
    }
    for (unsigned i = layers; i-- > 0;) {
        const unsigned reads[] = {1000 + i, i + 1 < layers ? 2001 + i : 1000 + layers, 1 + i};
        put_op(t, reads, 3, 2 * all, 2000 + i, seed);
        put(t, i ? ",\n" : "\n");
    }
    put(t, "]}\n");
}

size_t make_graph_text(char *text, uint64_t *seed)
{
    struct text t = {text, 0};
    const unsigned layers = 1 + (unsigned)below(seed, 7);
    put(&t,
        "{\"format\": \"spillway-iteration/1\", \"name\": \"made up\", \"copy_bytes_per_us\": {\"d2h\": %u, \"h2d\": %u},\n",
        1 + (unsigned)below(seed, 30000), 1 + (unsigned)below(seed, 30000));
    put_tensors(&t, layers, seed);
    put_ops(&t, layers, seed);
    return t.length;
}

/* ---- damaging ---- */

struct token {
    size_t at, length;
};

static size_t token_length(const char *text, size_t left)
{
    size_t n = 1;
    if (*text == '"') {
        while (n < left && text[n] != '"')
            n += text[n] == '\\' && n + 1 < left ? 2 : 1;
        return n < left ? n + 1 : left;
    }
    if (strchr("{}[],: \t\r\n", *text))
        return 1;
    while (n < left && !strchr("{}[],: \t\r\n\"", text[n]))
        n++;
    return n;
}

/* A token at a place that is chosen at random, and is not white space where that can be had. */
static struct token some_token(const char *text, size_t length, uint64_t *seed)
{
    struct token token = {0, 0};
    size_t wanted = below(seed, length) + 1;
    for (size_t at = 0; at < length && (at < wanted || token.length == 0); at += token_length(text + at, length - at))
        if (!strchr(" \n", text[at]))
            token = (struct token){at, token_length(text + at, length - at)};
    return token;
}

static size_t replace(char *text, size_t length, struct token token, const char *by, size_t by_length)
{
    if (length - token.length + by_length >= GRAPH_TEXT_ROOM)
        return length;
    memmove(text + token.at + by_length, text + token.at + token.length, length - token.at - token.length);
    memcpy(text + token.at, by, by_length);
    return length - token.length + by_length;
}

static size_t replace_with_odd(char *text, size_t length, struct token token, uint64_t *seed)
{
    static const char *const odd[] = {"0",
                                      "-1",
                                      "1",
                                      "2",
                                      "0.5",
                                      "65536",
                                      "65537",
                                      "1000",
                                      "4294967295",
                                      "4294967296",
                                      "1e15",
                                      "1e16",
                                      "1e308",
                                      "1e-300",
                                      "9007199254740993",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "true",
                                      "false",
                                      "null",
                                      "\"\"",
                                      "{}",
                                      "[]",
                                      "[[[[]]]]",
                                      "\"persistent\"",
                                      "\"initial\"",
                                      "\"d2h_us\"",
                                      "\"op\"",
                                      "\"drop\""};
    const char *by = odd[below(seed, sizeof odd / sizeof odd[0])];
    return replace(text, length, token, by, strlen(by));
}

/* The first and the last of what two tokens enclose change places, or the part between them goes or comes twice. */
static size_t move_part(char *text, size_t length, uint64_t kind, uint64_t *seed)
{
    char piece[512];
    struct token a = some_token(text, length, seed), b = some_token(text, length, seed);
    if (a.at > b.at) {
        const struct token c = a;
        a = b;
        b = c;
    }
    if (a.length + b.length > sizeof piece || a.at == b.at)
        return length;
    if (kind == 0) { /* exchanged, the later one first */
        memcpy(piece, text + a.at, a.length);
        memcpy(piece + a.length, text + b.at, b.length);
        length = replace(text, length, b, piece, a.length);
        return replace(text, length, a, piece + a.length, b.length);
    }
    const size_t part = b.at - a.at < sizeof piece ? b.at - a.at : sizeof piece;
    memcpy(piece, text + a.at, part);
    return kind == 1 ? replace(text, length, (struct token){a.at, part}, "", 0)
                     : replace(text, length, (struct token){a.at, 0}, piece, part);
}

static bool is_number(char c)
{
    return c == '-' || (c >= '0' && c <= '9');
}

/* A number behind a place that is chosen at random; any token where there is none. */
static struct token some_number(const char *text, size_t length, uint64_t *seed)
{
    const struct token first = some_token(text, length, seed);
    for (size_t at = first.at; at < length; at += token_length(text + at, length - at))
        if (is_number(text[at]))
            return (struct token){at, token_length(text + at, length - at)};
    return first;
}

/* Whether both are values of fields whose names end alike, or both are elements of lists. */
static bool are_alike(const char *text, struct token a, struct token b)
{
    enum { LOOKED_AT = 5 }; /* the end of the name, a quote, a colon, a blank */
    if (a.at < LOOKED_AT || b.at < LOOKED_AT)
        return false;
    const char *before_a = text + a.at - LOOKED_AT, *before_b = text + b.at - LOOKED_AT;
    const bool a_is_field = before_a[LOOKED_AT - 2] == ':', b_is_field = before_b[LOOKED_AT - 2] == ':';
    return a_is_field == b_is_field && (!a_is_field || memcmp(before_a, before_b, LOOKED_AT) == 0);
}

/* Another number that might stand there as well, where one is found. */
static struct token number_like(const char *text, size_t length, struct token number, uint64_t *seed)
{
    struct token other = some_number(text, length, seed);
    for (unsigned tries = 0; tries < 16 && !(other.at != number.at && are_alike(text, number, other)); tries++)
        other = some_number(text, length, seed);
    return other;
}

/* What stands in one place, of the same text, in another too. */
static size_t copy_token(char *text, size_t length, struct token from, struct token to)
{
    char piece[512];
    const size_t n = from.length < sizeof piece ? from.length : sizeof piece;
    memcpy(piece, text + from.at, n);
    return replace(text, length, to, piece, n);
}

size_t damage_text(char *text, size_t length, uint64_t *seed)
{
    const uint64_t kind = below(seed, 16);
    if (length == 0)
        return 0;
    if (kind < 3)
        return replace_with_odd(text, length, some_number(text, length, seed), seed);
    if (kind < 4)
        return replace_with_odd(text, length, some_token(text, length, seed), seed);
    if (kind < 12) {
        const struct token number = some_number(text, length, seed);
        return copy_token(text, length, number_like(text, length, number, seed), number);
    }
    if (kind < 13)
        return copy_token(text, length, some_token(text, length, seed), some_token(text, length, seed));
    if (kind < 15)
        return move_part(text, length, below(seed, 3), seed);
    text[below(seed, length)] = (char)random_number(seed);
    return length;
}
