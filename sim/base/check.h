/*
 * Assertions: a failed one is a bug of sluice, never a mistake of the user.
 *
 * Floor base. SL_ASSERT is always on; SL_DCHECK only without NDEBUG, for checks that cost more
 * than the code they guard. The message names the place and the condition.
 */
#ifndef SLUICE_BASE_CHECK_H
#define SLUICE_BASE_CHECK_H

/* Prints the message and aborts. */
_Noreturn void sli_check_failed(const char *file, int line, const char *what);

#define SL_ASSERT(condition)                                                                       \
    ((condition) ? (void)0 : sli_check_failed(__FILE__, __LINE__, #condition))

#ifdef NDEBUG
#define SL_DCHECK(condition) ((void)sizeof(condition))
#else
#define SL_DCHECK(condition) SL_ASSERT(condition)
#endif

#endif
