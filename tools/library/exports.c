/* exports.c - walks the dynamic symbol table of a loaded library. */
#include "exports.h"
#include <stddef.h>
#include <stdint.h>

/* The table does not contain its own length. The older kind of hash has a chain entry for each symbol. */
static unsigned long count_chains(const uint32_t *hash)
{
    return hash[1];
}

/* The GNU kind of hash determines the last symbol: the end of the chain that begins last. */
static unsigned long count_symbols(const uint32_t *hash)
{
    const uint32_t buckets = hash[0], first = hash[1], bloom_words = hash[2];
    const uint32_t *bucket = hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = bucket + buckets;
    uint32_t last = 0;
    for (uint32_t i = 0; i < buckets; i++)
        if (bucket[i] > last)
            last = bucket[i];
    if (last < first)
        return first;
    while (!(chain[last - first] & 1)) /* the lowest bit marks the end of a chain */
        last++;
    return last + 1;
}

bool exports_read(void *handle, struct exports *ret_exports)
{
    const struct link_map *map = handle;
    const uint32_t *hash = NULL, *older_hash = NULL;
    struct exports exports = {0};
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            exports.symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_STRTAB)
            exports.strings = (const char *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_GNU_HASH)
            hash = (const uint32_t *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_HASH)
            older_hash = (const uint32_t *)entry->d_un.d_ptr;
    }
    if (!exports.symbols || !exports.strings || (!hash && !older_hash))
        return false;
    exports.count = hash ? count_symbols(hash) : count_chains(older_hash);
    *ret_exports = exports;
    return true;
}

const char *exports_next(struct exports *exports)
{
    while (exports->next < exports->count) {
        const ElfW(Sym) *symbol = &exports->symbols[exports->next++];
        unsigned type = ELF64_ST_TYPE(symbol->st_info);
        if (symbol->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC))
            return exports->strings + symbol->st_name;
    }
    return NULL;
}
