/* check.h - assertions, which are evaluated in builds with -Ddebug_checks=true (by default debug and sanitized builds).
 *
 * A failed assertion prints where it stands, what it expected and why, and the calls that led there, and aborts. In other
 * builds an assertion is compiled, so that it stays correct, and never evaluated. */
#ifndef SPILLWAY_SHIM_CHECK_H
#define SPILLWAY_SHIM_CHECK_H

_Noreturn void spw_check_failed(const char *file, int line, const char *function, const char *condition,
                                const char *expected);

#ifdef SPW_DEBUG_CHECKS
#define SPW_ASSERT(condition, expected) \
    ((condition) ? (void)0 : spw_check_failed(__FILE__, __LINE__, __func__, #condition, expected))
#else
#define SPW_ASSERT(condition, expected) ((void)(0 && (condition)))
#endif
#endif
