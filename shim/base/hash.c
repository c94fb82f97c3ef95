/* hash.c - hashes bytes in host memory. */
#include "hash.h"

#include <string.h>

static uint64_t fold(uint64_t x)
{
    return x ^ (x >> 32);
}

static void add(struct spw_hash *sum, uint64_t word, uint64_t index)
{
    uint64_t key = index * SPW_HASH_STEP + SPW_HASH_SEED;
    uint64_t y = fold((word ^ key) * SPW_HASH_FIRST);
    sum->word[0] += fold(fold(y * SPW_HASH_A) * SPW_HASH_B);
    sum->word[1] += fold(fold((y + (key << 32 | key >> 32)) * SPW_HASH_C) * SPW_HASH_D);
}

void spw_hash_host(const void *bytes, size_t size, struct spw_hash *ret_hash)
{
    const unsigned char *at = bytes;
    struct spw_hash sum = {{0, 0}};
    uint64_t word, index = 0;
    for (; size - index * 8 >= sizeof(word); index++) {
        memcpy(&word, at + index * 8, sizeof(word));
        add(&sum, word, index);
    }
    if (size % 8) {
        word = 0;
        memcpy(&word, at + index * 8, size % 8);
        add(&sum, word, index);
    }
    add(&sum, size, UINT64_MAX);
    *ret_hash = sum;
}
