/* records.h - trace records made at random from a seed, for tests that write and read them back. */
#ifndef SPILLWAY_TESTS_FUZZ_RECORDS_H
#define SPILLWAY_TESTS_FUZZ_RECORDS_H
#include "record.h"

enum { RECORDS_TOUCHES = 64 }; /* most touches of a random operation, seldom ones apart */

/* What a record points to. */
struct made_record {
    struct spw_record record;
    char text[4][SPW_RECORD_TEXT + 1];
    uint8_t build_id[64];
    uint64_t codes[SPW_RECORD_FRAMES];
    struct spw_touch touches[SPW_RECORD_TOUCHES];
};

uint64_t random_number(uint64_t *seed); /* splitmix64 */

/* The record that belongs to this seed: any kind, any value that the limits allow, numbers of every size; operations come
 * most often and are often alike. */
void make_record(struct made_record *made, uint64_t seed);

/* The first field in which the two differ, NULL when they say the same. */
const char *differing_field(const struct spw_record *a, const struct spw_record *b);
#endif
