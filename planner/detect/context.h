/* context.h - computes rolling hashes of the last 2, 4 and 16 tokens (Karp and Rabin 1987). */
#ifndef SPILLWAY_PLANNER_CONTEXT_H
#define SPILLWAY_PLANNER_CONTEXT_H
#include <stdint.h>

enum { SPW_CONTEXTS = 3, SPW_CONTEXT_2 = 0, SPW_CONTEXT_4 = 1, SPW_CONTEXT_16 = 2 };
static const uint32_t SPW_CONTEXT_TOKENS[SPW_CONTEXTS] = {2, 4, 16};

struct spw_context {
    uint64_t hash[SPW_CONTEXTS]; /* valid if since >= its number of tokens */
    uint64_t since;              /* tokens taken so far */
};

#define SPW_CONTEXT_BASE   0x5851f42d4c957f2dull
#define SPW_CONTEXT_BASE2  (SPW_CONTEXT_BASE * SPW_CONTEXT_BASE)
#define SPW_CONTEXT_BASE4  (SPW_CONTEXT_BASE2 * SPW_CONTEXT_BASE2)
#define SPW_CONTEXT_BASE16 (SPW_CONTEXT_BASE4 * SPW_CONTEXT_BASE4 * SPW_CONTEXT_BASE4 * SPW_CONTEXT_BASE4)

/* Adds a token. `left[k]`: the token that leaves context k; 0 while the context is not full. */
static inline void spw_context_take(struct spw_context *context, uint64_t token, const uint64_t left[SPW_CONTEXTS])
{
    context->hash[0] = context->hash[0] * SPW_CONTEXT_BASE + token - left[0] * SPW_CONTEXT_BASE2;
    context->hash[1] = context->hash[1] * SPW_CONTEXT_BASE + token - left[1] * SPW_CONTEXT_BASE4;
    context->hash[2] = context->hash[2] * SPW_CONTEXT_BASE + token - left[2] * SPW_CONTEXT_BASE16;
    context->since++;
}
#endif
