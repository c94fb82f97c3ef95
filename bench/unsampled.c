/* unsampled.c - disables the library's spot checks (spot_checks.h), to measure what they cost. */
#include "spot_checks.h"

void __wrap_spw_spot_check_left_locked(struct spw_device *d, struct spw_block *b);
void __wrap_spw_spot_check_left_locked(struct spw_device *d, struct spw_block *b)
{
    (void)d;
    (void)b;
}

int __wrap_spw_spot_check_fill_locked(struct spw_device *d, const struct spw_block *b, const struct spw_stream *s);
int __wrap_spw_spot_check_fill_locked(struct spw_device *d, const struct spw_block *b, const struct spw_stream *s)
{
    (void)d;
    (void)b;
    (void)s;
    return 0;
}
