/* casts.c - recognises PyTorch's parameters for conversions by name and size. */
#include "casts.h"

#include "mangled.h"

enum { MOST = 64 };

/* Skips "12LoadWithCastILi2EEE", the last part of a nested name. */
static bool skip_cast(const char **at, const char *class, unsigned long *ret_tensors)
{
    return spw_mangled_skip(at, class) && spw_mangled_skip(at, "I") && spw_mangled_skip_number(at, 'i', ret_tensors) &&
           spw_mangled_skip(at, "EE");
}

/* Skips "T4_", a parameter whose type is an argument of the template, and stores its number; T_ is number 0. */
static bool skip_argument(const char **at, unsigned long *ret_number)
{
    char *end;
    if (!spw_mangled_skip(at, "T"))
        return false;
    *ret_number = **at == '_' ? 0 : strtoul(*at, &end, 10) + 1;
    *at = strchr(*at, '_');
    return *at && spw_mangled_skip(at, "_");
}

/* Returns true if the rest of the name, behind the template's arguments, is: a number of elements, then parameters, `count`
 * in all, of which the last two have the types that were the last two arguments. */
static bool ends_with_both(const char *at, unsigned count)
{
    unsigned long number = 0, before = 0, highest = 0;
    unsigned parameters = 1;
    if (!spw_mangled_skip(&at, "EEvi"))
        return false;
    for (; *at; parameters++) {
        before = number;
        if (!skip_argument(&at, &number))
            return false;
        highest = number > highest ? number : highest;
    }
    return parameters == count && number == before + 1 && number == highest;
}

static size_t bytes_of(unsigned long tensors)
{
    return (tensors + sizeof(uint32_t) - 1) / sizeof(uint32_t) * sizeof(uint32_t) + tensors * sizeof(uint32_t);
}

/* Recognises at::native::some_elementwise_kernel<..., at::native::memory::LoadWithCast<n>, (the same)::StoreWithCast<n>
 * >. */
uint64_t spw_casts_recognise(const char *name, const struct spw_param *params, unsigned count)
{
    unsigned long loaded, stored;
    if (!name || count < 2 || count > MOST || !spw_mangled_skip(&name, "_ZN2at6native") ||
        !strstr(name, "elementwise_kernelI"))
        return 0;
    name = strstr(name, "12LoadWithCastI");
    if (!name || !skip_cast(&name, "12LoadWithCast", &loaded) || !spw_mangled_skip(&name, "NS"))
        return 0;
    name = strstr(name, "_13StoreWithCastI");
    if (!name || !skip_cast(&name, "_13StoreWithCast", &stored) || !ends_with_both(name, count))
        return 0;
    if (params[count - 2].size_bytes != bytes_of(loaded) || params[count - 1].size_bytes != bytes_of(stored))
        return 0;
    return UINT64_C(3) << (count - 2);
}
